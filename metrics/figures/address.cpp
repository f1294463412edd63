#include "metrics/figures/address.h"

#include "base/text_format.h"

namespace metrics::inline figures {
using Family = wire::AddressFamily;

Address address_at(wire::AddressFamily family, std::uint32_t offset, base::Bytes bytes) {
    Address address;
    const std::uint32_t length = wire::address_length(family);
    if (length == 0 || bytes.size() < length || offset > bytes.size() - length) return address;
    const std::byte* from = bytes.data() + offset;
    address.family = family;
    // Constant lengths become one or two moves.
    switch (length) {
        case 2: std::memcpy(address.octets.data(), from, 2); break;
        case 4: std::memcpy(address.octets.data(), from, 4); break;
        default: std::memcpy(address.octets.data(), from, 16); break;
    }
    return address;
}

std::string to_text(const Address& address) {
    std::string text;
    const base::Bytes octets = std::as_bytes(std::span(address.octets));
    switch (address.family) {
        case Family::none: text.push_back('?'); break;
        case Family::lid:
            text.append("lid ");
            base::append_decimal(text, base::load_be16(octets.data()));
            break;
        case Family::ipv4: base::append_ipv4(text, octets.first(4)); break;
        case Family::ipv6:
        case Family::gid: base::append_ipv6(text, octets); break;
    }
    return text;
}

std::string to_text(const std::array<std::uint8_t, 6>& mac) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t octet : mac) {
        if (!text.empty()) text.push_back(':');
        text.push_back(digits[octet >> 4]);
        text.push_back(digits[octet & 15]);
    }
    return text;
}

}  // namespace metrics::figures
