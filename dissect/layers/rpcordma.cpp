#include <optional>

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/protocols.h"
#include "wire/rpc_rdma.h"

// Names, labels and texts are Wireshark's.
namespace dissect::inline layers {
namespace {

using wire::Base;
using wire::Kind;
using wire::RpcRdmaSegment;

constexpr wire::FieldInfo rpcordma_fields[] = {
    {"rpcordma.xid", "XID", 0, 32, Kind::uint32, Base::hex},
    {"rpcordma.version", "Version", 32, 32, Kind::uint32},
    {"rpcordma.flow_control", "Flow Control", 64, 32, Kind::uint32},
    {"rpcordma.msg_type", "Message Type", 96, 32, Kind::uint32, Base::dec, false, wire::rpc_rdma_types},
};
constexpr wire::FieldInfo rpcordma_computed[] = {
    floating("rpcordma.rdma_align", "RDMA align", Kind::uint32),
    floating("rpcordma.rdma_thresh", "RDMA threshold", Kind::uint32),
    floating("rpcordma.errcode", "Error code", Kind::uint32, Base::dec, wire::rpc_rdma_errors),
    floating("rpcordma.vers_low", "Version low", Kind::uint32),
    floating("rpcordma.vers_high", "Version high", Kind::uint32),
    floating("rpcordma.reads_count", "Read list", Kind::uint32),
    floating("rpcordma.writes_count", "Write list", Kind::uint32),
    floating("rpcordma.reply_count", "Reply list", Kind::uint32),
    floating("rpcordma.segment_count", "Write chunk segment count", Kind::uint32),
    floating("rpcordma.position", "Position in XDR", Kind::uint32),
    floating("rpcordma.rdma_handle", "RDMA handle", Kind::uint32, Base::hex),
    floating("rpcordma.rdma_length", "RDMA length", Kind::uint32),
    floating("rpcordma.rdma_offset", "RDMA offset", Kind::uint64, Base::hex),
    floating("rdma.rpcordma.segment", "RDMA segment", Kind::uint32),
};
constexpr const wire::FieldInfo& list_heading(RpcRdmaSegment::List list) {
    switch (list) {
        case RpcRdmaSegment::List::read: return pick(rpcordma_computed, "rpcordma.reads_count");
        case RpcRdmaSegment::List::write: return pick(rpcordma_computed, "rpcordma.writes_count");
        case RpcRdmaSegment::List::reply: break;
    }
    return pick(rpcordma_computed, "rpcordma.reply_count");
}

/// Shows the lists as they are read. Their counts, which a heading shows first, are known from an earlier reading.
class ListDescriber final : public wire::RpcRdmaVisitor {
public:
    ListDescriber(const Tree& tree, const wire::RpcRdmaHeader& header) : tree_(tree), header_(header) {}

    void chunk(RpcRdmaSegment::List list, std::uint32_t segments, std::uint32_t offset) override {
        open(list, offset);
        tree_.number(pick(rpcordma_computed, "rpcordma.segment_count"), segments, offset, 4);
    }
    void segment(const RpcRdmaSegment& segment) override {
        open(segment.list, segment.offset);
        const bool is_read = segment.list == RpcRdmaSegment::List::read;
        std::uint32_t at = segment.offset;
        tree_.open_number(pick(rpcordma_computed, "rdma.rpcordma.segment"), segment.index, at, is_read ? 20 : 16);
        if (is_read) {
            tree_.number(pick(rpcordma_computed, "rpcordma.position"), segment.position, at, 4);
            at += 4;
        }
        tree_.number(pick(rpcordma_computed, "rpcordma.rdma_handle"), segment.key, at, 4);
        tree_.number(pick(rpcordma_computed, "rpcordma.rdma_length"), segment.length, at + 4, 4);
        tree_.number(pick(rpcordma_computed, "rpcordma.rdma_offset"), segment.address, at + 8, 8);
        tree_.close();
    }
    void list(RpcRdmaSegment::List list, std::uint32_t, std::uint32_t offset) override {
        open(list, offset);
        close();
    }
    void close() {
        if (open_) tree_.close();
        open_.reset();
    }

private:
    void open(RpcRdmaSegment::List list, std::uint32_t offset) {
        if (open_ == list) return;
        close();
        open_ = list;
        const std::uint32_t count = list == RpcRdmaSegment::List::read    ? header_.reads
                                    : list == RpcRdmaSegment::List::write ? header_.writes
                                                                          : header_.replies;
        tree_.open_number(list_heading(list), count, offset, 4);
    }

