// verbs_program MODE [COUNT]
//
// A program of verbs that prints on standard output what it does, in the order of each queue, for the test to compare
// with what was recorded:
//   pair NUMBER SEND_CAPACITY
//   send|receive|srq NUMBER ID OPCODE BYTES PIECES FLAGS STATUS OF
//   done NUMBER ID OPCODE BYTES STATUS RECEIVE OF
//   empty NUMBER, the first look of a row that found none
//   gone NUMBER
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <mutex>
#include <rdma/rdma_cma.h>
#include <set>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

class Log {
public:
    [[gnu::format(printf, 2, 3)]] void say(const char* format, ...) {
        char line[256];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        text_ += line;
        text_ += '\n';
    }
    ~Log() {
        // Pipes keep lines together only where they are short.
        static std::mutex mutex;
        const std::lock_guard lock(mutex);
        for (std::size_t at = 0; at < text_.size();) {
            const ssize_t wrote = write(STDOUT_FILENO, text_.data() + at, text_.size() - at);
            if (wrote <= 0) std::abort();
            at += static_cast<std::size_t>(wrote);
        }
    }

private:
    std::string text_;
};

unsigned told_flags(unsigned verbs) {
    return ((verbs & IBV_SEND_SIGNALED) != 0 ? 1U : 0U) | ((verbs & IBV_SEND_SOLICITED) != 0 ? 2U : 0U) |
           ((verbs & IBV_SEND_FENCE) != 0 ? 4U : 0U) | ((verbs & IBV_SEND_INLINE) != 0 ? 8U : 0U);
}

ibv_context* open_device(int index) {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    ibv_context* const context = ibv_open_device(list[index]);
    ibv_free_device_list(list);
    return context;
}

/// Queues of this thread in which it found nothing when it looked last.
thread_local std::set<const void*> seen_empty;

struct Queues {
    ibv_context* context;
    ibv_pd* domain;
    ibv_cq* sends;
    ibv_cq* receives;
    ibv_qp* pair;
};

Queues make_queues(ibv_context* context, Log& log, bool one_queue = false, ibv_srq* shared = nullptr,
                   bool all_signalled = false) {
    Queues q{};
    q.context = context;
    q.domain = ibv_alloc_pd(context);
    q.sends = ibv_create_cq(context, 100, nullptr, nullptr, 0);
    q.receives = one_queue ? q.sends : ibv_create_cq(context, 100, nullptr, nullptr, 0);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = q.sends;
    attributes.recv_cq = q.receives;
    attributes.srq = shared;
    attributes.cap.max_send_wr = 64;
    attributes.cap.max_recv_wr = 32;
    attributes.qp_type = IBV_QPT_RC;
    attributes.sq_sig_all = all_signalled ? 1 : 0;
    q.pair = ibv_create_qp(q.domain, &attributes);
    log.say("pair %u %u", q.pair->qp_num, attributes.cap.max_send_wr);
    return q;
}

void destroy(const Queues& q, Log& log) {
    log.say("gone %u", q.pair->qp_num);
    seen_empty.erase(q.sends);
    seen_empty.erase(q.receives);
    ibv_destroy_qp(q.pair);
    if (q.receives != q.sends) ibv_destroy_cq(q.receives);
    ibv_destroy_cq(q.sends);
}

constexpr std::uint64_t first_receive = 1ULL << 40;

/// Takes what there is; says which completions are of receives, as this program knows by their ids. Of an error on a
/// queue of both is known to the device alone: -1.
void drain(const Queues& q, ibv_cq* queue, Log& log) {
    std::array<ibv_wc, 7> found{};
    for (int count = 0; (count = ibv_poll_cq(queue, static_cast<int>(found.size()), found.data())) > 0;) {
        seen_empty.erase(queue);
        for (int i = 0; i < count; ++i) {
            const ibv_wc& wc = found[static_cast<std::size_t>(i)];
            const bool good = wc.status == IBV_WC_SUCCESS;
            const bool known = good || q.sends != q.receives;
            log.say("done %u %llu %d %u %d %d %d", wc.qp_num, static_cast<unsigned long long>(wc.wr_id),
                    good ? static_cast<int>(wc.opcode) : -1, good ? wc.byte_len : 0, static_cast<int>(wc.status),
                    known ? wc.wr_id >= first_receive ? 1 : 0 : -1, i);
        }
    }
    if (seen_empty.insert(queue).second) log.say("empty %u", q.pair->qp_num);
}

