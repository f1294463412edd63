#include "iwarp/preload/completion.h"

#include <array>
#include <cerrno>
#include <span>
#include <thread>

#include "iwarp/preload/abi.h"
#include "iwarp/preload/async_events.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/poll_backoff.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/value_mapping.h"
#include "iwarp/preload/verbs_objects.h"
#include "iwarp/verbs/completion_queue.h"

/// Completion channels and completion queues.
namespace iwarp::preload {
namespace {

void show(const Completion& completion, ibv_wc& wc) {
    wc = {};
    wc.wr_id = completion.id;
    wc.status = to_abi(completion.status);
    wc.opcode = to_abi(completion.operation);
    wc.byte_len = completion.length;
    wc.qp_num = completion.queue_pair;
    wc.wc_flags = flags_of(completion);
    wc.imm_data = immediate_of(completion);
}

}  // namespace

unsigned flags_of(const Completion& completion) {
    return (completion.immediate ? unsigned{IBV_WC_WITH_IMM} : 0U) |
           (completion.invalidated_stag ? unsigned{IBV_WC_WITH_INV} : 0U);
}

std::uint32_t immediate_of(const Completion& completion) {
    return completion.invalidated_stag.value_or(to_network_order(completion.immediate.value_or(0)));
}

std::size_t poll(ProgressEngine& engine, Cq& cq, std::span<Completion> into) {
    engine.called();
    std::size_t found = cq.queue->poll(into);
    if (found == 0) {
        engine.drive();
        found = cq.queue->poll(into);
    }
    if (found != 0)
        engine.found_something();
    else if (cq.queue->impl().armed)
        engine.yield_driving();  // a thread that polls once more after it has requested an event is going to sleep
    else
        engine.found_nothing();
    return found;
}

namespace {

/// As ibv_poll_cq returns.
int take(ProgressEngine& engine, Cq& cq, std::span<ibv_wc> into) {
    const Lock::Hold hold(engine.lock());
    std::array<Completion, 16> batch;
    std::size_t count = 0;
    try {
        while (count < into.size()) {
            const std::span<Completion> here(batch.data(), std::min(batch.size(), into.size() - count));
            const std::size_t found = count == 0 ? poll(engine, cq, here) : cq.queue->poll(here);
            for (const Completion& completion : here.first(found)) show(completion, into[count++]);
            if (found < here.size()) break;
        }
    } catch (...) {
        errno = errno_of_exception("ibv_poll_cq");
        return -1;
    }
    engine.leave_work();
    return static_cast<int>(count);
}

}  // namespace

ibv_cq* create_cq(ProgressEngine& engine, ibv_context* context, std::uint32_t capacity, void* cq_context,
                  ibv_comp_channel* channel, std::uint32_t vector) {
    if (capacity == 0 || capacity > limits::completions || vector != 0) {
        errno = EINVAL;
        return nullptr;
    }
    auto cq = std::make_unique<Cq>();
    cq->queue = engine.device().create_completion_queue(capacity);
    cq->queue->context = cq.get();
    cq->context = context;
    cq->channel = channel;
    cq->cq_context = cq_context;
    cq->cqe = static_cast<int>(capacity);
    pthread_mutex_init(&cq->mutex, nullptr);
    pthread_cond_init(&cq->cond, nullptr);
    if (channel != nullptr) ++channel->refcnt;
    keep_context(context);
    return to_abi(*cq.release());
}

int operations::poll_cq(ibv_cq* abi, int most, ibv_wc* into) {
    ProgressEngine& engine = ProgressEngine::instance();
    if (!engine.usable() || most < 0) return -1;
    // Other threads of the program wait for the lock; a thread that polls without a pause would hardly ever release it.
    if (engine.lock().contended()) std::this_thread::yield();
    const int found = take(engine, to_cq(abi), std::span(into, static_cast<std::size_t>(most)));
    if (found > 0)
        this_threads_backoff().found();
    else if (found == 0 && most != 0)
        this_threads_backoff().found_nothing(engine.descriptor());
    return found;
}

int operations::req_notify_cq(ibv_cq* cq, int solicited_only) {
    return performed("ibv_req_notify_cq", [&](ProgressEngine& engine) {
        to_cq(cq).queue->request_event(solicited_only != 0);
        engine.yield_driving();
        return 0;
    });
}

}  // namespace iwarp::preload

using namespace iwarp::preload;

RDMA_ABI ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    return made("ibv_create_comp_channel", [&](ProgressEngine& engine) -> ibv_comp_channel* {
        auto channel = std::make_unique<Channel>(engine.lock());
        if (!channel->events.good()) return nullptr;
        channel->context = context;
        channel->fd = channel->events.descriptor();
        keep_context(context);
        return channel.release();
    });
}

RDMA_ABI int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    return performed("ibv_destroy_comp_channel", [&](ProgressEngine&) {
        if (channel->refcnt != 0) return EBUSY;
        leave_context(channel->context);
        delete &to_channel(channel);
        return 0;
    });
}

RDMA_ABI ibv_cq* ibv_create_cq(ibv_context* context, int capacity, void* cq_context, ibv_comp_channel* channel,
                               int vector) {
    return made("ibv_create_cq", [&](ProgressEngine& engine) {
        // What is negative is too much, too.
        return create_cq(engine, context, static_cast<std::uint32_t>(capacity), cq_context, channel,
                         static_cast<std::uint32_t>(vector));
    });
}

RDMA_ABI int ibv_resize_cq(ibv_cq* abi, int capacity) {
    return performed("ibv_resize_cq", [&](ProgressEngine&) {
        Cq& cq = to_cq(abi);
        if (capacity <= 0 || static_cast<std::uint32_t>(capacity) > limits::completions ||
            static_cast<std::size_t>(capacity) < cq.queue->size())
            return EINVAL;
        cq.queue->resize(static_cast<std::size_t>(capacity));
        cq.cqe = capacity;
        return 0;
    });
}

RDMA_ABI int ibv_destroy_cq(ibv_cq* abi) {
    Cq& cq = to_cq(abi);
    const int failure = performed("ibv_destroy_cq", [&](ProgressEngine&) {
        if (cq.users != 0) return EBUSY;
        forget_events(cq);
        cq.queue.reset();
        if (cq.channel != nullptr) --cq.channel->refcnt;
        leave_context(cq.context);
        return 0;
    });
    if (failure != 0) return failure;
    pthread_mutex_lock(&cq.mutex);
    while (cq.comp_events_completed != cq.comp_reported) pthread_cond_wait(&cq.cond, &cq.mutex);
    pthread_mutex_unlock(&cq.mutex);
    wait_until_acknowledged(cq.mutex, cq.cond, cq.async_events_completed, cq.async_reported);
    delete &cq;
    return 0;
}

RDMA_ABI int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
    const int failure = performed("ibv_get_cq_event", [](ProgressEngine& engine) {
        engine.drive();  // what was posted leaves now, and not when the service thread comes to it
        engine.yield_driving();
        return 0;
    });
    if (failure != 0) {
        errno = failure;
        return -1;
    }
    const auto event = to_channel(channel).events.take([](Cq* of) { ++of->comp_reported; });
    if (!event) return -1;
    *cq = to_abi(**event);
    *cq_context = (*event)->cq_context;
    return 0;
}

RDMA_ABI void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += count;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}
