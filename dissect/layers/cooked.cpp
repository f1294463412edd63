#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"
#include "wire/linux_cooked.h"

namespace dissect::inline layers {

namespace {

using wire::Base;
using wire::Kind;
using wire::LinuxCooked;
using wire::LinuxCooked2;

LayerId after_cooked_protocol(Context& context, std::uint16_t hardware, std::uint16_t protocol) {
    if (hardware == wire::hardware_type::gre)
        return LayerId::none;  // the protocol is GRE's, and RDMA never bare below it
    if (protocol == wire::linux_802_2) return LayerId::llc;
    return protocol < wire::ether_type::first_type ? LayerId::none : after_ether_type(context, protocol);
}

LayerId parse_sll(Context& context) {
    const std::byte* p = context.take(LayerId::linux_sll, octets_of<LinuxCooked>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<LinuxCooked>::unchecked(p);
    return after_cooked_protocol(context, header.get<&LinuxCooked::hardware_type>(),
                                 header.get<&LinuxCooked::protocol>());
}

LayerId parse_sll2(Context& context) {
    const std::byte* p = context.take(LayerId::linux_sll2, octets_of<LinuxCooked2>);
    if (p == nullptr) return LayerId::none;
    const auto header = wire::View<LinuxCooked2>::unchecked(p);
    return after_cooked_protocol(context, header.get<&LinuxCooked2::hardware_type>(),
                                 header.get<&LinuxCooked2::protocol>());
}

constexpr wire::FieldInfo cooked_computed[] = {
    floating("sll.src.eth", "Source", Kind::ether),
    floating("sll.src.ipv4", "Source", Kind::ipv4),
    floating("sll.unused", "Unused", Kind::bytes),
    floating("sll.ltype", "Protocol", Kind::uint16, Base::hex),
    floating("sll.gretype", "Protocol", Kind::uint16, Base::hex),
};

/// The eight bytes kept of the sender's address, the first `length` are its own.
void describe_cooked_address(const Tree& tree, std::uint32_t first, std::uint32_t length,
                             const wire::FieldInfo& other) {
    const std::uint32_t used = std::min(length, 8u);
    if (used == 6)
        tree.octets(pick(cooked_computed, "sll.src.eth"), first, used);
    else if (used == 4)
        tree.octets(pick(cooked_computed, "sll.src.ipv4"), first, used);
    else if (used != 0)
        tree.octets(other, first, used);
    if (used != 8) tree.octets(pick(cooked_computed, "sll.unused"), first + used, 8 - used);
}

void describe_protocol(const Tree& tree, std::uint32_t first, std::uint16_t hardware,
                       const wire::FieldInfo& ether_type) {
    const std::uint16_t protocol = base::load_be16(tree.at(first));
    if (hardware == wire::hardware_type::gre)
        tree.number(pick(cooked_computed, "sll.gretype"), protocol, first, 2);
    else if (protocol < wire::ether_type::first_type)
        tree.number(pick(cooked_computed, "sll.ltype"), protocol, first, 2);
    else
        tree.field(ether_type);
}

void describe_sll(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    tree.fields<&LinuxCooked::packet_type, &LinuxCooked::hardware_type, &LinuxCooked::address_length>();
    describe_cooked_address(tree, 6, base::load_be16(tree.at(4)), info_of<&LinuxCooked::address>());
    describe_protocol(tree, 14, base::load_be16(tree.at(2)), info_of<&LinuxCooked::protocol>());
}

void describe_sll2(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    describe_protocol(tree, 0, base::load_be16(tree.at(8)), info_of<&LinuxCooked2::protocol>());
    tree.fields<&LinuxCooked2::interface, &LinuxCooked2::hardware_type, &LinuxCooked2::packet_type,
                &LinuxCooked2::address_length>();
    describe_cooked_address(tree, 12, base::load_u8(tree.at(11)), info_of<&LinuxCooked2::address>());
}

}  // namespace

constinit const LayerRow linux_sll_layer{
    "sll", &protocol::cooked, {}, parse_sll, describe_sll, wire::field_table<LinuxCooked>, cooked_computed};
constinit const LayerRow linux_sll2_layer{
    "sll", &protocol::cooked, {}, parse_sll2, describe_sll2, wire::field_table<LinuxCooked2>, cooked_computed};

}  // namespace dissect::layers
