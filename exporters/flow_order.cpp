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
    const FlowField* const field = found.front();
    // Ids grow with the time at which a flow began: they are sorted upwards.
    const bool downwards = (field->rank || !is_left_aligned(field->unit)) && !by_id;
    FlowOrder order{field, downwards != turned};
    if (field->rank) order.then = worst_first().then;
    return order;
}

FlowOrder worst_first() { return {find_fields("cause").front(), true, find_fields("goodput").front()}; }

namespace {

struct SortedRow {
    Value key;
    Value then;
    const metrics::FlowSnapshot* flow;
};

/// -1, 0, 1. What is unknown comes last, whatever the direction.
int place(const Value& a, const Value& b, bool descending) {
    const bool unknown_a = std::holds_alternative<std::monostate>(a);
    const bool unknown_b = std::holds_alternative<std::monostate>(b);
    if (unknown_a || unknown_b) return static_cast<int>(unknown_a) - static_cast<int>(unknown_b);
    const int way = compare(a, b);
    return descending ? -way : way;
}

bool stands_before(const SortedRow& a, const SortedRow& b, bool descending) {
    const int way = place(a.key, b.key, descending);
    return way != 0 ? way < 0 : place(a.then, b.then, descending) < 0;
}

}  // namespace

std::vector<const metrics::FlowSnapshot*> ordered_flows(const metrics::Snapshot& snapshot, const Context& context,
                                                        const FlowOrder& order, std::optional<std::uint64_t> limit,
                                                        const FlowChooser& chooses) {
    std::vector<SortedRow> rows;
    rows.reserve(snapshot.flows.size());
    for (const metrics::FlowSnapshot& flow : snapshot.flows) {
        const FlowRow row{flow, context};
        if (chooses && !chooses(row)) continue;
        rows.push_back({order.key(row), order.then == nullptr ? Value{} : order.then->value(row), &flow});
    }
    std::stable_sort(rows.begin(), rows.end(), [&order](const SortedRow& a, const SortedRow& b) {
        return stands_before(a, b, order.descending);
    });
    if (limit && rows.size() > *limit) rows.resize(static_cast<std::size_t>(*limit));
    std::vector<const metrics::FlowSnapshot*> flows;
    flows.reserve(rows.size());
    for (const SortedRow& row : rows) flows.push_back(row.flow);
    return flows;
}

}  // namespace exporters
