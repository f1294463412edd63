// libibverbs and librdmacm with two devices that move no data: a request completes when it is asked for. What is
// received is what was sent on the same queue pair. Everything that the tests tell of it is written here by hand, and
// knows nothing of tracing.
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <infiniband/verbs.h>
#include <memory>
#include <mutex>
#include <rdma/rdma_cma.h>

struct verbs_context_ops {
    ibv_context_ops fast;
    decltype(verbs_context::create_qp_ex) create_qp_ex;
    decltype(verbs_context::create_cq_ex) create_cq_ex;
};

namespace {

struct Done {
    ibv_wc wc;
};
struct Queue {
    ibv_cq_ex cq{};  // first: ibv_cq and ibv_cq_ex begin alike
    std::mutex mutex = {};
    std::deque<Done> done = {};
    ibv_wc current{};
};
struct Shared {
    ibv_srq srq{};
    std::mutex mutex = {};
    std::deque<std::uint64_t> receives = {};
};
struct Pair {
    ibv_qp_ex qp{};  // first
    std::mutex mutex = {};
    std::deque<std::uint64_t> receives = {};
    std::uint32_t depth = 0;
    std::uint32_t used = 0;
    bool all_signalled = false;
    ibv_qp_attr attributes{};
    std::deque<Done> list = {};  // between wr_start and wr_complete
};

Queue& of(ibv_cq* cq) { return *reinterpret_cast<Queue*>(cq); }
Queue& of(ibv_cq_ex* cq) { return *reinterpret_cast<Queue*>(cq); }
Pair& of(ibv_qp* qp) { return *reinterpret_cast<Pair*>(qp); }
Pair& of(ibv_qp_ex* qp) { return *reinterpret_cast<Pair*>(qp); }

void finish(ibv_cq* cq, const ibv_wc& wc) {
    Queue& queue = of(cq);
    const std::lock_guard lock(queue.mutex);
    queue.done.push_back({wc});
}

ibv_wc_opcode completion_of(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
        case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
        case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
        case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
        case IBV_WR_BIND_MW: return IBV_WC_BIND_MW;
        case IBV_WR_LOCAL_INV: return IBV_WC_LOCAL_INV;
        default: return IBV_WC_SEND;
    }
}

constexpr std::uint32_t bad_key = 0xbad;

/// A request's completions, of the sender and of who receives.
void carry_out(Pair& pair, std::uint64_t id, ibv_wr_opcode opcode, bool signalled, std::uint32_t bytes,
               std::uint32_t key) {
    ibv_wc wc{};
    wc.wr_id = id;
    wc.qp_num = pair.qp.qp_base.qp_num;
    wc.opcode = completion_of(opcode);
    wc.byte_len = bytes;
    if (key == bad_key) {
        wc.status = IBV_WC_REM_ACCESS_ERR;
        wc.vendor_err = 0x88;
        // As the verbs have it, nothing but the id, the status and the queue pair is defined.
        wc.opcode = static_cast<ibv_wc_opcode>(IBV_WC_RECV);
        wc.byte_len = 0xdeadbeef;
    }
    if (signalled || wc.status != IBV_WC_SUCCESS) {
        finish(pair.qp.qp_base.send_cq, wc);
    }
    if (wc.status != IBV_WC_SUCCESS || (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM)) return;
    auto* const shared = reinterpret_cast<Shared*>(pair.qp.qp_base.srq);
    std::deque<std::uint64_t>& receives = shared != nullptr ? shared->receives : pair.receives;
    if (receives.empty()) return;
    wc.wr_id = receives.front();
    receives.pop_front();
    wc.opcode = IBV_WC_RECV;
    finish(pair.qp.qp_base.recv_cq, wc);
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    constexpr int most_pieces = 16;
    Pair& pair = of(qp);
    const std::lock_guard lock(pair.mutex);
    for (; wr != nullptr; wr = wr->next) {
        if (wr->num_sge > most_pieces) {
            *bad = wr;
            return EINVAL;
        }
        std::uint32_t bytes = 0;
        for (int i = 0; i < wr->num_sge; ++i) bytes += wr->sg_list[i].length;
        const bool signalled = pair.all_signalled || (wr->send_flags & IBV_SEND_SIGNALED) != 0;
        carry_out(pair, wr->wr_id, wr->opcode, signalled, bytes, wr->opcode == IBV_WR_RDMA_READ ? wr->wr.rdma.rkey : 0);
    }
    return 0;
}

int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr**) {
    Pair& pair = of(qp);
    const std::lock_guard lock(pair.mutex);
    for (; wr != nullptr; wr = wr->next) pair.receives.push_back(wr->wr_id);
    return 0;
}

