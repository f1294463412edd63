#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exporters/flow_fields.h"

namespace exporters {

/// A name that no column has.
struct UnknownColumn {
    std::string name;
};

/// The columns that `names` select, in their order and each once. Empty names select nothing. Fails with the first name
/// that no column has.
base::Result<FlowColumns, UnknownColumn> chosen_columns(std::span<const std::string> names);

/// How rows are put in order.
struct FlowOrder {
    const FlowField* field = nullptr;
    bool descending = true;
};

/// Why a name is no order: there is no such column, or `group` is the first of several that it means.
struct NoOrder {
    std::string name;
    const FlowField* group = nullptr;
};

/// Numbers begin with the greatest, text at A; `-NAME` turns that round. An empty name is by id, upwards, or by octets
/// on the wire where only the `first_only` are wanted.
base::Result<FlowOrder, NoOrder> flow_order(std::string_view name, bool first_only);

/// The flows of a snapshot in an order, at most `limit`. Those of which the figure is unknown come last, whatever the
/// direction.
std::vector<const metrics::FlowSnapshot*> ordered_flows(const metrics::Snapshot& snapshot, const Context& context,
                                                        const FlowOrder& order, std::optional<std::uint64_t> limit);

}  // namespace exporters