/// Lists of one to five requests of many kinds, of which one in a hundred is refused, and one in fifty fails.
void post_and_poll(const Queues& q, Log& log, unsigned count, unsigned seed, bool all_signalled = false) {
    constexpr std::array opcodes{IBV_WR_SEND,      IBV_WR_RDMA_WRITE,   IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
                                 IBV_WR_LOCAL_INV, IBV_WR_SEND_WITH_IMM};
    std::uint64_t id = 0;
    std::array<ibv_sge, 17> pieces{};
    for (unsigned i = 0; i < pieces.size(); ++i) pieces[i].length = 1000 + i * 7;
    const auto random = [&seed] { return seed = seed * 1664525 + 1013904223, seed >> 8; };
    while (count > 0) {
        ibv_recv_wr receive{};
        receive.wr_id = first_receive + id;
        receive.sg_list = pieces.data();
        receive.num_sge = 2;
        log.say("receive %u %llu 0 2007 2 0 0 0", q.pair->qp_num, static_cast<unsigned long long>(receive.wr_id));
        ibv_recv_wr* bad_receive = nullptr;
        if (ibv_post_recv(q.pair, &receive, &bad_receive) != 0) std::abort();
        std::array<ibv_send_wr, 5> list{};
        const unsigned length = 1 + random() % 5;
        bool reached = true;
        for (unsigned i = 0; i < length; ++i) {
            ibv_send_wr& wr = list[i];
            wr.wr_id = ++id;
            wr.next = i + 1 < length ? &list[i + 1] : nullptr;
            wr.opcode = opcodes[random() % opcodes.size()];
            wr.sg_list = pieces.data();
            wr.num_sge = wr.opcode == IBV_WR_LOCAL_INV ? 0 : static_cast<int>(1 + random() % 3);
            wr.send_flags = random() % 16;
            wr.wr.rdma.remote_addr = id * 4096;
            wr.wr.rdma.rkey = wr.opcode == IBV_WR_RDMA_READ && random() % 8 == 0 ? 0xbad : 5;
            if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) wr.wr.atomic.rkey = 5;
            if (random() % 100 == 0) wr.num_sge = 17;
            if (!reached) continue;
            const bool refused = wr.num_sge == 17;
            unsigned bytes = 0;
            for (int piece = 0; !refused && piece < wr.num_sge; ++piece)
                bytes += pieces[static_cast<std::size_t>(piece)].length;
            log.say("send %u %llu %d %u %d %u %d %u", q.pair->qp_num, static_cast<unsigned long long>(id),
                    static_cast<int>(wr.opcode), bytes, refused ? 0 : wr.num_sge,
                    told_flags(wr.send_flags | (all_signalled ? unsigned{IBV_SEND_SIGNALED} : 0U)), refused ? 1 : 0, i);
            reached = !refused;
        }
        ibv_send_wr* bad = nullptr;
        const bool refused = ibv_post_send(q.pair, list.data(), &bad) != 0;
        if (refused == reached || (refused && bad->num_sge != 17)) std::abort();
        if (random() % 3 == 0) {
            drain(q, q.sends, log);
            drain(q, q.receives, log);
        }
        count -= length < count ? length : count;
    }
    drain(q, q.sends, log);
    drain(q, q.receives, log);
}

void in_threads(unsigned threads, unsigned count) {
    std::vector<std::thread> running;
    ibv_context* const contexts[2] = {open_device(0), open_device(1)};
    for (unsigned i = 0; i < threads; ++i)
        running.emplace_back([=] {
            Log log;
            const Queues q = make_queues(contexts[i % 2], log, i % 3 == 1, nullptr, i % 2 == 1);
            post_and_poll(q, log, count, i + 1, i % 2 == 1);
            destroy(q, log);
        });
    for (std::thread& one : running) one.join();
    for (ibv_context* const context : contexts) ibv_close_device(context);
}