int post_shared_receive(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr**) {
    auto& shared = *reinterpret_cast<Shared*>(srq);
    const std::lock_guard lock(shared.mutex);
    for (; wr != nullptr; wr = wr->next) shared.receives.push_back(wr->wr_id);
    return 0;
}

int poll(ibv_cq* cq, int most, ibv_wc* wc) {
    Queue& queue = of(cq);
    const std::lock_guard lock(queue.mutex);
    int count = 0;
    for (; count < most && !queue.done.empty(); ++count) {
        wc[count] = queue.done.front().wc;
        queue.done.pop_front();
    }
    return count;
}

// Device 0 binds windows by itself, device 1 as rxe does, by posting a request.
int bind_window(ibv_qp* qp, ibv_mw*, ibv_mw_bind* bind) {
    ibv_send_wr request{};
    request.wr_id = bind->wr_id;
    request.opcode = IBV_WR_BIND_MW;
    request.send_flags = bind->send_flags;
    ibv_send_wr* bad = nullptr;
    if (qp->context->device->name[4] == '1') return ibv_post_send(qp, &request, &bad);
    return post_send(qp, &request, &bad);
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr*) {
    Queue& queue = of(cq);
    const std::lock_guard lock(queue.mutex);
    if (queue.done.empty()) return ENOENT;
    queue.current = queue.done.front().wc;
    queue.done.pop_front();
    cq->wr_id = queue.current.wr_id;
    cq->status = queue.current.status;
    return 0;
}
void end_poll(ibv_cq_ex*) {}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    auto* const queue = new Queue;
    ibv_cq_ex& cq = queue->cq;
    cq.context = context;
    cq.cqe = static_cast<int>(attributes->cqe);
    cq.start_poll = start_poll;
    cq.next_poll = [](ibv_cq_ex* from) { return start_poll(from, nullptr); };
    cq.end_poll = end_poll;
    cq.read_opcode = [](ibv_cq_ex* from) { return of(from).current.opcode; };
    cq.read_vendor_err = [](ibv_cq_ex* from) { return of(from).current.vendor_err; };
    if ((attributes->wc_flags & IBV_WC_EX_WITH_BYTE_LEN) != 0)
        cq.read_byte_len = [](ibv_cq_ex* from) { return of(from).current.byte_len; };
    if ((attributes->wc_flags & IBV_WC_EX_WITH_QP_NUM) != 0)
        cq.read_qp_num = [](ibv_cq_ex* from) { return of(from).current.qp_num; };
    return &cq;
}

Done& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
    Pair& pair = of(qp);
    Done& done = pair.list.emplace_back();
    done.wc.wr_id = qp->wr_id;
    done.wc.opcode = static_cast<ibv_wc_opcode>(opcode);
    done.wc.wc_flags = pair.all_signalled || (qp->wr_flags & IBV_SEND_SIGNALED) != 0;
    done.wc.byte_len = 0;
    return done;
}

/// A list of more than `depth` requests is refused as a whole.
int complete(ibv_qp_ex* qp) {
    Pair& pair = of(qp);
    int result = 0;
    if (pair.list.size() > pair.depth)
        result = ENOMEM;
    else
        for (const Done& done : pair.list)
            carry_out(pair, done.wc.wr_id, static_cast<ibv_wr_opcode>(done.wc.opcode), done.wc.wc_flags != 0,
                      done.wc.byte_len, 0);
    pair.list.clear();
    pair.mutex.unlock();
    return result;
}

void fill_in(ibv_qp_ex& qp) {
    qp.wr_start = [](ibv_qp_ex* to) { of(to).mutex.lock(); };
    qp.wr_complete = complete;
    qp.wr_abort = [](ibv_qp_ex* to) {
        of(to).list.clear();
        of(to).mutex.unlock();
    };
    qp.wr_send = [](ibv_qp_ex* to) { begin(to, IBV_WR_SEND); };
    qp.wr_rdma_write = [](ibv_qp_ex* to, std::uint32_t, std::uint64_t) { begin(to, IBV_WR_RDMA_WRITE); };
    qp.wr_rdma_read = [](ibv_qp_ex* to, std::uint32_t, std::uint64_t) { begin(to, IBV_WR_RDMA_READ); };
    qp.wr_atomic_fetch_add = [](ibv_qp_ex* to, std::uint32_t, std::uint64_t, std::uint64_t) {
        begin(to, IBV_WR_ATOMIC_FETCH_AND_ADD);
    };
    qp.wr_set_sge = [](ibv_qp_ex* to, std::uint32_t, std::uint64_t, std::uint32_t octets) {
        of(to).list.back().wc.byte_len = octets;
    };
    qp.wr_set_sge_list = [](ibv_qp_ex* to, std::size_t count, const ibv_sge* pieces) {
        for (std::size_t i = 0; i < count; ++i) of(to).list.back().wc.byte_len += pieces[i].length;
    };
    qp.wr_set_inline_data = [](ibv_qp_ex* to, void*, std::size_t octets) {
        of(to).list.back().wc.byte_len = static_cast<std::uint32_t>(octets);
    };
}

