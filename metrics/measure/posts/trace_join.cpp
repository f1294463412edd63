#include "metrics/measure/posts/trace_join.h"

#include <algorithm>
#include <utility>

#include "metrics/measure/posts/flow_match.h"

namespace metrics::inline measure::posts {

void TraceJoin::frames(std::span<const wire::Frame> frames) {
    if (!frames.empty() && first_ns_ == unknown_time) first_ns_ = frames.front().time_ns;
    times_.add(frames, table_.records() == 0 ? FrameTimes::few : FrameTimes::most);
}

TraceJoin::Flow& TraceJoin::at(std::uint64_t id) {
    if (id == last_id_) return *last_flow_;
    auto& flow = flows_[id];
    if (flow == nullptr) flow = std::make_unique<Flow>();
    last_id_ = id;
    last_flow_ = flow.get();
    return *last_flow_;
}

void TraceJoin::touch(std::uint64_t id, Flow& flow) {
    if (flow.listed) return;
    flow.listed = true;
    touched_.push_back(id);
}

/// Null for a flow that, as far as is known, no traced process has sent.
TraceJoin::Messages* TraceJoin::messages_of(Flow& flow) const {
    const bool pointless =
        !flow.joins || (flow.owner == QueuePairTable::none && flow.looked_for == table_.identities());
    if (flow.messages == nullptr && !pointless) flow.messages = std::make_unique<Messages>();
    return flow.messages.get();
}

// ---- what the engine says ----

void TraceJoin::packet(std::uint64_t id, std::uint64_t frame) {
    Flow& flow = at(id);
    if (flow.seen_ns == unknown_time) flow.seen_ns = times_.at(frame);
    touch(id, flow);
}

void TraceJoin::taken_back(std::uint64_t, std::uint64_t) {}
void TraceJoin::event(std::uint64_t, EventKind, std::uint64_t, std::uint64_t) {}
void TraceJoin::repeats(std::uint64_t, std::uint64_t, std::uint64_t) {}
void TraceJoin::repaired(std::uint64_t, const Repair&, std::uint64_t) {}
void TraceJoin::outstanding(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {}

void TraceJoin::gap(std::uint64_t id, const Gap& gap, std::uint64_t frame) {
    if (gap.again || group_of(gap.state) != StateGroup::application) return;
    Messages* const messages = messages_of(at(id));
    if (messages == nullptr) return;
    messages->gaps[messages->next_gap++ % messages->gaps.size()] = {frame, gap.state, gap.ns, gap.wire_ns};
}

void TraceJoin::message(std::uint64_t id, const Message& message, std::uint64_t frame) {
    Flow& flow = at(id);
    touch(id, flow);
    WireMessage wire;
    wire.operation = message.operation;
    wire.bytes = message.bytes;
    wire.position = message.position;
    wire.answered = message.position == 0;
    wire.unseen = frame == 0;
    if (frame != 0) wire.last_ns = times_.at(frame);
    if (message.first_frame != 0) wire.first_ns = times_.at(message.first_frame);
    if (!std::exchange(flow.begun, true) && message.bytes == 0 && frame != 0) {
        flow.first = std::make_unique<WireMessage>(wire);
        return;
    }
    Messages* const messages = messages_of(flow);
    if (messages == nullptr) {
        flow.missed = true;
        return;
    }
    for (LastGap& gap : messages->gaps) {
        if (message.first_frame == 0 || gap.frame != message.first_frame) continue;
        wire.gap_state = gap.state;
        wire.gap_ns = gap.ns;
        if (wire.first_ns != unknown_time)
            wire.gap_end_ns = wire.first_ns - static_cast<std::int64_t>(std::min<std::uint64_t>(gap.wire_ns, 1U << 30));
        gap.frame = 0;  // further messages of the frame followed at once
    }
    messages->join.message(wire, message.late);
}

void TraceJoin::continued(std::uint64_t id, std::uint64_t position, std::uint64_t frame) {
    Flow& flow = at(id);
    if (flow.messages == nullptr) return;
    flow.messages->join.continued(position, times_.at(frame));
    touch(id, flow);
}

void TraceJoin::answered(std::uint64_t id, std::uint64_t position, const std::uint64_t* latency_ns,
                         std::uint64_t frame) {
    Flow& flow = at(id);
    if (flow.first != nullptr && flow.first->position <= position && !flow.first->answered) {
        flow.first->answered = true;
        if (frame != 0) flow.first->ack_ns = times_.at(frame);
    }
    if (flow.messages == nullptr) return;
    flow.messages->join.answered(position, latency_ns != nullptr, frame == 0 ? unknown_time : times_.at(frame));
    touch(id, flow);
}

void TraceJoin::forgotten(std::uint64_t id, bool apart) {
    if (Flow& flow = at(id); flow.messages != nullptr) flow.messages->join.forgotten(apart);
}

void TraceJoin::left(std::uint64_t id) {
    const auto known = flows_.find(id);
    if (known == flows_.end()) return;
    const QueuePairTable::Handle owner = known->second->owner;
    if (const auto owned = owned_.find(owner); owned != owned_.end() && owned->second == id) {
        owned_.erase(owned);
        // Its posts wait for another flow, and no longer than those of others.
        if (QueuePair* const life = table_.find(owner); life != nullptr) life->posts.set_taken(false);
    }
    if (known->second->listed) std::erase(touched_, id);
    if (last_id_ == id) last_id_ = ~std::uint64_t{0};
    flows_.erase(known);
}

// ---- what comes of it ----

void TraceJoin::look_for_owner(std::uint64_t id, Flow& flow, const Identify& identify) {
    if (flow.looked_for == table_.identities()) return;
    flow.looked_for = table_.identities();
    FlowSnapshot who;
    if (table_.queue_pairs() == 0 || !identify(id, who)) return;
    const QueuePairTable::Handle owner = find_owner(table_, who, flow.seen_ns);
    if (owner == QueuePairTable::none) return;
    flow.owner = owner;
    bind(flow, owner, who);
    if (!flow.joins) return;
    // A flow that the engine sees begin again takes over.
    const auto [former, fresh] = owned_.try_emplace(owner, id);
    if (fresh) return;
    if (const auto old = flows_.find(former->second); old != flows_.end()) old->second->joins = false;
    former->second = id;
    flow.whole = false;
    if (flow.messages != nullptr) flow.messages->join.lose();
}

/// With MPA revision 2, the side that connects may have to send something first: a message without bytes, which no work
/// request asks for (RFC 6581, 9). It is the program's own if that has posted such a message before.
void TraceJoin::place_first(Flow& flow, const QueuePair& life) const {
    if (flow.first == nullptr || flow.messages == nullptr) return;
    const bool own =
        flow.rules.completes_late || (life.posts.size() > 0 && life.posts.first() == 0 && life.posts[0].bytes == 0 &&
                                      life.posts[0].post_ns <= flow.first->first_ns);
    if (own) flow.messages->join.put_first(*flow.first);
    flow.first.reset();
}

void TraceJoin::bind(Flow& flow, QueuePairTable::Handle owner, const FlowSnapshot& who) {
    QueuePair& life = *table_.find(owner);
    flow.rules.acknowledged = who.service != Service::uc && who.service != Service::ud;
    flow.rules.completes_late = who.transport != wire::Transport::iwarp;
    // Datagrams go to many flows, and nothing shows which request went to which.
    flow.joins = who.service != Service::ud && who.service != Service::rd;
    flow.lost = table_.lost(life);
    if (!flow.joins) return;
    life.posts.set_taken(true);
    // Where nothing of either can have been missed, the first is the first.
    const bool captured = first_ns_ != unknown_time &&
                          (life.first_post_ns == unknown_time || first_ns_ <= life.first_post_ns + clock_tolerance_ns);
    const bool whole = life.whole && flow.lost == 0 && life.posts.first() == 0;
    flow.whole = whole && captured && !flow.missed;
}

void TraceJoin::advance(Flow& flow, bool last) {
    QueuePair* const life = table_.find(flow.owner);
    if (flow.messages == nullptr) return;
    MessageJoin& join = flow.messages->join;
    if (life != nullptr) place_first(flow, *life);
    if (life == nullptr || !flow.joins) return join.discard();
    if (const std::uint64_t lost = table_.lost(*life); lost != flow.lost) {
        flow.lost = lost;
        flow.whole = false;
        join.lose();
    }
    if (std::exchange(flow.whole, false)) join.align_beginning();
    join.advance(life->posts, flow.rules, last);
}

void TraceJoin::settle(const Identify& identify, bool last) {
    if (last) {
        touched_.clear();
        for (const auto& [id, flow] : flows_) touched_.push_back(id);
    }
    for (const std::uint64_t id : touched_) {
        Flow& flow = at(id);
        flow.listed = false;
        if (flow.owner == QueuePairTable::none) look_for_owner(id, flow, identify);
        if (flow.owner != QueuePairTable::none) {
            advance(flow, last);
        } else if (flow.messages != nullptr) {
            // Records come before packets: the message belongs to no traced process.
            flow.missed |= flow.messages->join.waiting() > 0;
            flow.messages.reset();
        }
    }
    touched_.clear();
}

void TraceJoin::dropped() {
    for (auto& [id, flow] : flows_)
        if (flow->messages != nullptr) flow->messages->join.lose();
}

void give_held_time(FlowSnapshot& flow) {
    if (!flow.verbs) return;
    StateTimes states = flow.state_ns;
    for (std::size_t i = 0; i < application_states; ++i) {
        std::uint64_t& from = states[index_of(State::application_in_flight) + i];
        const std::uint64_t held = std::min(flow.verbs->held_ns[i], from);
        from -= held;
        states[index_of(State::nic_stall)] += held;
    }
    flow.state_ns = states;
}

void TraceJoin::describe(Snapshot& out) {
    for (FlowSnapshot& flow : out.flows) {
        const auto known = flows_.find(flow.id);
        const Flow* const joined = known == flows_.end() ? nullptr : known->second.get();
        QueuePairTable::Handle owner = joined == nullptr ? QueuePairTable::none : joined->owner;
        if (owner == QueuePairTable::none) owner = find_owner(table_, flow, flow.first_ns);
        const QueuePair* const life = table_.find(owner);
        if (life == nullptr) continue;
        flow.verbs = table_.figures(*life);
        if (joined != nullptr && joined->messages != nullptr) joined->messages->join.describe(*flow.verbs);
        give_held_time(flow);
    }
}

}  // namespace metrics::measure::posts
