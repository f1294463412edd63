#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "dissect/dissector.h"
#include "dissect/plain_segment.h"
#include "metrics/measure/account/frame_context.h"
#include "metrics/measure/engine/dissector_sums.h"
#include "metrics/measure/engine/engine.h"
#include "metrics/measure/engine/tee.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline engine {

/// A dissector with its engine: all that is done for the flows of one share of the addresses. With an observer there
/// may be a listener, which gets what the dissector finds in every frame.
class Worker {
public:
    Worker(const dissect::DissectorOptions& dissector, const EngineOptions& engine, dissect::Sink* listener)
        : engine_(engine),
          dissector_(dissector),
          both_(listener, engine_),
          listener_(engine.observer == nullptr ? nullptr : listener),
          shortcut_(engine.shortcut && engine.observer == nullptr),
          verify_crc_(dissector.parse.verify_crc) {}

    void work(const wire::Frame& frame, const FrameContext& context) {
        if (context.plain_bth != 0 && shortcut_) {
            engine_.on_plain(frame, context, verify_crc_);
            return;
        }
        engine_.begin_frame(context);
        if (context.plain_segment && shortcut_)
            dissector_.dissect_plain(frame, engine_);
        else
            dissector_.dissect(frame, sink());
        if (!shortcut_) engine_.end_frame();
    }
    /// A frame that the capture contains twice counts once. The listener gets it twice.
    void seen_twice(const wire::Frame& frame) {
        if (listener_ == nullptr) return;
        const dissect::DissectorCounters before = dissector_.counters();
        dissector_.dissect(frame, *listener_);
        apply(std::plus<>(), uncounted_, dissector_.counters());
        apply(std::minus<>(), uncounted_, before);
    }
    /// Frames that work() will be called with soon, in their order; then fetch(), and then work().
    void expect(const wire::Frame& frame, const FrameContext& context) {
        if (!shortcut_ || context.seen_twice) return;
        if (context.plain_bth != 0)
            engine_.expect_plain(frame);
        else if (context.plain_segment && engine_.has_many_flows())
            note_train(dissect::plain_segment_ends(frame.bytes));
    }
    void fetch() {
        engine_.fetch();
        const std::span trains(trains_.data(), trains_count_);
        for (unsigned pass = 0; pass < dissect::Dissector::fetch_passes && !trains.empty(); ++pass) {
            dissector_.fetch(trains, pass);
            engine_.fetch(trains, pass);
        }
        trains_count_ = 0;
    }
    bool verifies_crc() const { return verify_crc_; }

    void finish() {
        dissector_.finish(sink());
        engine_.finish();
    }

    Engine& engine() { return engine_; }
    dissect::DissectorCounters counters() const {
        dissect::DissectorCounters counted = dissector_.counters();
        apply(std::minus<>(), counted, uncounted_);
        return counted;
    }

private:
    static constexpr std::size_t most_trains = 32;

    /// Segments of one connection often follow each other: its memory is prefetched once.
    void note_train(const dissect::Ipv4Ends& ends) {
        if (ends.same(last_train_) || ends.opposite(last_train_) || trains_count_ == most_trains) return;
        last_train_ = trains_[trains_count_++] = ends;
    }

    dissect::Sink& sink() { return listener_ == nullptr ? static_cast<dissect::Sink&>(engine_) : both_; }

    Engine engine_;
    dissect::Dissector dissector_;
    Tee both_;
    dissect::Sink* listener_;
    dissect::DissectorCounters uncounted_;               ///< of what only the listener got
    std::array<dissect::Ipv4Ends, most_trains> trains_;  ///< of the frames that are expected
    std::size_t trains_count_ = 0;
    dissect::Ipv4Ends last_train_;
    bool shortcut_;
    bool verify_crc_;
};

}  // namespace metrics::measure::engine
