// Contexts: posts, polls and binds of windows.
#include <utility>

#include "trace/interposer/objects.h"

namespace trace::interposer {

constinit PointerTable<Device, 256> devices;

namespace {

std::uint8_t flags_of(unsigned verbs) {
    unsigned flags = 0;
    if ((verbs & IBV_SEND_SIGNALED) != 0) flags |= Flag::signalled;
    if ((verbs & IBV_SEND_SOLICITED) != 0) flags |= Flag::solicited;
    if ((verbs & IBV_SEND_FENCE) != 0) flags |= Flag::fence;
    if ((verbs & IBV_SEND_INLINE) != 0) flags |= Flag::inline_data;
    return static_cast<std::uint8_t>(flags);
}

std::uint64_t octets_of(const ibv_sge* pieces, int count) {
    std::uint64_t octets = 0;
    for (int i = 0; i < count; ++i) octets += pieces[i].length;
    return octets;
}

/// What a request is. Only of one that was taken are its pointers followed: then they are known to be good.
void describe(WorkRequest& work, const ibv_send_wr& request, bool is_taken) {
    work.id = request.wr_id;
    work.opcode = static_cast<std::uint8_t>(request.opcode);
    switch (static_cast<int>(request.opcode)) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
        case IBV_WR_RDMA_READ:
        case IBV_WR_ATOMIC_WRITE:
            work.remote_address = request.wr.rdma.remote_addr;
            work.remote_key = request.wr.rdma.rkey;
            break;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            work.remote_address = request.wr.atomic.remote_addr;
            work.remote_key = request.wr.atomic.rkey;
            break;
        case IBV_WR_LOCAL_INV:
        case IBV_WR_BIND_MW: return;
        default: break;
    }
    if (!is_taken) return;
    const std::uint64_t header = request.opcode == IBV_WR_TSO ? request.tso.hdr_sz : 0;
    work.bytes = header + octets_of(request.sg_list, request.num_sge);
    work.pieces = static_cast<std::uint16_t>(request.num_sge);
}
std::uint8_t flags_of(const ibv_send_wr& request, bool all_signalled) {
    return flags_of(request.send_flags | (all_signalled ? unsigned{IBV_SEND_SIGNALED} : 0U));
}

void describe(WorkRequest& work, const ibv_recv_wr& request, bool is_taken) {
    work.id = request.wr_id;
    if (!is_taken) return;
    work.bytes = octets_of(request.sg_list, request.num_sge);
    work.pieces = static_cast<std::uint16_t>(request.num_sge);
}
std::uint8_t flags_of(const ibv_recv_wr& /*request*/, bool /*all_signalled*/) { return 0; }

/// How the requests of one list were posted.
struct Posting {
    RecordKind kind;
    std::uint32_t number;
    std::uint8_t device;
    std::uint8_t flags = 0;
    bool all_signalled = false;
};

/// Calls `post` and records what came of it: requests up to the refused one were taken. The sums are made afterwards,
/// since only then it is known that the pointers are good.
template <class Request, class Post>
int record_posts(Request* first, Request** bad, const Posting& posting, const Post& post) {
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return post(bad);
    Recording recording(*lane);
    Request* refused = nullptr;
    const int result = post(&refused);
    if (result != 0 && bad != nullptr) *bad = refused;
    std::uint16_t duration = recording.duration();
    std::uint16_t of = 0;
    // A provider that fails without saying where has taken nothing.
    const Request* const end = result == 0 ? nullptr : refused == nullptr ? first : refused;
    for (const Request* request = first; request != nullptr; request = request->next) {
        const bool is_taken = request != end;
        Record& record = recording.next(posting.kind, posting.number, posting.device);
        record.duration = std::exchange(duration, std::uint16_t{0});
        describe(record.work, *request, is_taken);
        record.work.flags = flags_of(*request, posting.all_signalled) | posting.flags;
        record.work.status = is_taken ? 0 : 1;
        record.work.of = of++;
        recording.publish();
        if (!is_taken) break;
    }
    return result;
}

int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) {
    const Pair* known = pairs.find(pair);
    if (known == nullptr) [[unlikely]] {
        note_found(pair);
        known = pairs.find(pair);
    }
    const Device* const device =
        known != nullptr && known->device->context == pair->context ? known->device : devices.find(pair->context);
    const Posting posting{RecordKind::post_send, pair->qp_num, device->number, 0,
                          known != nullptr && known->all_signalled};
    return record_posts(first, bad, posting,
                        [=](ibv_send_wr** refused) { return device->post_send(pair, first, refused); });
}

