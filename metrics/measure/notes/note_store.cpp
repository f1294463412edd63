#include "metrics/measure/notes/note_store.h"

#include <algorithm>

namespace metrics::inline measure::inline notes {

namespace {

std::uint32_t bounded_count(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffff));
}

}  // namespace

void NoteStore::begin_frame(std::uint64_t frame, std::int64_t time_ns) {
    frame_ = frame;
    time_ns_ = time_ns;
    last_packet_ = none;
    notes_before_ = notes_.size();
    strays_before_ = strays_.size();
}

std::uint32_t NoteStore::place_of(std::uint64_t flow) {
    if (flow == last_id_) return last_place_;
    const auto [found, fresh] = places_.try_emplace(flow, static_cast<std::uint32_t>(flows_.size()));
    if (fresh) flows_.emplace_back().id = flow;
    last_id_ = flow;
    last_place_ = found->second;
    return last_place_;
}

// ---- notes ----

std::uint32_t NoteStore::add_note(std::uint32_t flow, std::uint64_t frame) {
    const bool is_stray = !notes_.empty() && frame < notes_.back().frame;
    std::deque<Note>& notes = is_stray ? strays_ : notes_;
    const std::uint32_t at = static_cast<std::uint32_t>(notes.size()) | (is_stray ? stray : 0);
    if (is_stray) strays_of_.emplace(frame, at);
    Note& fresh = notes.emplace_back();
    fresh.frame = frame;
    if (frame == frame_) fresh.time_ns = time_ns_;
    fresh.flow = flow;
    return at;
}

/// The newest of a few; `none` if there is no such note.
std::uint32_t NoteStore::find_note(std::uint32_t flow, std::uint64_t frame) const {
    constexpr std::size_t most = 16;
    const auto search = [&](const std::deque<Note>& notes, std::size_t begin, std::size_t end, std::uint32_t flag) {
        for (std::size_t at = end; at > begin && end - at < most; --at)
            if (notes[at - 1].flow == flow && notes[at - 1].frame == frame)
                return static_cast<std::uint32_t>(at - 1) | flag;
        return none;
    };
    if (frame == frame_) {
        const std::uint32_t found = search(notes_, notes_before_, notes_.size(), 0);
        return found != none ? found : search(strays_, strays_before_, strays_.size(), stray);
    }
    const auto end = std::upper_bound(notes_.begin(), notes_.end(), frame,
                                      [](std::uint64_t number, const Note& one) { return number < one.frame; });
    const auto last = static_cast<std::size_t>(end - notes_.begin());
    return search(notes_, 0, last, 0);
}

std::uint32_t NoteStore::note_of(std::uint32_t flow, std::uint64_t frame) {
    const std::uint32_t found = find_note(flow, frame);
    return found != none ? found : add_note(flow, frame);
}

/// Where the frame has a packet, what it says of another flow stands with that.
std::uint32_t NoteStore::note_of_packet(std::uint32_t flow, std::uint64_t frame) {
    if (last_packet_ != none && note(last_packet_).frame == frame) return last_packet_;
    return note_of(flow, frame);
}

void NoteStore::add_event(Note& note, const Event& event) {
    const auto at = static_cast<std::uint32_t>(events_.size());
    events_.push_back(event);
    events_.back().before = note.events;
    note.events = at;
}

void NoteStore::packet(std::uint64_t flow, std::uint64_t frame) {
    last_packet_ = add_note(place_of(flow), frame);
    note(last_packet_).packet = true;
}

void NoteStore::taken_back(std::uint64_t flow, std::uint64_t frame) {
    const std::uint32_t at = find_note(place_of(flow), frame);
    if (at == none) return;
    Note& old = note(at);
    old.packet = false;
    if (at == last_packet_) last_packet_ = none;
    const bool empty =
        old.events == none && old.messages == none && old.answers == none && !old.has_gap && !old.repairs;
    if (empty && at + std::size_t{1} == notes_.size()) notes_.pop_back();
}

void NoteStore::event(std::uint64_t flow, EventKind kind, std::uint64_t frame, std::uint64_t value) {
    const std::uint32_t place = place_of(flow);
    add_event(note(note_of_packet(place, frame)), {value, place, none, kind, false});
}

void NoteStore::repeats(std::uint64_t flow, std::uint64_t frame, std::uint64_t of_frame) {
    const std::uint32_t place = place_of(flow);
    Note& here = note(note_of(place, frame));
    here.repeats = true;
    if (of_frame != 0) add_event(here, {of_frame, place, none, EventKind::retransmission, true});
}

void NoteStore::gap(std::uint64_t flow, const Gap& gap, std::uint64_t frame) {
    Note& here = note(note_of(place_of(flow), frame));
    here.has_gap = true;
    here.gap_state = gap.state;
    here.gap_ns = gap.ns;
    here.wire_ns = bounded_count(gap.wire_ns);
    here.sent_again = gap.again;
}

void NoteStore::repaired(std::uint64_t flow, const Repair& repair, std::uint64_t frame) {
    const std::uint32_t at = note_of(place_of(flow), frame);
    note(at).repairs = true;
    repairs_[at] = repair;
}

