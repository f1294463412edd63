#include "iwarp/verbs/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/async_events.h"
#include "iwarp/preload/local_addresses.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/posting_extended.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/value_mapping.h"
#include "iwarp/preload/verbs_objects.h"

/// Queue pairs: making, changing, asking, destroying. What connects them is the connection manager.
namespace iwarp::preload {
namespace {

Complaint& no_datagrams() {
    static Complaint complaint;
    return complaint;
}

Complaint& no_bring_up() {
    static Complaint complaint;
    return complaint;
}

/// By number.
std::unordered_map<std::uint32_t, Qp*>& queue_pairs() {
    static auto& pairs = *new std::unordered_map<std::uint32_t, Qp*>;
    return pairs;
}

/// 0, or the errno for what cannot be granted; sets `capabilities` to what is.
int grant(ibv_qp_cap& capabilities, const ibv_srq* srq, QueuePairOptions& options) {
    if (capabilities.max_send_wr > limits::requests || capabilities.max_recv_wr > limits::requests ||
        capabilities.max_send_sge > limits::pieces || capabilities.max_recv_sge > limits::pieces ||
        capabilities.max_inline_data > limits::inline_octets)
        return EINVAL;
    options.max_send = std::max(capabilities.max_send_wr, 1U);
    options.max_receive = std::max(capabilities.max_recv_wr, 1U);
    options.max_pieces = std::max({capabilities.max_send_sge, capabilities.max_recv_sge, 1U});
    // More than was asked for may be granted: rdma_xclient asks for none and posts 16 bytes, as every adapter lets it.
    options.max_inline = std::max(capabilities.max_inline_data, limits::least_inline_octets);
    capabilities.max_inline_data = options.max_inline;
    capabilities.max_send_wr = options.max_send;
    capabilities.max_recv_wr = srq == nullptr ? options.max_receive : 0;
    capabilities.max_send_sge = options.max_pieces;
    capabilities.max_recv_sge = srq == nullptr ? options.max_pieces : 0;
    return 0;
}

void introduce(Qp& qp, ibv_pd* pd, const ibv_qp_init_attr& wanted) {
    ibv_qp& abi = qp.qp_base;
    abi.context = pd->context;
    abi.qp_context = wanted.qp_context;
    abi.pd = pd;
    abi.send_cq = wanted.send_cq;
    abi.recv_cq = wanted.recv_cq;
    abi.srq = wanted.srq;
    abi.qp_num = abi.handle = qp.pair->number();
    abi.state = IBV_QPS_RESET;
    abi.qp_type = IBV_QPT_RC;
    pthread_mutex_init(&abi.mutex, nullptr);
    pthread_cond_init(&abi.cond, nullptr);
    queue_pairs().emplace(abi.qp_num, &qp);
    ++to_pd(pd).users;
    ++to_cq(abi.send_cq).users;
    ++to_cq(abi.recv_cq).users;
    if (abi.srq != nullptr) ++to_srq(abi.srq).users;
}

void take_leave(Qp& qp) {
    const ibv_qp& abi = qp.qp_base;
    queue_pairs().erase(abi.qp_num);
    --to_pd(abi.pd).users;
    --to_cq(abi.send_cq).users;
    --to_cq(abi.recv_cq).users;
    if (abi.srq != nullptr) --to_srq(abi.srq).users;
}

/// Null with errno set. `wanted.cap` is set to what was granted.
Qp* create(ProgressEngine& engine, ibv_pd* pd, ibv_qp_init_attr& wanted) {
    if (wanted.qp_type != IBV_QPT_RC) {
        no_datagrams().say("iWARP has reliable connected queue pairs (RC) and no others");
        errno = EOPNOTSUPP;
        return nullptr;
    }
    auto qp = std::make_unique<Qp>();
    const bool complete = pd != nullptr && wanted.send_cq != nullptr && wanted.recv_cq != nullptr;
    if (const int refused = complete ? grant(wanted.cap, wanted.srq, qp->options) : EINVAL; refused != 0) {
        errno = refused;
        return nullptr;
    }
    qp->options.signal_all = wanted.sq_sig_all != 0;
    qp->pair =
        engine.device().create_queue_pair(to_pd(pd).domain, to_cq(wanted.send_cq).queue, to_cq(wanted.recv_cq).queue,
                                          qp->options, wanted.srq == nullptr ? nullptr : to_srq(wanted.srq).queue);
    qp->pair->context = qp.get();
    introduce(*qp, pd, wanted);
    return qp.release();
}

int resize(Qp& qp, const ibv_qp_cap& wanted) {
    const std::uint32_t send = std::max(wanted.max_send_wr, 1U);
    const std::uint32_t receive = std::max(wanted.max_recv_wr, 1U);
    if (send > limits::requests || receive > limits::requests) return EINVAL;
    qp.pair->resize(send, receive);
    qp.options.max_send = send;
    qp.options.max_receive = receive;
    return 0;
}

/// RTR and RTS. With a connection manager they come by themselves.
int expect_connected(const Qp& qp) {
    if (qp.pair->state() == QueuePairState::connected) return 0;
    no_bring_up().say(
        "an iWARP queue pair is connected by the connection manager (rdma_connect, rdma_accept), and not by LID, GID "
        "and queue pair number with ibv_modify_qp; if the program can use librdmacm, tell it to (perftest: -R, qperf: "
        "--use_cm 1)");
    return EOPNOTSUPP;
}

int change_state(Qp& qp, ibv_qp_state to) {
    QueuePair& pair = *qp.pair;
    switch (to) {
        case IBV_QPS_RESET:
            pair.abort();
            pair.reset();
            break;
        case IBV_QPS_INIT:
            if (pair.state() != QueuePairState::idle || qp.qp_base.state == IBV_QPS_ERR) return EINVAL;
            break;
        case IBV_QPS_RTR:
        case IBV_QPS_RTS:
            if (const int refused = expect_connected(qp); refused != 0) return refused;
            break;
        case IBV_QPS_SQD:
            if (pair.state() != QueuePairState::connected) return EINVAL;
            pair.disconnect();
            break;
        case IBV_QPS_SQE:
        case IBV_QPS_ERR:
            qp.qp_base.state = IBV_QPS_ERR;  // before the news of it
            if (pair.state() != QueuePairState::error) pair.impl().fail("put into error by its program");
            return 0;
        default: return EINVAL;
    }
    qp.qp_base.state = to == IBV_QPS_RTR ? IBV_QPS_RTS : to;
    return 0;
}

void describe(const Qp& qp, ibv_qp_attr& attributes) {
    const ibv_qp& abi = qp.qp_base;
    attributes = {};
    attributes.qp_state = attributes.cur_qp_state = to_abi(qp.pair->state(), abi.state);
    attributes.path_mtu = IBV_MTU_4096;
    attributes.path_mig_state = IBV_MIG_MIGRATED;
    attributes.qp_access_flags = qp.access;
    attributes.cap.max_send_wr = qp.options.max_send;
    attributes.cap.max_send_sge = qp.options.max_pieces;
    attributes.cap.max_inline_data = qp.options.max_inline;
    if (abi.srq == nullptr) {
        attributes.cap.max_recv_wr = qp.options.max_receive;
        attributes.cap.max_recv_sge = qp.options.max_pieces;
    }
    attributes.port_num = 1;
    attributes.max_rd_atomic = qp.initiator_depth;
    attributes.max_dest_rd_atomic = qp.responder_resources;
}

constexpr std::uint64_t send_operations =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ |
    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
    IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

/// Whether `wanted` asks for nothing that there is not.
bool grants(const ibv_qp_init_attr_ex& wanted) {
    constexpr unsigned known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    const bool flags = (wanted.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && wanted.create_flags != 0;
    const bool operations =
        (wanted.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 && (wanted.send_ops_flags & ~send_operations) != 0;
    return (wanted.comp_mask & ~known) == 0 && (wanted.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 && !flags && !operations;
}

}  // namespace

Qp* find_qp(std::uint32_t number) {
    const auto found = queue_pairs().find(number);
    return found == queue_pairs().end() ? nullptr : found->second;
}

ibv_qp* operations::create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* wanted) {
    return made("ibv_create_qp_ex", [&](ProgressEngine& engine) -> ibv_qp* {
        if (!grants(*wanted)) {
            errno = EOPNOTSUPP;
            return nullptr;
        }
        ibv_qp_init_attr plain{wanted->qp_context, wanted->send_cq, wanted->recv_cq,   wanted->srq,
                               wanted->cap,        wanted->qp_type, wanted->sq_sig_all};
        Qp* const qp = create(engine, wanted->pd, plain);
        if (qp == nullptr) return nullptr;
        wanted->cap = plain.cap;
        if ((wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) set_builders(*qp);
        return to_abi(*qp);
    });
}

}  // namespace iwarp::preload

using namespace iwarp::preload;

RDMA_ABI ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
    return made("ibv_create_qp", [&](ProgressEngine& engine) -> ibv_qp* {
        Qp* const qp = create(engine, pd, *wanted);
        return qp == nullptr ? nullptr : to_abi(*qp);
    });
}

RDMA_ABI ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return to_qp(qp).wr_start == nullptr ? nullptr : &to_qp(qp); }

RDMA_ABI int ibv_modify_qp(ibv_qp* abi, ibv_qp_attr* wanted, int mask) {
    return performed("ibv_modify_qp", [&](ProgressEngine&) {
        Qp& qp = to_qp(abi);
        const bool assumes = (mask & IBV_QP_CUR_STATE) != 0;
        if (assumes && wanted->cur_qp_state != to_abi(qp.pair->state(), abi->state)) return EINVAL;
        if ((mask & IBV_QP_CAP) != 0)
            if (const int refused = resize(qp, wanted->cap); refused != 0) return refused;
        if ((mask & IBV_QP_STATE) != 0)
            if (const int refused = change_state(qp, wanted->qp_state); refused != 0) return refused;
        if ((mask & IBV_QP_ACCESS_FLAGS) != 0) qp.access = wanted->qp_access_flags;
        if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) qp.initiator_depth = wanted->max_rd_atomic;
        if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) qp.responder_resources = wanted->max_dest_rd_atomic;
        return 0;
    });
}

