#include "tests/preload/preload_harness.h"

#include <arpa/inet.h>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <thread>

namespace preload_test {
namespace {

template <class Pointer>
Pointer need(Pointer pointer, const char* what) {
    if (pointer == nullptr) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return pointer;
}

void need_zero(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(result > 0 ? result : errno));
}

bool readable(int descriptor) {
    pollfd wanted{descriptor, POLLIN, 0};
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    return poll(&wanted, 1, static_cast<int>(wait.count())) == 1;
}

ibv_context* open_device() {
    ibv_device** const list = need(ibv_get_device_list(nullptr), "ibv_get_device_list");
    ibv_context* const context = need(ibv_open_device(list[0]), "ibv_open_device");
    ibv_free_device_list(list);
    return context;
}

}  // namespace

bool eventually(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

Side::Side(const Wishes& wishes) : context(open_device()), memory(1 << 20) {
    pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
    mr = need(ibv_reg_mr(pd, memory.data(), memory.size(), all_rights), "ibv_reg_mr");
    if (wishes.with_channel) channel = need(ibv_create_comp_channel(context), "ibv_create_comp_channel");
    if (wishes.fields == 0) {
        cq = need(ibv_create_cq(context, wishes.completions, this, channel, 0), "ibv_create_cq");
    } else {
        ibv_cq_init_attr_ex attributes{};
        attributes.cqe = static_cast<std::uint32_t>(wishes.completions);
        attributes.wc_flags = wishes.fields;
        cq = ibv_cq_ex_to_cq(need(ibv_create_cq_ex(context, &attributes), "ibv_create_cq_ex"));
    }
    if (wishes.shared_receives) {
        ibv_srq_init_attr attributes{};
        attributes.attr = {64, 4, 0};
        srq = need(ibv_create_srq(pd, &attributes), "ibv_create_srq");
    }
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.srq = srq;
    attributes.cap = wishes.capabilities;
    attributes.qp_type = IBV_QPT_RC;
    attributes.sq_sig_all = wishes.signal_all;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.pd = pd;
    if (wishes.builders) {
        attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |
                                    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                                    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
                                    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
    }
    qp = need(ibv_create_qp_ex(context, &attributes), "ibv_create_qp_ex");
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    need_zero(ibv_modify_qp(qp, &state, IBV_QP_STATE), "ibv_modify_qp INIT");
}

Side::~Side() {
    destroy_pair();
    if (srq != nullptr) {
        EXPECT_EQ(ibv_destroy_srq(srq), 0);
    }
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    if (channel != nullptr) {
        EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    }
    if (mr != nullptr) {
        EXPECT_EQ(ibv_dereg_mr(mr), 0);
    }
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    close_device();
}

void Side::close_device() {
    if (context != nullptr) {
        EXPECT_EQ(ibv_close_device(context), 0);
    }
    context = nullptr;
}

void Side::destroy_pair() {
    if (qp != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
    }
    qp = nullptr;
}

ibv_sge Side::piece(std::size_t at, std::size_t length) const {
    return {offset(at), static_cast<std::uint32_t>(length), mr->lkey};
}

ibv_send_wr Side::request(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge* pieces, int count) const {
    ibv_send_wr made{};
    made.wr_id = id;
    made.opcode = opcode;
    made.send_flags = IBV_SEND_SIGNALED;
    made.sg_list = pieces;
    made.num_sge = count;
    return made;
}

int Side::send(ibv_send_wr request) const {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &request, &bad);
}

int Side::receive(std::uint64_t id, std::size_t at, std::size_t length) const {
    ibv_sge into = piece(at, length);
    ibv_recv_wr request{id, nullptr, &into, 1};
    ibv_recv_wr* bad = nullptr;
    return srq != nullptr ? ibv_post_srq_recv(srq, &request, &bad) : ibv_post_recv(qp, &request, &bad);
}

ibv_wc Side::completion() const {
    ibv_wc found{};
    EXPECT_TRUE(eventually([&] { return ibv_poll_cq(cq, 1, &found) == 1; })) << "no completion came";
    return found;
}

ibv_async_event Side::async_event() const {
    ibv_async_event event{};
    EXPECT_TRUE(readable(context->async_fd)) << "no asynchronous event came";
    fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
    EXPECT_EQ(ibv_get_async_event(context, &event), 0);
    return event;
}

ibv_qp_state Side::state() const {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    EXPECT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &initial), 0);
    return attributes.qp_state;
}

Connection::Connection(const Wishes& active_wishes, const Wishes& passive_wishes)
    : active(active_wishes), passive(passive_wishes) {
    connect(active_wishes, passive_wishes);
}

rdma_cm_event* Connection::expect(rdma_cm_event_type type) const {
    rdma_cm_event* event = nullptr;
    if (!readable(events_->fd)) throw std::runtime_error(std::string("waited for ") + rdma_event_str(type));
    need_zero(rdma_get_cm_event(events_, &event), "rdma_get_cm_event");
    if (event->event != type)
        throw std::runtime_error(std::string(rdma_event_str(event->event)) + " instead of " + rdma_event_str(type));
    return event;
}

void Connection::connect(const Wishes& active_wishes, const Wishes& passive_wishes) {
    events_ = need(rdma_create_event_channel(), "rdma_create_event_channel");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const shown = reinterpret_cast<sockaddr*>(&address);
    need_zero(rdma_create_id(events_, &listener_, nullptr, RDMA_PS_TCP), "rdma_create_id");
    need_zero(rdma_bind_addr(listener_, shown), "rdma_bind_addr");
    need_zero(rdma_listen(listener_, 1), "rdma_listen");
    address.sin_port = rdma_get_src_port(listener_);

    need_zero(rdma_create_id(events_, &active_id_, nullptr, RDMA_PS_TCP), "rdma_create_id");
    need_zero(rdma_resolve_addr(active_id_, nullptr, shown, 1000), "rdma_resolve_addr");
    rdma_ack_cm_event(expect(RDMA_CM_EVENT_ADDR_RESOLVED));
    need_zero(rdma_resolve_route(active_id_, 1000), "rdma_resolve_route");
    rdma_ack_cm_event(expect(RDMA_CM_EVENT_ROUTE_RESOLVED));
    rdma_conn_param parameters{};
    parameters.responder_resources = active_wishes.responder_resources;
    parameters.initiator_depth = active_wishes.initiator_depth;
    parameters.qp_num = active.qp->qp_num;
    need_zero(rdma_connect(active_id_, &parameters), "rdma_connect");
    rdma_cm_event* const request = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    passive_id_ = request->id;
    rdma_ack_cm_event(request);
    parameters.responder_resources = passive_wishes.responder_resources;
    parameters.initiator_depth = passive_wishes.initiator_depth;
    parameters.qp_num = passive.qp->qp_num;
    need_zero(rdma_accept(passive_id_, &parameters), "rdma_accept");
    for (int i = 0; i < 2; ++i) {
        rdma_cm_event* const established = expect(RDMA_CM_EVENT_ESTABLISHED);
        if (established->id == active_id_) established_with = established->param.conn;
        rdma_ack_cm_event(established);
    }
}

Connection::~Connection() {
    active.destroy_pair();
    passive.destroy_pair();
    for (rdma_cm_id* const id : {active_id_, passive_id_, listener_})
        if (id != nullptr) {
            EXPECT_EQ(rdma_destroy_id(id), 0);
        }
    rdma_destroy_event_channel(events_);
}

}  // namespace preload_test