void NoteStore::outstanding(std::uint64_t flow, std::uint64_t messages, std::uint64_t bytes, std::uint64_t frame) {
    const std::uint32_t at = find_note(place_of(flow), frame);
    if (at == none) return;
    note(at).outstanding_messages = bounded_count(messages);
    note(at).outstanding_bytes = bytes;
}

// ---- messages ----

std::uint32_t NoteStore::pop(Queue& queue) {
    const std::uint32_t first = queue.first;
    queue.first = messages_[first].next;
    if (queue.first == none) queue.last = none;
    --queue.count;
    messages_[first].next = none;
    return first;
}

void NoteStore::wait(Queue& queue, std::uint32_t message, bool late) {
    if (queue.count == most_pending) pop(queue);
    ++queue.count;
    KeptMessage& fresh = messages_[message];
    std::uint32_t before = queue.last;
    if (late && before != none && messages_[before].position > fresh.position) {
        before = none;
        for (std::uint32_t at = queue.first; messages_[at].position <= fresh.position; at = messages_[at].next)
            before = at;
    }
    std::uint32_t& link = before == none ? queue.first : messages_[before].next;
    fresh.next = link;
    link = message;
    if (fresh.next == none) queue.last = message;
}

/// Removes the first message at that position from the queue, if the message is there.
std::uint32_t NoteStore::take(Queue& queue, std::uint64_t position) {
    std::uint32_t before = none;
    std::uint32_t at = queue.first;
    for (; at != none && messages_[at].position != position; at = messages_[at].next) before = at;
    if (at == none) return none;
    if (before == none) return pop(queue);
    messages_[before].next = messages_[at].next;
    if (queue.last == at) queue.last = before;
    --queue.count;
    messages_[at].next = none;
    return at;
}

/// A message at that position whose end was assumed to be missing. A message of another kind is a different one that is
/// missing too.
std::uint32_t NoteStore::find_unseen(const Queue& queue, std::uint64_t position, Operation operation) const {
    for (std::uint32_t at = queue.first; at != none; at = messages_[at].next)
        if (messages_[at].position == position && messages_[at].number == 0 && messages_[at].operation == operation)
            return at;
    return none;
}

void NoteStore::count_message(Flow& flow, std::uint32_t message, Note& note) {
    KeptMessage& counted = messages_[message];
    counted.number = ++flow.messages;
    counted.last_frame = note.frame;
    counted.in_note = note.messages;
    note.messages = message;
}

void NoteStore::message(std::uint64_t flow, const Message& message, std::uint64_t frame) {
    const std::uint32_t place = place_of(flow);
    Flow& here = flows_[place];
    const bool apart = (message.position & answered_apart) != 0;
    const std::uint64_t position = message.position & ~answered_apart;
    std::uint32_t at = message.late ? find_unseen(here.waiting[apart ? 1 : 0], position, message.operation) : none;
    const bool fresh = at == none;
    if (fresh) {
        at = static_cast<std::uint32_t>(messages_.size());
        messages_.emplace_back();
    }
    KeptMessage& kept = messages_[at];
    kept.operation = message.operation;
    kept.position = position;
    kept.bytes = message.bytes;
    if (message.first_frame != 0) kept.first_frame = message.first_frame;
    if (frame != 0) count_message(here, at, note(note_of(place, frame)));
    if (position == 0) return;
    if (frame != 0) here.last_message = at;
    if (fresh) wait(here.waiting[apart ? 1 : 0], at, message.late);
}

void NoteStore::take_out(Note& note, std::uint32_t message) {
    std::uint32_t* link = &note.messages;
    while (*link != none && *link != message) link = &messages_[*link].in_note;
    if (*link == message) *link = messages_[message].in_note;
}

void NoteStore::continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) {
    const std::uint32_t place = place_of(flow);
    Flow& here = flows_[place];
    if (here.last_message == none) return;
    const std::uint32_t at = here.last_message;
    KeptMessage& kept = messages_[at];
    kept.operation = Operation::write_immediate;
    if (here.waiting[0].last == at) kept.position = position;
    const std::uint32_t old = find_note(place, kept.last_frame);
    if (old == none) return;
    take_out(note(old), at);
    Note& note_now = note(note_of(place, frame));
    kept.last_frame = frame;
    kept.in_note = note_now.messages;
    note_now.messages = at;
}

void NoteStore::extended(std::uint64_t flow, std::uint64_t position, std::uint64_t last) {
    const Queue& queue = flows_[place_of(flow)].waiting[0];
    if (queue.last == none) return;
    std::uint32_t at = queue.last;
    if (messages_[at].position != position)
        for (at = queue.first; at != none && messages_[at].position < position;) at = messages_[at].next;
    if (at != none && messages_[at].position == position) messages_[at].position = last;
}

void NoteStore::note_answer(std::uint32_t flow, std::uint32_t message, std::uint64_t frame) {
    KeptMessage& kept = messages_[message];
    kept.response_frame = frame;
    if (frame == 0) return;
    Note& answer = note(note_of_packet(flow, frame));
    kept.next = answer.answers;
    answer.answers = message;
}

