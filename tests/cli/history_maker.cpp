/// A daemon's history without a daemon: history_maker FILE DIRECTORY INTERVAL_MS records the frames of FILE, interval
/// by interval of their own clock.
#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

#include "history/history.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"

int main(int count, char** arguments) {
    if (count != 4) return std::fputs("usage: history_maker FILE DIRECTORY INTERVAL_MS\n", stderr), 2;
    const std::string_view text = arguments[3];
    std::int64_t length_ns = 0;
    std::from_chars(text.data(), text.data() + text.size(), length_ns);
    length_ns *= 1'000'000;
    if (length_ns <= 0) return std::fputs("an interval of nothing\n", stderr), 2;
    std::vector<support::KeptFrame> frames;
    support::load_capture(arguments[1], 10'000'000, frames);
    history::HistoryOptions options;
    options.directory = arguments[2];
    auto opened = history::HistoryWriter::open(options);
    if (!opened) return std::fprintf(stderr, "%s\n", opened.error().text().c_str()), 1;

    metrics::Analyzer analyzer;
    metrics::Snapshot previous;
    std::uint64_t number = 0;
    std::int64_t start_ns = frames.empty() ? 0 : frames.front().time_ns / length_ns * length_ns;
    const auto keep = [&] {
        metrics::Snapshot now = analyzer.snapshot();
        history::HistoryInterval interval;
        interval.start_ns = start_ns;
        interval.length_ns = static_cast<std::uint64_t>(length_ns);
        interval.frames_end = number;
        interval.difference = metrics::difference(previous, now);
        interval.crc_verified = true;
        previous = std::move(now);
        return (*opened)->append(interval);
    };
    for (const support::KeptFrame& kept : frames) {
        while (kept.time_ns >= start_ns + length_ns) {
            if (const auto done = keep(); !done) return std::fprintf(stderr, "%s\n", done.error().text().c_str()), 1;
            start_ns += length_ns;
        }
        const wire::Frame frame = kept.frame(++number);
        analyzer.feed({&frame, 1}, true);
    }
    analyzer.finish();
    return keep() ? 0 : 1;
}