Pair* make_pair(ibv_context* context, ibv_pd* domain, ibv_cq* sends, ibv_cq* receives, ibv_srq* shared, ibv_qp_cap& cap,
                ibv_qp_type type, bool all_signalled) {
    static std::mutex mutex;
    static std::uint32_t last_number = 0x100;
    auto* const pair = new Pair;
    ibv_qp& qp = pair->qp.qp_base;
    qp.context = context;
    qp.pd = domain;
    qp.send_cq = sends;
    qp.recv_cq = receives;
    qp.srq = shared;
    qp.qp_type = type;
    qp.state = IBV_QPS_RESET;
    cap.max_send_wr *= 2;  // what is granted is more than what was asked for
    pair->depth = cap.max_send_wr;
    pair->all_signalled = all_signalled;
    const std::lock_guard lock(mutex);
    qp.qp_num = ++last_number;
    return pair;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* a) {
    Pair* const pair =
        make_pair(context, a->pd, a->send_cq, a->recv_cq, a->srq, a->cap, a->qp_type, a->sq_sig_all != 0);
    fill_in(pair->qp);
    return &pair->qp.qp_base;
}

ibv_device* list_of_devices() {
    static ibv_device devices[2];
    std::strcpy(devices[0].name, "fake0");
    std::strcpy(devices[1].name, "fake1");
    return devices;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void verbs_set_ops(verbs_context* context, const verbs_context_ops* operations) {
    context->context.ops = operations->fast;
    context->create_qp_ex = operations->create_qp_ex;
    context->create_cq_ex = operations->create_cq_ex;
}

#undef ibv_get_device_list
ibv_device** ibv_get_device_list(int* count) {
    auto** const list = static_cast<ibv_device**>(std::calloc(3, sizeof(ibv_device*)));
    list[0] = list_of_devices();
    list[1] = list_of_devices() + 1;
    if (count != nullptr) *count = 2;
    return list;
}
void ibv_free_device_list(ibv_device** list) { std::free(list); }

ibv_context* ibv_open_device(ibv_device* device) {
    auto* const context = new verbs_context{};
    context->sz = sizeof *context;
    context->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context->context.device = device;
    verbs_context_ops operations{};
    operations.fast.post_send = post_send;
    operations.fast.post_recv = post_receive;
    operations.fast.post_srq_recv = post_shared_receive;
    operations.fast.poll_cq = poll;
    operations.fast.bind_mw = bind_window;
    operations.create_qp_ex = create_qp_ex;
    operations.create_cq_ex = create_cq_ex;
    verbs_set_ops(context, &operations);
    return &context->context;
}
int ibv_close_device(ibv_context* context) {
    delete verbs_get_ctx(context);
    return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* context) {
    auto* const domain = new ibv_pd{};
    domain->context = context;
    return domain;
}
ibv_cq* ibv_create_cq(ibv_context* context, int entries, void*, ibv_comp_channel*, int) {
    auto* const queue = new Queue;
    queue->cq.context = context;
    queue->cq.cqe = entries;
    return ibv_cq_ex_to_cq(&queue->cq);
}
int ibv_destroy_cq(ibv_cq* cq) {
    delete &of(cq);
    return 0;
}
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* a) {
    Pair* const pair =
        make_pair(pd->context, pd, a->send_cq, a->recv_cq, a->srq, a->cap, a->qp_type, a->sq_sig_all != 0);
    return &pair->qp.qp_base;
}
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return of(qp).qp.wr_start != nullptr ? &of(qp).qp : nullptr; }
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
    if ((mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
    of(qp).attributes = *attributes;
    return 0;
}
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
    *attributes = of(qp).attributes;
    attributes->cap.max_send_wr = of(qp).depth;
    return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
    delete &of(qp);
    return 0;
}
ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr*) {
    auto* const shared = new Shared;
    shared->srq.context = domain->context;
    shared->srq.handle = 40;
    return &shared->srq;
}
int ibv_destroy_srq(ibv_srq* srq) {
    delete reinterpret_cast<Shared*>(srq);
    return 0;
}

/// Not an event: the caller's id, which `channel` is, has its request in its context.
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
    static rdma_cm_event established_with;
    auto* const id = reinterpret_cast<rdma_cm_id*>(channel);
    established_with = {};
    established_with.id = id;
    established_with.event = RDMA_CM_EVENT_ESTABLISHED;
    *event = &established_with;
    return 0;
}

}  // extern "C"
#pragma GCC visibility pop
