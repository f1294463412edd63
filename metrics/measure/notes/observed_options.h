#pragma once
#include "metrics/measure/account/frame_observer.h"
#include "metrics/measure/engine/analyzer.h"

namespace metrics::inline measure::inline notes {

/// Options of an analyzer that reports every frame to `observer`, and every packet to `listener` unless it is null.
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
