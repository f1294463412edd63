#include "cli/io/kind_columns.h"

#include <array>
#include <utility>

#include "cli/io/words.h"
#include "exporters/field_builder.h"

namespace cli::io {

namespace {

using exporters::Unit;
using exporters::Value;
using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using KindBuilder = exporters::FieldBuilder<KindRow>;

Value ratio(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return {};
    return static_cast<double>(part) / static_cast<double>(whole);
}

void counter(KindBuilder& out, std::string path, Unit unit, std::string help,
             std::uint64_t CommandKindFigures::*member) {
    std::string title = path;
    out.add(std::move(path), {}, std::move(title), unit, std::move(help),
            [member](const KindRow& row) { return row.kind->*member; });
}

void quantile(KindBuilder& out, std::string path, std::string title, std::string help, double rank) {
    out.add(std::move(path), {}, std::move(title), Unit::ns, std::move(help),
            [rank](const KindRow& row) { return exporters::value(row.kind->latency_ns.quantile(rank)); });
}

/// Shares of the latency, as the table shows its parts.
void add_shares(KindBuilder& out) {
    constexpr std::array<std::pair<const char*, const char*>, metrics::command_part_count> parts{
        {{"request", "share of the latency: the request passes"},
         {"before", "share of the latency: path and target, before data or response"},
         {"data", "share of the latency: from the first to the last packet of data"},
         {"after", "share of the latency: target, between data and response"},
         {"response", "share of the latency: the response passes"}}};
    for (std::size_t i = 0; i < parts.size(); ++i)
        out.add(fmt::format("{}_share", parts[i].first), {}, parts[i].first, Unit::share, parts[i].second,
                [i](const KindRow& row) {
                    return row.connection->split_is_known()
                               ? ratio(row.kind->parts_ns[i].sum(), row.kind->latency_ns.sum())
                               : Value{};
                });
}

void add_parts(KindBuilder& out) {
    for (std::size_t i = 0; i < metrics::command_part_count; ++i) {
        const std::string path = fmt::format("{}_ns", metrics::command_part_names[i]);
        out.add(path, {}, path, Unit::ns, "sum of this part of the latency", [i](const KindRow& row) {
            return row.connection->split_is_known() ? Value{row.kind->parts_ns[i].sum()} : Value{};
        });
    }
}

/// Figures that the table combines of several.
void add_brief(KindBuilder& out) {
    out.add("ends", {}, "initiator > target", Unit::text, "both ends of the connection",
            [](const KindRow& row) { return Value{ends_text(*row.connection, *row.names)}; });
    add_shares(out);
    out.add("repair_share", {}, "repair", Unit::share, "share of the latency within repairs of lost packets",
            [](const KindRow& row) { return ratio(row.kind->repair_ns(), row.kind->latency_ns.sum()); });
    out.add("operations_mean", {}, "ops", Unit::ratio, "operations of RDMA for each command",
            [](const KindRow& row) { return ratio(row.kind->operations, row.kind->commands); });
    out.add("left_open", {}, "left_open", Unit::count, "commands without a response, for whatever reason",
            [](const KindRow& row) { return Value{row.kind->unanswered + row.kind->given_up + row.kind->replaced}; });
}

void add_connection(KindBuilder& out) {
    out.add("connection", {}, "connection", Unit::code, "its number in the capture",
            [](const KindRow& row) { return Value{row.connection->number}; });
    out.add("protocol", {}, "protocol", Unit::text, "upper layer",
            [](const KindRow& row) { return text_or_none(row.connection->protocol); });
    out.add("initiator", {}, "initiator", Unit::text, "end that asks", [](const KindRow& row) {
        const CommandConnectionFigures& of = *row.connection;
        return Value{end_text(of.initiator, of.initiator_number, of.transport, *row.names)};
    });
    out.add("target", {}, "target", Unit::text, "end that answers", [](const KindRow& row) {
        const CommandConnectionFigures& of = *row.connection;
        return Value{end_text(of.target, of.target_number, of.transport, *row.names)};
    });
    out.add("target_name", {}, "target_name", Unit::text, "name that the protocol gives to the target",
            [](const KindRow& row) { return text_or_none(row.connection->target_name); });
}

void add_counters(KindBuilder& out) {
    using Kind = CommandKindFigures;
    out.add("kind", {}, "kind", Unit::text, "kind of command",
            [](const KindRow& row) { return text_or_none(row.kind->kind); })
        .text = [](const KindRow& row) { return row.kind->kind.empty() ? "(not captured)" : row.kind->kind; };
    counter(out, "commands", Unit::count, "commands that were answered", &Kind::commands);
    counter(out, "errors", Unit::count, "of them, with an error", &Kind::errors);
    counter(out, "bytes", Unit::bytes, "what they asked for, or brought along", &Kind::bytes);
    counter(out, "inline_bytes", Unit::bytes, "data inside the request", &Kind::inline_bytes);
    counter(out, "moved_in_bytes", Unit::bytes, "data that the target wrote", &Kind::moved_in_bytes);
    counter(out, "moved_out_bytes", Unit::bytes, "data that the target read", &Kind::moved_out_bytes);
    counter(out, "operations", Unit::count, "operations of RDMA that moved data", &Kind::operations);
    counter(out, "orphans", Unit::count, "responses to requests that were not captured", &Kind::orphans);
    counter(out, "replaced", Unit::count, "commands that were asked again", &Kind::replaced);
    counter(out, "unanswered", Unit::count, "commands open when their connection ended", &Kind::unanswered);
    counter(out, "given_up", Unit::count, "open commands that were forgotten", &Kind::given_up);
}

void add_all(KindBuilder& out) {
    add_connection(out);
    add_counters(out);
    out.add("latency_sum_ns", {}, "latency_sum_ns", Unit::ns, "sum of latencies",
            [](const KindRow& row) { return Value{row.kind->latency_ns.sum()}; });
    quantile(out, "latency_p50_ns", "p50", "median of latencies", 0.5);
    quantile(out, "latency_p99_ns", "p99", "99th percentile of latencies", 0.99);
    out.add("latency_max_ns", {}, "max", Unit::ns, "longest latency", [](const KindRow& row) {
        const auto ns = row.kind->latency_ns.max();
        return ns ? Value{*ns} : Value{};
    });
    add_parts(out);
    using Kind = CommandKindFigures;
    counter(out, "request_ack_ns", Unit::ns, "sum of times until the request was acknowledged", &Kind::request_ack_ns);
    counter(out, "repair_own_ns", Unit::ns, "sum of times of repairs of the commands' own packets",
            &Kind::repair_own_ns);
    counter(out, "repair_behind_ns", Unit::ns, "sum of times held up by repairs of other commands",
            &Kind::repair_behind_ns);
}

constexpr std::array<std::string_view, 17> kind_table_names{
    "protocol",    "ends",           "kind",         "commands",
    "errors",      "bytes",          "p50",          "p99",
    "max",         "request_share",  "before_share", "data_share",
    "after_share", "response_share", "repair_share", "operations_mean",
    "left_open"};

KindColumns from(const KindColumns& columns, std::string_view path) {
    const auto first = std::ranges::find(columns, path, &exporters::Field<KindRow>::path);
    return {first, columns.end()};
}

}  // namespace

const ColumnSet<KindRow>& kind_columns() {
    static const ColumnSet<KindRow> all = [] {
        KindBuilder made;
        add_brief(made);
        const std::size_t first_of_csv = made.all.size();
        add_all(made);
        return ColumnSet<KindRow>(std::move(made.all), first_of_csv, kind_table_names);
    }();
    return all;
}

const KindColumns& kind_columns_below_heading() {
    static const KindColumns columns = from(kind_columns().of_table(), "kind");
    return columns;
}

const KindColumns& kind_columns_after_connection() {
    static const KindColumns columns = from(kind_columns().of_csv(), "kind");
    return columns;
}

}  // namespace cli::io
