#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/captures.h"
#include "tui/model/feed.h"

namespace support {

/// A source for the screen's tests: it has the readings and frames that it is given, and remembers what it is told.
class FakeFeed final : public tui::Feed {
public:
    /// All frames of a capture of pcaps/ (`rxe-write-bw-4k.pcap.gz`), measured in intervals that begin at its first
    /// frame; readings of them all.
    static FakeFeed of_capture(const std::string& name, std::uint64_t interval_ns);
    FakeFeed() = default;

    tui::FeedStatus state = {};                  ///< what status() answers
    std::vector<tui::ReadingPtr> readings = {};  ///< all that there are
    std::size_t shown = 0;                       ///< how many of them have been made so far: latest() is [shown - 1]
    std::vector<KeptFrame> frames = {};          ///< number 1 is the first
    std::vector<std::string> orders = {};        ///< "play 0", "speed 2", "step -1", "seek 17", "interval 500000000"

    /// One more reading; false where there are no more.
    bool next();
    void show_all() {
        while (next()) {
        }
    }

    tui::FeedStatus status() override { return state; }
    tui::ReadingPtr latest() override { return shown == 0 ? nullptr : readings[shown - 1]; }
    std::vector<tui::ReadingPtr> since(std::uint64_t serial) override;
    void set_interval(std::uint64_t interval_ns) override;
    void play(bool playing) override;
    void set_speed(double speed) override;
    void step(int intervals) override;
    void seek(std::int64_t time_ns) override;
    std::size_t packets(std::uint64_t from, std::size_t most,
                        const std::function<bool(const wire::Frame&)>& sink) override;
};

/// Holds `text` against tests/unit/tui/golden/NAME, which RDMASCOPE_UPDATE=1 writes. Empty where they are the same,
/// else what differs, line by line.
std::string differs_from_golden(const std::string& name, const std::string& text);

}  // namespace support
