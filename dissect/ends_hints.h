#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "dissect/ipv4_ends.h"

namespace dissect {

/// Where the data of a conversation was found last. There is one place for each hash of its ends, so that the entry may
/// be another conversation's, or gone: a reader must check it. The number of places grows with the number of
/// conversations, up to 2^18.
class EndsHints {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    /// Of one direction.
    static std::uint64_t hash_of(const Ipv4Ends& ends) {
        return (ends.addresses ^ std::uint64_t{ends.ports} * 0xd6e8feb86659fd93u) * base::golden;
    }
    /// The same for both directions.
    static std::uint64_t hash_of_both(const Ipv4Ends& ends) {
        const auto mix = [](std::uint64_t address, std::uint64_t port) {
            const std::uint64_t product = (address ^ port << 40) * base::golden;
            return product ^ product >> 32;  // otherwise ends with the same sum would share a place
        };
        const std::uint64_t sum =
            mix(ends.addresses & 0xffffffffu, ends.ports >> 16) + mix(ends.addresses >> 32, ends.ports & 0xffffu);
        return sum * 0xd6e8feb86659fd93u;
    }

    std::uint32_t find(std::uint64_t hash) const { return indices_[hash >> shift_]; }
    void prefetch(std::uint64_t hash) const { __builtin_prefetch(&indices_[hash >> shift_]); }
    /// `held`: the number of conversations, most with a place of their own. All entries are forgotten when the places
    /// grow.
    void note(std::uint64_t hash, std::uint32_t index, std::size_t held) {
        if (held > indices_.size() / 4 && indices_.size() < most) {
            indices_.assign(indices_.size() * 2, none);
            --shift_;
        }
        indices_[hash >> shift_] = index;
    }

private:
    static constexpr unsigned first_bits = 12;
    static constexpr std::size_t most = std::size_t{1} << 18;
    unsigned shift_ = 64 - first_bits;
    std::vector<std::uint32_t> indices_ = std::vector<std::uint32_t>(std::size_t{1} << first_bits, none);
};

}  // namespace dissect
