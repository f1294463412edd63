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

/// Frames in, readings out, one after another.
class Measuring {
public:
    /// `trace`: what is traced now, if anything; a file's trace is opened here.
    explicit Measuring(const analysis::AnalysisOptions& options, std::unique_ptr<observe::TraceInput> trace = nullptr);
    /// Why the trace that accompanies the packets cannot be read, or ended; once.
    std::optional<base::Error> take_error();

    void feed(std::span<const wire::Frame> frames, bool lasting);
    void expect_interfaces(std::size_t count) { analyzer_->expect_interfaces(count); }
    void dropped(std::int64_t now_ns, std::uint64_t frames) { analyzer_->dropped(now_ns, frames); }
    /// Between frames: what is traced in the meantime.
    void listen() { analyzer_->listen(); }
    /// No more frames will come.
    void finish() { analyzer_->finish(); }
    /// Forgets all that was measured.
    void restart();
    /// What there is up to now, and what was new since the last reading. `kernel_dropped`: since the beginning. Flows
    /// idle since `idle_since_ns` are forgotten afterwards.
    std::shared_ptr<tui::Reading> close(std::int64_t start_ns, std::uint64_t length_ns,
                                        std::optional<std::uint64_t> kernel_dropped, std::int64_t idle_since_ns);
    /// The same after finish(): the engine's memory is given back. Only restart() may follow.
    std::shared_ptr<tui::Reading> close_last(std::int64_t start_ns, std::uint64_t length_ns,
                                             std::optional<std::uint64_t> kernel_dropped);
    /// Whether a file's intervals have to be few because readings are expensive: there are very many flows, or many
    /// and their number grows.
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
};

}  // namespace cli::top
