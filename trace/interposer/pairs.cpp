// Queue pairs: made, changed, destroyed.

#include "trace/interposer/objects.h"

namespace trace::interposer {

constinit PointerTable<Pair, 65536> pairs;
constinit PointerTable<Queue, 65536> queues;

namespace {

void put(const Pair& pair) {
    Lane* const lane = recorder.lane();
    if (lane == nullptr) return;
    Recording recording(*lane);
    Record& record = recording.next(RecordKind::queue_pair, pair.number, pair.device->number);
    record.change = pair.change;
    recording.publish();
}

void note_queue(ibv_cq* queue, std::uint8_t serves, std::uint32_t number) {
    if (queue == nullptr) return;
    Queue* known = queues.find(queue);
    if (known == nullptr) known = queues.insert(queue, Queue{});
    if (known == nullptr) return;
    known->serves.fetch_or(serves, std::memory_order_relaxed);
    known->number.store(number, std::memory_order_relaxed);
}

void take_attributes(QueuePairChange& change, const ibv_qp_attr& attributes, unsigned mask) {
    if ((mask & IBV_QP_STATE) != 0) change.state = static_cast<std::uint8_t>(attributes.qp_state);
    if ((mask & IBV_QP_PORT) != 0) change.port = attributes.port_num;
    if ((mask & IBV_QP_DEST_QPN) != 0) change.peer_number = attributes.dest_qp_num;
    if ((mask & IBV_QP_AV) != 0) {
        const ibv_ah_attr& path = attributes.ah_attr;
        change.peer_lid = path.dlid;
        if (path.is_global != 0) {
            change.gid_index = path.grh.sgid_index;
            std::memcpy(change.peer_gid.data(), path.grh.dgid.raw, change.peer_gid.size());
        }
        if (path.port_num != 0) change.port = path.port_num;
    }
    if ((mask & IBV_QP_CAP) != 0) {
        change.send_capacity = attributes.cap.max_send_wr;
        change.receive_capacity = attributes.cap.max_recv_wr;
    }
}

}  // namespace

void note_created(ibv_qp* pair, const ibv_qp_cap* granted, bool all_signalled) {
    const Learning learning;
    trace(pair->context);
    Pair fresh;
    fresh.device = devices.find(pair->context);
    if (fresh.device == nullptr) return;
    // One that was destroyed unseen may have left its address to this one.
    const Pair* const former = pairs.find(pair);
    if (former != nullptr && former->number == pair->qp_num && former->device == fresh.device) return;
    fresh.number = pair->qp_num;
    fresh.all_signalled = all_signalled;
    fresh.change.state = static_cast<std::uint8_t>(pair->state);
    fresh.change.type = static_cast<std::uint8_t>(pair->qp_type);
    if (granted != nullptr) {
        fresh.change.send_capacity = granted->max_send_wr;
        fresh.change.receive_capacity = pair->srq == nullptr ? granted->max_recv_wr : 0;
    }
    if (pair->srq != nullptr) fresh.change.shared_receive_queue = number_of(*pair->srq);
    const Pair* const known = pairs.insert(pair, fresh);
    if (known == nullptr) return;
    note_queue(pair->send_cq, Queue::sends, pair->qp_num);
    note_queue(pair->recv_cq, Queue::receives, pair->qp_num);
    put(*known);
}

void note_created_extended(ibv_qp* pair, const ibv_qp_init_attr_ex& attributes) {
    note_created(pair, &attributes.cap, attributes.sq_sig_all != 0);
    if ((attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) == 0) return;
    trace_extended(ibv_qp_to_qp_ex(pair), (attributes.send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0);
}

void note_found(ibv_qp* pair) {
    static std::atomic<bool> no_room = false;
    if (no_room.load(std::memory_order_relaxed)) return;
    note_created(pair, nullptr, false);
    if (pairs.find(pair) == nullptr) {
        no_room.store(true, std::memory_order_relaxed);
        return;
    }
    constexpr int wanted = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_DEST_QPN | IBV_QP_AV | IBV_QP_CAP;
    ibv_qp_attr attributes{};
    if (query(pair, attributes, wanted)) note_changed(pair, attributes, wanted);
}

void note_changed(ibv_qp* pair, const ibv_qp_attr& attributes, int mask) {
    constexpr unsigned recorded_attributes = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_DEST_QPN | IBV_QP_AV | IBV_QP_CAP;
    if ((static_cast<unsigned>(mask) & recorded_attributes) == 0) return;
    Pair* known = pairs.find(pair);
    if (known == nullptr) {
        note_created(pair, nullptr, false);
        known = pairs.find(pair);
    }
    if (known == nullptr) return;
    take_attributes(known->change, attributes, static_cast<unsigned>(mask));
    put(*known);
}

Leaving::Leaving(ibv_qp* pair) : pair_(pair) {
    if (pair == nullptr) return;
    const Pair* const known = pairs.find(pair);
    if (known == nullptr) return;
    was_ = *known;
    pairs.erase(pair);
}

void Leaving::done(bool destroyed) {
    constexpr std::uint8_t destroyed_state = 255;
    if (was_.device == nullptr) return;
    if (!destroyed) {
        pairs.insert(pair_, was_);
        return;
    }
    was_.change.state = destroyed_state;
    put(was_);
    forget_extended(was_);
}

}  // namespace trace::interposer