int post_receive(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad) {
    const Device* const device = devices.find(pair->context);
    const Posting posting{RecordKind::post_receive, pair->qp_num, device->number};
    return record_posts(first, bad, posting,
                        [=](ibv_recv_wr** refused) { return device->post_receive(pair, first, refused); });
}

int post_shared_receive(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) {
    const Device* const device = devices.find(queue->context);
    const Posting posting{RecordKind::post_receive, number_of(*queue), device->number, Flag::shared};
    return record_posts(first, bad, posting,
                        [=](ibv_recv_wr** refused) { return device->post_shared_receive(queue, first, refused); });
}

/// Windows of type 1 are bound through the send queue. Some providers post the request by ibv_post_send, which has
/// recorded it by then.
int bind_window(ibv_qp* pair, ibv_mw* window, ibv_mw_bind* bind) {
    const Pair* const known = pairs.find(pair);
    const Device* const device = devices.find(pair->context);
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return device->bind_window(pair, window, bind);
    const std::uint64_t before = lane->written();
    const std::int64_t time_ns = now_ns();
    const int result = device->bind_window(pair, window, bind);
    if (lane->written() != before) return result;
    Recording recording(*lane);
    Record& record = recording.next(RecordKind::post_send, pair->qp_num, device->number);
    record.time_ns = time_ns;
    const bool signalled = known != nullptr && known->all_signalled;
    record.work.id = bind->wr_id;
    record.work.opcode = IBV_WR_BIND_MW;
    record.work.flags = flags_of(bind->send_flags | (signalled ? unsigned{IBV_SEND_SIGNALED} : 0U));
    record.work.status = result == 0 ? 0 : 1;
    recording.publish();
    return result;
}

int poll(ibv_cq* queue, int most, ibv_wc* completions) {
    const Device* const device = devices.find(queue->context);
    const int found = device->poll(queue, most, completions);
    if (found < 0) return found;
    Queue* const known = queues.find(queue);
    if (found == 0) {
        if (known != nullptr && most > 0) put_empty(*known, *device);
        return 0;
    }
    if (known != nullptr) {
        if (known->was_empty.load(std::memory_order_relaxed)) known->was_empty.store(false, std::memory_order_relaxed);
        known->number.store(completions[found - 1].qp_num, std::memory_order_relaxed);
    }
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return found;
    Recording recording(*lane);
    for (int i = 0; i < found; ++i) {
        const ibv_wc& one = completions[i];
        put_completion(recording, known, *device,
                       {one.wr_id, one.qp_num, one.byte_len, one.vendor_err, one.status, one.opcode,
                        static_cast<std::uint16_t>(i)});
    }
    return found;
}

ibv_qp* create_pair(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
    ibv_qp* const pair = devices.find(context)->create_pair(context, attributes);
    if (pair != nullptr) note_created_extended(pair, *attributes);
    return pair;
}

ibv_cq_ex* create_traced_queue(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    ibv_cq_ex* const queue = create_queue(*devices.find(context), context, attributes);
    if (queue != nullptr) trace_extended(queue);
    return queue;
}

