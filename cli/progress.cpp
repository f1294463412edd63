#include "cli/progress.h"

#include <algorithm>
#include <fmt/core.h>
#include <unistd.h>
#include <vector>

#include "base/file.h"
#include "base/quantities.h"
#include "cli/console.h"

namespace cli {

namespace {

constexpr auto between = std::chrono::milliseconds(100);
constexpr std::size_t least_bar = 10;
constexpr std::size_t most_bar = 40;

/// What stands after a bar; the parts of greater `rank` are the first to be left out.
struct Part {
    int rank;
    std::string text;
};

std::string bar_of(double share, std::vector<Part> parts, std::size_t columns) {
    parts.insert(parts.begin(), {0, fmt::format(" {:>6}", base::format_percent(share))});
    const auto joined = [&parts] {
        std::string text;
        for (const Part& part : parts) text += (text.empty() ? "" : "  ") + part.text;
        return text;
    };
    constexpr std::size_t brackets = 2;
    std::string tail = joined();
    while (parts.size() > 1 && tail.size() + brackets + least_bar > columns) {
        parts.erase(std::ranges::max_element(parts, {}, &Part::rank));
        tail = joined();
    }
    if (tail.size() + brackets + least_bar > columns) return tail.substr(0, columns);
    const std::size_t width = std::min(columns - tail.size() - brackets, most_bar);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
    return fmt::format("[{}{}]{}", std::string(full, '='), std::string(width - full, ' '), tail);
}

std::string left_text(double share, double elapsed_sec) {
    const double left_sec = share > 0 ? elapsed_sec * (1 - share) / share : 0;
    return base::format_duration(left_sec * 1e9) + " left";
}

unsigned columns_of_bar() { return std::min(terminal_columns(STDERR_FILENO), 120U) - 1; }

}  // namespace

Progress::Progress(bool wanted) : wanted_(wanted && is_terminal(STDERR_FILENO)) {}

bool Progress::due() {
    if (!wanted_) return false;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + between;
    return true;
}

void Progress::draw(const std::string& bar) {
    base::write_all(STDERR_FILENO, fmt::format("\r{}\x1b[K", bar));
    drawn_ = true;
}

void Progress::draw(const capture::FileSource::Progress& at, std::uint64_t frames) {
    draw(progress_bar(at, frames, elapsed_sec(), columns_of_bar()));
}

void Progress::draw(std::uint64_t done, std::uint64_t all, std::string_view things) {
    draw(progress_bar(done, all, things, elapsed_sec(), columns_of_bar()));
}

void Progress::draw(std::uint64_t captured) { draw(fmt::format("Got {}", captured)); }

void Progress::wipe() {
    if (drawn_) base::write_all(STDERR_FILENO, "\r\x1b[K");
    drawn_ = false;
}

std::string progress_bar(const capture::FileSource::Progress& at, std::uint64_t frames, double elapsed_sec,
                         unsigned columns) {
    const double rate = elapsed_sec > 0 ? static_cast<double>(at.octets) / elapsed_sec : 0;
    if (!at.total || *at.total == 0)
        return fmt::format("{} packets, {}, {}", frames, base::format_size(at.octets), base::format_byte_rate(rate))
            .substr(0, columns);
    const double share = std::min(1.0, static_cast<double>(at.octets) / static_cast<double>(*at.total));
    return bar_of(share,
                  {{1, fmt::format("{} of {}", base::format_size(at.octets), base::format_size(*at.total))},
                   {4, fmt::format("{} packets", frames)},
                   {3, base::format_byte_rate(rate)},
                   {2, left_text(share, elapsed_sec)}},
                  columns);
}

std::string progress_bar(std::uint64_t done, std::uint64_t all, std::string_view things, double elapsed_sec,
                         unsigned columns) {
    const double share = all == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
    return bar_of(share,
                  {{1, fmt::format("{} of {} {}", base::group_digits(done), base::group_digits(all), things)},
                   {2, left_text(share, elapsed_sec)}},
                  columns);
}

}  // namespace cli
