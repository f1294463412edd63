#include "wire/ethernet.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/llc.h"
#include "wire/vlan.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;

LayerId parse_ethernet(Context& context) {
    const std::byte* p = context.take(LayerId::ethernet, octets_of<wire::Ethernet>);
    if (p == nullptr) return LayerId::none;
    const auto type = wire::View<wire::Ethernet>::unchecked(p).get<&wire::Ethernet::type>();
    return next_or_last(context, after_type_or_length(context, type, LayerId::ethernet), LayerId::ethernet);
}

constexpr wire::FieldInfo ethernet_computed[] = {
    hidden(floating("eth.addr", "Address", Kind::ether)),
    hidden({"eth.dst.oui", "Destination OUI", 0, 24, Kind::uint24}),
    hidden({"eth.src.oui", "Source OUI", 48, 24, Kind::uint24}),
    hidden(floating("eth.addr.oui", "Address OUI", Kind::uint24)),
    {"eth.dst.lg", "Locally administered", 6, 1, Kind::boolean},
    {"eth.dst.ig", "Group address", 7, 1, Kind::boolean},
    {"eth.src.lg", "Locally administered", 54, 1, Kind::boolean},
    {"eth.src.ig", "Group address", 55, 1, Kind::boolean},
    hidden(floating("eth.lg", "Locally administered", Kind::boolean)),
    hidden(floating("eth.ig", "Group address", Kind::boolean)),
    floating("eth.len", "Length", Kind::uint16),
    floating("eth.padding", "Padding", Kind::bytes),
    floating("eth.trailer", "Trailer", Kind::bytes),
    floating("eth.fcs", "Frame check sequence", Kind::uint32, Base::hex),
    floating("eth.fcs.status", "FCS status", Kind::uint8),
};

void describe_ethernet_address(const Tree& tree, const wire::FieldInfo& address, const wire::FieldInfo& oui,
                               const wire::FieldInfo& local, const wire::FieldInfo& group, std::uint32_t first) {
    const std::uint8_t leading = base::load_u8(tree.at(first));
    tree.open(address);
    tree.field(oui);
    tree.octets(pick(ethernet_computed, "eth.addr"), first, 6);
    tree.number(pick(ethernet_computed, "eth.addr.oui"), base::load_be24(tree.at(first)), first, 3);
    tree.field(local);
    tree.number(pick(ethernet_computed, "eth.lg"), leading >> 1 & 1, first, 1);
    tree.field(group);
    tree.number(pick(ethernet_computed, "eth.ig"), leading & 1, first, 1);
    tree.close();
}

/// Where the packet inside the frame ends, as its own length field says; 0 if absent.
std::uint32_t end_of_payload(const LayerView& view, std::uint16_t type) {
    if (type < wire::ether_type::first_type) return view.layer.offset + view.layer.length + type;
    const LayerRef* inner = view.dissection.layers.data() + view.layer.depth + 1;
    const LayerRef* const end = view.dissection.layers.data() + view.dissection.layer_count;
    while (inner != end && inner->id == LayerId::vlan) ++inner;
    if (inner == end) return type == wire::ether_type::arp ? view.layer.offset + view.layer.length + 28 : 0;
    const std::byte* p = view.bytes.data() + inner->offset;
    std::uint32_t length = 0;
    if (inner->id == LayerId::ipv4) length = wire::View<wire::Ipv4>::unchecked(p).get<&wire::Ipv4::total_length>();
    if (inner->id == LayerId::ipv6) length = wire::View<wire::Ipv6>::unchecked(p).get<&wire::Ipv6::payload_length>();
    if (length == 0) return 0;
    return inner->offset + length + (inner->id == LayerId::ipv6 ? octets_of<wire::Ipv6> : 0);
}

/// Padding up to the shortest frame, then what somebody appended; the last four bytes are the check sequence where
/// the frame is long enough to have one (a guess that Wireshark makes too).
void describe_trailer(const LayerView& view, const Tree& frame, std::uint32_t payload_end) {
    std::uint32_t at = payload_end;
    std::uint32_t size = frame.size();
    if (at >= size) return;
    std::uint32_t padded = at;
    while (padded < size && padded < view.layer.offset + wire::ethernet_minimum && *frame.at(padded) == std::byte{0})
        ++padded;
    if (padded != at && (padded == size || padded == view.layer.offset + wire::ethernet_minimum)) {
        frame.octets(pick(ethernet_computed, "eth.padding"), at, padded - at);
        at = padded;
    }
    const bool has_check = size - at >= 4 && size - view.layer.offset >= wire::ethernet_minimum + 4;
    if (has_check) size -= 4;
    if (size > at) frame.octets(pick(ethernet_computed, "eth.trailer"), at, size - at);
    if (!has_check) return;
    frame.number(pick(ethernet_computed, "eth.fcs"), base::load_be32(frame.at(size)), size, 4);
    frame.number(pick(ethernet_computed, "eth.fcs.status"), 2, size, 4);
}

void describe_ethernet(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    describe_ethernet_address(tree, info_of<&wire::Ethernet::destination>(), pick(ethernet_computed, "eth.dst.oui"),
                              pick(ethernet_computed, "eth.dst.lg"), pick(ethernet_computed, "eth.dst.ig"), 0);
    describe_ethernet_address(tree, info_of<&wire::Ethernet::source>(), pick(ethernet_computed, "eth.src.oui"),
                              pick(ethernet_computed, "eth.src.lg"), pick(ethernet_computed, "eth.src.ig"), 6);
    const std::uint16_t type = base::load_be16(tree.at(12));
    if (type >= wire::ether_type::first_type)
        tree.field<&wire::Ethernet::type>();
    else
        tree.number(pick(ethernet_computed, "eth.len"), type, 12, 2);
    if (view.layer.depth != 0) return;
    if (const std::uint32_t end = end_of_payload(view, type); end != 0)
        describe_trailer(view, {view.bytes, 0, visitor}, end);
}

}  // namespace

