#include "fleet/rows/flow_event_rows.h"

#include <fmt/core.h>

#include "fleet/rows/flow_rows.h"

namespace fleet::rows {
namespace {

using N = Nature;
using T = Type;

Row event_row(const metrics::FlowSnapshot& flow, const metrics::EventSummary& summary, const std::string& own) {
    Row row;
    append_place(row, {});
    row.emplace_back(flow.id);
    row.emplace_back(std::string(metrics::name_of(summary.kind)));
    row.emplace_back(std::string(metrics::name_of(flow.transport)));
    row.emplace_back(metrics::to_text(flow.source.address));
    row.emplace_back(metrics::to_text(flow.destination.address));
    row.emplace_back(std::uint64_t{flow.destination.qpn.value_or(0)});
    row.emplace_back(std::uint64_t{flow.destination.port.value_or(0)});
    row.emplace_back(summary.count);
    row.emplace_back(summary.value_sum);
    row.emplace_back(summary.value_max);
    row.emplace_back(Numbers(summary.frames));
    row.emplace_back(own);
    return row;
}

}  // namespace

const Table& events_table() {
    static const Table table{.name = "events",
                             .columns = columns_with_place({{"flow", T::u64, N::place},
                                                            {"event", T::label, N::place},
                                                            {"transport", T::label, N::identity},
                                                            {"source_address", T::label, N::identity},
                                                            {"destination_address", T::label, N::identity},
                                                            {"destination_qpn", T::u32, N::identity},
                                                            {"destination_port", T::u16, N::identity},
                                                            {"events", T::u64, N::counter},
                                                            {"value_sum", T::u64, N::counter},
                                                            {"value_max", T::u64, N::identity},
                                                            {"frames", T::u64_list, N::state},
                                                            {"own_end", T::label, N::state}}),
                             .key = "hour,host,boot,flow,event,sequence",
                             .since = 2};
    return table;
}

StateRows event_rows(const metrics::Snapshot& snapshot, std::span<const metrics::Address> own) {
    StateRows out;
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        if (flow.event_summaries.empty()) continue;
        const std::string own_end_of_flow = own_end(flow, own);
        for (const metrics::EventSummary& summary : flow.event_summaries)
            out.push_back({fmt::format("{}/{}", flow.id, metrics::name_of(summary.kind)),
                           event_row(flow, summary, own_end_of_flow)});
    }
    return out;
}

}  // namespace fleet::rows
