#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace replay::inline endpoints {

/// Memory that looks as large as the longest message and takes a megabyte: the same pages repeat. The messages of a
/// re-enactment hold a pattern with the pages' period, so that nothing is lost.
class PatternMemory {
public:
    static constexpr std::size_t period = std::size_t{1} << 20;

    /// Throws iwarp::Error if the system has no more memory.
    explicit PatternMemory(std::uint64_t octets, bool patterned);
    ~PatternMemory();
    PatternMemory(const PatternMemory&) = delete;
    PatternMemory& operator=(const PatternMemory&) = delete;

    std::span<std::byte> octets() const { return {octets_, size_}; }
    std::byte* data() const { return octets_; }
    std::size_t size() const { return size_; }
    /// The content of byte `at` of patterned memory: 251 is prime, so that data placed at a wrong offset shows.
    static constexpr std::byte pattern(std::uint64_t at) {
        return static_cast<std::byte>((31 * (at % period % 251) + 7) % 251);
    }

private:
    std::byte* octets_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace replay::endpoints
