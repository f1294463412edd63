#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

namespace replay::inline impair {

/// A line with a rate in bits per second: one thing after the other, none before it has come.
class Pace {
public:
    explicit Pace(std::optional<std::uint64_t> bits_per_sec) : bits_per_sec_(bits_per_sec) {}

    /// When the last bit of `octets` bytes that come at `now_ns` has passed. Parts of a nanosecond are carried over.
    std::int64_t pass(std::uint64_t octets, std::int64_t now_ns) {
        if (!bits_per_sec_) return now_ns;
        if (now_ns > free_ns_) {
            free_ns_ = now_ns;
            carried_ = 0;
        }
        __extension__ using Wide = unsigned __int128;
        const Wide work = Wide{octets} * 8 * 1'000'000'000 + carried_;
        free_ns_ += static_cast<std::int64_t>(work / *bits_per_sec_);
        carried_ = static_cast<std::uint64_t>(work % *bits_per_sec_);
        return free_ns_;
    }

private:
    std::optional<std::uint64_t> bits_per_sec_;
    std::int64_t free_ns_ = INT64_MIN;
    std::uint64_t carried_ = 0;  ///< of a nanosecond, in units of 1 / bits_per_sec_
};

}  // namespace replay::impair