RDMA_ABI int ibv_query_qp(ibv_qp* abi, ibv_qp_attr* attributes, int, ibv_qp_init_attr* initial) {
    return performed("ibv_query_qp", [&](ProgressEngine&) {
        const Qp& qp = to_qp(abi);
        describe(qp, *attributes);
        *initial = {abi->qp_context,
                    abi->send_cq,
                    abi->recv_cq,
                    abi->srq,
                    attributes->cap,
                    abi->qp_type,
                    qp.options.signal_all ? 1 : 0};
        abi->state = attributes->qp_state;
        return 0;
    });
}

RDMA_ABI int ibv_destroy_qp(ibv_qp* abi) {
    Qp& qp = to_qp(abi);
    const int failure = performed("ibv_destroy_qp", [&](ProgressEngine& engine) {
        if (engine.observer() != nullptr) engine.observer()->queue_pair_destroyed(qp);
        forget_events(qp);
        qp.pair->context = nullptr;
        qp.pair.reset();
        take_leave(qp);
        return 0;
    });
    if (failure != 0) return failure;
    wait_until_acknowledged(abi->mutex, abi->cond, abi->events_completed, qp.async_reported);
    delete &qp;
    return 0;
}

RDMA_ABI int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
    return 0;  // the kernel copies what arrives, and promises no order within a copy
}
