#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/hash.h"
#include "wire/transport.h"

namespace metrics::inline figures {

/// An IPv4, IPv6 or GID address, or a LID: always 16 bytes, the unused ones zero.
struct Address {
    std::array<std::uint8_t, 16> octets{};
    wire::AddressFamily family = wire::AddressFamily::none;

    auto operator<=>(const Address&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0
};

/// Both are addresses of one machine: equal, or of 127.0.0.0/8. RFC 1122, 3.2.1.3.
constexpr bool is_one_machine(const Address& one, const Address& other) {
    constexpr std::uint8_t loopback = 127;
    if (one.family == wire::AddressFamily::none || one.family != other.family) return false;
    return one.octets == other.octets ||
           (one.family == wire::AddressFamily::ipv4 && one.octets[0] == loopback && other.octets[0] == loopback);
}

/// Combines an address with a hash.
inline std::uint64_t mix(std::uint64_t hash, const Address& address) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), address.octets.data(), sizeof words);
    hash = base::mix(hash, words[0]);
    return base::mix(hash, words[1] ^ static_cast<std::uint64_t>(address.family) << 56);
}

/// The address that begins at `offset` of `bytes`; AddressFamily::none if the snap length cut it.
Address address_at(wire::AddressFamily family, std::uint32_t offset, base::Bytes bytes);

/// "192.0.2.1", "2001:db8::1", "lid 17", a GID as IPv6; "?" for AddressFamily::none.
std::string to_text(const Address& address);
/// A MAC address: "02:00:00:00:00:02".
std::string to_text(const std::array<std::uint8_t, 6>& mac);

}  // namespace metrics::figures
