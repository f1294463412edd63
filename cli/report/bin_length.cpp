#include "cli/report/bin_length.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/clock.h"
#include "cli/analysis/file_input.h"
#include "cli/signals.h"

namespace cli::report {

namespace {

constexpr std::uint64_t bins = 300;

/// The time from the first to the last frame; 0 if the files cannot be read, which is reported later.
std::uint64_t time_of_files(const ReportOptions& options) {
    capture::FileOptions reading;
    reading.stop = Signals::stop;
    auto opened = analysis::FileInput::open(options.read_paths, reading);
    if (!opened) return 0;
    capture::Source& source = (*opened)->source();
    std::array<wire::Frame, 1024> frames;
    std::optional<std::int64_t> first;
    std::int64_t last = 0;
    std::uint64_t count = 0;
    while (!Signals::stop()) {
        const capture::Batch batch = source.next_batch(frames);
        if (batch.status != capture::ReadStatus::frame) break;
        if (!first) first = frames.front().time_ns;
        last = std::max(last, frames[batch.count - 1].time_ns);
        count += batch.count;
        if (options.max_packets && count >= *options.max_packets) break;
    }
    return first && last > *first ? base::elapsed(*first, last) : 0;
}

bool are_files(const ReportOptions& options) {
    std::error_code ignored;
    return !options.read_paths.empty() && std::ranges::all_of(options.read_paths, [&](const std::string& path) {
        return std::filesystem::is_regular_file(path, ignored);
    });
}

}  // namespace

std::uint64_t round_up_to_125(std::uint64_t ns) {
    for (std::uint64_t power = 1000; power < 10'000'000'000'000'000; power *= 10)
        for (const std::uint64_t factor : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}})
            if (factor * power >= ns) return factor * power;
    return 10'000'000'000'000'000;
}

std::uint64_t first_bin_ns(const ReportOptions& options) {
    constexpr std::uint64_t second = 1'000'000'000;
    if (options.recalls() || options.connect) return second;
    std::uint64_t time_ns = 0;
    if (are_files(options)) time_ns = time_of_files(options);
    if (options.duration_ns && (time_ns == 0 || *options.duration_ns < time_ns)) time_ns = *options.duration_ns;
    // Of a pipe nothing is known: bins begin short, and are doubled.
    return round_up_to_125(time_ns == 0 ? 10'000'000 : time_ns / bins);
}

}  // namespace cli::report
