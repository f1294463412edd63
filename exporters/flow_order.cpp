#include "exporters/flow_order.h"

#include <algorithm>

namespace exporters {

base::Result<FlowColumns, UnknownColumn> chosen_columns(std::span<const std::string> names) {
    FlowColumns columns;
    for (const std::string& name : names) {
        const FlowColumns found = find_fields(name);
        if (found.empty() && !name.empty()) return base::Failure{UnknownColumn{name}};
        for (const FlowField* field : found)
            if (std::find(columns.begin(), columns.end(), field) == columns.end()) columns.push_back(field);
    }
    return columns;
}

base::Result<FlowOrder, NoOrder> flow_order(std::string_view name, bool first_only) {
    const bool turned = name.starts_with('-');
    if (turned) name.remove_prefix(1);
    const bool by_id = name.empty() && !first_only;
    if (name.empty()) name = by_id ? "id" : "wire_bytes";
    const FlowColumns found = find_fields(name);
    if (found.size() != 1) return base::Failure{NoOrder{std::string(name), found.empty() ? nullptr : found.front()}};
    // Ids tell when a flow began: they go upwards.
    const bool downwards = !is_left_aligned(found.front()->unit) && !by_id;
    return FlowOrder{found.front(), downwards != turned};
}

std::vector<const metrics::FlowSnapshot*> ordered_flows(const metrics::Snapshot& snapshot, const Context& context,
                                                        const FlowOrder& order, std::optional<std::uint64_t> limit) {
    struct Keyed {
        Value key;
        const metrics::FlowSnapshot* flow;
    };
    std::vector<Keyed> keyed;
    keyed.reserve(snapshot.flows.size());
    for (const metrics::FlowSnapshot& flow : snapshot.flows)
        keyed.push_back({order.field->value({flow, context}), &flow});
    const auto unknown = [](const Keyed& row) { return std::holds_alternative<std::monostate>(row.key); };
    std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
        if (unknown(a) != unknown(b)) return unknown(b);
        const int way = compare(a.key, b.key);
        return order.descending ? way > 0 : way < 0;
    });
    if (limit && keyed.size() > *limit) keyed.resize(static_cast<std::size_t>(*limit));
    std::vector<const metrics::FlowSnapshot*> flows;
    flows.reserve(keyed.size());
    for (const Keyed& row : keyed) flows.push_back(row.flow);
    return flows;
}

}  // namespace exporters
