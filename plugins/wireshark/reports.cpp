// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/reports.h"

#include <fmt/core.h>

#include "base/quantities.h"
#include "exporters/flow_order.h"
#include "exporters/text_table.h"
#include "exporters/why_page.h"
#include "metrics/answers/unread_carriers.h"
#include "plugins/wireshark/names.h"

namespace plugins::wireshark {

namespace {

void keep_only(metrics::Snapshot& snapshot, const FlowIds& chosen) {
    std::erase_if(snapshot.flows, [&](const metrics::FlowSnapshot& flow) { return !chosen.contains(flow.id); });
}

/// As `rdmascope flows` prints into a file.
std::string flows_text(const metrics::Snapshot& snapshot, bool crc_verified) {
    const WiresharkNames names;
    const metrics::FlowProblems problems = metrics::flow_problems(snapshot);
    exporters::Context context{&names, crc_verified && exporters::can_verify(snapshot.capture), {}};
    context.problems = &problems;
    std::vector<exporters::FlowRow> report_rows;
    for (const metrics::FlowSnapshot* flow : exporters::ordered_flows(snapshot, context, exporters::worst_first(), {}))
        report_rows.push_back({*flow, context});
    if (report_rows.empty()) {
        const std::string unread = metrics::describe_unread_carriers(snapshot.capture);
        return unread.empty() || snapshot.capture.rdma_units != 0 ? "The capture holds no RDMA.\n"
                                                                  : "No RDMA was found, and " + unread + ".\n";
    }
    const exporters::FlowColumns columns = exporters::default_columns(report_rows, false, std::nullopt);
    exporters::Table table = exporters::flow_table(columns);
    for (const exporters::FlowRow& row : report_rows) {
        std::vector<std::string> cells;
        for (const exporters::FlowField* field : columns) cells.push_back(exporters::cell(*field, row));
        table.add(std::move(cells));
    }
    std::string text;
    table.flush(text);
    return text;
}

/// As `rdmascope why` prints into a file.
std::string why_text(const metrics::Snapshot& snapshot) {
    const WiresharkNames names;
    exporters::WhyPageStyle style;
    style.utf8 = true;  // as all that Wireshark writes
    style.says_how_to_record = false;
    return exporters::why_page(snapshot, metrics::answer(snapshot, names), style);
}

std::vector<std::string> response_times(std::string name, std::uint64_t messages, std::uint64_t bytes,
                                        const metrics::Histogram& latency) {
    return {std::move(name),
            base::group_digits(messages),
            base::format_size(bytes),
            base::group_digits(latency.count()),
            base::format_duration(latency.min()),
            base::format_duration(latency.mean()),
            base::format_duration(latency.quantile(0.5)),
            base::format_duration(latency.quantile(0.9)),
            base::format_duration(latency.quantile(0.99)),
            base::format_duration(latency.max())};
}

/// Response times by operation, over the flows.
std::string srt_text(const metrics::Snapshot& snapshot) {
    exporters::Table table({{"OPERATION"},
                            {"MESSAGES", false},
                            {"OCTETS", false},
                            {"ANSWERED", false},
                            {"MIN", false},
                            {"MEAN", false},
                            {"P50", false},
                            {"P90", false},
                            {"P99", false},
                            {"MAX", false}});
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        metrics::OperationFigures sum;
        for (const metrics::FlowSnapshot& flow : snapshot.flows) {
            sum.count += flow.operations[i].count;
            sum.bytes += flow.operations[i].bytes;
            sum.latency_ns.merge(flow.operations[i].latency_ns);
            sum.first_response_ns.merge(flow.operations[i].first_response_ns);
        }
        if (sum.count == 0) continue;
        const std::string name(metrics::operation_names[i]);
        table.add(response_times(name, sum.count, sum.bytes, sum.latency_ns));
        if (!sum.first_response_ns.empty())
            table.add(response_times(name + ", first response", sum.count, sum.bytes, sum.first_response_ns));
    }
    if (table.empty()) return "No message was completed.\n";
    std::string text;
    table.flush(text);
    return text;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return base::format_percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// Commands of upper layers by kind: their latency, and the shares of its parts.
std::string commands_text(const metrics::Snapshot& snapshot) {
    exporters::Table table({{"PROTOCOL"},
                            {"INITIATOR > TARGET"},
                            {"KIND"},
                            {"COMMANDS", false},
                            {"ERRORS", false},
                            {"P50", false},
                            {"P99", false},
                            {"MAX", false},
                            {"REQUEST", false},
                            {"BEFORE", false},
                            {"DATA", false},
                            {"AFTER", false},
                            {"RESPONSE", false}});
    const WiresharkNames names;
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        if (!flow.commands || flow.commands->of_target) continue;
        const std::string ends = fmt::format("{} > {}", exporters::endpoint_text(flow.source, &names),
                                             exporters::endpoint_text(flow.destination, &names));
        for (const metrics::CommandKindFigures& kind : flow.commands->kinds) {
            if (kind.commands == 0) continue;
            const metrics::Histogram& latency = kind.latency_ns;
            std::vector<std::string> cells{flow.commands->protocol,
                                           ends,
                                           kind.kind,
                                           base::group_digits(kind.commands),
                                           base::group_digits(kind.errors),
                                           base::format_duration(latency.quantile(0.5)),
                                           base::format_duration(latency.quantile(0.99)),
                                           base::format_duration(latency.max())};
            for (const metrics::Histogram& part : kind.parts_ns)
                cells.push_back(flow.commands->split_is_known() ? share_text(part.sum(), latency.sum()) : "-");
            table.add(std::move(cells));
        }
    }
    if (table.empty()) return "No command of an upper layer was answered.\n";
    std::string text;
    table.flush(text);
    return text;
}

}  // namespace

std::string text_of(Report report, const Analysis& analysis, const FlowIds* chosen) {
    metrics::Snapshot snapshot = analysis.snapshot();
    if (chosen != nullptr) keep_only(snapshot, *chosen);
    switch (report) {
        case Report::flows: return flows_text(snapshot, analysis.verifies_crc());
        case Report::why: return why_text(snapshot);
        case Report::srt: return srt_text(snapshot);
        case Report::commands: return commands_text(snapshot);
    }
    return {};
}

}  // namespace plugins::wireshark
