#include "exporters/path_columns.h"

#include <array>
#include <fmt/core.h>

#include "base/timestamp.h"
#include "exporters/path_json.h"

namespace exporters {

namespace {

using metrics::PathPair;
using metrics::PathRow;

std::string duration_text(const std::optional<std::uint64_t>& ns, const base::Style& style) {
    return base::format_duration(ns ? std::optional(static_cast<double>(*ns)) : std::nullopt, style);
}

std::string share_text(const PathRow& row, std::uint64_t pair_bytes, const base::Style& style) {
    if (pair_bytes == 0) return base::format_percent(std::nullopt, style);
    return base::format_percent(static_cast<double>(row.figures.wire_bytes) / static_cast<double>(pair_bytes), style);
}

std::string probability_text(const std::optional<double>& p) {
    if (!p) return "-";
    return *p < 0.001 ? fmt::format("{:.0e}", *p) : fmt::format("{:.3f}", *p);
}

constexpr std::array path_column_table{
    PathColumn{
        "entropy", true,
        [](const PathRow& row, std::uint64_t, const base::Style&) { return metrics::to_text(row.figures.entropy); }},
    PathColumn{
        "flows", false,
        [](const PathRow& row, std::uint64_t, const base::Style&) { return fmt::format("{}", row.flows.size()); }},
    PathColumn{"packets", false,
               [](const PathRow& row, std::uint64_t, const base::Style&) {
                   return base::format_count(static_cast<double>(row.figures.packets));
               }},
    PathColumn{"bytes", false,
               [](const PathRow& row, std::uint64_t, const base::Style& style) {
                   return base::format_size(static_cast<double>(row.figures.wire_bytes), style);
               }},
    PathColumn{"share", false, share_text},
    PathColumn{"losses", false,
               [](const PathRow& row, std::uint64_t, const base::Style&) {
                   return fmt::format("{}", row.figures.loss_episodes);
               }},
    PathColumn{"late", false,
               [](const PathRow& row, std::uint64_t, const base::Style&) {
                   return fmt::format("{}", row.figures.late_packets);
               }},
    PathColumn{"CE", false,
               [](const PathRow& row, std::uint64_t, const base::Style&) {
                   return fmt::format("{}", row.figures.ecn_ce_packets);
               }},
    PathColumn{"rtt min", false,
               [](const PathRow& row, std::uint64_t, const base::Style& style) {
                   return duration_text(row.round_trip_min_ns, style);
               }},
    PathColumn{"rtt p50", false,
               [](const PathRow& row, std::uint64_t, const base::Style& style) {
                   return duration_text(row.round_trip_ns.quantile(0.5), style);
               }},
    PathColumn{"p", false,
               [](const PathRow& row, std::uint64_t, const base::Style&) { return probability_text(row.p_loss); }},
    PathColumn{"problem", true,
               [](const PathRow& row, std::uint64_t, const base::Style&) { return std::string(name_of(row.problem)); }},
};

std::string receiver_text(metrics::ReceiverClass receiver) {
    switch (receiver) {
        case metrics::ReceiverClass::in_order: return "; receives in order";
        case metrics::ReceiverClass::selective: return "; asks again only for what is missing";
        case metrics::ReceiverClass::placing: return "; places packets out of order";
        case metrics::ReceiverClass::unknown: break;
    }
    return {};
}

/// "; routes changed at 12:03:07.123456", local time.
std::string route_text(const PathPair& pair) {
    const auto rerouted = pair.rerouted_ns();
    if (!rerouted) return {};
    std::string text = "; routes changed at ";
    base::Timestamps(base::TimeStyle::time_of_day, false).append(text, *rerouted);
    text.pop_back();  // the blank after the time
    return text;
}

}  // namespace

std::span<const PathColumn> path_columns() { return path_column_table; }

std::string path_heading(const PathPair& pair, const metrics::HostNames* names) {
    const metrics::Evenness even = metrics::evenness_of(pair.bytes());
    std::string text = fmt::format(
        "{} > {}  DSCP {}  {}, effective {}, fairness {}, max/mean {}", metrics::address_text(pair.source, names),
        metrics::address_text(pair.destination, names), pair.dscp,
        base::format_counted(pair.entropies, "entropy", "entropies"), base::format_decimal(even.effective),
        base::format_decimal(even.fairness), base::format_decimal(even.max_over_mean));
    if (pair.median_max_over_mean)
        text += fmt::format(" ({} in 0.1 s)", base::format_decimal(*pair.median_max_over_mean));
    if (pair.entropy_changes > 0)
        text += fmt::format("; changes inside queue pairs {}", base::group_digits(pair.entropy_changes));
    if (pair.hop_limits.size() > 1) text += "; paths of different lengths";
    return text + route_text(pair) + receiver_text(pair.receiver);
}

}  // namespace exporters
