#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "cli/analysis/options.h"
#include "observe/traced_analyzer.h"
#include "tui/model/reading.h"

namespace cli::top {

/// Measures frames, and makes one reading after another.
class Measuring {
public:
    /// `trace`: the live trace, or null. The trace of a file is opened here.
    explicit Measuring(const analysis::AnalysisOptions& options, std::unique_ptr<observe::TraceInput> trace = nullptr);
    /// Why the trace cannot be read, or why it ended. Each reason is returned once.
    std::optional<base::Error> take_error();

    void feed(std::span<const wire::Frame> frames, bool lasting);
    void expect_interfaces(std::size_t count) { analyzer_->expect_interfaces(count); }
    void dropped(std::int64_t now_ns, std::uint64_t frames) { analyzer_->dropped(now_ns, frames); }
    /// Call this between frames: reads what was traced meanwhile.
    void listen() { analyzer_->listen(); }
    /// No more frames will come.
    void finish() { analyzer_->finish(); }
    /// Forgets all measurements.
    void restart();
    /// The sum so far, and the difference to the last reading. `kernel_dropped`: frames since the beginning. Flows idle
    /// since `idle_since_ns` are forgotten afterwards.
    std::shared_ptr<tui::Reading> close(std::int64_t start_ns, std::uint64_t length_ns,
                                        std::optional<std::uint64_t> kernel_dropped, std::int64_t idle_since_ns);
    /// The same after finish(), and frees the engine's memory. Only restart() may follow.
    std::shared_ptr<tui::Reading> close_last(std::int64_t start_ns, std::uint64_t length_ns,
                                             std::optional<std::uint64_t> kernel_dropped);
    /// Whether a file must have few intervals because readings are expensive: there are very many flows, or many flows
    /// whose number grows. Asked once before each reading.
    bool has_many_flows();

private:
    std::shared_ptr<tui::Reading> read(metrics::Snapshot&& total, std::int64_t start_ns, std::uint64_t length_ns,
                                       std::optional<std::uint64_t> kernel_dropped, std::size_t most);
    void begin(std::unique_ptr<observe::TraceInput> trace);

    metrics::AnalyzerOptions options_;
    std::optional<std::string> trace_path_;
    std::unique_ptr<observe::TracedAnalyzer> analyzer_ = {};
    std::optional<base::Error> error_ = {};
    std::shared_ptr<const tui::Reading> previous_ = {};
    std::size_t flows_before_ = 0;  ///< some readings ago
    std::size_t questions_ = 0;     ///< calls of has_many_flows()
};

}  // namespace cli::top
