#include "metrics/measure/notes/present_notes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "metrics/measure/account/frame_observer.h"
#include "metrics/measure/engine/analyzer.h"
#include "metrics/measure/notes/observed_options.h"

namespace metrics::inline measure::inline notes {

namespace {

/// Messages of a flow that wait for an answer: as many as NoteStore keeps.
constexpr std::size_t most_waiting = std::size_t{1} << 14;

/// Gathers what the engine reports of one frame.
class PresentFrame final : public FrameObserver {
public:
    void begin_frame(std::uint64_t frame) {
        frame_ = frame;
        notes_.clear();
        last_packet_.reset();
    }
    std::span<const FrameNote> notes() const { return notes_; }
    void sort_answers() {
        for (FrameNote& note : notes_)
            std::ranges::sort(note.answers, {}, [](const FrameNote::Message& message) { return message.number; });
    }

    void packet(std::uint64_t flow, std::uint64_t frame) override {
        if (frame != frame_) return;
        notes_.push_back(fresh_note(flow));
        notes_.back().packet = true;
        last_packet_ = notes_.size() - 1;
    }
    void taken_back(std::uint64_t flow, std::uint64_t frame) override {
        FrameNote* note = frame == frame_ ? find_note(flow) : nullptr;
        if (note == nullptr) return;
        const auto at = static_cast<std::size_t>(note - notes_.data());
        note->packet = false;
        if (last_packet_ == at) last_packet_.reset();
        const bool empty = note->events.empty() && note->messages.empty() && note->answers.empty() &&
                           !note->gap_state && !note->repair;
        if (empty && at + 1 == notes_.size()) notes_.pop_back();
    }
    void event(std::uint64_t flow, EventKind kind, std::uint64_t frame, std::uint64_t value) override {
        if (frame == frame_) note_of_packet(flow).events.push_back({kind, value, flow});
    }
    void gap(std::uint64_t flow, const Gap& gap, std::uint64_t frame) override {
        if (frame != frame_) return;
        FrameNote& note = note_of(flow);
        note.gap_state = gap.state;
        note.gap_ns = gap.ns;
        note.wire_ns = gap.wire_ns;
        note.sent_again = gap.again;
    }
    void repeats(std::uint64_t flow, std::uint64_t frame, std::uint64_t of_frame) override {
        if (frame != frame_) return;
        FrameNote& note = note_of(flow);
        note.repeats = true;
        if (of_frame != 0) note.repeats_frame = of_frame;
    }
    void repaired(std::uint64_t flow, const Repair& repair, std::uint64_t frame) override {
        if (frame == frame_) note_of(flow).repair = repair;
    }
    void outstanding(std::uint64_t flow, std::uint64_t messages, std::uint64_t bytes, std::uint64_t frame) override {
        FrameNote* note = frame == frame_ ? find_note(flow) : nullptr;
        if (note == nullptr) return;
        note->outstanding_messages = messages;
        note->outstanding_bytes = bytes;
    }

    void message(std::uint64_t flow, const Message& message, std::uint64_t frame) override {
        Flow& here = flows_[flow];
        const bool apart = (message.position & answered_apart) != 0;
        const std::uint64_t position = message.position & ~answered_apart;
        Waiting& waiting = here.waiting[apart ? 1 : 0];
        FrameNote::Message fresh;
        auto at = message.late ? find_unseen(waiting, position, message.operation) : waiting.end();
        if (at != waiting.end()) fresh = at->second;
        fresh.operation = message.operation;
        fresh.bytes = message.bytes;
        if (message.first_frame != 0) fresh.first_frame = message.first_frame;
        if (frame != 0) {
            fresh.number = ++here.messages;
            fresh.last_frame = frame;
            if (frame == frame_) note_of(flow).messages.push_back(fresh);
        }
        if (at != waiting.end())
            at->second = fresh;
        else if (position != 0)
            add(waiting, position, fresh);
        if (frame == 0 || position == 0) return;
        here.last_posted = fresh;
        here.last_position = position;
        here.last_is_apart = apart;
    }
    void continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) override {
        Flow& here = flows_[flow];
        if (!here.last_posted) return;
        FrameNote::Message& last = *here.last_posted;
        Waiting& waiting = here.waiting[0];
        const bool waits = !here.last_is_apart && !waiting.empty() && waiting.rbegin()->second.number == last.number;
        last.operation = Operation::write_immediate;
        if (frame == frame_) {
            FrameNote& note = note_of(flow);
            std::erase_if(note.messages, [&](const FrameNote::Message& one) { return one.number == last.number; });
            last.last_frame = frame;
            note.messages.push_back(last);
        }
        if (!waits) return;
        waiting.erase(std::prev(waiting.end()));
        waiting.emplace(position, last);
        here.last_position = position;
    }
    void extended(std::uint64_t flow, std::uint64_t position, std::uint64_t last) override {
        Waiting& waiting = flows_[flow].waiting[0];
        const auto at = waiting.find(position);
        if (at == waiting.end()) return;
        auto node = waiting.extract(at);
        node.key() = last;
        waiting.insert(std::move(node));
    }
    void answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                  std::uint64_t frame) override {
        Waiting& waiting = flows_[flow].waiting[(position & answered_apart) != 0 ? 1 : 0];
        position &= ~answered_apart;
        if (latency_ns != nullptr) {
            const auto at = waiting.lower_bound(position);
            if (at == waiting.end() || at->first != position) return;
            at->second.latency_ns = *latency_ns;
            answer(flow, at->second, frame);
            waiting.erase(at);
            return;
        }
        const auto end = waiting.upper_bound(position);
        for (auto at = waiting.begin(); at != end; ++at) answer(flow, at->second, frame);
        waiting.erase(waiting.begin(), end);
    }
    void forgotten(std::uint64_t flow, bool apart) override { flows_[flow].waiting[apart ? 1 : 0].clear(); }
    void left(std::uint64_t flow) override { flows_.erase(flow); }

private:
    using Waiting = std::multimap<std::uint64_t, FrameNote::Message>;  ///< by position
    struct Flow {
        std::array<Waiting, 2> waiting;  ///< answered in common, and apart
        std::uint64_t messages = 0;
        std::optional<FrameNote::Message> last_posted;  ///< a Write that Immediate Data may follow
        std::uint64_t last_position = 0;
        bool last_is_apart = false;
    };