void NoteStore::answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                         std::uint64_t frame) {
    const std::uint32_t place = place_of(flow);
    Queue& queue = flows_[place].waiting[(position & answered_apart) != 0 ? 1 : 0];
    position &= ~answered_apart;
    if (latency_ns != nullptr) {
        const std::uint32_t at = take(queue, position);
        if (at == none) return;
        messages_[at].latency_ns = *latency_ns;
        return note_answer(place, at, frame);
    }
    while (queue.first != none && messages_[queue.first].position <= position) note_answer(place, pop(queue), frame);
}

void NoteStore::forgotten(std::uint64_t flow, bool apart) {
    Flow& here = flows_[place_of(flow)];
    Queue& queue = here.waiting[apart ? 1 : 0];
    while (queue.first != none) pop(queue);
}

// ---- what was noted ----

std::vector<std::uint32_t> NoteStore::find(std::uint64_t frame) const {
    std::vector<std::uint32_t> found;
    // Mostly one frame is asked for after the other.
    const bool next = asked_ <= notes_.size() && (asked_ == 0 || notes_[asked_ - 1].frame < frame) &&
                      (asked_ == notes_.size() || notes_[asked_].frame >= frame);
    const auto before = [](const Note& one, std::uint64_t number) { return one.frame < number; };
    if (!next)
        asked_ =
            static_cast<std::size_t>(std::lower_bound(notes_.begin(), notes_.end(), frame, before) - notes_.begin());
    for (; asked_ < notes_.size() && notes_[asked_].frame == frame; ++asked_)
        found.push_back(static_cast<std::uint32_t>(asked_));
    if (strays_of_.empty()) return found;
    const auto [first, last] = strays_of_.equal_range(frame);
    for (auto at = first; at != last; ++at) found.push_back(at->second);
    return found;
}

FrameNote::Message NoteStore::shown(const KeptMessage& message) const {
    FrameNote::Message out{message.operation,
                           message.number,
                           message.bytes,
                           message.first_frame,
                           message.last_frame,
                           message.response_frame,
                           {}};
    if (message.latency_ns != no_latency) out.latency_ns = message.latency_ns;
    return out;
}

/// The engine does not remember when a packet passed that is sent again; the notes do.
Repair NoteStore::shown_repair(std::uint32_t at, std::uint64_t lost_frame) const {
    Repair out = repairs_.at(at);
    const Note& here = note(at);
    // What fills a hole was lost before the tap, whether or not it was sent another time before that.
    if (!out.of_lost || out.first_out_of_sequence_frame != 0 || lost_frame == 0) return out;
    out.lost_frame = lost_frame;
    if (out.total_ns) return out;
    const std::uint32_t lost = find_note(here.flow, lost_frame);
    if (lost == none || note(lost).time_ns == no_time || here.time_ns < note(lost).time_ns) return out;
    out.total_ns = static_cast<std::uint64_t>(here.time_ns) - static_cast<std::uint64_t>(note(lost).time_ns);
    return out;
}

void NoteStore::read(std::uint32_t at, FrameNote& out) const {
    const Note& note = this->note(at);
    out = {};
    out.frame = note.frame;
    out.flow = flows_[note.flow].id;
    out.packet = note.packet;
    out.repeats = note.repeats;
    if (note.has_gap) out.gap_state = note.gap_state;
    out.gap_ns = note.gap_ns;
    out.wire_ns = note.wire_ns;
    out.sent_again = note.sent_again;
    out.outstanding_messages = note.outstanding_messages;
    out.outstanding_bytes = note.outstanding_bytes;
    for (std::uint32_t i = note.messages; i != none; i = messages_[i].in_note)
        out.messages.push_back(shown(messages_[i]));
    for (std::uint32_t i = note.answers; i != none; i = messages_[i].next) out.answers.push_back(shown(messages_[i]));
    for (std::uint32_t i = note.events; i != none; i = events_[i].before) {
        if (events_[i].repeated)
            out.repeats_frame = events_[i].value;
        else
            out.events.push_back({events_[i].kind, events_[i].value, flows_[events_[i].flow].id});
    }
    if (note.repairs) out.repair = shown_repair(at, out.repeats_frame);
    std::reverse(out.messages.begin(), out.messages.end());
    std::sort(out.answers.begin(), out.answers.end(),
              [](const FrameNote::Message& one, const FrameNote::Message& other) { return one.number < other.number; });
    std::reverse(out.events.begin(), out.events.end());
}

std::size_t NoteStore::octets() const {
    constexpr std::size_t node = 48;  // of the standard library's maps, about
    return (notes_.size() + strays_.size()) * sizeof(Note) + messages_.size() * sizeof(KeptMessage) +
           events_.size() * sizeof(Event) + flows_.capacity() * sizeof(Flow) +
           (places_.size() + strays_of_.size()) * node + repairs_.size() * (sizeof(Repair) + node);
}

}  // namespace metrics::measure::notes
