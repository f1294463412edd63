#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metrics/measure/engine/analyzer.h"
#include "metrics/measure/posts/trace_join.h"
#include "observe/trace_input.h"

namespace observe {

/// An engine, with a trace of what programs did if there is one.
class TracedAnalyzer {
public:
    /// `trace` may be null: then this is the engine alone. With a trace, one thread handles packets one by one.
    TracedAnalyzer(const metrics::AnalyzerOptions& options, std::unique_ptr<TraceInput> trace);

    void feed(std::span<const wire::Frame> frames, bool lasting);
    std::span<wire::Frame> room() { return analyzer_.room(); }
    void expect_interfaces(std::size_t count) { analyzer_.expect_interfaces(count); }
    void dropped(std::int64_t now_ns, std::uint64_t frames);
    void finish();
    metrics::Snapshot snapshot();
    bool has_trace() const { return join_ != nullptr; }
    /// For an analyzer without a trace, which changes the times of states: metrics::Analyzer::changes().
    metrics::Snapshot changes() { return analyzer_.changes(); }
    /// The last snapshot; it releases the engine's memory: metrics::Analyzer::take_snapshot().
    metrics::Snapshot take_snapshot();
    /// Between frames: takes what is traced in the meantime, because the room where records wait is bounded. If no
    /// frame came since the last call, records are not held back.
    void listen();
    /// How often the kernel's events came; empty if they are not traced.
    std::vector<trace::EventCount> kernel_events() const {
        return trace_ == nullptr ? std::vector<trace::EventCount>{} : trace_->events();
    }
    std::size_t flows() { return analyzer_.flows(); }
    std::vector<metrics::FlowBytes> flow_bytes() { return analyzer_.flow_bytes(); }
    std::size_t begin_interval(std::int64_t idle_since_ns) { return analyzer_.begin_interval(idle_since_ns); }
    /// Of what was traced; 0 where nothing is.
    std::uint64_t records() const { return join_ == nullptr ? 0 : join_->queue_pairs().records(); }
    std::uint64_t records_lost() const { return join_ == nullptr ? 0 : join_->queue_pairs().records_lost(); }
    std::vector<std::string> take_refusals() {
        return trace_ == nullptr ? std::vector<std::string>{} : trace_->take_refusals();
    }
    /// Why the rest of the trace cannot be read; once.
    std::optional<base::Error> take_error() { return std::exchange(error_, std::nullopt); }

private:
    static metrics::AnalyzerOptions watched(metrics::AnalyzerOptions options, metrics::FrameObserver* observer) {
        options.engine.observer = observer;
        return options;
    }
    void read_trace(std::int64_t until_ns);
    void settle(bool last);

    std::unique_ptr<TraceInput> trace_;
    std::unique_ptr<metrics::posts::TraceJoin> join_;
    metrics::Analyzer analyzer_;
    std::optional<base::Error> error_ = {};
    bool fed_ = false;  ///< since listen()
    bool begun_ = false;
};

}  // namespace observe
