#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/field.h"
#include "wire/xdr.h"

/// RPC-over-RDMA version 1. RFC 8166, 4; the private data of its connections RFC 8797, 4.
namespace wire {

enum class RpcRdmaType : std::uint32_t { message, no_message, padded, done, error };

inline constexpr std::uint32_t rpc_rdma_version = 1;
inline constexpr std::uint32_t rpc_rdma_fixed_bytes = 16;  ///< XID, version, credits, type

/// A range of the requester's memory that a header lists.
struct RpcRdmaSegment {
    enum class List : std::uint8_t { read, write, reply };
    List list = List::read;
    std::uint32_t chunk = 0;     ///< of the write list: which one
    std::uint32_t index = 0;     ///< within its chunk; of the read list: within the list
    std::uint32_t position = 0;  ///< of the read list: in the message's XDR
    std::uint32_t key = 0;
    std::uint32_t length = 0;
    std::uint64_t address = 0;
    std::uint32_t offset = 0;  ///< of its first byte in the header
};

struct RpcRdmaHeader {
    std::uint32_t xid = 0;
    std::uint32_t version = 0;
    std::uint32_t credits = 0;
    RpcRdmaType type{};
    std::uint32_t reads = 0;        ///< segments of the read list
    std::uint32_t writes = 0;       ///< chunks of the write list
    std::uint32_t full_writes = 0;  ///< of them, with bytes
    std::uint32_t replies = 0;      ///< 1: there is a reply chunk
    bool has_call_chunk = false;      ///< the receiver has to read the message itself
    std::uint32_t read_items = 0;     ///< items of the message that the receiver has to read
    std::uint32_t read_position = 0;  ///< position of the last of these items
    bool lists_end = false;         ///< all of the lists was captured
    std::uint32_t message_at = 0;   ///< where the RPC message begins, where `lists_end`
    std::uint32_t error = 0;        ///< of RDMA_ERROR

    constexpr bool carries_message() const {
        return lists_end && (type == RpcRdmaType::message || type == RpcRdmaType::padded);
    }
};

/// Receives the parts of a header as they are read, for `dump` and other output.
class RpcRdmaVisitor {
public:
    virtual ~RpcRdmaVisitor() = default;
    virtual void segment(const RpcRdmaSegment& segment) = 0;
    /// Before the segments of a write chunk, or of the reply chunk.
    virtual void chunk(RpcRdmaSegment::List list, std::uint32_t segments, std::uint32_t offset) = 0;
    /// After a list: how many entries it has.
    virtual void list(RpcRdmaSegment::List list, std::uint32_t count, std::uint32_t offset) = 0;
};

/// Reads as much of a header as was captured: `rpc_rdma_fixed_bytes` at least. `visitor` may be nullptr.
RpcRdmaHeader parse_rpc_rdma(base::Bytes head, RpcRdmaVisitor* visitor);

/// Private data of a REQ, a REP or of MPA.
struct RpcRdmaPrivate {
    std::uint32_t magic = 0;
    std::uint8_t version = 0;
    std::uint8_t flags = 0;
    std::uint8_t send_size = 0;  ///< in KiB, less one
    std::uint8_t receive_size = 0;
};
inline constexpr std::uint32_t rpc_rdma_private_bytes = 8;
inline constexpr std::uint32_t rpc_rdma_private_magic = 0xf6ab0e18;
constexpr RpcRdmaPrivate parse_rpc_rdma_private(const std::byte* p) {
    return {base::load_be32(p), base::load_u8(p + 4), base::load_u8(p + 5), base::load_u8(p + 6),
            base::load_u8(p + 7)};
}

inline constexpr std::array<ValueName, 5> rpc_rdma_types{
    {{0, "RDMA_MSG"}, {1, "RDMA_NOMSG"}, {2, "RDMA_MSGP"}, {3, "RDMA_DONE"}, {4, "RDMA_ERROR"}}};
inline constexpr std::array<ValueName, 2> rpc_rdma_errors{{{1, "ERR_VERS"}, {2, "ERR_CHUNK"}}};

}  // namespace wire
