#include "tests/support/fake_feed.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <limits>
#include <sstream>

#include "metrics/measure/engine/analyzer.h"
#include "tests/support/pcaps.h"

namespace support {

FakeFeed FakeFeed::of_capture(const std::string& name, std::uint64_t interval_ns) {
    FakeFeed feed;
    load_capture(support::pcaps() + "/" + name, std::numeric_limits<std::size_t>::max(), feed.frames);
    metrics::AnalyzerOptions options;
    options.engine.commands = true;
    metrics::Analyzer analyzer(options);
    metrics::Snapshot before;
    const auto length = static_cast<std::int64_t>(interval_ns);
    std::int64_t start = feed.frames.empty() ? 0 : feed.frames.front().time_ns;
    const auto close = [&] {
        auto reading = std::make_shared<tui::Reading>();
        reading->serial = feed.readings.size() + 1;
        reading->start_ns = start;
        reading->length_ns = interval_ns;
        reading->total = analyzer.snapshot();
        reading->interval = metrics::difference(before, reading->total);
        before = reading->total;
        feed.readings.push_back(std::move(reading));
        start += length;
    };
    std::uint64_t number = 0;
    for (const KeptFrame& kept : feed.frames) {
        while (kept.time_ns >= start + length) close();
        const wire::Frame frame = kept.frame(++number);
        analyzer.feed({&frame, 1}, true);
    }
    analyzer.finish();
    close();
    feed.state.kind = tui::SourceKind::file;
    feed.state.name = name;
    feed.state.health = tui::FeedStatus::Health::good;
    feed.state.playable = true;
    feed.state.interval_ns = interval_ns;
    feed.state.begin_ns = feed.readings.front()->start_ns;
    feed.state.end_ns = feed.readings.back()->end_ns();
    feed.state.has_packets = true;
    feed.state.packets_kept = feed.frames.size();
    feed.state.first_packet = 1;
    return feed;
}

bool FakeFeed::next() {
    if (shown == readings.size()) return false;
    ++shown;
    const tui::Reading& reading = *readings[shown - 1];
    state.now_ns = reading.end_ns();
    state.at_end = shown == readings.size();
    state.share = static_cast<double>(shown) / static_cast<double>(readings.size());
    state.last_packet = 0;
    for (const KeptFrame& frame : frames) {
        if (frame.time_ns >= reading.end_ns()) break;
        ++state.last_packet;
    }
    return true;
}

std::vector<tui::ReadingPtr> FakeFeed::since(std::uint64_t serial) {
    std::vector<tui::ReadingPtr> newer;
    for (std::size_t i = 0; i < shown; ++i)
        if (readings[i]->serial > serial) newer.push_back(readings[i]);
    if (newer.size() > 64) newer.erase(newer.begin(), newer.end() - 64);
    return newer;
}

void FakeFeed::set_interval(std::uint64_t interval_ns) {
    state.interval_ns = interval_ns;
    orders.push_back(fmt::format("interval {}", interval_ns));
}
void FakeFeed::play(bool playing) {
    state.playing = playing;
    orders.push_back(fmt::format("play {:d}", playing));
}
void FakeFeed::set_speed(double speed) {
    state.speed = speed;
    orders.push_back(fmt::format("speed {}", speed));
}
void FakeFeed::step(int intervals) { orders.push_back(fmt::format("step {}", intervals)); }
void FakeFeed::seek(std::int64_t time_ns) { orders.push_back(fmt::format("seek {}", time_ns)); }

std::size_t FakeFeed::packets(std::uint64_t from, std::size_t most,
                              const std::function<bool(const wire::Frame&)>& sink) {
    std::size_t count = 0;
    for (std::uint64_t number = std::max<std::uint64_t>(from, 1); number <= state.last_packet && count < most;
         ++number) {
        ++count;
        if (!sink(frames[number - 1].frame(number))) break;
    }
    return count;
}

std::string differs_from_golden(const std::string& name, const std::string& text) {
    const std::string path = support::pcaps() + "/../tests/unit/tui/golden/" + name;
    const char* const update = std::getenv("RDMASCOPE_UPDATE");
    if (update != nullptr && *update == '1') {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream(path) << text;
        return {};
    }
    std::ifstream file(path);
    if (!file) return path + " is not there; RDMASCOPE_UPDATE=1 writes it";
    std::istringstream now(text);
    std::string expected;
    std::string got;
    std::string out;
    for (int line = 1;; ++line) {
        const bool more = static_cast<bool>(std::getline(file, expected));
        const bool more_now = static_cast<bool>(std::getline(now, got));
        if (!more && !more_now) return out;
        if (!more) expected = "(the end)";
        if (!more_now) got = "(the end)";
        if (expected != got) out += fmt::format("{}:{}\n-{}\n+{}\n", path, line, expected, got);
        if (!more || !more_now) return out;
    }
}

}  // namespace support
