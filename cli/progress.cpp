#include "cli/progress.h"

#include <algorithm>
#include <fmt/core.h>
#include <unistd.h>

#include "base/file.h"
#include "base/quantities.h"
#include "cli/console.h"

namespace cli {

namespace {

constexpr auto between = std::chrono::milliseconds(100);

}  // namespace

Progress::Progress(bool wanted) : wanted_(wanted && is_terminal(STDERR_FILENO)) {}

bool Progress::due() {
    if (!wanted_) return false;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + between;
    return true;
}

void Progress::draw(const capture::FileSource::Progress& at, std::uint64_t frames) {
    const double elapsed_sec = std::chrono::duration<double>(Clock::now() - begun_).count();
    const unsigned columns = std::min(terminal_columns(STDERR_FILENO), 100U);
    base::write_all(STDERR_FILENO, fmt::format("\r{}\x1b[K", progress_bar(at, frames, elapsed_sec, columns - 1)));
    drawn_ = true;
}

void Progress::draw(std::uint64_t captured) {
    base::write_all(STDERR_FILENO, fmt::format("\rGot {}\x1b[K", captured));
    drawn_ = true;
}

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
    const double left_sec = rate > 0 ? static_cast<double>(*at.total - std::min(at.octets, *at.total)) / rate : 0;
    const std::string tail = fmt::format(" {:>6}  {} packets  {}  {} left", base::format_percent(share), frames,
                                         base::format_byte_rate(rate), base::format_duration(left_sec * 1e9));
    if (tail.size() + 12 > columns) return tail.substr(0, columns);
    const std::size_t width = std::min<std::size_t>(columns - tail.size() - 2, 40);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
    return fmt::format("[{}{}]{}", std::string(full, '='), std::string(width - full, ' '), tail);
}

}  // namespace cli
