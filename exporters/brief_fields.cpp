// Columns that put several figures together, for people.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "exporters/flow_groups.h"
#include "metrics/figures/latencies.h"

namespace exporters {

namespace {

using metrics::FlowSnapshot;

std::uint64_t naks_total(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (const std::uint64_t naks : flow.naks) sum += naks;
    return sum;
}

/// "write 98%, +1" where there is one other, or what a flow without messages carries.
std::string operations_text(const FlowSnapshot& flow) {
    const std::uint64_t total = flow.messages_total();
    if (total == 0) return std::string(messageless_text(flow));
    const std::size_t main = metrics::index_of(*metrics::main_operation(flow));
    const auto kinds = std::count_if(flow.operations.begin(), flow.operations.end(),
                                     [](const auto& figures) { return figures.count > 0; });
    if (kinds == 1) return std::string(metrics::operation_names[main]);
    const double share = static_cast<double>(flow.operations[main].count) / static_cast<double>(total);
    return fmt::format("{} {}, +{}", metrics::operation_names[main],
                       base::format_percent(share, {base::Spacing::column}), kinds - 1);
}

Value latency(const FlowSnapshot& flow, double share) {
    const auto operation = metrics::main_operation(flow);
    if (!operation) return {};
    return value(flow.operations[metrics::index_of(*operation)].latency_ns.quantile(share));
}

/// The state that took the most time, and its share of it.
struct Top {
    std::size_t state;
    double share;
};
std::optional<Top> top_state(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (const std::uint64_t ns : flow.state_ns) sum += ns;
    if (sum == 0) return {};
    const auto* const most = std::max_element(flow.state_ns.begin(), flow.state_ns.end());
    return Top{static_cast<std::size_t>(most - flow.state_ns.begin()),
               static_cast<double>(*most) / static_cast<double>(sum)};
}

const metrics::LevelFigures* traced_queue(const FlowRow& row) {
    if (!row.flow.verbs || row.flow.verbs->posts == 0) return nullptr;
    return &row.flow.verbs->send_queue;
}

/// Messages by the length of the interval, or by the flow's wall time.
std::optional<double> message_rate(const FlowRow& row) {
    const std::uint64_t ns = row.context.interval ? row.context.interval->length_ns : row.flow.wall_ns();
    const std::uint64_t messages = row.flow.messages_total();
    if (messages == 0 || ns == 0) return {};
    return static_cast<double>(messages) * 1e9 / static_cast<double>(ns);
}

bool has_depth(const FlowSnapshot& flow) { return flow.messages_max != 0 && metrics::knows_depth(flow); }

/// The most messages that may be outstanding, as far as the traffic shows: what both ends agreed on (ORD) if only READs
/// and atomics were sent, else the most that was seen.
std::uint64_t depth_limit(const FlowSnapshot& flow) {
    for (std::size_t i = 0; i < metrics::operation_count; ++i)
        if (flow.operations[i].count > 0 && !metrics::wants_response(static_cast<metrics::Operation>(i)))
            return flow.messages_max;
    return std::max<std::uint64_t>(flow.connection->initiator_depth.value_or(0), flow.messages_max);
}

/// Time that neither the sender nor its application chose: repairs, full windows, and delays of the fabric.
Value stalled(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        const metrics::StateGroup group = metrics::group_of(static_cast<metrics::State>(i));
        sum += flow.state_ns[i];
        if (group == metrics::StateGroup::recover || group == metrics::StateGroup::window ||
            group == metrics::StateGroup::fabric)
            lost += flow.state_ns[i];
    }
    if (sum == 0) return {};
    return static_cast<double>(lost) / static_cast<double>(sum);
}

/// The data of READs goes against the direction of the flow.
std::string operations_cell(const FlowSnapshot& flow) {
    const std::string text = operations_text(flow);
    if (metrics::main_operation(flow) != metrics::Operation::read) return text;
    return fmt::format("{} {}data", text, base::charset() == base::Charset::utf8 ? "←" : "<");
}

std::string pair_text(const std::string& a, const std::string& b) { return fmt::format("{}/{}", a, b); }

std::vector<FlowField> make_brief() {
    FieldBuilder<FlowRow> fields;
    fields.add("kind", "", "kind", Unit::text, "transport and service", [](const FlowRow& row) {
        const bool iwarp = row.flow.transport == wire::Transport::iwarp;
        return iwarp ? std::string("iwarp")
                     : fmt::format("{} {}", metrics::name_of(row.flow.transport), name_of(row.flow.service));
    });
    fields.add("flow", "", "source > destination", Unit::text,
               "host/QPN of both ends where known, in hexadecimal; iWARP: host.port", [](const FlowRow& row) {
                   return fmt::format("{} > {}", endpoint_text(row.flow.source, row.context.names),
                                      endpoint_text(row.flow.destination, row.context.names));
               });
    FlowField& cause = fields.add("cause", "", "cause", Unit::text,
                                  "what is wrong with the flow, as `why` says: `!` before it if it costs 1 % "
                                  "or more, `?` after it if it is suspected; sorted by grade and cost",
                                  [](const FlowRow& row) {
                                      const metrics::FlowProblem* const problem = problem_of(row);
                                      return problem == nullptr ? Value{} : Value{problem->cause};
                                  });
    cause.text = [](const FlowRow& row) { return problem_text(problem_of(row)); };
    cause.rank = [](const FlowRow& row) {
        const metrics::FlowProblem* const problem = problem_of(row);
        return problem == nullptr ? Value{} : Value{metrics::badness(*problem)};
    };
    fields
        .add("operations", "", "operations", Unit::text,
             "the most frequent operation, its share, and how many others there are; `<data`: READs, whose data goes "
             "from the destination to the source",
             [](const FlowRow& row) { return operations_text(row.flow); })
        .text = [](const FlowRow& row) { return operations_cell(row.flow); };
    fields.add("message_count", "", "msgs", Unit::count, "messages of all operations",
               [](const FlowRow& row) { return row.flow.messages_total(); });
    fields
        .add("goodput", "", "goodput", Unit::bytes_per_sec, "goodput_bytes_per_sec; tables have it in bits",
             [](const FlowRow& row) { return row.flow.messages_total() == 0 ? Value{} : value(goodput(row)); })
        .text = [](const FlowRow& row) { return row.flow.messages_total() == 0 ? "-" : goodput_text(row); };
    fields
        .add("message_rate", "", "msg/s", Unit::ratio,
             "messages per second of the flow's wall time (of the interval's length)",
             [](const FlowRow& row) { return value(message_rate(row)); })
        .text = [](const FlowRow& row) { return base::format_count(message_rate(row)); };
    fields.add("latency_p50", "", "p50", Unit::ns,
               "median latency of the most frequent operation, the one that `operations` names",
               [](const FlowRow& row) { return latency(row.flow, 0.5); });
    fields.add("latency_p99", "", "p99", Unit::ns, "99th percentile of its latency",
               [](const FlowRow& row) { return latency(row.flow, 0.99); });
    fields
        .add("depth", "", "depth", Unit::ratio, "outstanding messages, mean/maximum; sorted by the mean",
             [](const FlowRow& row) { return has_depth(row.flow) ? Value{row.flow.messages_mean} : Value{}; })
        .text = [](const FlowRow& row) {
        if (!has_depth(row.flow)) return std::string("-");
        return fmt::format("{}/{}", base::format_decimal(row.flow.messages_mean), row.flow.messages_max);
    };
    fields.add("depth_used", "", "used", Unit::share,
               "mean of outstanding messages by the ORD agreed on where only READs and atomics were sent, else by the "
               "most seen",
               [](const FlowRow& row) {
                   if (!has_depth(row.flow)) return Value{};
                   return Value{row.flow.messages_mean / static_cast<double>(depth_limit(row.flow))};
               });
    fields
        .add("queue", "", "queue", Unit::ratio,
             "work requests posted and not complete, mean/maximum/capacity, where the sender was traced; sorted by the "
             "mean",
             [](const FlowRow& row) { return traced_queue(row) ? Value{traced_queue(row)->mean} : Value{}; })
        .text = [](const FlowRow& row) {
        const metrics::LevelFigures* const queue = traced_queue(row);
        if (queue == nullptr) return std::string("-");
        std::string text = fmt::format("{}/{}", base::format_decimal(queue->mean), queue->max);
        return queue->capacity ? fmt::format("{}/{}", text, *queue->capacity) : text;
    };
    fields.add(
        "program", "", "program", Unit::text, "the sending process, where it was traced: its name and pid",
        [](const FlowRow& row) { return row.flow.verbs ? Value{program_text(row.flow.verbs->process)} : Value{}; });
    fields.add("resent", "", "resent", Unit::count, "retransmitted_packets",
               [](const FlowRow& row) { return value(row.flow.retransmitted_packets); });
    fields
        .add("nak_rnr", "", "NAK/RNR", Unit::count, "NAKs of all codes/RNR NAKs; sorted by their sum",
             [](const FlowRow& row) { return naks_total(row.flow) + row.flow.rnr_naks; })
        .text = [](const FlowRow& row) {
        return pair_text(fmt::to_string(naks_total(row.flow)), fmt::to_string(row.flow.rnr_naks));
    };
    fields
        .add("ce_cnp", "", "CE/CNP", Unit::count, "packets marked by ECN/CNPs; sorted by their sum",
             [](const FlowRow& row) { return row.flow.ecn_ce_packets + row.flow.cnp_packets; })
        .text = [](const FlowRow& row) {
        return pair_text(fmt::to_string(row.flow.ecn_ce_packets), fmt::to_string(row.flow.cnp_packets));
    };
    fields.add("stalled", "", "stalled", Unit::share,
               "share of the time that repairs, full windows and the fabric took",
               [](const FlowRow& row) { return stalled(row.flow); });
    fields.add("top_state", "", "most time", Unit::text,
               "the state that took the most time, without `application_`, and its share", [](const FlowRow& row) {
                   const auto top = top_state(row.flow);
                   if (!top) return Value{};
                   const std::string_view name = metrics::short_name_of(static_cast<metrics::State>(top->state));
                   return Value{fmt::format("{} {}", name, base::format_percent(top->share, {base::Spacing::column}))};
               });
    return std::move(fields.all);
}

}  // namespace

