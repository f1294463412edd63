#pragma once
#include "wire/layout.h"

namespace wire {

/// The SecTAG of MACsec after its EtherType, without the optional channel identifier. IEEE 802.1AE, 9.3.
struct MacSec {
    bool version{};
    bool end_station{};
    bool has_channel{};  ///< a secure channel identifier of eight octets follows
    bool single_copy_broadcast{};
    bool encrypted{};
    bool changed{};  ///< the cipher suite changes the text, or makes it longer by another amount
    std::uint8_t association{};
    std::uint8_t short_length{};  ///< octets between SecTAG and ICV; 0: 48 or more
    std::uint32_t packet_number{};
    bool operator==(const MacSec&) const = default;
};

template <>
inline constexpr auto layout_of<MacSec> = layout("macsec", "802.1AE Security tag",
    bits<&MacSec::version, 1>("macsec.TCI.V", "Version").as(Kind::uint8).hex(),
    bits<&MacSec::end_station, 1>("macsec.TCI.ES", "End station"),
    bits<&MacSec::has_channel, 1>("macsec.TCI.SC", "Secure channel identifier present"),
    bits<&MacSec::single_copy_broadcast, 1>("macsec.TCI.SCB", "Single copy broadcast"),
    bits<&MacSec::encrypted, 1>("macsec.TCI.E", "Encrypted"),
    bits<&MacSec::changed, 1>("macsec.TCI.C", "Changed text"),
    bits<&MacSec::association, 2>("macsec.AN", "Association number").hex(),
    bits<&MacSec::short_length, 8>("macsec.SL", "Short length"),
    bits<&MacSec::packet_number, 32>("macsec.PN", "Packet number"));
static_assert(size_of<MacSec> == 6);

/// Octets of the secure channel identifier: a MAC address and a port. IEEE 802.1AE, 9.9.
inline constexpr unsigned macsec_channel_size = 8;
/// Octets of the integrity check value of the cipher suites GCM-AES. IEEE 802.1AE, 14.5 and 14.6.
inline constexpr unsigned macsec_icv_size = 16;

}  // namespace wire