void extended(unsigned count) {
    Log log;
    ibv_context* const context = open_device(0);
    ibv_cq_init_attr_ex queue_attributes{};
    queue_attributes.cqe = 100;
    queue_attributes.wc_flags = IBV_WC_EX_WITH_IMM;
    ibv_cq_ex* const queue = ibv_create_cq_ex(context, &queue_attributes);
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = attributes.recv_cq = ibv_cq_ex_to_cq(queue);
    attributes.pd = ibv_alloc_pd(context);
    attributes.cap.max_send_wr = 60;
    attributes.qp_type = IBV_QPT_RC;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
    ibv_qp* const pair = ibv_create_qp_ex(context, &attributes);
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair);
    log.say("pair %u %u", pair->qp_num, attributes.cap.max_send_wr);
    std::uint64_t id = 0;
    const std::array<ibv_sge, 2> pieces{ibv_sge{0, 300, 0}, ibv_sge{0, 44, 0}};
    char text[30] = "";
    for (unsigned round = 0; round < count; ++round) {
        // Lists of 1, 2, 100 and 130, of which the device refuses those above 120 as a whole.
        const unsigned length = round % 40 == 0 ? 130 : round % 10 == 0 ? 100 : 1 + round % 2;
        const bool aborted = round % 7 == 3;
        ibv_wr_start(qp);
        for (unsigned i = 0; i < length; ++i) {
            qp->wr_id = ++id;
            qp->wr_flags = IBV_SEND_SIGNALED;
            unsigned bytes = 0;
            const unsigned kind = static_cast<unsigned>(id % 3);
            if (kind == 0) {
                ibv_wr_send(qp);
                ibv_wr_set_inline_data(qp, text, bytes = 30);
            } else if (kind == 1) {
                ibv_wr_rdma_write(qp, 9, 4096 * id);
                ibv_wr_set_sge_list(qp, 2, pieces.data());
                bytes = 344;
            } else {
                ibv_wr_rdma_read(qp, 9, 4096 * id);
                ibv_wr_set_sge(qp, 0, 0, bytes = 512);
            }
            constexpr std::array opcodes{IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
            // Of what is refused or aborted, 64 at a time were reported already.
            const bool kept_back = i >= length / 64 * 64 - (length % 64 == 0 ? 64 : 0);
            if (!aborted || !kept_back)
                log.say("send %u %llu %d %u %d %u %d %u", pair->qp_num, static_cast<unsigned long long>(id),
                        static_cast<int>(opcodes[kind]), bytes,
                        length > 120 && kept_back ? 0
                        : kind == 1               ? 2
                                                  : 1,
                        kind == 0 ? 9U : 1U, length > 120 && kept_back ? 1 : 0, i);
        }
        if (aborted)
            ibv_wr_abort(qp);
        else if ((ibv_wr_complete(qp) != 0) != (length > 120))
            std::abort();
        ibv_poll_cq_attr poll_attributes{};
        if (ibv_start_poll(queue, &poll_attributes) != 0) {
            if (seen_empty.insert(queue).second) log.say("empty %u", pair->qp_num);
            continue;
        }
        seen_empty.erase(queue);
        int of = 0;
        do {
            log.say("done %u %llu %d %u 0 0 %d", pair->qp_num, static_cast<unsigned long long>(queue->wr_id),
                    static_cast<int>(ibv_wc_read_opcode(queue)),
                    queue->wr_id % 3 == 0   ? 30U
                    : queue->wr_id % 3 == 1 ? 344U
                                            : 512U,
                    of++);
        } while (ibv_next_poll(queue) == 0);
        ibv_end_poll(queue);
    }
    log.say("gone %u", pair->qp_num);
    ibv_destroy_qp(pair);
    ibv_destroy_cq(ibv_cq_ex_to_cq(queue));
    ibv_close_device(context);
}

