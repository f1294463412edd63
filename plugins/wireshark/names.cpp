// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/names.h"

#include "plugins/wireshark/compat.h"
// After compat.h.
#include <algorithm>
#include <cstring>
#include <epan/addr_resolv.h>

namespace plugins::wireshark {

std::string WiresharkNames::name(const metrics::Address& address) const {
    using Family = wire::AddressFamily;
    if (!gbl_resolv_flags.network_name || address.family == Family::none || address.family == Family::lid) return {};
    // RFC 4291, 2.5.5.2: the GID of a RoCE port that has an IPv4 address.
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const bool is_mapped = std::equal(mapped.begin(), mapped.end(), address.octets.begin());
    std::string name;
    if (address.family == Family::ipv4 || is_mapped) {
        std::uint32_t number = 0;
        std::memcpy(&number, address.octets.data() + (address.family == Family::ipv4 ? 0 : 12), sizeof number);
        name = get_hostname(number);
    } else {
        ws_in6_addr number;
        static_assert(sizeof number == sizeof address.octets);
        std::memcpy(&number, address.octets.data(), sizeof number);
        name = get_hostname6(&number);
    }
    // An address without a name is given back as it is.
    metrics::Address plain = address;
    if (is_mapped && address.family != Family::ipv4) {
        plain = {};
        plain.family = Family::ipv4;
        std::copy_n(address.octets.begin() + 12, 4, plain.octets.begin());
    }
    return name == metrics::to_text(plain) || name == metrics::to_text(address) ? std::string{} : name;
}

}  // namespace plugins::wireshark
