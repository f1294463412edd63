#include "fleet/rows/command_rows.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace fleet::rows {
namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using N = Nature;
using T = Type;

// Places in these lists are in databases: new members come last.
constexpr std::array connection_counters{
    &CommandConnectionFigures::operations,      &CommandConnectionFigures::unbound_operations,
    &CommandConnectionFigures::late_operations, &CommandConnectionFigures::probes,
    &CommandConnectionFigures::events,          &CommandConnectionFigures::overtaken,
    &CommandConnectionFigures::at_limit_ns,
};
constexpr std::array kind_counters{
    &CommandKindFigures::inline_bytes,     &CommandKindFigures::moved_in_bytes, &CommandKindFigures::moved_out_bytes,
    &CommandKindFigures::operations,       &CommandKindFigures::orphans,        &CommandKindFigures::replaced,
    &CommandKindFigures::given_up,         &CommandKindFigures::request_ack_ns, &CommandKindFigures::repair_own_ns,
    &CommandKindFigures::repair_behind_ns,
};

/// Calls the visitor with each figure that is an amount; `Connection` may be const.
template <class Connection, class Visitor>
void visit_connection(Connection& connection, Visitor visitor) {
    for (std::uint32_t i = 0; i < connection_counters.size(); ++i)
        visitor.counter(AmountKind::connection_counter, i, connection.*connection_counters[i]);
    for (std::uint32_t i = 0; i < metrics::command_state_count; ++i)
        visitor.counter(AmountKind::command_state_ns, i, connection.states_ns[i]);
    visitor.distribution(AmountKind::command_host_next, 0, connection.host_next_ns);
}

/// The same of a kind of commands.
template <class Kind, class Visitor>
void visit_kind(Kind& kind, Visitor visitor) {
    for (std::uint32_t i = 0; i < kind_counters.size(); ++i)
        visitor.counter(AmountKind::command_counter, i, kind.*kind_counters[i]);
    for (std::uint32_t i = 0; i < metrics::command_error_count; ++i)
        visitor.counter(AmountKind::command_error, i, kind.error_classes[i]);
    visitor.distribution(AmountKind::command_latency, 0, kind.latency_ns);
    visitor.distribution(AmountKind::command_size, 0, kind.size_bytes);
    for (std::uint32_t i = 0; i < metrics::command_part_count; ++i)
        visitor.distribution(AmountKind::command_part, i, kind.parts_ns[i]);
    for (std::uint32_t i = 0; i < metrics::command_depth_count; ++i)
        visitor.distribution(AmountKind::command_think, i, kind.think_ns[i]);
}

Amounts amounts_of(const CommandConnectionFigures& connection) {
    Amounts out;
    visit_connection(connection, AmountCollector(out));
    return out;
}

Amounts amounts_of(const CommandKindFigures& kind) {
    Amounts out;
    visit_kind(kind, AmountCollector(out));
    return out;
}

/// The figures that are columns of their own.
struct Counts {
    std::uint64_t commands = 0;
    std::uint64_t errors = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unanswered = 0;
};

template <class Number>
std::int64_t number_or_none(const std::optional<Number>& known) {
    return known ? std::int64_t{*known} : -1;
}

class Writer {
public:
    Writer(StateRows& out, const metrics::FlowSnapshot& flow, std::span<const metrics::Address> own)
        : out_(out), flow_(flow.id), connection_(*flow.commands) {
        const bool asks = std::ranges::find(own, connection_.initiator) != own.end();
        const bool answers = std::ranges::find(own, connection_.target) != own.end();
        own_end_ = asks ? answers ? "both" : "initiator" : answers ? "target" : "";
    }

