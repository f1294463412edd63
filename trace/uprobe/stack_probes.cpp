#include "trace/uprobe/stack_probes.h"

#include <array>
#include <cstdint>

#ifdef RDMASCOPE_HAVE_VERBS
#include <infiniband/verbs.h>
#endif

#include "trace/uprobe/probe_source.h"

namespace trace::inline uprobe {
namespace {

// By the stack's number, the verbs': Operation, CompletedOperation, Status and QueuePairState of iwarp/iwarp.h, in
// their order, which the manual makes part of the interface.
constexpr std::array<std::uint8_t, 10> opcodes{
    2,   // send: IBV_WR_SEND
    0,   // write: IBV_WR_RDMA_WRITE
    1,   // write_immediate: IBV_WR_RDMA_WRITE_WITH_IMM
    3,   // immediate: IBV_WR_SEND_WITH_IMM
    4,   // read: IBV_WR_RDMA_READ
    6,   // fetch_add: IBV_WR_ATOMIC_FETCH_AND_ADD
    5,   // compare_swap: IBV_WR_ATOMIC_CMP_AND_SWP
    8,   // bind_window: IBV_WR_BIND_MW
    11,  // register_region: IBV_WR_DRIVER1, since user space has no other word for it
    7,   // local_invalidate: IBV_WR_LOCAL_INV
};
constexpr std::array<std::uint8_t, 10> completed{
    0,    // send: IBV_WC_SEND
    1,    // write: IBV_WC_RDMA_WRITE
    2,    // read: IBV_WC_RDMA_READ
    4,    // fetch_add: IBV_WC_FETCH_ADD
    3,    // compare_swap: IBV_WC_COMP_SWAP
    5,    // bind_window: IBV_WC_BIND_MW
    135,  // register_region: IBV_WC_DRIVER1
    6,    // local_invalidate: IBV_WC_LOCAL_INV
    128,  // receive: IBV_WC_RECV
    129,  // receive_immediate: IBV_WC_RECV_RDMA_WITH_IMM
};
constexpr std::array<std::uint8_t, 10> statuses{
    0,   // success
    1,   // local_length: IBV_WC_LOC_LEN_ERR
    4,   // local_protection: IBV_WC_LOC_PROT_ERR
    5,   // flushed: IBV_WC_WR_FLUSH_ERR
    6,   // window_bind: IBV_WC_MW_BIND_ERR
    10,  // remote_access: IBV_WC_REM_ACCESS_ERR
    9,   // remote_invalid: IBV_WC_REM_INV_REQ_ERR
    11,  // remote_operation: IBV_WC_REM_OP_ERR
    12,  // connection_lost: IBV_WC_RETRY_EXC_ERR
    19,  // fatal: IBV_WC_FATAL_ERR
};
// As Linux siw names the states of RFC 5040 to the verbs.
constexpr std::array<std::uint8_t, 5> states{
    1,  // idle: IBV_QPS_INIT
    3,  // connected: IBV_QPS_RTS
    4,  // closing: IBV_QPS_SQD
    5,  // terminating: IBV_QPS_SQE
    6,  // error: IBV_QPS_ERR
};
#ifdef RDMASCOPE_HAVE_VERBS
static_assert(opcodes[0] == IBV_WR_SEND && opcodes[1] == IBV_WR_RDMA_WRITE &&
              opcodes[2] == IBV_WR_RDMA_WRITE_WITH_IMM && opcodes[3] == IBV_WR_SEND_WITH_IMM &&
              opcodes[4] == IBV_WR_RDMA_READ && opcodes[5] == IBV_WR_ATOMIC_FETCH_AND_ADD &&
              opcodes[6] == IBV_WR_ATOMIC_CMP_AND_SWP && opcodes[7] == IBV_WR_BIND_MW && opcodes[8] == IBV_WR_DRIVER1 &&
              opcodes[9] == IBV_WR_LOCAL_INV);
static_assert(completed[0] == IBV_WC_SEND && completed[1] == IBV_WC_RDMA_WRITE && completed[2] == IBV_WC_RDMA_READ &&
              completed[3] == IBV_WC_FETCH_ADD && completed[4] == IBV_WC_COMP_SWAP && completed[5] == IBV_WC_BIND_MW &&
              completed[6] == IBV_WC_DRIVER1 && completed[7] == IBV_WC_LOCAL_INV && completed[8] == IBV_WC_RECV &&
              completed[9] == IBV_WC_RECV_RDMA_WITH_IMM);
static_assert(statuses[1] == IBV_WC_LOC_LEN_ERR && statuses[2] == IBV_WC_LOC_PROT_ERR &&
              statuses[3] == IBV_WC_WR_FLUSH_ERR && statuses[4] == IBV_WC_MW_BIND_ERR &&
              statuses[5] == IBV_WC_REM_ACCESS_ERR && statuses[6] == IBV_WC_REM_INV_REQ_ERR &&
              statuses[7] == IBV_WC_REM_OP_ERR && statuses[8] == IBV_WC_RETRY_EXC_ERR &&
              statuses[9] == IBV_WC_FATAL_ERR);
static_assert(states[0] == IBV_QPS_INIT && states[1] == IBV_QPS_RTS && states[2] == IBV_QPS_SQD &&
              states[3] == IBV_QPS_SQE && states[4] == IBV_QPS_ERR);
#endif

/// A program may put any number there: what is not in the table is the last, an error.
template <std::size_t N>
std::uint8_t entry(const std::array<std::uint8_t, N>& table, std::uint64_t index) {
    return table[index < N ? index : N - 1];
}

bool post_send(const ProbeArguments& value, base::Bytes record, Record& into) {
    into.kind = RecordKind::post_send;
    into.number = static_cast<std::uint32_t>(value(0, record)) & 0xffffff;
    into.work = {};
    into.work.id = value(1, record);
    into.work.opcode = entry(opcodes, value(2, record));
    into.work.bytes = value(3, record);
    return true;
}

bool post_receive(const ProbeArguments& value, base::Bytes record, Record& into) {
    into.kind = RecordKind::post_receive;
    into.number = static_cast<std::uint32_t>(value(0, record)) & 0xffffff;
    into.work = {};
    into.work.id = value(1, record);
    if (into.number == 0) {  // a shared queue's, which counts pieces
        into.work.flags = Flag::shared;
        into.work.pieces = static_cast<std::uint16_t>(value(2, record));
    } else {
        into.work.bytes = value(2, record);
    }
    return true;
}

bool completion(const ProbeArguments& value, base::Bytes record, Record& into) {
    into.kind = RecordKind::completion;
    into.number = static_cast<std::uint32_t>(value(0, record)) & 0xffffff;
    into.work = {};
    into.work.id = value(1, record);
    into.work.status = entry(statuses, value(2, record));
    into.work.opcode = entry(completed, value(3, record));
    into.work.bytes = value(4, record);
    if (into.work.opcode == 128 || into.work.opcode == 129) into.work.flags = Flag::receive;
    return true;
}

bool state(const ProbeArguments& value, base::Bytes record, Record& into) {
    into.kind = RecordKind::queue_pair;
    into.number = static_cast<std::uint32_t>(value(0, record)) & 0xffffff;
    into.change = {};
    into.change.state = entry(states, value(2, record));
    into.change.type = 2;  // IBV_QPT_RC
    return true;
}

struct ProbeRow {
    std::string_view name;
    std::size_t arguments;
    bool (*make)(const ProbeArguments&, base::Bytes, Record&);
};
constexpr ProbeRow probe_rows[] = {
    {"rdmascope:post_send", 4, post_send},
    {"rdmascope:post_receive", 3, post_receive},
    {"rdmascope:completion", 5, completion},
    {"rdmascope:state", 3, state},
};

}  // namespace

bool is_stack_probe(std::string_view name) {
    for (const ProbeRow& row : probe_rows)
        if (row.name == name) return true;
    return false;
}

Converter stack_converter(std::string_view name, const ProbeArguments& arguments) {
    for (const ProbeRow& row : probe_rows)
        if (row.name == name && arguments.count() == row.arguments)
            return [arguments, make = row.make](const EventSample& sample, Record& into) {
                return make(arguments, sample.record, into);
            };
    return {};
}

}  // namespace trace::uprobe