/// Shared receive queues, windows on both kinds of devices, states, and a connection.
void objects() {
    Log log;
    for (int device = 0; device < 2; ++device) {
        ibv_context* const context = open_device(device);
        ibv_srq_init_attr shared_attributes{};
        ibv_srq* const shared = ibv_create_srq(ibv_alloc_pd(context), &shared_attributes);
        const Queues q = make_queues(context, log, false, shared);
        ibv_sge piece{0, 77, 0};
        ibv_recv_wr receive{};
        receive.wr_id = first_receive;
        receive.sg_list = &piece;
        receive.num_sge = 1;
        ibv_recv_wr* bad_receive = nullptr;
        log.say("srq 41 %llu 0 77 1 16 0 0", static_cast<unsigned long long>(first_receive));
        if (ibv_post_srq_recv(shared, &receive, &bad_receive) != 0) std::abort();
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_RTR;
        attributes.dest_qp_num = 0x4711;
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.dlid = 12;
        attributes.ah_attr.port_num = 1;
        attributes.ah_attr.grh.sgid_index = 3;
        std::memset(attributes.ah_attr.grh.dgid.raw, 0xab, 16);
        ibv_modify_qp(q.pair, &attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN);
        attributes = {};
        attributes.qp_state = IBV_QPS_RTS;
        ibv_modify_qp(q.pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
        ibv_mw window{};
        window.context = context;
        ibv_mw_bind bind{};
        bind.wr_id = 900;
        bind.send_flags = IBV_SEND_SIGNALED;
        if (context->ops.bind_mw(q.pair, &window, &bind) != 0) std::abort();
        log.say("send %u 900 %d 0 0 1 0 0", q.pair->qp_num, static_cast<int>(IBV_WR_BIND_MW));
        rdma_cm_id id{};
        id.verbs = context;
        id.qp = q.pair;
        id.route.addr.src_sin6.sin6_family = AF_INET6;
        inet_pton(AF_INET6, "::ffff:192.0.2.1", &id.route.addr.src_sin6.sin6_addr);
        id.route.addr.src_sin6.sin6_port = htons(4711);
        id.route.addr.dst_sin.sin_family = AF_INET;
        inet_pton(AF_INET, "192.0.2.9", &id.route.addr.dst_sin.sin_addr);
        id.route.addr.dst_sin.sin_port = htons(18515);
        rdma_cm_event* event = nullptr;
        rdma_get_cm_event(reinterpret_cast<rdma_event_channel*>(&id), &event);
        drain(q, q.sends, log);
        destroy(q, log);
        ibv_destroy_srq(shared);
        ibv_close_device(context);
    }
}

void in_child(unsigned count) {
    {
        Log log;
        const Queues q = make_queues(open_device(0), log);
        post_and_poll(q, log, count, 1);
        const pid_t child = fork();
        if (child == 0) {
            // Queue pairs of a child are its own, on a context of its own.
            Log own;
            const Queues mine = make_queues(open_device(1), own);
            post_and_poll(mine, own, count, 2);
            destroy(mine, own);
            log = Log();
        } else {
            int status = 0;
            waitpid(child, &status, 0);
            if (status != 0) std::abort();
            post_and_poll(q, log, count, 3);
            destroy(q, log);
        }
    }
}

/// Posts until it is killed; says its first queue pair, and then nothing.
void for_ever() {
    Log* const log = new Log;
    const Queues q = make_queues(open_device(0), *log);
    delete log;
    ibv_sge piece{0, 64, 0};
    ibv_send_wr wr{};
    wr.sg_list = &piece;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    for (ibv_send_wr* bad = nullptr;; ++wr.wr_id)
        if (ibv_post_send(q.pair, &wr, &bad) != 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    const unsigned count = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
    if (mode == "threads") in_threads(4, count);
    if (mode == "short-threads")
        for (unsigned i = 0; i < count; ++i) in_threads(30, 20);
    if (mode == "many-threads") {
        std::vector<std::thread> running;
        ibv_context* const context = open_device(0);
        std::atomic<unsigned> ready = 0;
        for (unsigned i = 0; i < count; ++i)
            running.emplace_back([&ready, context, count] {
                Log log;
                [[maybe_unused]] const Queues q = make_queues(context, log);
                ++ready;
                while (ready != count) std::this_thread::yield();
            });
        for (std::thread& one : running) one.join();
    }
    if (mode == "extended") extended(count);
    if (mode == "objects") objects();
    if (mode == "fork") in_child(count);
    if (mode == "for-ever") for_ever();
    return mode == "nothing" || count > 0 ? 0 : 2;
}
