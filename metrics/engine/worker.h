#pragma once
#include "dissect/dissector.h"
#include "metrics/engine/engine.h"
#include "metrics/frame_context.h"
#include "wire/frame.h"

namespace metrics {

/// A dissector with its engine: all that is done for the flows of one share of the addresses.
class Worker {
public:
    Worker(const dissect::DissectorOptions& dissector, const EngineOptions& engine)
        : engine_(engine),
          dissector_(dissector),
          shortcut_(engine.shortcut && engine.witness == nullptr),
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
            dissector_.dissect(frame, engine_);
        if (!shortcut_) engine_.end_frame();
    }
    /// Frames that work() will be called with soon, in their order; then fetch(), and then work().
    void expect(const wire::Frame& frame, const FrameContext& context) {
        if (context.plain_bth != 0 && shortcut_ && !context.seen_twice) engine_.expect_plain(frame);
    }
    void fetch() { engine_.fetch(); }

    void finish() { dissector_.finish(engine_); }

    Engine& engine() { return engine_; }
    dissect::Dissector& dissector() { return dissector_; }

private:
    Engine engine_;
    dissect::Dissector dissector_;
    bool shortcut_;
    bool verify_crc_;
};

}  // namespace metrics