    FrameNote fresh_note(std::uint64_t flow) const {
        FrameNote note;
        note.frame = frame_;
        note.flow = flow;
        note.packet = false;
        return note;
    }
    FrameNote* find_note(std::uint64_t flow) {
        for (auto at = notes_.rbegin(); at != notes_.rend(); ++at)
            if (at->flow == flow) return &*at;
        return nullptr;
    }
    FrameNote& note_of(std::uint64_t flow) {
        if (FrameNote* note = find_note(flow)) return *note;
        return notes_.emplace_back(fresh_note(flow));
    }
    /// What a frame with a packet says of another flow stands with that packet.
    FrameNote& note_of_packet(std::uint64_t flow) { return last_packet_ ? notes_[*last_packet_] : note_of(flow); }

    static Waiting::iterator find_unseen(Waiting& waiting, std::uint64_t position, Operation operation) {
        const auto [first, end] = waiting.equal_range(position);
        const auto at = std::find_if(first, end, [operation](const auto& one) {
            return one.second.number == 0 && one.second.operation == operation;
        });
        return at == end ? waiting.end() : at;
    }
    static void add(Waiting& waiting, std::uint64_t position, const FrameNote::Message& message) {
        if (waiting.size() == most_waiting) waiting.erase(waiting.begin());
        waiting.emplace(position, message);
    }
    void answer(std::uint64_t flow, const FrameNote::Message& message, std::uint64_t frame) {
        if (frame == 0 || frame != frame_) return;
        FrameNote::Message answered = message;
        answered.response_frame = frame;
        note_of_packet(flow).answers.push_back(answered);
    }

    std::uint64_t frame_ = 0;
    std::vector<FrameNote> notes_;
    std::optional<std::size_t> last_packet_;  ///< the note of the frame's last packet
    std::unordered_map<std::uint64_t, Flow> flows_;
};

}  // namespace

struct PresentNotes::State {
    State(const EngineOptions& engine, const dissect::DissectorOptions& dissector, dissect::Sink* listener)
        : analyzer(observed_options(engine, dissector, frame, listener)) {}

    PresentFrame frame;
    Analyzer analyzer;
    FlowSnapshot flow;
};

PresentNotes::PresentNotes(const EngineOptions& engine, const dissect::DissectorOptions& dissector,
                           dissect::Sink* listener)
    : state_(std::make_unique<State>(engine, dissector, listener)) {}
PresentNotes::~PresentNotes() = default;

void PresentNotes::expect_interfaces(std::size_t count) { state_->analyzer.expect_interfaces(count); }

void PresentNotes::feed(const wire::Frame& frame) {
    state_->frame.begin_frame(frame.number);
    state_->analyzer.feed({&frame, 1});
    state_->frame.sort_answers();
}

void PresentNotes::finish() { state_->analyzer.finish(); }

std::span<const FrameNote> PresentNotes::notes() const { return state_->frame.notes(); }

const FlowSnapshot* PresentNotes::flow(std::uint64_t id) const {
    state_->flow = {};
    return state_->analyzer.identify(id, state_->flow) ? &state_->flow : nullptr;
}

}  // namespace metrics::measure::notes
