#include "cli/top/measuring.h"

#include <algorithm>
#include <utility>

#include "cli/analysis/analyzer_options.h"
#include "metrics/figures/busiest_flows.h"

namespace cli::top {

namespace {

constexpr std::size_t frames_per_summary = 4;
/// Flows of an interval, the busiest: each costs as much as in the whole. What is shown of a file at its end is the
/// whole, and few of the interval will do.
constexpr std::size_t most_of_interval = 50'000;
constexpr std::size_t most_of_last_interval = 10'000;

constexpr std::size_t many_flows = 10'000;
constexpr std::size_t very_many_flows = 50'000;
/// Growth is seen over as many readings: a steady stream of new flows adds few of them to each.
constexpr std::size_t growth_readings = 16;

/// The frames of `former` come first, as they did.
void keep_first_frames(metrics::EventSummary& summary, const metrics::EventSummary& former) {
    std::vector<std::uint64_t> frames = former.frames;
    for (const std::uint64_t frame : summary.frames)
        if (frames.size() < frames_per_summary && (frames.empty() || frame > frames.back())) frames.push_back(frame);
    summary.frames = std::move(frames);
}

/// An engine whose interval has begun shows the frames of that interval; the whole shows the first ones of all.
void keep_first_frames(metrics::Snapshot& now, const metrics::Snapshot& former) {
    auto before = former.flows.begin();
    for (metrics::FlowSnapshot& flow : now.flows) {
        while (before != former.flows.end() && before->id < flow.id) ++before;
        if (before == former.flows.end()) return;
        if (before->id != flow.id) continue;
        for (metrics::EventSummary& summary : flow.event_summaries)
            if (const metrics::EventSummary* const old = before->find_event_summary(summary.kind))
                keep_first_frames(summary, *old);
        if (flow.commands && before->commands) merge_exhibits(*flow.commands, *before->commands);
    }
}

}  // namespace

Measuring::Measuring(const analysis::AnalysisOptions& options, std::unique_ptr<observe::TraceInput> trace)
    : options_(analysis::analyzer_options(options)), trace_path_(options.trace_path) {
    if (trace != nullptr)
        begin(std::move(trace));
    else
        restart();
}

void Measuring::begin(std::unique_ptr<observe::TraceInput> trace) {
    analyzer_ = std::make_unique<observe::TracedAnalyzer>(options_, std::move(trace));
    previous_.reset();
    flows_before_ = questions_ = 0;
}

void Measuring::restart() {
    std::unique_ptr<observe::TraceInput> trace;
    if (trace_path_) {
        auto opened = observe::open_trace_file(*trace_path_);
        if (opened)
            trace = std::move(opened).value();
        else
            error_ = opened.error();
    }
    begin(std::move(trace));
}

std::optional<base::Error> Measuring::take_error() {
    if (error_) return std::exchange(error_, std::nullopt);
    return analyzer_->take_error();
}

bool Measuring::has_many_flows() {
    const std::size_t flows = analyzer_->flows();
    const std::size_t before = flows_before_;
    if (questions_++ % growth_readings == 0) flows_before_ = flows;
    if (flows <= many_flows) return false;
    return flows > very_many_flows || flows > before + before / 16;
}

void Measuring::feed(std::span<const wire::Frame> frames, bool lasting) { analyzer_->feed(frames, lasting); }

std::shared_ptr<tui::Reading> Measuring::close(std::int64_t start_ns, std::uint64_t length_ns,
                                               std::optional<std::uint64_t> kernel_dropped,
                                               std::int64_t idle_since_ns) {
    auto reading = read(analyzer_->snapshot(), start_ns, length_ns, kernel_dropped, most_of_interval);
    analyzer_->begin_interval(idle_since_ns);
    return reading;
}

std::shared_ptr<tui::Reading> Measuring::close_last(std::int64_t start_ns, std::uint64_t length_ns,
                                                    std::optional<std::uint64_t> kernel_dropped) {
    const std::size_t most = analyzer_->flows() > many_flows ? most_of_last_interval : most_of_interval;
    return read(analyzer_->take_snapshot(), start_ns, length_ns, kernel_dropped, most);
}

std::shared_ptr<tui::Reading> Measuring::read(metrics::Snapshot&& total, std::int64_t start_ns, std::uint64_t length_ns,
                                              std::optional<std::uint64_t> kernel_dropped, std::size_t most) {
    static const metrics::Snapshot nothing;
    const metrics::Snapshot& before = previous_ ? previous_->total : nothing;
    auto reading = std::make_shared<tui::Reading>();
    reading->start_ns = start_ns;
    reading->length_ns = length_ns;
    reading->crc_verified = options_.dissector.parse.verify_crc;
    reading->total = std::move(total);
    reading->total.capture.kernel_dropped = kernel_dropped;
    reading->interval = metrics::difference_of_busiest(before, reading->total, most);
    keep_first_frames(reading->total, before);
    previous_ = reading;
    return reading;
}

}  // namespace cli::top
