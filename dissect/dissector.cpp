#include "dissect/dissector.h"

#include "dissect/repeats.h"
#include "dissect/stream/stream_table.h"

namespace dissect {

struct Dissector::State {
    explicit State(const DissectorOptions& settings)
        : options(settings), repeats(settings.find_repeats ? settings.repeat_packets : 0), streams(options, counters) {}

    void count(const Diagnostic& stop, bool odd);
    void deliver_packet(const wire::Frame& frame, Sink& sink);

    DissectorOptions options;
    DissectorCounters counters;
    RepeatTable repeats;
    stream::StreamTable streams;
    Dissection dissection;
};

Dissector::Dissector(const DissectorOptions& options) : state_(std::make_unique<State>(options)) {}
Dissector::~Dissector() = default;
const DissectorCounters& Dissector::counters() const { return state_->counters; }

void Dissector::State::count(const Diagnostic& stop, bool odd) {
    switch (stop.outcome) {
        case Outcome::complete:
        case Outcome::odd: break;
        case Outcome::truncated: ++counters.truncated; break;
        case Outcome::malformed: ++counters.malformed; break;
        case Outcome::unsupported: ++counters.unsupported; break;
    }
    if (odd) ++counters.odd;
}

namespace {
Transport transport_of(const Dissection& dissection) {
    if (dissection.has(LayerId::udp)) return Transport::roce2;
    return dissection.has(LayerId::lrh) ? Transport::infiniband : Transport::roce1;
}
}  // namespace

void Dissector::State::deliver_packet(const wire::Frame& frame, Sink& sink) {
    ++counters.units;
    Unit unit{frame, dissection, dissection, frame.bytes, true, transport_of(dissection), frame.number};
    if (options.find_repeats) unit.repeats_frame = repeats.note(dissection, frame.bytes, frame.number);
    sink.on_unit(unit);
}

void Dissector::dissect(const wire::Frame& frame, Sink& sink) {
    State& state = *state_;
    dissect_frame(frame, state.options.parse, state.dissection);
    ++state.counters.frames;
    state.count(state.dissection.stop, state.dissection.odd_count != 0);
    sink.on_frame(frame, state.dissection);
    if (state.dissection.has(LayerId::bth)) state.deliver_packet(frame, sink);
    if (state.options.follow_streams && state.dissection.has(LayerId::tcp))
        state.streams.segment(frame, state.dissection, frame.bytes, sink);
}

void Dissector::finish(Sink& sink) { state_->streams.finish(sink); }

}  // namespace dissect
