#include <cstring>
#include <rdma/rdma_verbs.h>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/cm_objects.h"

/// Queue pairs and shared receive queues that belong to an identifier. All of it by way of libibverbs' functions, which
/// take the lock themselves.
using namespace iwarp::preload;
using cm::fail;
using cm::to_id;

namespace {

/// Completion queues where the program brings none, each with a channel.
int create_cqs(rdma_cm_id* id, std::uint32_t send_size, std::uint32_t receive_size) {
    const auto one = [id](std::uint32_t size, ibv_comp_channel*& channel, ibv_cq*& cq) {
        if (size == 0) return true;
        channel = ibv_create_comp_channel(id->verbs);
        if (channel != nullptr) cq = ibv_create_cq(id->verbs, static_cast<int>(size), id, channel, 0);
        return cq != nullptr;
    };
    return one(receive_size, id->recv_cq_channel, id->recv_cq) && one(send_size, id->send_cq_channel, id->send_cq) ? 0
                                                                                                                   : -1;
}

void destroy_cqs(rdma_cm_id* id) {
    if (id->recv_cq != nullptr) ibv_destroy_cq(id->recv_cq);
    if (id->send_cq != nullptr && id->send_cq != id->recv_cq) ibv_destroy_cq(id->send_cq);
    if (id->recv_cq_channel != nullptr) ibv_destroy_comp_channel(id->recv_cq_channel);
    if (id->send_cq_channel != nullptr && id->send_cq_channel != id->recv_cq_channel)
        ibv_destroy_comp_channel(id->send_cq_channel);
    id->send_cq = id->recv_cq = nullptr;
    id->send_cq_channel = id->recv_cq_channel = nullptr;
}

/// The program's protection domain, or the one that all have in common.
ibv_pd* domain_of(rdma_cm_id* id, ibv_pd* given) {
    if (given != nullptr) return given;
    return id->pd != nullptr ? id->pd : cm::default_domain();
}

bool differs(const ibv_cq* own, const ibv_cq* given) { return own != nullptr && given != nullptr && own != given; }

int prepare(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

}  // namespace

RDMA_ABI int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes) {
    if (id == nullptr || attributes == nullptr || id->qp != nullptr || id->verbs == nullptr) return fail(EINVAL);
    if ((attributes->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) {
        attributes->pd = domain_of(id, nullptr);
        if (attributes->pd == nullptr) return -1;
        attributes->comp_mask |= IBV_QP_INIT_ATTR_PD;
    }
    if (differs(id->send_cq, attributes->send_cq) || differs(id->recv_cq, attributes->recv_cq)) return fail(EINVAL);
    const bool own_send = attributes->send_cq == nullptr && id->send_cq == nullptr;
    const bool own_receive = attributes->recv_cq == nullptr && id->recv_cq == nullptr;
    const std::uint32_t receives = attributes->cap.max_recv_wr == 0 ? 1 : attributes->cap.max_recv_wr;
    const std::uint32_t sends = attributes->cap.max_send_wr == 0 ? 1 : attributes->cap.max_send_wr;
    ibv_qp* qp = nullptr;
    if (create_cqs(id, own_send ? sends : 0, own_receive ? receives : 0) == 0) {
        if (attributes->send_cq == nullptr) attributes->send_cq = id->send_cq;
        if (attributes->recv_cq == nullptr) attributes->recv_cq = id->recv_cq;
        if (id->srq != nullptr && attributes->srq == nullptr) attributes->srq = id->srq;
        qp = ibv_create_qp_ex(id->verbs, attributes);
    }
    if (qp != nullptr) {
        const int failure = prepare(qp);
        if (failure == 0) {
            id->qp = qp;
            id->pd = qp->pd;
            return 0;
        }
        ibv_destroy_qp(qp);
        errno = failure;
    }
    const int failure = errno;
    if (own_send || own_receive) destroy_cqs(id);
    return fail(failure);
}

RDMA_ABI int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attributes) {
    if (id == nullptr || attributes == nullptr) return fail(EINVAL);
    ibv_qp_init_attr_ex extended{};
    std::memcpy(&extended, attributes, sizeof *attributes);  // it is the beginning of the other
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = domain_of(id, pd);
    if (extended.pd == nullptr) return -1;
    const int done = rdma_create_qp_ex(id, &extended);
    std::memcpy(attributes, &extended, sizeof *attributes);
    return done;
}

RDMA_ABI void rdma_destroy_qp(rdma_cm_id* id) {
    if (id == nullptr || id->qp == nullptr) return;
    ibv_destroy_qp(id->qp);
    id->qp = nullptr;
    destroy_cqs(id);
}

RDMA_ABI int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes) {
    if (id == nullptr || attributes == nullptr || id->verbs == nullptr || id->srq != nullptr) return fail(EINVAL);
    if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attributes->srq_type != IBV_SRQT_BASIC)
        return fail(EOPNOTSUPP);
    if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) {
        attributes->pd = domain_of(id, nullptr);
        if (attributes->pd == nullptr) return -1;
        attributes->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    }
    ibv_srq_init_attr plain{};
    plain.srq_context = attributes->srq_context;
    plain.attr = attributes->attr;
    ibv_srq* const srq = ibv_create_srq(attributes->pd, &plain);
    if (srq == nullptr) return -1;
    attributes->attr = plain.attr;
    if (id->pd == nullptr) id->pd = attributes->pd;
    id->srq = srq;
    return 0;
}

RDMA_ABI int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attributes) {
    if (id == nullptr || attributes == nullptr) return fail(EINVAL);
    ibv_srq_init_attr_ex extended{};
    extended.srq_context = attributes->srq_context;
    extended.attr = attributes->attr;
    extended.comp_mask = IBV_SRQ_INIT_ATTR_PD;
    extended.pd = domain_of(id, pd);
    if (extended.pd == nullptr) return -1;
    const int done = rdma_create_srq_ex(id, &extended);
    attributes->attr = extended.attr;
    return done;
}

RDMA_ABI void rdma_destroy_srq(rdma_cm_id* id) {
    if (id == nullptr || id->srq == nullptr) return;
    ibv_destroy_srq(id->srq);
    id->srq = nullptr;
}

RDMA_ABI int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
    if (id == nullptr || attributes == nullptr || mask == nullptr || id->verbs == nullptr) return fail(EINVAL);
    const ibv_qp_state state = attributes->qp_state;
    if (state != IBV_QPS_INIT && state != IBV_QPS_RTR && state != IBV_QPS_RTS) return fail(EINVAL);
    // The connection makes it ready to receive and to send. A program that does so itself, before it accepts or once it
    // is connected, has nothing left to change.
    attributes->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    attributes->port_num = 1;
    *mask = state == IBV_QPS_RTS ? 0 : IBV_QP_ACCESS_FLAGS;
    if (state == IBV_QPS_INIT && to_id(id).stage != cm::Stage::connected) *mask |= IBV_QP_STATE;
    return 0;
}
