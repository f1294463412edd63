#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "exporters/prometheus/traffic_totals.h"

/// The rows of all_series(): the name of each metric, and how it is computed. A metric is declared here and nowhere
/// else.
namespace exporters::prometheus {

/// The label by which one row has several values, with all its values. Without one: a single value, without a label.
struct Dimension {
    std::string_view label;
    std::span<const std::string_view> values;

    std::size_t size() const { return label.empty() ? 1 : values.size(); }
};

/// Values that do not vary with the traffic.
struct Taking {
    bool crc_verified = true;
};
/// No value: the traffic does not show it, and there is no sample.
using Taken = std::optional<std::uint64_t>;

/// Of a flow's difference; added up, then multiplied.
struct FlowCounter {
    Series series;
    Dimension dimension;
    double factor;
    Taken (*take)(const metrics::FlowSnapshot&, std::size_t value, const Taking&);
    /// Later packets can undo it, but a counter cannot go back: it is counted once it has been true for a second.
    bool settles = false;
};
/// In nanoseconds; an empty one has no samples.
struct FlowHistogram {
    Series series;
    Dimension dimension;
    const metrics::Histogram& (*take)(const metrics::FlowSnapshot&, std::size_t value);
};
/// A mean over the interval: `share` is the part of the interval in which the flow existed.
struct FlowGauge {
    Series series;
    enum class Source : std::uint8_t { difference, now } source;
    double (*take)(const metrics::FlowSnapshot&, double share);
};
/// Of an interface's difference; added up, then multiplied.
struct PauseCounter {
    Series series;
    Dimension dimension;
    double factor;
    Taken (*take)(const metrics::PauseSnapshot&, std::size_t value);
};
struct HostGauge {
    Series series;
    std::uint64_t (*take)(const metrics::HostSnapshot&);
};
/// About the labels themselves.
struct Truncation {
    std::size_t peers = 0;
    std::size_t label_sets = 0;
};
struct TruncationGauge {
    Series series;
    std::size_t Truncation::*member;
};

struct TrafficTable {
    std::vector<FlowCounter> counters;
    std::vector<FlowHistogram> histograms;
    std::vector<FlowGauge> gauges;
    std::vector<PauseCounter> pauses;
    std::vector<HostGauge> hosts;
    Series attempts;
    std::vector<TruncationGauge> truncation;
};
const TrafficTable& traffic_table();

struct ProgramRow {
    Series series;
    double (*take)(const ProgramFigures&);
};
struct InterfaceRow {
    Series series;
    Dimension dimension;
    std::optional<double> (*take)(const ProgramFigures::Interface&, std::size_t value);
};
struct ProgramTable {
    Series build;
    std::vector<ProgramRow> program;
    std::vector<InterfaceRow> interfaces;
};
const ProgramTable& program_table();
/// The most interfaces with series of the program's own; further ones are added up.
inline constexpr std::size_t most_program_interfaces = 64;

/// In the order of their series.
inline constexpr std::array<metrics::AttemptOutcome, 5> attempt_outcomes{
    metrics::AttemptOutcome::established, metrics::AttemptOutcome::rejected, metrics::AttemptOutcome::unanswered,
    metrics::AttemptOutcome::reset, metrics::AttemptOutcome::unknown};

}  // namespace exporters::prometheus
