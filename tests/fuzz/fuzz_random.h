#pragma once
#include <cstddef>
#include <cstdint>

namespace fuzz {

/// SplitMix64: the same numbers from the same seed on every machine.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    /// In [0, bound); bound is not 0.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
    bool one_in(unsigned chances) { return below(chances) == 0; }

private:
    std::uint64_t state_;
};

}  // namespace fuzz
