#include "tests/unit/metrics/measure/notes/noted.h"

#include <algorithm>

namespace notes_test {

using namespace metrics;

namespace {

dissect::DissectorOptions dissector_options(bool verify_crc) {
    dissect::DissectorOptions options;
    options.parse.verify_crc = verify_crc;
    return options;
}

}  // namespace

Noted::Noted(const std::vector<support::KeptFrame>& kept, bool verify_crc)
    : notes({}, dissector_options(verify_crc)), frames(kept.size()) {
    std::uint64_t number = 0;
    for (const support::KeptFrame& frame : kept) notes.feed(frame.frame(++number));
    notes.finish();
}

std::map<std::uint64_t, Sums> Noted::sums() const {
    std::map<std::uint64_t, Sums> out;
    for (std::uint64_t frame = 0; frame <= frames; ++frame) {
        for (const FrameNote* note : notes.notes(frame)) {
            Sums& sums = out[note->flow];
            sums.packets += note->packet ? 1 : 0;
            for (const FrameNote::Event& event : note->events) {
                ++out[event.flow].events[static_cast<std::size_t>(event.kind)];
                out[event.flow].event_values[static_cast<std::size_t>(event.kind)] += event.value;
            }
            for (const FrameNote::Message& message : note->messages) {
                ++sums.messages[index_of(message.operation)];
                sums.highest_number = std::max(sums.highest_number, message.number);
                if (message.latency_ns) sums.latencies[index_of(message.operation)].record(*message.latency_ns);
            }
            // What was answered without its end having been seen stands with the answer alone.
            for (const FrameNote::Message& message : note->answers) {
                const FlowSnapshot* const carrier = notes.flow(note->flow);
                if (message.number != 0 || !message.latency_ns || carrier == nullptr || !carrier->reverse) continue;
                out[*carrier->reverse].latencies[index_of(message.operation)].record(*message.latency_ns);
            }
            if (note->repair) {
                if (note->repair->nak_generation_ns) sums.nak_generation.record(*note->repair->nak_generation_ns);
                if (note->repair->nak_reaction_ns) sums.nak_reaction.record(*note->repair->nak_reaction_ns);
                if (note->repair->total_ns) sums.recovery_total.record(*note->repair->total_ns);
            }
            if (!note->gap_state) continue;
            const State transmit = note->sent_again ? State::transmit_again : State::transmit_new;
            sums.state_ns[index_of(*note->gap_state)] += note->gap_ns;
            sums.state_ns[index_of(transmit)] += note->wire_ns;
        }
    }
    return out;
}

}  // namespace notes_test
