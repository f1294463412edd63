#include "cli/replay/comparison_page.h"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/quantities.h"
#include "cli/endpoint/connect.h"
#include "metrics/figures/latencies.h"
#include "metrics/figures/state.h"

namespace cli::replay {

namespace {

using Json = nlohmann::ordered_json;
using metrics::FlowSnapshot;
using ::replay::ComparedFlow;
using ::replay::Figures;

std::string quantile(const metrics::Histogram& latency_ns, double share) {
    return base::format_duration(latency_ns.quantile(share), {base::Spacing::column});
}

std::string most_time(const FlowSnapshot& flow) {
    const auto most = std::ranges::max_element(flow.state_ns);
    if (flow.wall_ns() == 0) return "-";
    const auto state = static_cast<std::size_t>(most - flow.state_ns.begin());
    const double share = static_cast<double>(*most) / static_cast<double>(flow.wall_ns());
    // The state is named as in the table of `flows`.
    return fmt::format("{} {}", metrics::short_name_of(static_cast<metrics::State>(state)),
                       base::format_percent(share, {base::Spacing::column}));
}

std::string depth(const FlowSnapshot& flow) {
    return metrics::knows_depth(flow)
               ? fmt::format("{}/{}", base::format_decimal(flow.messages_mean), flow.messages_max)
               : "-";
}

std::string goodput(const FlowSnapshot& flow) {
    const std::optional<double> bytes = flow.goodput_bytes_per_sec();
    constexpr double bits_of_byte = 8;
    return base::format_bit_rate(bytes ? std::optional(*bytes * bits_of_byte) : std::nullopt, {base::Spacing::column});
}

/// `main` is the operation that the original does most: `flows` shows the latency of the same one.
std::string row(std::string_view id, std::string_view which, const FlowSnapshot& flow,
                std::optional<metrics::Operation> main) {
    const Figures figures = ::replay::figures_of(flow);
    const metrics::Histogram none;
    const metrics::Histogram& latency = main ? figures.operations[metrics::index_of(*main)].latency_ns : none;
    return fmt::format("{:>6}  {:<8} {:>8} {:>11} {:>10}  {:<15} {:>9} {:>9} {:>9} {:>9}  {}\n", id, which,
                       figures.messages, figures.bytes, goodput(flow), main ? metrics::name_of(*main) : "-",
                       quantile(latency, 0.5), quantile(latency, 0.99), quantile(latency, 0.999), depth(flow),
                       most_time(flow));
}

Json flow_json(const FlowSnapshot& flow) {
    const Figures figures = ::replay::figures_of(flow);
    Json operations = Json::object();
    for (std::size_t i = 0; i < metrics::operation_count; ++i)
        if (figures.operations[i].count != 0)
            operations[std::string(metrics::operation_names[i])] = {
                {"count", figures.operations[i].count},
                {"bytes", figures.operations[i].bytes},
                {"latency_ns", endpoint::json_of(figures.operations[i].latency_ns)}};
    Json states = Json::object();
    for (std::size_t i = 0; i < metrics::state_count; ++i)
        states[std::string(metrics::state_names[i])] = flow.state_ns[i];
    const auto goodput = flow.goodput_bytes_per_sec();
    const bool depth_known = metrics::knows_depth(flow);
    return {{"id", flow.id},
            {"transport", std::string(metrics::name_of(flow.transport))},
            {"messages", figures.messages},
            {"bytes", figures.bytes},
            {"operations", operations},
            {"goodput_bytes_per_sec", goodput ? Json(*goodput) : Json(nullptr)},
            {"latency_ns", endpoint::json_of(figures.latency_ns)},
            {"latency_of", metrics::all_latencies(flow).of},
            {"outstanding",
             {{"messages_mean", depth_known ? Json(flow.messages_mean) : Json(nullptr)},
              {"messages_max", depth_known ? Json(flow.messages_max) : Json(nullptr)}}},
            {"state_ns", states}};
}

}  // namespace

std::string comparison_text(std::span<const ComparedFlow> flows, const ::replay::Recording& recording) {
    std::string out =
        fmt::format("{:>6}  {:<8} {:>8} {:>11} {:>10}  {:<15} {:>9} {:>9} {:>9} {:>9}  {}\n", "flow", "", "msgs",
                    "bytes", "goodput", "latency of", "p50", "p99", "p99.9", "depth", "most time");
    std::size_t equal = 0;
    for (const ComparedFlow& flow : flows) {
        const auto main = metrics::main_operation(*flow.original);
        out += row(std::to_string(flow.original->id), "captured", *flow.original, main);
        if (flow.replayed == nullptr) {
            out += fmt::format("{:>6}  replayed, but not seen by {}\n", "", recording.source);
            continue;
        }
        out += row("", "replayed", *flow.replayed, main);
        equal += flow.equal ? 1U : 0U;
        if (!flow.equal) out += "        its operations are not the captured ones\n";
        if (!flow.difference.empty()) out += fmt::format("        {}\n", flow.difference);
        for (const ComparedFlow::Why& why : flow.why)
            out += fmt::format("        {}: {} instead of {}\n", name_of(why.question), name_of(why.replayed),
                               name_of(why.original));
    }
    out += fmt::format("\n{} of {} flows with the same operations, by {}", equal, flows.size(), recording.source);
    if (recording.lost != 0) out += fmt::format(", which lost {} frames", recording.lost);
    return out + ".\ngoodput: bytes of messages per second, without headers and packets sent again\n";
}

Json comparison_json(std::span<const ComparedFlow> flows, const ::replay::Recording& recording) {
    Json list = Json::array();
    bool equal = true;
    for (const ComparedFlow& flow : flows) {
        Json why = Json::array();
        for (const ComparedFlow::Why& one : flow.why)
            why.push_back({{"question", name_of(one.question)},
                           {"original", name_of(one.original)},
                           {"replay", name_of(one.replayed)}});
        equal = equal && flow.equal;
        list.push_back({{"original", flow_json(*flow.original)},
                        {"replay", flow.replayed != nullptr ? flow_json(*flow.replayed) : Json(nullptr)},
                        {"equal", flow.equal},
                        {"difference", flow.difference.empty() ? Json(nullptr) : Json(flow.difference)},
                        {"why", why}});
    }
    return {{"source", recording.source}, {"lost", recording.lost}, {"equal", equal}, {"flows", list}};
}

}  // namespace cli::replay
