#pragma once
#include <cstdint>
#include <infiniband/verbs.h>
#include <optional>

#include "iwarp/iwarp.h"

/// How the words of libibverbs and those of the stack correspond. Each table can be read in tables.cpp.
namespace iwarp::preload {

ibv_wc_status to_abi(Status status);
ibv_wc_opcode to_abi(CompletedOperation operation);
/// The errno of a post that failed.
int to_errno(Posted posted);
/// Nothing for an opcode that iWARP has not.
std::optional<Operation> to_operation(ibv_wr_opcode opcode);
/// As ibv_query_qp tells it; `believed` is what ibv_modify_qp set, which decides before a connection.
ibv_qp_state to_abi(QueuePairState state, ibv_qp_state believed);

/// ibv_access_flags. Hints (relaxed ordering, huge pages) are fulfilled by ignoring them; nothing for paging on demand
/// and unknown flags that are not optional.
std::optional<Access> to_access(unsigned flags);

/// Immediate data is 32 bits in verbs, 64 in RFC 7306 section 6.2. They are the first four bytes on the wire and four
/// zeros follow, as Chelsio's adapters do it.
std::uint64_t to_immediate(std::uint32_t network_order);
std::uint32_t to_network_order(std::uint64_t immediate);

/// The largest of the verbs' path MTUs within `octets`.
ibv_mtu to_mtu(std::uint32_t octets);
struct LinkRate {
    std::uint8_t width;  ///< as in ibv_port_attr::active_width
    std::uint8_t speed;  ///< as in ibv_port_attr::active_speed
};
/// What the kernel says of an Ethernet link of this speed (0: unknown) in InfiniBand's words.
LinkRate to_link_rate(std::uint32_t mbps);

}  // namespace iwarp::preload