    void write() {
        const metrics::CommandTotals totals = metrics::totals_of(connection_);
        add({level_connection, {}, {}}, {totals.commands, totals.errors, totals.bytes, totals.unanswered},
            amounts_of(connection_));
        for (const CommandKindFigures& kind : connection_.kinds) {
            add({level_kind, kind.kind, {}, kind.housekeeping},
                {kind.commands, kind.errors, kind.bytes, kind.unanswered}, amounts_of(kind));
            for (const auto& [status, count] : kind.statuses)
                add({level_status, kind.kind, status, kind.housekeeping}, {.errors = count}, {});
        }
    }

private:
    struct Subject {
        std::string_view level;
        std::string kind;
        std::string status;
        bool housekeeping = false;
    };
    void add(const Subject& subject, const Counts& counts, const Amounts& amounts) {
        Row row;
        append_place(row, {});
        row.emplace_back(flow_);
        for (const std::string& text :
             {std::string(subject.level), subject.kind, subject.status, connection_.protocol,
              std::string(metrics::name_of(connection_.transport)), metrics::to_text(connection_.initiator)})
            row.emplace_back(text);
        row.emplace_back(std::uint64_t{connection_.initiator_number});
        row.emplace_back(metrics::to_text(connection_.target));
        row.emplace_back(std::uint64_t{connection_.target_number});
        for (const std::string& text :
             {connection_.initiator_name, connection_.target_name, connection_.heading, connection_.evidence})
            row.emplace_back(text);
        row.emplace_back(connection_.confidence);
        row.emplace_back(number_or_none(connection_.queue));
        row.emplace_back(number_or_none(connection_.limit));
        row.emplace_back(std::uint64_t{subject.housekeeping ? 1u : 0u});
        row.emplace_back(std::uint64_t{connection_.open_max});
        for (const std::uint64_t count : {counts.commands, counts.errors, counts.bytes, counts.unanswered})
            row.emplace_back(count);
        append_amounts(row, amounts);
        row.emplace_back(own_end_);
        row.emplace_back(std::uint64_t{0});
        out_.push_back(
            {fmt::format("{}/{}/{}/{}", flow_, subject.level, subject.kind, subject.status), std::move(row)});
    }

    StateRows& out_;
    std::uint64_t flow_;
    const CommandConnectionFigures& connection_;
    std::string own_end_ = {};
};

}  // namespace

const Table& commands_table() {
    static const Table table{.name = "commands",
                             .columns = columns_with_place({{"flow", T::u64, N::place},
                                                            {"level", T::label, N::place},
                                                            {"kind", T::label, N::place},
                                                            {"status", T::label, N::place},
                                                            {"protocol", T::label, N::identity},
                                                            {"transport", T::label, N::identity},
                                                            {"initiator", T::label, N::identity},
                                                            {"initiator_number", T::u32, N::identity},
                                                            {"target", T::label, N::identity},
                                                            {"target_number", T::u32, N::identity},
                                                            {"initiator_name", T::label, N::identity},
                                                            {"target_name", T::label, N::identity},
                                                            {"heading", T::label, N::identity},
                                                            {"evidence", T::label, N::state},
                                                            {"confidence", T::f64, N::state},
                                                            {"queue", T::i64, N::identity},
                                                            {"open_limit", T::i64, N::state},
                                                            {"housekeeping", T::u8, N::identity},
                                                            {"open_max", T::u64, N::identity},
                                                            {"commands", T::u64, N::counter},
                                                            {"errors", T::u64, N::counter},
                                                            {"bytes", T::u64, N::counter},
                                                            {"unanswered", T::u64, N::estimate},
                                                            {"amount_keys", T::u32_list, N::amounts},
                                                            {"amounts", T::u64_list, N::amounts},
                                                            {"own_end", T::label, N::state},
                                                            {"begins", T::u8, N::note}}),
                             .key = "hour,host,boot,flow,level,kind,status,sequence",
                             .rolls_up = true,
                             .since = 2};
    return table;
}

StateRows command_rows(const metrics::Snapshot& snapshot, std::span<const metrics::Address> own) {
    StateRows out;
    for (const metrics::FlowSnapshot& flow : snapshot.flows)
        // The flow that answers has nothing but the protocol.
        if (flow.commands && !flow.commands->of_target) Writer(out, flow, own).write();
    return out;
}

void set_command_amounts(CommandConnectionFigures& connection, const Amounts& amounts) {
    visit_connection(connection, AmountSetter(amounts));
}

void set_command_amounts(CommandKindFigures& kind, const Amounts& amounts) { visit_kind(kind, AmountSetter(amounts)); }

}  // namespace fleet::rows
