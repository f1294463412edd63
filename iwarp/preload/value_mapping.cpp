#include "iwarp/preload/value_mapping.h"

#include <array>
#include <cerrno>
#include <endian.h>

namespace iwarp::preload {
namespace {

template <class From, class To>
struct Row {
    From from;
    To to;
};
template <class From, class To>
Row(From, To) -> Row<From, To>;

template <class Table, class From, class To>
constexpr To look_up(const Table& table, From from, To otherwise) {
    for (const auto& row : table)
        if (row.from == from) return row.to;
    return otherwise;
}

constexpr std::array statuses{
    Row{Status::success, IBV_WC_SUCCESS},
    Row{Status::local_length, IBV_WC_LOC_LEN_ERR},
    Row{Status::local_protection, IBV_WC_LOC_PROT_ERR},
    Row{Status::flushed, IBV_WC_WR_FLUSH_ERR},
    Row{Status::window_bind, IBV_WC_MW_BIND_ERR},
    Row{Status::remote_access, IBV_WC_REM_ACCESS_ERR},
    Row{Status::remote_invalid, IBV_WC_REM_INV_REQ_ERR},
    Row{Status::remote_operation, IBV_WC_REM_OP_ERR},
    Row{Status::connection_lost, IBV_WC_RETRY_EXC_ERR},  // what programs know as "the peer is no longer there"
    Row{Status::fatal, IBV_WC_FATAL_ERR},
};

constexpr std::array completed{
    Row{CompletedOperation::send, IBV_WC_SEND},
    Row{CompletedOperation::write, IBV_WC_RDMA_WRITE},
    Row{CompletedOperation::read, IBV_WC_RDMA_READ},
    Row{CompletedOperation::fetch_add, IBV_WC_FETCH_ADD},
    Row{CompletedOperation::compare_swap, IBV_WC_COMP_SWAP},
    Row{CompletedOperation::bind_window, IBV_WC_BIND_MW},
    Row{CompletedOperation::local_invalidate, IBV_WC_LOCAL_INV},
    Row{CompletedOperation::receive, IBV_WC_RECV},
    Row{CompletedOperation::receive_immediate, IBV_WC_RECV_RDMA_WITH_IMM},
};

constexpr std::array posted_errors{
    Row{Posted::ok, 0},
    Row{Posted::queue_full, ENOMEM},
    Row{Posted::wrong_state, EINVAL},
    Row{Posted::too_many_pieces, EINVAL},
    Row{Posted::too_long, EINVAL},
    Row{Posted::invalid, EINVAL},
};

// No Send with Immediate: RFC 7306 has immediate data alone or after a Write.
constexpr std::array operation_rows{
    Row{IBV_WR_SEND, Operation::send},
    Row{IBV_WR_SEND_WITH_INV, Operation::send},
    Row{IBV_WR_RDMA_WRITE, Operation::write},
    Row{IBV_WR_RDMA_WRITE_WITH_IMM, Operation::write_immediate},
    Row{IBV_WR_RDMA_READ, Operation::read},
    Row{IBV_WR_ATOMIC_FETCH_AND_ADD, Operation::fetch_add},
    Row{IBV_WR_ATOMIC_CMP_AND_SWP, Operation::compare_swap},
    Row{IBV_WR_BIND_MW, Operation::bind_window},
    Row{IBV_WR_LOCAL_INV, Operation::local_invalidate},
};

constexpr std::array states{
    Row{QueuePairState::connected, IBV_QPS_RTS},
    Row{QueuePairState::closing, IBV_QPS_SQD},
    Row{QueuePairState::terminating, IBV_QPS_ERR},
    Row{QueuePairState::error, IBV_QPS_ERR},
};

constexpr std::array rights{
    Row{unsigned{IBV_ACCESS_LOCAL_WRITE}, Access::local_write},
    Row{unsigned{IBV_ACCESS_REMOTE_WRITE}, Access::remote_write},
    Row{unsigned{IBV_ACCESS_REMOTE_READ}, Access::remote_read},
    Row{unsigned{IBV_ACCESS_REMOTE_ATOMIC}, Access::remote_atomic},
    Row{unsigned{IBV_ACCESS_MW_BIND}, Access::bind},
    Row{unsigned{IBV_ACCESS_ZERO_BASED}, Access::zero_based},
    Row{unsigned{IBV_ACCESS_HUGETLB}, Access::none},
};

constexpr std::array mtus{
    Row{4096U, IBV_MTU_4096},
    Row{2048U, IBV_MTU_2048},
    Row{1024U, IBV_MTU_1024},
    Row{512U, IBV_MTU_512},
};

// As ib_get_eth_speed of the kernel: widths are 1 (1X) and 2 (4X), speeds a bit each from SDR on.
constexpr std::uint8_t wide = 2;
constexpr std::array link_rates{
    Row{1000U, LinkRate{1, 1}},      // SDR
    Row{10000U, LinkRate{1, 8}},     // FDR10
    Row{20000U, LinkRate{wide, 2}},  // DDR
    Row{25000U, LinkRate{1, 32}},    // EDR
    Row{40000U, LinkRate{wide, 8}},  // FDR10
};

}  // namespace

ibv_wc_status to_abi(Status status) { return look_up(statuses, status, IBV_WC_GENERAL_ERR); }
ibv_wc_opcode to_abi(CompletedOperation operation) { return look_up(completed, operation, IBV_WC_DRIVER1); }
int to_errno(Posted posted) { return look_up(posted_errors, posted, EINVAL); }
ibv_qp_state to_abi(QueuePairState state, ibv_qp_state believed) { return look_up(states, state, believed); }

std::optional<Operation> to_operation(ibv_wr_opcode opcode) {
    return look_up(operation_rows, opcode, std::optional<Operation>());
}

std::optional<Access> to_access(unsigned flags) {
    flags &= ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
    Access access = Access::none;
    for (const auto& right : rights) {
        if ((flags & right.from) != 0) access = access | right.to;
        flags &= ~right.from;
    }
    if (flags != 0) return std::nullopt;
    return access;
}

std::uint64_t to_immediate(std::uint32_t network_order) { return std::uint64_t{be32toh(network_order)} << 32; }
std::uint32_t to_network_order(std::uint64_t immediate) { return htobe32(static_cast<std::uint32_t>(immediate >> 32)); }

ibv_mtu to_mtu(std::uint32_t octets) {
    for (const auto& row : mtus)
        if (octets >= row.from) return row.to;
    return IBV_MTU_256;
}

LinkRate to_link_rate(std::uint32_t mbps) {
    for (const auto& row : link_rates)
        if (mbps <= row.from) return row.to;
    return {wide, 32};
}

}  // namespace iwarp::preload
