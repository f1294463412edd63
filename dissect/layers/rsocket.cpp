#include "wire/rsocket.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"

// Wireshark has no fields for rsockets: the names are the house's own.
namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::Kind;

constexpr wire::FieldInfo connect_fields[] = {
    {"rdma.rsocket.version", "Version", 0, 8, Kind::uint8},
    {"rdma.rsocket.flags", "Flags", 8, 8, Kind::uint8, Base::hex},
    {"rdma.rsocket.credits", "Credits", 16, 16, Kind::uint16},
    {"rdma.rsocket.io_map", "Ranges of mapped memory", 56, 8, Kind::uint8},
    {"rdma.rsocket.grants.address", "Grants go to", 64, 64, Kind::uint64, Base::hex},
    {"rdma.rsocket.grants.key", "Key of the grants", 128, 32, Kind::uint32, Base::hex},
    {"rdma.rsocket.grants.count", "Places for grants", 160, 32, Kind::uint32},
    {"rdma.rsocket.buffer.address", "Buffer", 192, 64, Kind::uint64, Base::hex},
    {"rdma.rsocket.buffer.key", "Key of the buffer", 256, 32, Kind::uint32, Base::hex},
    {"rdma.rsocket.buffer.length", "Length of the buffer", 288, 32, Kind::uint32},
};

LayerId parse_rsocket_connect_layer(Context& context) {
    context.take(LayerId::rsocket_connect, wire::rsocket_connect_bytes);
    return LayerId::none;
}

constexpr wire::FieldInfo message_fields[] = {
    {"rdma.rsocket.operation", "Operation", 0, 3, Kind::uint8, Base::dec, false, wire::rsocket_operations},
    {"rdma.rsocket.value", "Value", 3, 29, Kind::uint32},
};
constexpr wire::FieldInfo message_computed[] = {
    floating("rdma.rsocket.control", "Control", Kind::uint32, Base::dec, wire::rsocket_controls),
};

void describe_rsocket_message(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const wire::FieldInfo& info : message_fields) tree.field(info);
    if (tree.size() < wire::rsocket_message_bytes) return;
    const wire::RsocketMessage message = wire::parse_rsocket(base::load_be32(tree.at(0)));
    if (message.operation == static_cast<std::uint8_t>(wire::RsocketOperation::control))
        tree.number(message_computed[0], message.value, 0, 4);
}

LayerId parse_rsocket_message(Context& context) {
    context.take(LayerId::rsocket_message, wire::rsocket_message_bytes);
    return LayerId::none;
}

constexpr wire::FieldInfo datagram_fields[] = {
    {"rdma.rsocket.datagram.version", "Version of IP", 0, 8, Kind::uint8},
    {"rdma.rsocket.datagram.header_length", "Length of the header", 8, 8, Kind::uint8},
    {"rdma.rsocket.datagram.port", "Source port", 16, 16, Kind::uint16},
    {"rdma.rsocket.datagram.address", "Source address", 32, 32, Kind::ipv4},
    {"rdma.rsocket.datagram.flow", "Flow", 32, 32, Kind::uint32, Base::hex},
    {"rdma.rsocket.datagram.address6", "Source address", 64, 128, Kind::ipv6},
};

void describe_rsocket_datagram(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (unsigned i = 0; i < 3; ++i) tree.field(datagram_fields[i]);
    constexpr std::uint32_t of_ipv4 = 8;
    if (tree.size() == of_ipv4) return tree.field(datagram_fields[3]);
    tree.field(datagram_fields[4]);
    tree.field(datagram_fields[5]);
}

LayerId parse_rsocket_datagram(Context& context) {
    const std::uint32_t size =
        wire::rsocket_datagram_bytes(context.bytes().subspan(context.offset, context.available()));
    if (size == 0) return context.stop_short(LayerId::rsocket_datagram, 8);
    context.take(LayerId::rsocket_datagram, size);
    return LayerId::none;
}

}  // namespace

constinit const LayerRow rsocket_connect_layer{"rsocket_connect", &protocol::rsocket, {}, parse_rsocket_connect_layer,
                                               nullptr,           connect_fields};
constinit const LayerRow rsocket_message_layer{
    "rsocket",      &protocol::rsocket, {}, parse_rsocket_message, describe_rsocket_message,
    message_fields, message_computed};
constinit const LayerRow rsocket_datagram_layer{"rsocket_datagram",     &protocol::rsocket,        {},
                                                parse_rsocket_datagram, describe_rsocket_datagram, datagram_fields};

}  // namespace dissect::layers
