#include "wire/rpc_rdma.h"

namespace wire {

namespace {

using List = RpcRdmaSegment::List;

/// Reads the lists. What a list claims to have is not believed: reading ends with the bytes.
class ListReader {
public:
    ListReader(base::Bytes head, std::uint32_t offset, RpcRdmaHeader& header, RpcRdmaVisitor* visitor)
        : xdr_(head, offset), header_(header), visitor_(visitor) {}

    void read() {
        read_list();
        write_list();
        reply_chunk();
        header_.lists_end = !xdr_.ended();
        header_.message_at = xdr_.offset();
    }

private:
    void read_segment(RpcRdmaSegment segment) {
        segment.key = xdr_.u32();
        segment.length = xdr_.u32();
        segment.address = xdr_.u64();
        if (xdr_.ended()) return;
        if (segment.list == List::write && segment.length != 0) chunk_has_bytes_ = true;
        if (visitor_ != nullptr) visitor_->segment(segment);
    }

    void read_list() {
        const std::uint32_t first = xdr_.offset();
        while (xdr_.u32() != 0 && !xdr_.ended()) {
            RpcRdmaSegment segment;
            segment.offset = xdr_.offset();
            segment.index = header_.reads;
            segment.position = xdr_.u32();
            if (xdr_.ended()) return;
            if (segment.position == 0) {
                header_.has_call_chunk = true;
            } else if (segment.position != header_.read_position) {
                header_.read_position = segment.position;
                ++header_.read_items;
            }
            ++header_.reads;
            read_segment(segment);
        }
        end_list(List::read, header_.reads, first);
    }

    void read_chunk(List list, std::uint32_t chunk) {
        const std::uint32_t first = xdr_.offset();
        const std::uint32_t segments = xdr_.u32();
        if (xdr_.ended()) return;
        if (visitor_ != nullptr) visitor_->chunk(list, segments, first);
        for (std::uint32_t i = 0; i < segments && !xdr_.ended(); ++i) {
            RpcRdmaSegment segment;
            segment.list = list;
            segment.chunk = chunk;
            segment.index = i;
            segment.offset = xdr_.offset();
            read_segment(segment);
        }
    }

    void write_list() {
        const std::uint32_t first = xdr_.offset();
        while (xdr_.u32() != 0 && !xdr_.ended()) {
            chunk_has_bytes_ = false;
            read_chunk(List::write, header_.writes);
            ++header_.writes;
            if (chunk_has_bytes_) ++header_.full_writes;
        }
        end_list(List::write, header_.writes, first);
    }

    void reply_chunk() {
        const std::uint32_t first = xdr_.offset();
        header_.replies = xdr_.u32() != 0 ? 1 : 0;
        if (header_.replies != 0) read_chunk(List::reply, 0);
        end_list(List::reply, header_.replies, first);
    }

    void end_list(List list, std::uint32_t count, std::uint32_t first) {
        if (!xdr_.ended() && visitor_ != nullptr) visitor_->list(list, count, first);
    }

    XdrReader xdr_;
    RpcRdmaHeader& header_;
    RpcRdmaVisitor* visitor_;
    bool chunk_has_bytes_ = false;
};

}  // namespace

RpcRdmaHeader parse_rpc_rdma(base::Bytes head, RpcRdmaVisitor* visitor) {
    RpcRdmaHeader header;
    XdrReader xdr(head);
    header.xid = xdr.u32();
    header.version = xdr.u32();
    header.credits = xdr.u32();
    header.type = static_cast<RpcRdmaType>(xdr.u32());
    if (xdr.ended() || header.version != rpc_rdma_version) return header;
    switch (header.type) {
        case RpcRdmaType::message:
        case RpcRdmaType::no_message: ListReader(head, rpc_rdma_fixed_bytes, header, visitor).read(); break;
        case RpcRdmaType::padded: ListReader(head, rpc_rdma_fixed_bytes + 8, header, visitor).read(); break;
        case RpcRdmaType::done: break;
        case RpcRdmaType::error: header.error = xdr.u32(); break;
    }
    return header;
}

}  // namespace wire
