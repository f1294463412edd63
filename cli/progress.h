#pragma once
#include <chrono>
#include <cstdint>
#include <string>

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

    /// True at most ten times a second; then call one of the two functions below.
    bool due();
    /// A bar: the progress through a file.
    void draw(const capture::FileSource::Progress& at, std::uint64_t frames);
    /// A live capture that is being saved, as tcpdump's `-v -w`.
    void draw(std::uint64_t captured);
    /// Removes the line, before anything else is written there.
    void wipe();

private:
    using Clock = std::chrono::steady_clock;
    bool wanted_;
    bool drawn_ = false;
    Clock::time_point begun_ = Clock::now();
    Clock::time_point next_ = begun_ + std::chrono::seconds(1);
};

/// The bar as text, at most `columns` wide: `[=====>      ] 42 %  1.2 GB/s  3 s left`.
std::string progress_bar(const capture::FileSource::Progress& at, std::uint64_t frames, double elapsed_sec,
                         unsigned columns);

}  // namespace cli
