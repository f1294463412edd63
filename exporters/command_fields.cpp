// Commands of an upper layer, such as NVMe. The flow of the side that sends requests has the figures.
#include <fmt/format.h>
#include <memory>

#include "exporters/flow_groups.h"

namespace exporters {

namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandTotals;

const metrics::Histogram no_latency{};

const CommandConnectionFigures* commands_of(const FlowRow& row) {
    const auto& commands = row.flow.commands;
    return !commands || commands->of_target ? nullptr : &*commands;
}

/// nullptr if the flow has no commands of its own.
const CommandTotals* totals_of(const FlowRow& row) {
    const CommandConnectionFigures* const commands = commands_of(row);
    if (commands == nullptr) return nullptr;
    if (!row.command_totals) row.command_totals = std::make_shared<const CommandTotals>(metrics::totals_of(*commands));
    return row.command_totals.get();
}

template <class Of>
auto of_commands(Of of) {
    return [of](const FlowRow& row) {
        const CommandConnectionFigures* const commands = commands_of(row);
        return commands == nullptr ? Value{} : Value{of(*commands)};
    };
}
template <class Of>
auto of_totals(Of of) {
    return [of](const FlowRow& row) {
        const CommandTotals* const totals = totals_of(row);
        return totals == nullptr ? Value{} : Value{of(*totals)};
    };
}

/// How long the oldest open command has waited at the end of the interval, or of the flow.
Value waiting_ns(const FlowRow& row) {
    const CommandConnectionFigures* const commands = commands_of(row);
    if (commands == nullptr) return {};
    if (!commands->oldest_open_ns) return std::uint64_t{0};
    const auto& interval = row.context.interval;
    const std::uint64_t now_ns = interval ? static_cast<std::uint64_t>(interval->start_ns) + interval->length_ns
                                          : static_cast<std::uint64_t>(row.flow.last_ns);
    const auto since_ns = static_cast<std::uint64_t>(*commands->oldest_open_ns);
    return static_cast<std::int64_t>(now_ns - since_ns) < 0 ? std::uint64_t{0} : now_ns - since_ns;
}

constexpr std::array<std::string_view, metrics::command_part_count> part_help{
    "sending the request",
    "from the request to the first data, or to the response: the way there, and the target",
    "from the first packet of data to the last",
    "from the last data to the response: the target",
    "sending the response",
};

void add_counts(FieldBuilder<FlowRow>& fields) {
    fields.add("io.commands", "", "commands", Unit::count,
               "commands that were answered; those that only keep the connection alive do not count",
               of_totals([](const CommandTotals& totals) { return totals.commands; }));
    fields.add("io.errors", "", "command errors", Unit::count, "commands that were answered with an error",
               of_totals([](const CommandTotals& totals) { return totals.errors; }));
    fields.add("io.unanswered", "", "no answer", Unit::count,
               "commands that were open when their connection or the capture ended",
               of_totals([](const CommandTotals& totals) { return totals.unanswered; }));
    fields.add("io.bytes", "", "command bytes", Unit::bytes, "bytes that commands asked to move",
               of_totals([](const CommandTotals& totals) { return totals.bytes; }));
}

void add_latency(FieldBuilder<FlowRow>& fields) {
    const auto latency = [](const FlowRow& row) -> const metrics::Histogram& {
        const CommandTotals* const totals = totals_of(row);
        return totals == nullptr ? no_latency : totals->latency_ns;
    };
    fields.histogram("io.latency_ns", "", "command", Unit::ns, "first packet of a request to the last of its response",
                     latency, [](const FlowRow& row) { return commands_of(row) != nullptr; });
    fields.add("io.latency_p99_ns", "", "command p99 ns", Unit::ns, "the same as io.latency_ns.p99",
               [latency](const FlowRow& row) { return value(latency(row).quantile(0.99)); });
    for (std::size_t i = 0; i < metrics::command_part_count; ++i)
        fields.add("io.parts_ns." + std::string(metrics::command_part_names[i]), "",
                   std::string(metrics::command_part_names[i]), Unit::ns,
                   fmt::format("part of the sum of latencies: {}", part_help[i]),
                   of_totals([i](const CommandTotals& totals) { return totals.parts_ns[i]; }));
    fields.add("io.request_ack_ns", "", "request ack", Unit::ns,
               "part of target_before: until the request was acknowledged",
               of_totals([](const CommandTotals& totals) { return totals.request_ack_ns; }));
    fields.add("io.target_share", "", "target", Unit::share, "share of the latency that passed at the target",
               [](const FlowRow& row) {
                   const CommandTotals* const totals = totals_of(row);
                   const bool is_known = totals != nullptr && row.flow.commands->split_is_known();
                   return is_known ? value(totals->target_share()) : Value{};
               });
    fields.add("io.repair_own_ns", "", "own repairs", Unit::ns,
               "part of the latency: while packets of the command were sent again",
               of_totals([](const CommandTotals& totals) { return totals.repair_own_ns; }));
    fields.add("io.repair_behind_ns", "", "repairs ahead", Unit::ns,
               "part of the latency: while packets of other commands that came before were sent again",
               of_totals([](const CommandTotals& totals) { return totals.repair_behind_ns; }));
}

void add_depth(FieldBuilder<FlowRow>& fields) {
    fields.add("io.open", "", "open", Unit::count, "most commands open at once",
               of_commands([](const CommandConnectionFigures& commands) { return std::uint64_t{commands.open_max}; }));
    fields.add("io.limit", "", "limit", Unit::count, "commands that may be open at once, as the protocol grants",
               of_commands([](const CommandConnectionFigures& commands) { return value(commands.limit); }));
    fields.add("io.at_limit_ns", "", "at limit", Unit::ns, "time for which that number was open",
               of_commands([](const CommandConnectionFigures& commands) { return commands.at_limit_ns; }));
    fields.add("io.waiting_ns", "", "waiting", Unit::ns,
               "time for which the oldest open command has waited; 0: no open command", waiting_ns);
    fields.add("io.unbound_operations", "", "unbound", Unit::count,
               "READs and WRITEs of the target that belong to no command that is known",
               of_commands([](const CommandConnectionFigures& commands) { return commands.unbound_operations; }));
    fields.add("io.target", "", "command target", Unit::text, "what the commands are for: a subsystem, a host's export",
               of_commands([](const CommandConnectionFigures& commands) {
                   return commands.target_name.empty() ? Value{} : Value{commands.target_name};
               }));
}

}  // namespace

void add_commands(FieldBuilder<FlowRow>& fields) {
    fields.add("upper", "", "upper", Unit::text, "the upper layer: nvme, rpc, srp, iser, smb, rds; null if unknown",
               [](const FlowRow& row) { return row.flow.commands ? Value{row.flow.commands->protocol} : Value{}; });
    fields.presence = Presence::with_group;
    add_counts(fields);
    add_latency(fields);
    add_depth(fields);
    fields.presence = Presence::always;
}

}  // namespace exporters
