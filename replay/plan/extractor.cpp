#include "replay/plan/extractor.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace replay::inline plan {

namespace {

Kind kind_of(metrics::Operation operation) {
    switch (operation) {
        case metrics::Operation::send:
        case metrics::Operation::send_immediate: return Kind::send;
        case metrics::Operation::send_invalidate: return Kind::send_invalidate;
        case metrics::Operation::write: return Kind::write;
        case metrics::Operation::write_immediate: return Kind::write_immediate;
        case metrics::Operation::read: return Kind::read;
        case metrics::Operation::fetch_add: return Kind::fetch_add;
        case metrics::Operation::compare_swap: return Kind::compare_swap;
    }
    return Kind::send;
}

}  // namespace

void FrameTimes::note(std::uint64_t frame, std::int64_t time_ns) {
    if (times_.size() < remembered && frame >= times_.size())
        times_.resize(std::min(remembered, std::max<std::size_t>(2 * times_.size(), 1024)));
    // Frames of one file are numbered without gaps; a listener sees each.
    times_[frame % times_.size()] = time_ns;
    last_ = frame;
}

std::int64_t FrameTimes::of(std::uint64_t frame) const {
    if (times_.empty()) return 0;
    const std::uint64_t oldest = last_ >= times_.size() ? last_ - times_.size() + 1 : 1;
    return times_[std::clamp(frame, oldest, last_) % times_.size()];
}

void Extractor::Marks::add(std::int64_t time_ns, std::uint64_t count) {
    // Frames need not be in the order of their times.
    if (!marks_.empty()) time_ns = std::max(time_ns, marks_.back().time_ns);
    if (!marks_.empty() && marks_.back().time_ns == time_ns)
        marks_.back().count = std::max(count, marks_.back().count);
    else
        marks_.push_back({time_ns, count});
    if (marks_.size() <= history) return;
    forgotten_ = marks_.front().count;
    marks_.pop_front();
}

std::uint64_t Extractor::Marks::at(std::int64_t time_ns) const {
    const auto later = std::ranges::upper_bound(marks_, time_ns, {}, [](const Mark& mark) { return mark.time_ns; });
    return later == marks_.begin() ? forgotten_ : std::prev(later)->count;
}

Extractor::Extractor(const Survey& survey, PayloadCollector* payload)
    : survey_(survey), payload_(payload), sides_(survey.connections.size()) {}

void Extractor::begin_run(std::int64_t later_ns) {
    later_ns_ = later_ns;
    times_ = {};
    if (payload_ != nullptr) payload_->begin_run();
    for (auto& both : sides_)
        for (Side& side : both) {
            side.waiting.clear();
            side.waiting_apart.clear();
            // All of the run before has come about before anything of this one begins.
            side.ended.add(base::add_ns(survey_.begin_ns, later_ns), side.messages);
            side.arrived.add(base::add_ns(survey_.begin_ns, later_ns), side.messages);
            side.answered.add(base::add_ns(survey_.begin_ns, later_ns), side.requests);
        }
}

Extractor::Side* Extractor::side_of(std::uint64_t flow, Poster& place) {
    const auto found = survey_.places.find(flow);
    if (found == survey_.places.end()) return nullptr;
    place = found->second;
    return &sides_[place.connection][place.side];
}

void Extractor::add(const Poster& place, Kind kind, std::uint64_t bytes, std::uint64_t first_frame, std::uint64_t frame,
                    std::uint64_t position, std::shared_ptr<Payload> payload) {
    const PlannedConnection& connection = survey_.connections[place.connection];
    Side& side = sides_[place.connection][place.side];
    const Side& peer = sides_[place.connection][1 - place.side];
    const std::int64_t begun = base::add_ns(times_.of(first_frame != 0 ? first_frame : frame), later_ns_);
    const std::int64_t known = begun - static_cast<std::int64_t>(connection.reaction_ns[place.side]);
    Operation out;
    out.connection = place.connection;
    out.side = place.side;
    out.kind = kind;
    out.bytes = bytes;
    out.at_ns = std::max<std::int64_t>(begun - survey_.begin_ns, 0);
    out.frame = first_frame != 0 ? first_frame : frame;
    out.payload = std::move(payload);
    out.after_peer = peer.ended.at(known);
    out.after_arrived = std::min(side.arrived.at(known), side.messages);
    out.after_answered = std::min(side.answered.at(known), side.requests);
    side.messages += messages_of(kind);
    side.requests += is_answered(kind) ? 1 : 0;
    side.ended.add(base::add_ns(times_.of(frame), later_ns_), side.messages);
    if (position != 0) {
        auto& queue = (position & answered_apart) != 0 ? side.waiting_apart : side.waiting;
        queue.push_back({position, side.messages, side.requests});
        if (queue.size() > most_outstanding) queue.pop_front();
    }
    last_ns_ = std::max(last_ns_, out.at_ns);
    ++operations_;
    found_.push_back(std::move(out));
}

void Extractor::message(std::uint64_t flow, const Message& message, std::uint64_t frame) {
    Poster place;
    // A message whose last packet is missing is reported again if that packet comes after all.
    if (frame == 0 || side_of(flow, place) == nullptr) return;
    const bool iwarp = survey_.connections[place.connection].flows[place.side]->transport == wire::Transport::iwarp;
    if (message.operation == metrics::Operation::send_immediate && iwarp) {
        add(place, Kind::immediate, 0, message.first_frame, frame, message.position);
        return;
    }
    add(place, kind_of(message.operation), message.bytes, message.first_frame, frame, message.position,
        payload_ == nullptr ? nullptr : payload_->message(flow, message, frame));
    if (message.operation == metrics::Operation::send_immediate) add(place, Kind::immediate, 0, frame, frame, 0);
}

/// iWARP's Immediate Data, after a Write that is posted already.
void Extractor::continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) {
    Poster place;
    if (side_of(flow, place) != nullptr) add(place, Kind::immediate, 0, frame, frame, position);
}

void Extractor::answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t*, std::uint64_t frame) {
    Poster place;
    Side* const side = side_of(flow, place);
    if (side == nullptr) return;
    const bool apart = (position & answered_apart) != 0;
    auto& queue = apart ? side->waiting_apart : side->waiting;
    Waiting last;
    while (!queue.empty() && queue.front().position <= position) {
        last = queue.front();
        queue.pop_front();
    }
    if (last.position == 0 || frame == 0) return;
    const std::int64_t now = base::add_ns(times_.of(frame), later_ns_);
    const bool iwarp = survey_.connections[place.connection].flows[place.side]->transport == wire::Transport::iwarp;
    side->arrived.add(now, last.messages);
    // On RoCE one acknowledgement is of all before it; iWARP's TCP says nothing of answers.
    if (apart || !iwarp) side->answered.add(now, last.requests);
}

void Extractor::forgotten(std::uint64_t flow, bool apart) {
    Poster place;
    if (Side* const side = side_of(flow, place)) (apart ? side->waiting_apart : side->waiting).clear();
}

}  // namespace replay::plan