constinit const LayerRow ethernet_layer{"eth",
                                        &protocol::ethernet,
                                        {},
                                        parse_ethernet,
                                        describe_ethernet,
                                        wire::field_table<wire::Ethernet>,
                                        ethernet_computed};

namespace {

/// Variants of a VLAN layer.
constexpr std::uint8_t service_tag = 1;  ///< 802.1ad's

LayerId parse_vlan(Context& context) {
    // Whatever leads here ends with the tag protocol identifier, except SLL2, which Linux gives no S-TAGs to.
    const bool is_service_tag =
        context.offset >= 2 && base::load_be16(context.at(context.offset - 2)) == wire::ether_type::qinq;
    const std::byte* p = context.take(LayerId::vlan, octets_of<wire::Vlan>);
    if (p == nullptr) return LayerId::none;
    if (is_service_tag) context.out.layers[context.out.layer_count - 1u].variant = service_tag;
    const auto type = wire::View<wire::Vlan>::unchecked(p).get<&wire::Vlan::type>();
    return next_or_last(context, after_type_or_length(context, type, LayerId::vlan), LayerId::vlan);
}

constexpr wire::FieldInfo vlan_computed[] = {
    floating("vlan.len", "Length", Kind::uint16),
    hidden({"ieee8021ad.priority", "Priority", 0, 3, Kind::uint16}),
    hidden({"ieee8021ad.dei", "Drop eligible", 3, 1, Kind::uint16}),
    hidden({"ieee8021ad.id", "VLAN identifier", 4, 12, Kind::uint16}),
};

void describe_vlan(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    if (view.layer.variant == service_tag) {
        tree.field(pick(vlan_computed, "ieee8021ad.priority"));
        tree.field(pick(vlan_computed, "ieee8021ad.dei"));
        tree.field(pick(vlan_computed, "ieee8021ad.id"));
    }
    tree.fields<&wire::Vlan::priority, &wire::Vlan::drop_eligible, &wire::Vlan::id>();
    const std::uint16_t type = base::load_be16(tree.at(2));
    if (type >= wire::ether_type::first_type)
        tree.field<&wire::Vlan::type>();
    else
        tree.number(pick(vlan_computed, "vlan.len"), type, 2, 2);
}

}  // namespace

constinit const LayerRow vlan_layer{
    "vlan", &protocol::vlan, {}, parse_vlan, describe_vlan, wire::field_table<wire::Vlan>, vlan_computed};

namespace {

/// Bytes of an LLC header, SNAP's with them, as far as they can be seen.
std::uint32_t llc_size(const std::byte* p) {
    if (!wire::is_unnumbered(base::load_u8(p + 2))) return octets_of<wire::Llc> + 1;
    const bool snap = base::load_u8(p) == wire::snap_access_point && base::load_u8(p + 1) == wire::snap_access_point &&
                      base::load_u8(p + 2) == wire::unnumbered_information;
    return octets_of<wire::Llc> + (snap ? octets_of<wire::Snap> : 0);
}

LayerId parse_llc(Context& context) {
    if (context.available() < octets_of<wire::Llc>) return context.stop_short(LayerId::llc, octets_of<wire::Llc>);
    const std::uint32_t size = llc_size(context.at(context.offset));
    const std::byte* p = context.take(LayerId::llc, size);
    if (p == nullptr || size != octets_of<wire::Llc> + octets_of<wire::Snap>) return LayerId::none;
    const auto snap = wire::View<wire::Snap>::unchecked(p + octets_of<wire::Llc>);
    return snap.get<&wire::Snap::oui>() == 0 ? after_ether_type(context, snap.get<&wire::Snap::protocol>())
                                             : LayerId::none;
}

constexpr wire::FieldInfo llc_computed[] = {
    {"llc.dsap.sap", "SAP", 0, 7, Kind::uint8},
    {"llc.dsap.ig", "Group", 7, 1, Kind::boolean},
    {"llc.ssap.sap", "SAP", 8, 7, Kind::uint8},
    {"llc.ssap.cr", "Response", 15, 1, Kind::boolean},
    {"llc.oui", "Organization code", 24, 24, Kind::uint24},
    {"llc.type", "Type", 48, 16, Kind::uint16, Base::hex, false, wire::ether_type::names},
    {"llc.pid", "Protocol", 48, 16, Kind::uint16, Base::hex},
};

void describe_llc(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.open(info_of<&wire::Llc::dsap>());
    tree.field(pick(llc_computed, "llc.dsap.sap"));
    tree.field(pick(llc_computed, "llc.dsap.ig"));
    tree.close();
    tree.open(info_of<&wire::Llc::ssap>());
    tree.field(pick(llc_computed, "llc.ssap.sap"));
    tree.field(pick(llc_computed, "llc.ssap.cr"));
    tree.close();
    tree.field<&wire::Llc::control>();
    if (tree.size() < octets_of<wire::Llc> + octets_of<wire::Snap>) return;
    tree.field(pick(llc_computed, "llc.oui"));
    tree.field(base::load_be24(tree.at(3)) == 0 ? pick(llc_computed, "llc.type") : pick(llc_computed, "llc.pid"));
}

}  // namespace

constinit const LayerRow llc_layer{
    "llc", &protocol::llc, {}, parse_llc, describe_llc, wire::field_table<wire::Llc>, llc_computed};

}  // namespace dissect::layers
