#pragma once
#include <cstdint>
#include <infiniband/verbs.h>
#include <optional>

#include "iwarp/iwarp.h"

/// The mapping between the values of libibverbs and those of the stack. The tables are in tables.cpp.
namespace iwarp::preload {

ibv_wc_status to_abi(Status status);
ibv_wc_opcode to_abi(CompletedOperation operation);
/// The errno of a post that failed.
int to_errno(Posted posted);
/// No value for an opcode that iWARP does not have.
std::optional<Operation> to_operation(ibv_wr_opcode opcode);
/// The state that ibv_query_qp reports; `believed` is what ibv_modify_qp set, which decides before a connection.
ibv_qp_state to_abi(QueuePairState state, ibv_qp_state believed);

/// ibv_access_flags. Hints (relaxed ordering, huge pages) are ignored; no value for paging on demand and for unknown
/// flags that are not optional.
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
/// The rate that the kernel reports for an Ethernet link of this speed (0: unknown), in InfiniBand's values.
LinkRate to_link_rate(std::uint32_t mbps);

}  // namespace iwarp::preload
