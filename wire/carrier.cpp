#include "wire/carrier.h"

#include <algorithm>
#include <vector>

#include "base/quantities.h"
#include "base/text_format.h"
#include "wire/ether_type.h"
#include "wire/field.h"
#include "wire/ip_protocol.h"

namespace wire {

namespace {

/// Registered numbers that a reader may know better by name. What rdmascope reads has no place here, except
/// protocols that it reads in part.
constexpr ValueName unread_ether_types[] = {
    {0x22e5, "Gigamon"},
    {0x22f3, "TRILL"},
    {0x4305, "B.A.T.M.A.N."},
    {0x88e7, "802.1ah"},
    {0x892f, "HSR"},
    {0x8903, "FabricPath"},
    {ether_type::macsec, "MACsec, encrypted"},
    {ether_type::nsh, "NSH of another version"},
    {ether_type::avsp, "Arista, another format"},
    {0xf1c1, "802.1CB"},
};

constexpr ValueName unread_ip_protocols[] = {
    {ip_protocol::gre, "GRE of another version"},
    {ip_protocol::esp, "ESP, encrypted"},
    {97, "EtherIP"},
    {108, "IPComp, compressed"},
    {115, "L2TP"},
};

constexpr ValueName unread_udp_ports[] = {
    {1701, "L2TP"},
    {2152, "GTP"},
    {4341, "LISP"},
    {4500, "IPsec, encrypted"},
    {4755, "GRE in DTLS, encrypted"},
    {4793, "UET, Ultra Ethernet"},
    {5247, "CAPWAP"},
    {6080, "GUE"},
    {6343, "sFlow"},
    {6636, "MPLS in DTLS, encrypted"},
    {8472, "OTV or another VXLAN"},
    {37008, "TZSP"},
    {48879, "iVXLAN"},
    {51820, "WireGuard, encrypted"},
};

constexpr ValueName unread_ppp_protocols[] = {
    {0x0031, "bridged frames"},
    {0x003d, "multilink"},
    {0x0053, "encrypted"},
    {0x00fd, "compressed"},
};

std::string numbered(std::string_view registry, std::uint16_t number, bool hexadecimal,
                     std::span<const ValueName> known) {
    std::string text(registry);
    text += ' ';
    if (hexadecimal)
        base::append_hex(text, number, 4);
    else
        base::append_decimal(text, number);
    if (const std::string_view name = name_of(known, number); !name.empty()) ((text += " (") += name) += ')';
    return text;
}

}  // namespace

std::string text_of(Carrier carrier) {
    const std::uint16_t number = carrier.number;
    switch (carrier.kind) {
        case CarrierKind::none: break;
        case CarrierKind::ether_type: return numbered("EtherType", number, true, unread_ether_types);
        case CarrierKind::macsec: return "EtherType 0x88e5 (MACsec of another cipher suite)";
        case CarrierKind::ip_protocol: return numbered("IP protocol", number, false, unread_ip_protocols);
        case CarrierKind::udp_port: return numbered("UDP port", number, false, unread_udp_ports);
        case CarrierKind::link_type: return numbered("link type", number, false, {});
        case CarrierKind::mpls: return "MPLS with neither IP nor Ethernet inside";
        case CarrierKind::ppp_protocol: return numbered("PPP protocol", number, true, unread_ppp_protocols);
        case CarrierKind::nsh_protocol: return numbered("NSH next protocol", number, false, {});
        case CarrierKind::vxlan_gpe_protocol: return numbered("VXLAN-GPE next protocol", number, false, {});
        case CarrierKind::erf_type: return numbered("ERF type", number, false, {});
        case CarrierKind::nflog_family: return numbered("NFLOG family", number, false, {});
    }
    return {};
}

bool is_ordinary_ether_type(std::uint16_t type) {
    switch (type) {
        case ether_type::arp:
        case ether_type::lldp:
        case ether_type::mac_control:
        case 0x0842:  // Wake-on-LAN
        case 0x22ea:  // stream reservation
        case 0x22f0:  // audio and video transport
        case 0x22f4:  // IS-IS
        case 0x8035:  // RARP
        case 0x809b:  // AppleTalk
        case 0x80f3:  // AppleTalk's ARP
        case 0x8137:  // IPX
        case 0x8809:  // LACP and other slow protocols
        case 0x8863:  // PPPoE, discovery stage
        case 0x886f:  // NLB's heartbeat
        case 0x888e:  // 802.1X
        case 0x8892:  // PROFINET
        case 0x8899:  // Realtek's loop detection
        case 0x88a2:  // ATA over Ethernet
        case 0x88a4:  // EtherCAT
        case 0x88c7:  // 802.11's pre-authentication
        case 0x88d9:  // link layer topology discovery
        case 0x88e1:  // HomePlug
        case 0x88e3:  // media redundancy
        case 0x88f5:  // registration of VLANs
        case 0x88f6:  // registration of multicast addresses
        case 0x88f7:  // PTP
        case 0x88fb:  // PRP's supervision
        case 0x8902:  // connectivity fault management
        case 0x8906:  // FCoE
        case 0x890d:  // 802.11's direct links
        case 0x8914:  // FCoE's initialisation
        case 0x893a:  // 1905.1
        case 0x9000:  // loopback test
            return true;
        default: return false;
    }
}

bool is_ordinary_ip_protocol(std::uint8_t protocol) {
    switch (protocol) {
        case ip_protocol::icmp:
        case ip_protocol::igmp:
        case ip_protocol::tcp:
        case ip_protocol::udp:
        case ip_protocol::icmpv6:
        case ip_protocol::no_next:
        case 3:    // GGP
        case 8:    // EGP
        case 9:    // interior gateway protocols
        case 33:   // DCCP
        case 46:   // RSVP
        case 54:   // NHRP
        case 88:   // EIGRP
        case 89:   // OSPF
        case 103:  // PIM
        case 112:  // VRRP
        case 113:  // PGM
        case 124:  // IS-IS
        case 132:  // SCTP
        case 135:  // mobility
        case 136:  // UDP-Lite
        case 139:  // HIP
        case 140:  // Shim6
            return true;
        default: return false;
    }
}

void CarrierCounts::add(Carrier carrier, std::uint64_t frames) {
    if (frames == 0) return;
    const auto end = rows_.begin() + size_;
    const auto place =
        std::lower_bound(rows_.begin(), end, carrier, [](const Row& row, Carrier other) { return row.carrier < other; });
    if (place != end && place->carrier == carrier) {
        place->frames += frames;
    } else if (size_ < most_rows) {
        std::move_backward(place, end, end + 1);
        *place = {carrier, frames};
        ++size_;
    } else {
        others_ += frames;
    }
}

void CarrierCounts::add(const CarrierCounts& more) {
    for (const Row& row : more.rows()) add(row.carrier, row.frames);
    others_ += more.others_;
}

void CarrierCounts::subtract(const CarrierCounts& earlier) {
    CarrierCounts rest;
    for (const Row& row : rows()) {
        std::uint64_t before = 0;
        for (const Row& former : earlier.rows())
            if (former.carrier == row.carrier) before = former.frames;
        rest.add(row.carrier, row.frames - std::min(before, row.frames));
    }
    rest.others_ = others_ - std::min(earlier.others_, others_);
    *this = rest;
}

std::uint64_t CarrierCounts::frames() const {
    std::uint64_t sum = others_;
    for (const Row& row : rows()) sum += row.frames;
    return sum;
}

bool CarrierCounts::operator==(const CarrierCounts& other) const {
    return others_ == other.others_ && std::ranges::equal(rows(), other.rows());
}

std::string list_text(const CarrierCounts& counts) {
    std::vector<CarrierCounts::Row> rows(counts.rows().begin(), counts.rows().end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.frames > b.frames; });
    std::string text;
    for (const CarrierCounts::Row& row : rows) {
        text += text.empty() ? base::format_counted(row.frames, "frame") : ", " + base::group_digits(row.frames);
        text += " of " + text_of(row.carrier);
    }
    if (counts.others() != 0)
        text += text.empty() ? base::format_counted(counts.others(), "frame") + " of other carriers"
                             : ", " + base::group_digits(counts.others()) + " of other carriers";
    return text;
}

std::string text_of(const CarrierCounts& counts) {
    if (counts.empty()) return {};
    return list_text(counts) + (counts.frames() == 1 ? " was not looked into" : " were not looked into");
}

}  // namespace wire
