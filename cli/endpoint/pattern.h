#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace cli::endpoint {

/// The content of memory that a peer may read: byte i is (31 i + 7) mod 251. 251 is prime and not a power of two, so
/// that data placed at a wrong offset shows. Message number n begins at its byte n.
class Pattern {
public:
    static constexpr std::size_t period = 251;
    static constexpr std::byte octet(std::uint64_t at) {
        return static_cast<std::byte>((31 * (at % period) + 7) % period);
    }

    /// For pieces of up to `longest` bytes.
    explicit Pattern(std::size_t longest) : octets_(longest + period) { fill(octets_, 0); }

    /// The bytes from `at` on; `length` at most the longest.
    std::span<const std::byte> at(std::uint64_t at, std::size_t length) const {
        return {octets_.data() + at % period, length};
    }
    bool matches(std::span<const std::byte> octets, std::uint64_t from) const {
        return octets.empty() || std::memcmp(octets.data(), at(from, octets.size()).data(), octets.size()) == 0;
    }
    void copy(std::span<std::byte> into, std::uint64_t from) const {
        if (!into.empty()) std::memcpy(into.data(), at(from, into.size()).data(), into.size());
    }

    /// The same without a table, for any length.
    static void fill(std::span<std::byte> into, std::uint64_t from) {
        for (std::size_t i = 0; i < into.size() && i < period; ++i) into[i] = octet(from + i);
        for (std::size_t done = period; done < into.size();) {
            const std::size_t more = done < into.size() - done ? done : into.size() - done;
            // The content so far is a whole number of periods long.
            std::memcpy(into.data() + done, into.data(), more);
            done += more;
        }
    }

private:
    std::vector<std::byte> octets_;
};

}  // namespace cli::endpoint
