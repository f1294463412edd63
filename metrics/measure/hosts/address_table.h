#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "metrics/figures/address.h"

namespace metrics::inline measure::inline hosts {

/// Depends on nothing but the address, so that it is the same in every run.
inline std::uint64_t hash_of(const Address& address) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), address.octets.data(), sizeof words);
    return base::spread(words[0] ^ std::rotl(words[1], 29) ^ static_cast<std::uint64_t>(address.family) << 56);
}

inline bool same(const Address& a, const Address& b) {
    return std::memcmp(a.octets.data(), b.octets.data(), 16) == 0 && a.family == b.family;
}

/// Numbers addresses from 0 in the order in which they appear, up to a bound.
class AddressTable {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    explicit AddressTable(std::size_t limit) : limit_(limit), slots_(256, none) {}

    /// The number of the address; `none` where the table is full.
    std::uint32_t number(const Address& address, std::uint64_t hash) {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = hash >> 20 & mask;; i = (i + 1) & mask) {
            const std::uint32_t index = slots_[i];
            if (index == none) return add(address, i);
            if (same(addresses_[index], address)) return index;
        }
    }
    std::uint32_t number(const Address& address) { return number(address, hash_of(address)); }
    /// The same of one that is there; else `none`.
    std::uint32_t find(const Address& address) const {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = hash_of(address) >> 20 & mask;; i = (i + 1) & mask) {
            const std::uint32_t index = slots_[i];
            if (index == none || same(addresses_[index], address)) return index;
        }
    }
    const Address& operator[](std::uint32_t number) const { return addresses_[number]; }
    std::size_t size() const { return addresses_.size(); }
    std::size_t octets() const {
        return slots_.capacity() * sizeof(std::uint32_t) + addresses_.capacity() * sizeof(Address);
    }

private:
    std::uint32_t add(const Address& address, std::size_t slot) {
        if (addresses_.size() >= limit_) return none;
        const auto index = static_cast<std::uint32_t>(addresses_.size());
        addresses_.push_back(address);
        slots_[slot] = index;
        if (addresses_.size() * 2 > slots_.size()) grow();
        return index;
    }
    void grow() {
        slots_.assign(slots_.size() * 2, none);
        const std::size_t mask = slots_.size() - 1;
        for (std::uint32_t index = 0; index < addresses_.size(); ++index) {
            std::size_t i = hash_of(addresses_[index]) >> 20 & mask;
            while (slots_[i] != none) i = (i + 1) & mask;
            slots_[i] = index;
        }
    }

    std::size_t limit_;
    std::vector<std::uint32_t> slots_;
    std::vector<Address> addresses_;
};

}  // namespace metrics::measure::hosts