    const Tree& tree_;
    const wire::RpcRdmaHeader& header_;
    std::optional<RpcRdmaSegment::List> open_ = {};
};

void show_word(const Tree& tree, const wire::FieldInfo& info, std::uint32_t at) {
    if (at + 4 <= tree.size()) tree.number(info, base::load_be32(tree.at(at)), at, 4);
}

void describe_rpcordma(const LayerView& view, Visitor& visitor) {
    const Tree tree{view, visitor};
    for (const wire::FieldInfo& info : rpcordma_fields) tree.field(info);
    if (tree.size() < wire::rpc_rdma_fixed_bytes) return;
    const wire::RpcRdmaHeader header = wire::parse_rpc_rdma(tree.octets(), nullptr);
    if (header.version != wire::rpc_rdma_version) return;
    constexpr std::uint32_t rest = wire::rpc_rdma_fixed_bytes;
    switch (header.type) {
        case wire::RpcRdmaType::padded:
            show_word(tree, pick(rpcordma_computed, "rpcordma.rdma_align"), rest);
            show_word(tree, pick(rpcordma_computed, "rpcordma.rdma_thresh"), rest + 4);
            [[fallthrough]];
        case wire::RpcRdmaType::message:
        case wire::RpcRdmaType::no_message: {
            ListDescriber lists(tree, header);
            wire::parse_rpc_rdma(tree.octets(), &lists);
            lists.close();
            break;
        }
        case wire::RpcRdmaType::done: break;
        case wire::RpcRdmaType::error:
            show_word(tree, pick(rpcordma_computed, "rpcordma.errcode"), rest);
            constexpr std::uint32_t unknown_version = 1;
            if (header.error != unknown_version) break;
            show_word(tree, pick(rpcordma_computed, "rpcordma.vers_low"), rest + 4);
            show_word(tree, pick(rpcordma_computed, "rpcordma.vers_high"), rest + 8);
            break;
    }
}

/// Records as much as belongs to the header; what follows is the message, if it is here.
LayerId parse_rpcordma(Context& context) {
    const std::uint32_t available = context.available();
    if (available < wire::rpc_rdma_fixed_bytes)
        return context.stop_short(LayerId::rpcordma, wire::rpc_rdma_fixed_bytes);
    const wire::RpcRdmaHeader header = wire::parse_rpc_rdma({context.at(context.offset), available}, nullptr);
    const std::uint32_t size = header.lists_end ? header.message_at : available;
    context.record(LayerId::rpcordma, context.offset, size, size);
    context.offset += size;
    if (header.carries_message() && context.remaining() != 0) return LayerId::rpc;
    const bool has_lists = header.version == wire::rpc_rdma_version && header.type <= wire::RpcRdmaType::padded;
    if (has_lists && !header.lists_end) return context.stop_short(LayerId::rpcordma, 4);
    return LayerId::none;
}

// What peers say of themselves when they connect. RFC 8797, 4.
constexpr wire::FieldInfo private_fields[] = {
    {"rdma.rpcordma.private.identifier", "Format identifier", 0, 32, Kind::uint32, Base::hex},
    {"rdma.rpcordma.private.version", "Version", 32, 8, Kind::uint8},
    {"rdma.rpcordma.private.remote_invalidation", "Remote invalidation", 47, 1, Kind::boolean},
    {"rdma.rpcordma.private.send_size", "Send size less one, in KiB", 48, 8, Kind::uint8},
    {"rdma.rpcordma.private.receive_size", "Receive size less one, in KiB", 56, 8, Kind::uint8},
};

LayerId parse_private(Context& context) {
    if (context.available() < wire::rpc_rdma_private_bytes) return LayerId::none;
    const std::byte* p = context.at(context.offset);
    if (base::load_be32(p) != wire::rpc_rdma_private_magic) return LayerId::none;
    context.take(LayerId::rpcordma_private, wire::rpc_rdma_private_bytes);
    return LayerId::none;
}

}  // namespace

constinit const LayerRow rpcordma_layer{"rpcordma",      &protocol::rpcordma, {}, parse_rpcordma, describe_rpcordma,
                                        rpcordma_fields, rpcordma_computed};
constinit const LayerRow rpcordma_private_layer{"rpcordma_private", &protocol::rpcordma, {}, parse_private, nullptr,
                                                private_fields};

}  // namespace dissect::layers
