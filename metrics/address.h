#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/hash.h"
#include "dissect/dissection.h"

namespace metrics {

/// An IPv4, IPv6 or GID address, or a LID: 16 octets whatever it is, the unused ones zero.
struct Address {
    std::array<std::uint8_t, 16> octets{};
    dissect::Network::Family family = dissect::Network::Family::none;

    auto operator<=>(const Address&) const = default;
};

/// Takes an address into a hash.
inline std::uint64_t mix(std::uint64_t hash, const Address& address) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), address.octets.data(), sizeof words);
    hash = base::mix(hash, words[0]);
    return base::mix(hash, words[1] ^ static_cast<std::uint64_t>(address.family) << 56);
}

/// Of a dissection whose described bytes are `bytes`. Addresses that the snap length cut are Family::none.
Address source_address(const dissect::Dissection& dissection, wire::Bytes bytes);
Address destination_address(const dissect::Dissection& dissection, wire::Bytes bytes);

/// "192.0.2.1", "2001:db8::1", "lid 17", a GID as IPv6; "?" for Family::none.
std::string to_text(const Address& address);

}  // namespace metrics
