#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_feed.h"
#include "tui/model/model.h"
#include "tui/view/letters.h"
#include "tui/view/screen.h"

/// Screens for the tests of the view: a model with a source, and pictures of what it shows.
namespace tui {

/// Names for addresses, given by a test.
struct GivenNames final : metrics::HostNames {
    std::map<std::string, std::string> names;
    std::string name(const metrics::Address& address) const override {
        const auto found = names.find(metrics::to_text(address));
        return found == names.end() ? std::string{} : found->second;
    }
};

struct Picture {
    Grid grid;
    Drawn drawn;
};

class Screen {
public:
    explicit Screen(support::FakeFeed source, Settings settings = {}, const metrics::HostNames* names = nullptr);

    /// Shows the source's first `readings`, all where there are fewer, each as it comes.
    void show(std::size_t readings);
    void show_all() { show(feed.readings.size()); }
    /// Keys one after the other: characters, as a user types them.
    void type(std::string_view text);
    void press(Named named) { model.press(key(named)); }
    void go(View view) { model.press(key(U'1' + static_cast<char32_t>(view))); }
    Picture draw(int width, int height, const Letters& letters = utf8_letters) const;

    support::FakeFeed feed;
    Model model;
};

/// A source of one reading, whose interval is the whole.
support::FakeFeed feed_of(metrics::Snapshot snapshot, std::uint64_t length_ns = 1'000'000'000);
/// The same, each reading of which is one of these intervals and their sum.
support::FakeFeed feed_of(const std::vector<metrics::Snapshot>& intervals);

metrics::Address ipv4(unsigned a, unsigned b, unsigned c, unsigned d);
metrics::Address ipv6(std::initializer_list<std::uint16_t> groups);
/// RC over RoCEv2 for a second, `writes` of 4 KiB, 9 µs each; ids are 1, 2, ... as tests give them.
metrics::FlowSnapshot write_flow(std::uint64_t id, metrics::Address from, metrics::Address to, std::uint64_t writes);
/// `flows` of these from 16 clients to 4 servers, every 50th of which repeats packets, every 77th of which is NAKed,
/// and every 90th of which is marked.
metrics::Snapshot many_flows(std::size_t flows);

inline constexpr std::int64_t second_ns = 1'000'000'000;
inline constexpr std::int64_t begin_ns = 1'795'255'200 * second_ns;  ///< 2026-11-21 10:00:00 UTC

}  // namespace tui
