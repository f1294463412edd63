#include "wire/rds.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"

// Wireshark has no fields for RDS: the names are the house's own.
namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::Kind;
using wire::RdsExtension;

constexpr wire::FieldInfo rds_fields[] = {
    {"rdma.rds.sequence", "Sequence", 0, 64, Kind::uint64},
    {"rdma.rds.ack", "Acknowledged up to", 64, 64, Kind::uint64},
    {"rdma.rds.length", "Length of the datagram", 128, 32, Kind::uint32},
    {"rdma.rds.source_port", "Source port", 160, 16, Kind::uint16},
    {"rdma.rds.destination_port", "Destination port", 176, 16, Kind::uint16},
    {"rdma.rds.flags", "Flags", 192, 8, Kind::uint8, Base::hex},
    {"rdma.rds.flags.extended", "Extended", 194, 1, Kind::boolean},
    {"rdma.rds.flags.pong", "Answer to a sign of life", 195, 1, Kind::boolean},
    {"rdma.rds.flags.ping", "Sign of life", 196, 1, Kind::boolean},
    {"rdma.rds.flags.retransmitted", "Retransmitted", 197, 1, Kind::boolean},
    {"rdma.rds.flags.ack_required", "Acknowledgement required", 198, 1, Kind::boolean},
    {"rdma.rds.flags.congestion_map", "Congestion map", 199, 1, Kind::boolean},
    {"rdma.rds.credits", "Credits", 200, 8, Kind::uint8},
    {"rdma.rds.checksum", "Checksum", 240, 16, Kind::uint16, Base::hex},
};
constexpr wire::FieldInfo rds_computed[] = {
    floating("rdma.rds.extension", "Extension", Kind::uint8, Base::dec, wire::rds_extension_names),
    floating("rdma.rds.rdma.key", "Key", Kind::uint32, Base::hex),
    floating("rdma.rds.rdma.offset", "Offset", Kind::uint32),
    floating("rdma.rds.rdma.bytes", "Bytes", Kind::uint32),
    floating("rdma.rds.version", "Version", Kind::uint32, Base::hex),
    floating("rdma.rds.paths", "Paths", Kind::uint16),
    floating("rdma.rds.generation", "Generation", Kind::uint32),
};

#define RDS(name) pick(rds_computed, name)

void describe_extension(const Tree& tree, std::uint8_t type, std::uint32_t at) {
    const auto word = [&](const wire::FieldInfo& info, std::uint32_t plus) {
        tree.number(info, base::load_be32(tree.at(at + plus)), at + plus, 4);
    };
    switch (static_cast<RdsExtension>(type)) {
        case RdsExtension::version: return word(RDS("rdma.rds.version"), 0);
        case RdsExtension::rdma: return word(RDS("rdma.rds.rdma.key"), 0);
        case RdsExtension::rdma_destination:
            word(RDS("rdma.rds.rdma.key"), 0);
            return word(RDS("rdma.rds.rdma.offset"), 4);
        case RdsExtension::rdma_bytes: return word(RDS("rdma.rds.rdma.bytes"), 0);
        case RdsExtension::paths: return tree.number(RDS("rdma.rds.paths"), base::load_be16(tree.at(at)), at, 2);
        case RdsExtension::generation: return word(RDS("rdma.rds.generation"), 0);
        case RdsExtension::none: return;
    }
}

void describe_extensions(const Tree& tree) {
    for (std::uint32_t at = wire::rds_extensions_at; at < wire::rds_header_bytes;) {
        const std::uint8_t type = base::load_u8(tree.at(at));
        const std::uint32_t size = wire::rds_extension_bytes(type);
        if (size == 0 || at + 1 + size > wire::rds_header_bytes) return;
        tree.open_number(RDS("rdma.rds.extension"), type, at, 1 + size);
        describe_extension(tree, type, at + 1);
        tree.close();
        at += 1 + size;
    }
}

void describe_rds(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const wire::FieldInfo& info : rds_fields) {
        const bool is_bit = info.kind == Kind::boolean;
        if (!is_bit && info.name == std::string_view{"rdma.rds.flags"}) {
            tree.open(info);
            continue;
        }
        tree.field(info);
        if (info.name == std::string_view{"rdma.rds.flags.congestion_map"}) tree.close();
    }
    if (tree.size() < wire::rds_header_bytes) return;
    describe_extensions(tree);
}

#undef RDS

LayerId parse_rds_layer(Context& context) {
    const std::uint32_t captured = context.available();
    if (captured < wire::rds_header_bytes) {
        if (captured != 0) context.record(LayerId::rds, context.offset, captured, wire::rds_header_bytes);
        return context.stop_short(LayerId::rds, wire::rds_header_bytes);
    }
    context.take(LayerId::rds, wire::rds_header_bytes);
    return LayerId::none;
}

// Private data of REQ and REP with addresses of IPv4, and with those of IPv6.
constexpr wire::FieldInfo rds_connect_fields[] = {
    {"rdma.rds.connect.source", "Source", 0, 32, Kind::ipv4},
    {"rdma.rds.connect.destination", "Destination", 32, 32, Kind::ipv4},
    {"rdma.rds.connect.source6", "Source", 0, 128, Kind::ipv6},
    {"rdma.rds.connect.destination6", "Destination", 128, 128, Kind::ipv6},
};
constexpr wire::FieldInfo rds_connect_computed[] = {
    floating("rdma.rds.connect.major", "Major version", Kind::uint8),
    floating("rdma.rds.connect.minor", "Minor version", Kind::uint8),
    floating("rdma.rds.connect.minors", "Minor versions, as bits", Kind::uint16, Base::hex),
    floating("rdma.rds.connect.ack", "Acknowledged up to", Kind::uint64),
    floating("rdma.rds.connect.credits", "Credits", Kind::uint32),
};

void describe_rds_connect(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    const std::uint32_t at = wire::rds_version_at(tree.octets());
    if (at == 0) return;
    const unsigned first = at == 8 ? 0 : 2;
    tree.field(rds_connect_fields[first]);
    tree.field(rds_connect_fields[first + 1]);
    tree.number(rds_connect_computed[0], base::load_u8(tree.at(at)), at, 1);
    tree.number(rds_connect_computed[1], base::load_u8(tree.at(at + 1)), at + 1, 1);
    tree.number(rds_connect_computed[2], base::load_be16(tree.at(at + 2)), at + 2, 2);
    tree.number(rds_connect_computed[3], base::load_be64(tree.at(at + 8)), at + 8, 8);
    tree.number(rds_connect_computed[4], base::load_be32(tree.at(at + 16)), at + 16, 4);
}

LayerId parse_rds_connect(Context& context) {
    const std::uint32_t captured = context.available();
    const std::uint32_t at = wire::rds_version_at(context.bytes().subspan(context.offset, captured));
    if (at == 0) return context.stop_short(LayerId::rds_connect, 8 + wire::rds_connect_bytes);
    context.take(LayerId::rds_connect, at + wire::rds_connect_bytes);
    return LayerId::none;
}

}  // namespace

constinit const LayerRow rds_layer{"rds", &protocol::rds, {}, parse_rds_layer, describe_rds, rds_fields, rds_computed};
constinit const LayerRow rds_connect_layer{"rds_connect",       &protocol::rds,       {},
                                           parse_rds_connect,   describe_rds_connect, rds_connect_fields,
                                           rds_connect_computed};

}  // namespace dissect::layers