std::string_view messageless_text(const FlowSnapshot& flow) {
    if (flow.payload_bytes == 0) return flow.acknowledgement_packets > 0 ? "(acks)" : "-";
    return metrics::only_begun(flow) ? "(unfinished)" : "(responses)";
}

std::string endpoint_text(const metrics::Endpoint& endpoint, const metrics::HostNames* names) {
    std::string text = metrics::address_text(endpoint.address, names);
    if (endpoint.qpn) text += fmt::format("/{:#x}", *endpoint.qpn);
    if (endpoint.port) text += fmt::format(".{}", *endpoint.port);
    return text;
}

std::string program_text(const metrics::Process& process) {
    std::string_view name = process.command;
    name = name.substr(0, name.find(' '));
    name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
    return process.pid == 0 ? std::string(name) : fmt::format("{}[{}]", name, process.pid);
}

std::string problem_text(const metrics::FlowProblem* problem) {
    if (problem == nullptr) return "-";
    switch (problem->grade) {
        case metrics::Grade::wrong: return "! " + problem->cause;
        case metrics::Grade::suspected: return problem->cause + "?";
        default: return problem->cause;
    }
}

bool is_pace(const FlowField& field) {
    constexpr std::array<std::string_view, 8> brief{
        "goodput", "goodput_bytes_per_sec", "message_rate", "latency_p50", "latency_p99", "depth", "depth_used",
        "queue"};
    if (field.statistic) return field.statistic != Statistic::samples;
    return std::find(brief.begin(), brief.end(), field.path) != brief.end();
}

const std::vector<FlowField>& brief_fields() {
    static const std::vector<FlowField> fields = make_brief();
    return fields;
}

}  // namespace exporters
