#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/registry.h"
#include "tests/support/fake_feed.h"
#include "tui/model/model.h"

/// A model with a source, keys pressed by name, and readings made by hand.
namespace tui::test {

inline constexpr std::int64_t second = 1'000'000'000;

metrics::Address host(unsigned number);  ///< 10.0.0.number

/// A flow between hosts that wrote `messages` of 1000 octets, 10 us each, in the second that begins at `first_ns`.
metrics::FlowSnapshot writes(std::uint64_t id, unsigned from, unsigned to, std::uint64_t messages,
                             std::int64_t first_ns = 0);

/// Second `serial` of a source; `interval` and `total` in the order of ids.
std::shared_ptr<Reading> reading_of(std::uint64_t serial, std::vector<metrics::FlowSnapshot> total,
                                    std::vector<metrics::FlowSnapshot> interval);
/// Of flows that are as active as they ever were.
std::shared_ptr<Reading> reading_of(std::uint64_t serial, std::vector<metrics::FlowSnapshot> flows);

struct GivenNames final : metrics::HostNames {
    std::map<std::string, std::string> known;
    GivenNames(std::initializer_list<std::pair<const std::string, std::string>> names) : known(names) {}
    std::string name(const metrics::Address& address) const override {
        const auto found = known.find(metrics::to_text(address));
        return found == known.end() ? std::string{} : found->second;
    }
};

class Bench {
public:
    explicit Bench(support::FakeFeed source, Settings settings = {}, const metrics::HostNames* names = nullptr);
    explicit Bench(std::vector<ReadingPtr> readings, Settings settings = {}, const metrics::HostNames* names = nullptr);

    /// The next reading, or all of them, as the source gives them.
    void next();
    void all();
    /// Keys as help calls them, blanks between: "j Ctrl-D Enter".
    Bench& press(std::string_view keys);
    /// Characters, as they are.
    Bench& type(std::u32string_view text);
    /// A picture of `page` rows, with these hits.
    void draw(std::size_t page, std::vector<Hit> hits = {}, std::size_t overlay_rows = 0);
    void click(int x, int y, Mouse::Action action = Mouse::Action::press) { model.click({action, x, y}); }

    const ModelState& state() const { return model.state(); }
    std::vector<std::uint64_t> ids() const;  ///< of the rows of the table; 0 for groups
    std::vector<Request::Kind> requests();
    std::uint64_t selected_id() const { return state().list.lines()[state().places[0].selected].id(); }

    support::FakeFeed feed;
    Model model;
};

const dissect::FieldRegistry& frame_fields();

/// Everything of the state that a key can change, as text: two states that show the same have the same.
std::string fingerprint(const ModelState& state);

}  // namespace tui::test
