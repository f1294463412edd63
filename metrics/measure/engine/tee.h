#pragma once
#include "dissect/dissector.h"

namespace metrics::inline measure::inline engine {

/// Passes what a dissector finds to two receivers, the listener first.
class Tee final : public dissect::Sink {
public:
    /// Without a listener, no function of Tee may be called.
    Tee(dissect::Sink* listener, dissect::Sink& engine) : listener_(listener), engine_(engine) {}

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        listener_->on_frame(frame, dissection);
        engine_.on_frame(frame, dissection);
    }
    void on_unit(const dissect::Unit& unit) override {
        listener_->on_unit(unit);
        engine_.on_unit(unit);
    }
    void on_notice(const dissect::Notice& notice) override {
        listener_->on_notice(notice);
        engine_.on_notice(notice);
    }

private:
    dissect::Sink* listener_;
    dissect::Sink& engine_;
};

}  // namespace metrics::measure::engine
