#include <algorithm>
#include <cerrno>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/async_events.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/verbs_objects.h"

/// Shared receive queues.
namespace iwarp::preload {
namespace {

ibv_srq* create(ibv_pd* pd, void* srq_context, ibv_srq_attr& wanted) {
    return made("ibv_create_srq", [&](ProgressEngine& engine) -> ibv_srq* {
        if (wanted.max_wr > limits::requests || wanted.max_sge > limits::pieces) {
            errno = EINVAL;
            return nullptr;
        }
        auto srq = std::make_unique<Srq>();
        srq->max_requests = std::max(wanted.max_wr, 1U);
        srq->max_pieces = std::max(wanted.max_sge, 1U);
        srq->queue = engine.device().create_shared_receive_queue(to_pd(pd).domain, srq->max_requests, srq->max_pieces);
        srq->queue->context = srq.get();
        srq->context = pd->context;
        srq->srq_context = srq_context;
        srq->pd = pd;
        pthread_mutex_init(&srq->mutex, nullptr);
        pthread_cond_init(&srq->cond, nullptr);
        wanted.max_wr = srq->max_requests;
        wanted.max_sge = srq->max_pieces;
        ++to_pd(pd).users;
        return srq.release();
    });
}

}  // namespace

ibv_srq* operations::create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* wanted) {
    // The plain ones come by ibv_create_srq; what is left is for XRC and for matching of tags.
    constexpr unsigned known = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
    const bool basic = (wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || wanted->srq_type == IBV_SRQT_BASIC;
    if (!basic || (wanted->comp_mask & ~known) != 0 || (wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    return create(wanted->pd, wanted->srq_context, wanted->attr);
}

}  // namespace iwarp::preload

using namespace iwarp::preload;

RDMA_ABI ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* wanted) {
    return create(pd, wanted->srq_context, wanted->attr);
}

RDMA_ABI int ibv_modify_srq(ibv_srq* abi, ibv_srq_attr* wanted, int mask) {
    return performed("ibv_modify_srq", [&](ProgressEngine&) {
        Srq& srq = to_srq(abi);
        const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
        const bool limits_it = (mask & IBV_SRQ_LIMIT) != 0;
        const std::uint32_t size = resizes ? wanted->max_wr : srq.max_requests;
        if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0 || size == 0 || size > limits::requests ||
            size < srq.queue->size() || (limits_it && wanted->srq_limit > size))
            return EINVAL;
        if (resizes) {
            srq.queue->resize(size);
            srq.max_requests = size;
        }
        if (limits_it) {
            srq.queue->arm_limit(wanted->srq_limit);
            srq.limit = wanted->srq_limit;
        }
        return 0;
    });
}

RDMA_ABI int ibv_query_srq(ibv_srq* abi, ibv_srq_attr* attributes) {
    return performed("ibv_query_srq", [&](ProgressEngine&) {
        const Srq& srq = to_srq(abi);
        *attributes = {srq.max_requests, srq.max_pieces, srq.limit};
        return 0;
    });
}

RDMA_ABI int ibv_destroy_srq(ibv_srq* abi) {
    Srq& srq = to_srq(abi);
    const int failure = performed("ibv_destroy_srq", [&](ProgressEngine&) {
        if (srq.users != 0) return EBUSY;
        forget_events(srq);
        srq.queue.reset();
        --to_pd(srq.pd).users;
        return 0;
    });
    if (failure != 0) return failure;
    wait_until_acknowledged(srq.mutex, srq.cond, srq.events_completed, srq.async_reported);
    delete &srq;
    return 0;
}
