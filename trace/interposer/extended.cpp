// The extended verbs: ibv_wr_*, ibv_start_poll and the like, whose pointers lie in the queues themselves.
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "trace/interposer/objects.h"

namespace trace::interposer {

/// The pointers that a queue pair had, and the requests since wr_start, which become posts by wr_complete. Between the
/// two the provider holds the queue pair's lock.
struct ExtendedSends {
    static constexpr std::size_t most_waiting = 64;
    ibv_qp_ex was{};
    std::size_t waiting = 0;
    std::uint16_t flushed = 0;  ///< requests of this list that were recorded already, since there are many
    WorkRequest requests[most_waiting] = {};
};

namespace {

ExtendedSends& sends_of(const ibv_qp_ex* pair) { return *pairs.find(pair)->extended; }

std::uint8_t flags_of(const ibv_qp_ex& pair, bool all_signalled) {
    unsigned flags = all_signalled || (pair.wr_flags & IBV_SEND_SIGNALED) != 0 ? Flag::signalled : 0U;
    if ((pair.wr_flags & IBV_SEND_SOLICITED) != 0) flags |= Flag::solicited;
    if ((pair.wr_flags & IBV_SEND_FENCE) != 0) flags |= Flag::fence;
    if ((pair.wr_flags & IBV_SEND_INLINE) != 0) flags |= Flag::inline_data;
    return static_cast<std::uint8_t>(flags);
}

void put_requests(const Pair& pair, Recording& recording, const WorkRequest* requests, std::size_t count,
                  std::uint16_t before, bool refused) {
    std::uint16_t duration = recording.duration();
    for (std::size_t i = 0; i < count; ++i) {
        Record& record = recording.next(RecordKind::post_send, pair.number, pair.device->number);
        record.duration = std::exchange(duration, std::uint16_t{0});
        record.work = requests[i];
        record.work.of = static_cast<std::uint16_t>(before + i);
        record.work.status = refused ? 1 : 0;
        recording.publish();
    }
}

/// A list longer than is kept back is recorded in parts; a later refusal is not recorded then.
void flush(const Pair& pair, ExtendedSends& sends) {
    if (Lane* const lane = recorder.lane(); lane != nullptr) {
        Recording recording(*lane);
        put_requests(pair, recording, sends.requests, sends.waiting, sends.flushed, false);
    }
    sends.flushed = static_cast<std::uint16_t>(sends.flushed + sends.waiting);
    sends.waiting = 0;
}

void add(const ibv_qp_ex* pair, ibv_wr_opcode opcode, std::uint32_t key = 0, std::uint64_t address = 0,
         std::uint64_t bytes = 0) {
    const Pair& known = *pairs.find(pair);
    ExtendedSends& sends = *known.extended;
    if (sends.waiting == ExtendedSends::most_waiting) flush(known, sends);
    WorkRequest& request = sends.requests[sends.waiting++];
    request = WorkRequest{};
    request.id = pair->wr_id;
    request.opcode = static_cast<std::uint8_t>(opcode);
    request.flags = flags_of(*pair, known.all_signalled);
    request.remote_key = key;
    request.remote_address = address;
    request.bytes = bytes;
}

/// The data of the request that was begun last.
void add_data(ExtendedSends& sends, std::size_t pieces, std::uint64_t bytes, std::uint8_t flags = 0) {
    if (sends.waiting == 0) return;
    WorkRequest& request = sends.requests[sends.waiting - 1];
    request.bytes += bytes;
    request.pieces = static_cast<std::uint16_t>(pieces);
    request.flags |= flags;
}

void compare_swap(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address, std::uint64_t compare,
                  std::uint64_t swap) {
    sends_of(pair).was.wr_atomic_cmp_swp(pair, key, address, compare, swap);
    add(pair, IBV_WR_ATOMIC_CMP_AND_SWP, key, address);
}
void fetch_add(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address, std::uint64_t value) {
    sends_of(pair).was.wr_atomic_fetch_add(pair, key, address, value);
    add(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address);
}
void bind_window(ibv_qp_ex* pair, ibv_mw* window, std::uint32_t key, const ibv_mw_bind_info* bind) {
    sends_of(pair).was.wr_bind_mw(pair, window, key, bind);
    add(pair, IBV_WR_BIND_MW);
}
void invalidate(ibv_qp_ex* pair, std::uint32_t key) {
    sends_of(pair).was.wr_local_inv(pair, key);
    add(pair, IBV_WR_LOCAL_INV);
}
void read(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address) {
    sends_of(pair).was.wr_rdma_read(pair, key, address);
    add(pair, IBV_WR_RDMA_READ, key, address);
}
void write(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address) {
    sends_of(pair).was.wr_rdma_write(pair, key, address);
    add(pair, IBV_WR_RDMA_WRITE, key, address);
}
void write_immediate(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address, __be32 value) {
    sends_of(pair).was.wr_rdma_write_imm(pair, key, address, value);
    add(pair, IBV_WR_RDMA_WRITE_WITH_IMM, key, address);
}
void send(ibv_qp_ex* pair) {
    sends_of(pair).was.wr_send(pair);
    add(pair, IBV_WR_SEND);
}
void send_immediate(ibv_qp_ex* pair, __be32 value) {
    sends_of(pair).was.wr_send_imm(pair, value);
    add(pair, IBV_WR_SEND_WITH_IMM);
}
void send_invalidate(ibv_qp_ex* pair, std::uint32_t key) {
    sends_of(pair).was.wr_send_inv(pair, key);
    add(pair, IBV_WR_SEND_WITH_INV);
}
void send_segmented(ibv_qp_ex* pair, void* header, std::uint16_t octets, std::uint16_t segment) {
    sends_of(pair).was.wr_send_tso(pair, header, octets, segment);
    add(pair, IBV_WR_TSO, 0, 0, octets);
}
void atomic_write(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address, const void* value) {
    constexpr std::uint64_t octets = 8;
    sends_of(pair).was.wr_atomic_write(pair, key, address, value);
    add(pair, IBV_WR_ATOMIC_WRITE, key, address, octets);
}

void set_inline(ibv_qp_ex* pair, void* data, std::size_t octets) {
    ExtendedSends& sends = sends_of(pair);
    sends.was.wr_set_inline_data(pair, data, octets);
    add_data(sends, 1, octets, Flag::inline_data);
}
void set_inline_list(ibv_qp_ex* pair, std::size_t count, const ibv_data_buf* pieces) {
    ExtendedSends& sends = sends_of(pair);
    sends.was.wr_set_inline_data_list(pair, count, pieces);
    std::uint64_t octets = 0;
    for (std::size_t i = 0; i < count; ++i) octets += pieces[i].length;
    add_data(sends, count, octets, Flag::inline_data);
}
void set_piece(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address, std::uint32_t octets) {
    ExtendedSends& sends = sends_of(pair);
    sends.was.wr_set_sge(pair, key, address, octets);
    add_data(sends, 1, octets);
}
void set_pieces(ibv_qp_ex* pair, std::size_t count, const ibv_sge* pieces) {
    ExtendedSends& sends = sends_of(pair);
    sends.was.wr_set_sge_list(pair, count, pieces);
    std::uint64_t octets = 0;
    for (std::size_t i = 0; i < count; ++i) octets += pieces[i].length;
    add_data(sends, count, octets);
}

void start(ibv_qp_ex* pair) {
    ExtendedSends& sends = sends_of(pair);
    sends.was.wr_start(pair);
    sends.waiting = 0;
    sends.flushed = 0;
}

/// The list is copied before the provider lets go of its lock: the next may begin to overwrite it.
int complete(ibv_qp_ex* pair) {
    const Pair& known = *pairs.find(pair);
    ExtendedSends& sends = *known.extended;
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return sends.was.wr_complete(pair);
    const std::size_t count = sends.waiting;
    const std::uint16_t before = sends.flushed;
    WorkRequest requests[ExtendedSends::most_waiting];
    std::memcpy(requests, sends.requests, count * sizeof requests[0]);
    Recording recording(*lane);
    const int result = sends.was.wr_complete(pair);
    put_requests(known, recording, requests, count, before, result != 0);
    return result;
}

void abort_list(ibv_qp_ex* pair) {
    ExtendedSends& sends = sends_of(pair);
    sends.waiting = 0;
    sends.was.wr_abort(pair);
}

/// Puts ours in the place of a pointer that the provider has filled in.
template <class Pointer>
void take(Pointer& place, Pointer ours) {
    if (place != nullptr) place = ours;
}

void take_places(ibv_qp_ex& pair) {
    take(pair.wr_atomic_cmp_swp, &compare_swap);
    take(pair.wr_atomic_fetch_add, &fetch_add);
    take(pair.wr_bind_mw, &bind_window);
    take(pair.wr_local_inv, &invalidate);
    take(pair.wr_rdma_read, &read);
    take(pair.wr_rdma_write, &write);
    take(pair.wr_rdma_write_imm, &write_immediate);
    take(pair.wr_send, &send);
    take(pair.wr_send_imm, &send_immediate);
    take(pair.wr_send_inv, &send_invalidate);
    take(pair.wr_send_tso, &send_segmented);
    take(pair.wr_set_inline_data, &set_inline);
    take(pair.wr_set_inline_data_list, &set_inline_list);
    take(pair.wr_set_sge, &set_piece);
    take(pair.wr_set_sge_list, &set_pieces);
    take(pair.wr_start, &start);
    take(pair.wr_complete, &complete);
    take(pair.wr_abort, &abort_list);
}

/// What an extended queue's present completion is.
void put_current(Recording& recording, const Queue& queue, ibv_cq_ex* from) {
    Completion one{};
    one.id = from->wr_id;
    one.status = from->status;
    one.of = queue.of;
    if (from->status == IBV_WC_SUCCESS) {
        one.opcode = from->read_opcode(from);
        if (from->read_byte_len != nullptr) one.bytes = from->read_byte_len(from);
    } else if (from->read_vendor_err != nullptr) {
        one.vendor_error = from->read_vendor_err(from);
    }
    if (from->read_qp_num != nullptr) one.number = from->read_qp_num(from);
    put_completion(recording, &queue, *devices.find(from->context), one);
}

/// A result of start_poll or next_poll: 0 with a completion, ENOENT without.
int polled(Queue& queue, ibv_cq_ex* from, int result) {
    if (result != 0) return result;
    if (from->read_qp_num != nullptr) queue.number.store(from->read_qp_num(from), std::memory_order_relaxed);
    if (Lane* const lane = recorder.lane(); lane != nullptr) {
        Recording recording(*lane);
        put_current(recording, queue, from);
    }
    return 0;
}

int start_poll(ibv_cq_ex* from, ibv_poll_cq_attr* attributes) {
    Queue& queue = *queues.find(from);
    const int result = queue.start_poll(from, attributes);
    if (result == ENOENT) {
        put_empty(queue, *devices.find(from->context));
        return result;
    }
    if (result == 0) {
        queue.was_empty.store(false, std::memory_order_relaxed);
        queue.of = 0;
    }
    return polled(queue, from, result);
}

int next_poll(ibv_cq_ex* from) {
    Queue& queue = *queues.find(from);
    const int result = queue.next_poll(from);
    if (result == 0) ++queue.of;
    return polled(queue, from, result);
}

}  // namespace

void trace_extended(ibv_qp_ex* pair, bool with_atomic_write) {
    if (pair == nullptr || pair->wr_start == nullptr || pair->wr_complete == nullptr) return;
    const Learning learning;
    note_created(&pair->qp_base, nullptr, false);
    Pair* const known = pairs.find(pair);
    if (known == nullptr) return;
    if (pair->wr_start != &start) {
        if (known->extended == nullptr) {
            void* const memory = std::malloc(sizeof(ExtendedSends));
            if (memory == nullptr) return;
            known->extended = new (memory) ExtendedSends;
        }
        // Libraries older than the last pointer have something else in its place.
        std::memcpy(&known->extended->was, pair, offsetof(ibv_qp_ex, wr_atomic_write));
        take_places(*pair);
    }
    if (with_atomic_write && known->extended != nullptr && pair->wr_atomic_write != &atomic_write) {
        known->extended->was.wr_atomic_write = pair->wr_atomic_write;
        take(pair->wr_atomic_write, &atomic_write);
    }
}

void forget_extended(const Pair& pair) { std::free(pair.extended); }

void trace_extended(ibv_cq_ex* queue) {
    if (queue == nullptr || queue->start_poll == nullptr || queue->next_poll == nullptr) return;
    const Learning learning;
    if (queue->start_poll == &start_poll) return;
    Queue fresh;
    fresh.start_poll = queue->start_poll;
    fresh.next_poll = queue->next_poll;
    if (queues.insert(queue, fresh) == nullptr) return;
    queue->start_poll = &start_poll;
    queue->next_poll = &next_poll;
}

ibv_cq_ex* create_queue(const Device& device, ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    constexpr std::uint64_t wanted = IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_BYTE_LEN;
    if ((attributes->wc_flags & wanted) == wanted) return device.create_queue(context, attributes);
    ibv_cq_init_attr_ex with = *attributes;
    with.wc_flags |= wanted;
    ibv_cq_ex* const queue = device.create_queue(context, &with);
    return queue != nullptr ? queue : device.create_queue(context, attributes);
}

}  // namespace trace::interposer
