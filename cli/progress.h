#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "capture/files/file_source.h"

namespace cli {

/// A line on standard error that shows the progress of long work; it is drawn again and again, and removed at the end.
/// Only if standard error is a terminal, and not within the first second.
class Progress {
public:
    explicit Progress(bool wanted);
    ~Progress() { wipe(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// True at most ten times a second; then call one of the functions below.
    bool due();
    /// A bar: the progress through a file.
    void draw(const capture::FileSource::Progress& at, std::uint64_t frames);
    /// A bar of what is counted in `things`, such as "intervals".
    void draw(std::uint64_t done, std::uint64_t all, std::string_view things);
    /// A live capture that is being saved, as tcpdump's `-v -w`.
    void draw(std::uint64_t captured);
    /// Removes the line, before anything else is written there.
    void wipe();

private:
    using Clock = std::chrono::steady_clock;
    double elapsed_sec() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
    void draw(const std::string& bar);

    bool wanted_;
    bool drawn_ = false;
    Clock::time_point begun_ = Clock::now();
    Clock::time_point next_ = begun_ + std::chrono::seconds(1);
};

/// The bar as text, at most `columns` wide: `[=====      ]  42 %  5.91 GiB of 14.1 GiB  9000 packets  1.2 GB/s  7 s
/// left`. On narrow terminals the packets are left out, then the rate.
std::string progress_bar(const capture::FileSource::Progress& at, std::uint64_t frames, double elapsed_sec,
                         unsigned columns);
std::string progress_bar(std::uint64_t done, std::uint64_t all, std::string_view things, double elapsed_sec,
                         unsigned columns);

}  // namespace cli
