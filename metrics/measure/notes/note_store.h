#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "metrics/measure/account/frame_observer.h"
#include "metrics/measure/notes/frame_notes.h"

namespace metrics::inline measure::inline notes {

/// Keeps what an engine reports of frames, compactly, and joins it: which frame answered which message. Frames' numbers
/// should ascend; notes of others take more room.
class NoteStore final : public FrameObserver {
public:
    /// What is reported of this frame from now on is of a frame that follows all others, whatever its number.
    void begin_frame(std::uint64_t frame, std::int64_t time_ns);

    void packet(std::uint64_t flow, std::uint64_t frame) override;
    void taken_back(std::uint64_t flow, std::uint64_t frame) override;
    void event(std::uint64_t flow, EventKind kind, std::uint64_t frame, std::uint64_t value) override;
    void gap(std::uint64_t flow, const Gap& gap, std::uint64_t frame) override;
    void repeats(std::uint64_t flow, std::uint64_t frame, std::uint64_t of_frame) override;
    void repaired(std::uint64_t flow, const Repair& repair, std::uint64_t frame) override;
    void message(std::uint64_t flow, const Message& message, std::uint64_t frame) override;
    void continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) override;
    void extended(std::uint64_t flow, std::uint64_t position, std::uint64_t last) override;
    void answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                  std::uint64_t frame) override;
    void forgotten(std::uint64_t flow, bool apart) override;
    void outstanding(std::uint64_t flow, std::uint64_t messages, std::uint64_t bytes, std::uint64_t frame) override;

    /// The notes on a frame, in the order in which they were made.
    std::vector<std::uint32_t> find(std::uint64_t frame) const;
    void read(std::uint32_t note, FrameNote& out) const;
    std::size_t octets() const;

private:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::uint32_t stray = 0x80000000;  ///< the note is in strays_
    /// If this number of messages wait for an answer, the oldest are given up.
    static constexpr std::uint32_t most_pending = 1u << 14;
    static constexpr std::uint64_t no_latency = ~std::uint64_t{0};
    static constexpr std::int64_t no_time = INT64_MIN;

    struct Note {
        std::uint64_t frame = 0;
        std::int64_t time_ns = no_time;
        std::uint64_t gap_ns = 0;
        std::uint64_t outstanding_bytes = 0;
        std::uint32_t flow = none;
        std::uint32_t outstanding_messages = 0;
        std::uint32_t wire_ns = 0;
        std::uint32_t messages = none;  ///< the last of each; they lead to those before
        std::uint32_t answers = none;
        std::uint32_t events = none;
        State gap_state{};
        bool packet : 1 = false;
        bool has_gap : 1 = false;
        bool sent_again : 1 = false;
        bool repeats : 1 = false;
        bool repairs : 1 = false;
    };
    struct KeptMessage {
        std::uint64_t position = 0;
        std::uint64_t bytes = 0;
        std::uint64_t first_frame = 0;
        std::uint64_t last_frame = 0;
        std::uint64_t response_frame = 0;
        std::uint64_t latency_ns = no_latency;
        std::uint32_t number = 0;
        std::uint32_t in_note = none;  ///< the message before it that the same frame completed
        std::uint32_t next = none;  ///< until it is answered, the next that waits; then, as `in_note`, of the answers
        Operation operation{};
    };
    static_assert(sizeof(Note) == 64 && sizeof(KeptMessage) == 64, "frame_notes.h says so");
    /// An event, or a frame that is repeated.
    struct Event {
        std::uint64_t value = 0;
        std::uint32_t flow = none;
        std::uint32_t before = none;
        EventKind kind{};
        bool repeated = false;
    };
    /// Messages that wait for their answer, in the order in which they will get it.
    struct Queue {
        std::uint32_t first = none;
        std::uint32_t last = none;
        std::uint32_t count = 0;
    };
    struct Flow {
        std::uint64_t id = 0;
        std::array<Queue, 2> waiting;  ///< answered in common, and apart
        std::uint32_t messages = 0;
        std::uint32_t last_message = none;  ///< a Write, as long as nothing follows it
    };

    std::uint32_t place_of(std::uint64_t flow);
    Note& note(std::uint32_t at) { return (at & stray) != 0 ? strays_[at & ~stray] : notes_[at]; }
    const Note& note(std::uint32_t at) const { return (at & stray) != 0 ? strays_[at & ~stray] : notes_[at]; }
    std::uint32_t add_note(std::uint32_t flow, std::uint64_t frame);
    std::uint32_t find_note(std::uint32_t flow, std::uint64_t frame) const;
    std::uint32_t note_of(std::uint32_t flow, std::uint64_t frame);
    std::uint32_t note_of_packet(std::uint32_t flow, std::uint64_t frame);
    void add_event(Note& note, const Event& event);
    void wait(Queue& queue, std::uint32_t message, bool late);
    std::uint32_t take(Queue& queue, std::uint64_t position);
    void note_answer(std::uint32_t flow, std::uint32_t message, std::uint64_t frame);
    std::uint32_t pop(Queue& queue);
    std::uint32_t find_unseen(const Queue& queue, std::uint64_t position, Operation operation) const;
    void count_message(Flow& flow, std::uint32_t message, Note& note);
    void take_out(Note& note, std::uint32_t message);
    Repair shown_repair(std::uint32_t at, std::uint64_t lost_frame) const;
    FrameNote::Message shown(const KeptMessage& message) const;

    std::deque<Note> notes_;
    std::deque<KeptMessage> messages_;
    std::deque<Event> events_;
    std::vector<Flow> flows_;
    std::unordered_map<std::uint64_t, std::uint32_t> places_;
    std::deque<Note> strays_;  ///< on frames that came after frames with greater numbers
    std::multimap<std::uint64_t, std::uint32_t> strays_of_;
    std::unordered_map<std::uint32_t, Repair> repairs_;  ///< by note
    std::uint64_t last_id_ = ~std::uint64_t{0};          ///< that place_of() was asked for, and what it said
    std::uint32_t last_place_ = none;
    std::uint64_t frame_ = 0;           ///< the present one
    std::int64_t time_ns_ = no_time;    ///< when it was captured
    std::uint32_t last_packet_ = none;  ///< the note of its last packet
    std::size_t notes_before_ = 0;      ///< those that there were when it was begun
    std::size_t strays_before_ = 0;
    mutable std::size_t asked_ = 0;  ///< after the notes that find() last returned
};

}  // namespace metrics::measure::notes
