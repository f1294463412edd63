#include "metrics/address.h"

#include "dissect/output/value_format.h"

namespace metrics {
namespace {
using Family = dissect::Network::Family;

Address address_at(const dissect::Network& network, std::uint32_t offset, wire::Bytes bytes) {
    Address address;
    const std::uint32_t length = network.address_length();
    if (length == 0 || bytes.size() < length || offset > bytes.size() - length) return address;
    const std::byte* from = bytes.data() + offset;
    address.family = network.family;
    // Constant lengths become one or two moves.
    switch (length) {
        case 2: std::memcpy(address.octets.data(), from, 2); break;
        case 4: std::memcpy(address.octets.data(), from, 4); break;
        default: std::memcpy(address.octets.data(), from, 16); break;
    }
    return address;
}
}  // namespace

Address source_address(const dissect::Dissection& dissection, wire::Bytes bytes) {
    return address_at(dissection.network, dissection.network.source_offset, bytes);
}

Address destination_address(const dissect::Dissection& dissection, wire::Bytes bytes) {
    return address_at(dissection.network, dissection.network.destination_offset, bytes);
}

std::string to_text(const Address& address) {
    std::string text;
    const wire::Bytes octets = std::as_bytes(std::span(address.octets));
    switch (address.family) {
        case Family::none: text.push_back('?'); break;
        case Family::lid:
            text.append("lid ");
            dissect::output::append_decimal(text, wire::load_be16(octets.data()));
            break;
        case Family::ipv4: dissect::output::append_ipv4(text, octets.first(4)); break;
        case Family::ipv6:
        case Family::gid: dissect::output::append_ipv6(text, octets); break;
    }
    return text;
}

}  // namespace metrics
