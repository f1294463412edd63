#include "dissect/filter/wireshark_names.h"

#include <array>
#include <span>

#include "base/ascii.h"
#include "dissect/filter/text.h"
#include "wire/field.h"

namespace dissect::filter {

namespace {

constexpr wire::ValueName dscp[] = {
    {0, "Default"},
    {1, "Lower Effort"},
    {8, "Class Selector 1"},
    {10, "Assured Forwarding 11"},
    {12, "Assured Forwarding 12"},
    {14, "Assured Forwarding 13"},
    {16, "Class Selector 2"},
    {18, "Assured Forwarding 21"},
    {20, "Assured Forwarding 22"},
    {22, "Assured Forwarding 23"},
    {24, "Class Selector 3"},
    {26, "Assured Forwarding 31"},
    {28, "Assured Forwarding 32"},
    {30, "Assured Forwarding 33"},
    {32, "Class Selector 4"},
    {34, "Assured Forwarding 41"},
    {36, "Assured Forwarding 42"},
    {38, "Assured Forwarding 43"},
    {40, "Class Selector 5"},
    {44, "Voice Admit"},
    {46, "Expedited Forwarding"},
    {48, "Class Selector 6"},
    {56, "Class Selector 7"},
};
constexpr wire::ValueName ecn[] = {
    {0, "Not ECN-Capable Transport"},
    {1, "ECN-Capable Transport codepoint '01'"},
    {2, "ECN-Capable Transport codepoint '10'"},
    {3, "Congestion Experienced"},
};
constexpr wire::ValueName ip_protocol[] = {
    {0, "IPv6 Hop-by-Hop Option"},
    {4, "IPIP"},
    {41, "IPv6"},
    {43, "Routing Header for IPv6"},
    {44, "Fragment Header for IPv6"},
    {47, "Generic Routing Encapsulation"},
    {50, "Encap Security Payload"},
    {51, "Authentication Header"},
    {59, "No Next Header for IPv6"},
    {60, "Destination Options for IPv6"},
};
constexpr wire::ValueName ether_type[] = {
    {0x8100, "802.1Q Virtual LAN"},
    {0x8847, "MPLS label switched packet"},
    {0x8848, "MPLS multicast label switched packet"},
    {0x88a8, "802.1ad Provider Bridge (Q-in-Q)"},
    {0x88cc, "802.1 Link Layer Discovery Protocol (LLDP)"},
    {0x8915, "RDMA over Converged Ethernet"},
    {0x9100, "QinQ: old non-standard 802.1ad"},
};
constexpr wire::ValueName mac_control[] = {{0x0101, "Class Based Flow Control [CBFC] Pause"}};
constexpr wire::ValueName mpls_label[] = {
    {0, "IPv4 Explicit-Null"},
    {2, "IPv6 Explicit-Null"},
    {3, "Implicit-Null"},
    {7, "Entropy Label Indicator (ELI)"},
    {13, "Generic Associated Channel Label (GAL)"},
};
constexpr wire::ValueName gre_protocol[] = {
    {0x0800, "IP"}, {0x22eb, "ERSPAN III"}, {0x8847, "MPLS label switched packet"}};
constexpr wire::ValueName llp_errors[] = {
    {1, "TCP connection closed, terminated or lost"},
    {2, "MPA CRC Error"},
    {3, "MPA Marker and ULPDU Length field mismatch"},
    {7, "No Matching RTR Option"},
};
constexpr wire::ValueName rdma_errors[] = {{0xff, "Unspecific Error"}};
constexpr wire::ValueName ddp_error_types[] = {{3, "Reserved for the use by the LLP"}};

struct Names {
    std::string_view field;
    std::span<const wire::ValueName> values;
};

// As `tshark -G values` of 4.0.17 lists them.
constexpr auto tables = std::to_array<Names>({
    {"ip.dsfield.dscp", dscp},
    {"ipv6.tclass.dscp", dscp},
    {"ip.dsfield.ecn", ecn},
    {"ipv6.tclass.ecn", ecn},
    {"ip.proto", ip_protocol},
    {"ipv6.nxt", ip_protocol},
    {"ipv6.hopopts.nxt", ip_protocol},
    {"ipv6.dstopts.nxt", ip_protocol},
    {"ipv6.routing.nxt", ip_protocol},
    {"ipv6.fraghdr.nxt", ip_protocol},
    {"ah.next_header", ip_protocol},
    {"eth.type", ether_type},
    {"vlan.etype", ether_type},
    {"sll.etype", ether_type},
    {"llc.type", ether_type},
    {"ipoib.type", ether_type},
    {"geneve.proto_type", ether_type},
    {"gre.proto", gre_protocol},
    {"macc.opcode", mac_control},
    {"mpls.label", mpls_label},
    {"iwarp_rdma.term_errcode_llp", llp_errors},
    {"iwarp_rdma.term_errcode_rdma", rdma_errors},
    {"iwarp_rdma.term_etype_ddp", ddp_error_types},
});

}  // namespace

std::optional<std::uint64_t> value_in_wireshark(std::string_view field, std::string_view name) {
    for (const auto& table : tables) {
        if (table.field != field) continue;
        for (const auto& known : table.values)
            if (base::same_word(known.text, name)) return known.value;
    }
    return std::nullopt;
}

}  // namespace dissect::filter
