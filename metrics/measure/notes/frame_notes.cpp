#include "metrics/measure/notes/frame_notes.h"

#include <array>
#include <fmt/core.h>

#include "base/quantities.h"
#include "metrics/measure/engine/analyzer.h"
#include "metrics/measure/notes/note_store.h"
#include "metrics/measure/notes/observed_options.h"

namespace metrics::inline measure::inline notes {

namespace {

/// The last few of what was asked for, at places that do not move.
template <class Value, std::size_t size>
class Shelf {
public:
    Value& take() { return values_[next_++ % size]; }
    Value* find(const auto& wanted) {
        for (Value& value : values_)
            if (wanted(value)) return &value;
        return nullptr;
    }

private:
    std::array<Value, size> values_{};
    std::size_t next_ = 0;
};

constexpr std::size_t kept_flows = 64;

}  // namespace

std::string text_of(const FrameNote::Message& message) {
    return fmt::format("{} {}, {}", name_of(message.operation), message.number,
                       base::format_counted(message.bytes, "byte"));
}

struct FrameNotes::State {
    State(const EngineOptions& engine, const dissect::DissectorOptions& dissector, dissect::Sink* listener)
        : analyzer(observed_options(engine, dissector, store, listener)) {}

    NoteStore store;
    Analyzer analyzer;
    Shelf<FrameNote, kept_notes> shown;
    Shelf<FlowSnapshot, kept_flows> flows;
};

FrameNotes::FrameNotes(const EngineOptions& engine, const dissect::DissectorOptions& dissector, dissect::Sink* listener)
    : state_(std::make_unique<State>(engine, dissector, listener)) {}
FrameNotes::~FrameNotes() = default;

void FrameNotes::feed(const wire::Frame& frame) {
    state_->store.begin_frame(frame.number, frame.time_ns);
    state_->analyzer.feed({&frame, 1});
}

void FrameNotes::expect_interfaces(std::size_t count) { state_->analyzer.expect_interfaces(count); }

void FrameNotes::finish() { state_->analyzer.finish(); }

std::vector<const FrameNote*> FrameNotes::notes(std::uint64_t frame) const {
    std::vector<const FrameNote*> out;
    for (const std::uint32_t at : state_->store.find(frame)) {
        FrameNote& note = state_->shown.take();
        state_->store.read(at, note);
        out.push_back(&note);
    }
    return out;
}

Snapshot FrameNotes::snapshot() const { return state_->analyzer.snapshot(); }

const FlowSnapshot* FrameNotes::flow(std::uint64_t id) const {
    FlowSnapshot* known = state_->flows.find([id](const FlowSnapshot& one) { return one.id == id; });
    FlowSnapshot fresh;
    if (!state_->analyzer.identify(id, fresh)) return nullptr;
    if (known == nullptr) known = &state_->flows.take();
    *known = std::move(fresh);
    return known;
}

std::size_t FrameNotes::memory_octets() const {
    return state_->store.octets() + state_->analyzer.snapshot().memory_octets;
}

}  // namespace metrics::measure::notes
