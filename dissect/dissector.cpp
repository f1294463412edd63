#include "dissect/dissector.h"

namespace dissect {

struct Dissector::State {
    DissectorOptions options;
    DissectorCounters counters;
    Dissection dissection;
};

Dissector::Dissector(const DissectorOptions& options) : state_(std::make_unique<State>()) { state_->options = options; }
Dissector::~Dissector() = default;
const DissectorCounters& Dissector::counters() const { return state_->counters; }

void Dissector::dissect(const wire::Frame& frame, Sink& sink) {
    State& s = *state_;
    dissect_frame(frame, s.options.parse, s.dissection);
    ++s.counters.frames;
    sink.on_frame(frame, s.dissection);
    if (s.dissection.has(LayerId::bth)) {
        const bool v1 = !s.dissection.has(LayerId::udp);
        ++s.counters.units;
        sink.on_unit({frame, s.dissection, s.dissection, frame.bytes, true, v1 ? Transport::roce1 : Transport::roce2, frame.number});
    }
}

}  // namespace dissect
