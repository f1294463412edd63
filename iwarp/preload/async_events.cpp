#include "iwarp/preload/async_events.h"

#include <cerrno>
#include <fmt/core.h>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/verbs_objects.h"

namespace iwarp::preload {
namespace {

enum class About : std::uint8_t { queue_pair, completion_queue, shared_receive_queue, other };

About about(ibv_event_type type) {
    switch (type) {
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_QP_LAST_WQE_REACHED: return About::queue_pair;
        case IBV_EVENT_CQ_ERR: return About::completion_queue;
        case IBV_EVENT_SRQ_LIMIT_REACHED: return About::shared_receive_queue;
        default: return About::other;
    }
}

void deliver(Qp& qp, ibv_event_type type) {
    ibv_async_event event{};
    event.element.qp = to_abi(qp);
    event.event_type = type;
    to_context(qp.qp_base.context).async_events.push(event);
}

/// The event, in the words of the verbs, for the side that broke the rules.
ibv_event_type kind_of(const Terminate& terminate) {
    constexpr std::uint8_t rdmap = 0;
    constexpr std::uint8_t ddp = 1;
    constexpr std::uint8_t protection = 1;  // RDMAP's remote protection errors, DDP's tagged buffer errors
    if (!terminate.sent_by_us) return IBV_EVENT_QP_FATAL;
    const bool of_memory = (terminate.layer == rdmap || terminate.layer == ddp) && terminate.type == protection;
    return of_memory ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR;
}

/// Programs see a status or a flushed request alone.
void report_fault(const Qp& qp, const Terminate& terminate) {
    if (ProgressEngine::instance().settings().telling == Settings::Telling::nothing || terminate.reason.empty()) return;
    say(fmt::format("queue pair {}: {}", qp.qp_base.qp_num, terminate.reason));
}

void disconnected(Qp& qp, const Event& event) {
    ibv_qp& abi = qp.qp_base;
    // Where it ended in words, the program did not ask for the end, unless it put the queue pair into error itself.
    if (!event.text.empty() && abi.state != IBV_QPS_ERR) deliver(qp, IBV_EVENT_QP_FATAL);
    abi.state = IBV_QPS_ERR;
    if (abi.srq != nullptr) deliver(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void count_as_taken(const ibv_async_event& event) {
    switch (about(event.event_type)) {
        case About::queue_pair: ++to_qp(event.element.qp).async_reported; return;
        case About::completion_queue: ++to_cq(event.element.cq).async_reported; return;
        case About::shared_receive_queue: ++to_srq(event.element.srq).async_reported; return;
        case About::other: return;
    }
}

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& completed) {
    pthread_mutex_lock(&mutex);
    ++completed;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
}

}  // namespace

void completion_event(CompletionQueue& queue) {
    Cq& cq = *static_cast<Cq*>(queue.context);
    if (cq.channel != nullptr) to_channel(cq.channel).events.push(&cq);
}

void overflow_event(CompletionQueue& queue) {
    Cq& cq = *static_cast<Cq*>(queue.context);
    ibv_async_event event{};
    event.element.cq = to_abi(cq);
    event.event_type = IBV_EVENT_CQ_ERR;
    to_context(cq.context).async_events.push(event);
}

void limit_event(SharedReceiveQueue& queue) {
    Srq& srq = *static_cast<Srq*>(queue.context);
    srq.limit = 0;
    ibv_async_event event{};
    event.element.srq = &srq;
    event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
    to_context(srq.context).async_events.push(event);
}

void connection_event(Qp& qp, const Event& event) {
    switch (event.kind) {
        case Event::Kind::established: qp.qp_base.state = IBV_QPS_RTS; return;
        case Event::Kind::communication_established: deliver(qp, IBV_EVENT_COMM_EST); return;
        case Event::Kind::terminated:
            qp.qp_base.state = IBV_QPS_ERR;
            deliver(qp, kind_of(*event.terminate));
            report_fault(qp, *event.terminate);
            return;
        case Event::Kind::disconnected: disconnected(qp, event); return;
        default: return;
    }
}

void forget_events(Qp& qp) {
    to_context(qp.qp_base.context).async_events.remove([&](const ibv_async_event& event) {
        return about(event.event_type) == About::queue_pair && event.element.qp == to_abi(qp);
    });
}

void forget_events(Cq& cq) {
    if (cq.channel != nullptr) to_channel(cq.channel).events.remove([&](const Cq* of) { return of == &cq; });
    to_context(cq.context).async_events.remove([&](const ibv_async_event& event) {
        return about(event.event_type) == About::completion_queue && event.element.cq == to_abi(cq);
    });
}

void forget_events(Srq& srq) {
    to_context(srq.context).async_events.remove([&](const ibv_async_event& event) {
        return about(event.event_type) == About::shared_receive_queue && event.element.srq == &srq;
    });
}

void wait_until_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::uint32_t& completed,
                             std::uint32_t reported) {
    pthread_mutex_lock(&mutex);
    while (completed != reported) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&cond);
    pthread_mutex_destroy(&mutex);
}

}  // namespace iwarp::preload

using namespace iwarp::preload;

RDMA_ABI int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    if (!ProgressEngine::instance().usable()) {
        errno = EPERM;
        return -1;
    }
    const auto taken = to_context(context).async_events.take(count_as_taken);
    if (!taken) return -1;
    *event = *taken;
    return 0;
}

RDMA_ABI void ibv_ack_async_event(ibv_async_event* event) {
    switch (about(event->event_type)) {
        case About::queue_pair: {
            ibv_qp& qp = *event->element.qp;
            return acknowledge(qp.mutex, qp.cond, qp.events_completed);
        }
        case About::completion_queue: {
            ibv_cq& cq = *event->element.cq;
            return acknowledge(cq.mutex, cq.cond, cq.async_events_completed);
        }
        case About::shared_receive_queue: {
            ibv_srq& srq = *event->element.srq;
            return acknowledge(srq.mutex, srq.cond, srq.events_completed);
        }
        case About::other: return;
    }
}
