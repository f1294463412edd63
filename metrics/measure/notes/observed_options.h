#pragma once
#include "metrics/measure/account/frame_observer.h"
#include "metrics/measure/engine/analyzer.h"

namespace metrics::inline measure::inline notes {

/// Options of an analyzer that tells `observer` of every frame, and `listener`, if there is one, of every packet.
inline AnalyzerOptions observed_options(const EngineOptions& engine, const dissect::DissectorOptions& dissector,
                                        FrameObserver& observer, dissect::Sink* listener) {
    AnalyzerOptions options;
    options.engine = engine;
    options.engine.observer = &observer;
    options.dissector = dissector;
    options.listener = listener;
    return options;
}

}  // namespace metrics::measure::notes