/// The verbs_context around an ibv_context, if it is long enough to have `member`; see verbs_get_ctx_op.
template <class Pointer>
Pointer* extension(ibv_context* context, Pointer verbs_context::*member) {
    verbs_context* const around = verbs_get_ctx(context);
    if (around == nullptr) return nullptr;
    Pointer* const place = &(around->*member);
    const auto offset =
        static_cast<std::size_t>(reinterpret_cast<std::byte*>(place) - reinterpret_cast<std::byte*>(around));
    return around->sz < sizeof *around - offset ? nullptr : place;
}

/// Remembers what `place` points to and puts ours there, unless it is there, or there was nothing.
template <class Pointer>
void take_place(Pointer* place, Pointer ours, Pointer& former) {
    if (place == nullptr || *place == nullptr || *place == ours) return;
    former = *place;
    *place = ours;
}

template <class Pointer>
void give_place(Pointer* place, Pointer ours, Pointer former) {
    if (place != nullptr && *place == ours) *place = former;
}

/// Every pointer that is replaced, with what replaces it and where the former is kept.
template <class Do>
void with_places(ibv_context& context, Device& device, const Do& act) {
    act(&context.ops.post_send, &post_send, device.post_send);
    act(&context.ops.post_recv, &post_receive, device.post_receive);
    act(&context.ops.post_srq_recv, &post_shared_receive, device.post_shared_receive);
    act(&context.ops.poll_cq, &poll, device.poll);
    act(&context.ops.bind_mw, &bind_window, device.bind_window);
    act(extension(&context, &verbs_context::create_qp_ex), &create_pair, device.create_pair);
    act(extension(&context, &verbs_context::create_cq_ex), &create_traced_queue, device.create_queue);
}

}  // namespace

void put_completion(Recording& recording, const Queue* queue, const Device& device, const Completion& one) {
    Record& record = recording.next(RecordKind::completion, one.number, device.number);
    bool is_receive = (static_cast<unsigned>(one.opcode) & IBV_WC_RECV) != 0;
    if (one.status == IBV_WC_SUCCESS) {
        record.work.bytes = one.bytes;
    } else {
        record.work.vendor_error = static_cast<std::uint8_t>(one.vendor_error);
        // Of an error, the verbs leave the opcode open; most queues say which it is all the same.
        const std::uint8_t serves = queue != nullptr ? queue->serves.load(std::memory_order_relaxed) : 0;
        if (serves == Queue::sends) is_receive = false;
        if (serves == Queue::receives) is_receive = true;
    }
    record.work.id = one.id;
    record.work.opcode = static_cast<std::uint8_t>(one.opcode);
    record.work.status = static_cast<std::uint8_t>(one.status);
    record.work.flags = is_receive ? Flag::receive : 0;
    record.work.of = one.of;
    recording.publish();
}

void put_empty(Queue& queue, const Device& device) {
    if (queue.was_empty.load(std::memory_order_relaxed)) return;
    queue.was_empty.store(true, std::memory_order_relaxed);
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return;
    Recording recording(*lane);
    const std::uint32_t number = queue.number.load(std::memory_order_relaxed);
    recording.next(RecordKind::poll_empty, number, device.number);
    recording.publish();
}

void trace(ibv_context* context) {
    if (context == nullptr) return;
    const Learning learning;
    Device* device = devices.find(context);
    if (device == nullptr || device->context != context) {
        Device fresh;
        fresh.context = context;
        device = devices.insert(context, fresh);
        if (device == nullptr) return;
    }
    // Another device's context may have been here, and closed unseen.
    if (context->ops.poll_cq != &poll) device->is_named = false;
    if (!device->is_named && context->device != nullptr) {
        device->number = recorder.device(context->device->name);
        device->is_named = true;
    }
    with_places(*context, *device, [](auto* place, auto ours, auto& former) { take_place(place, ours, former); });
}

void leave(ibv_context* context) {
    const Learning learning;
    Device* const device = devices.find(context);
    if (device == nullptr) return;
    with_places(*context, *device, [](auto* place, auto ours, auto& former) { give_place(place, ours, former); });
    devices.erase(context);
}

}  // namespace trace::interposer
