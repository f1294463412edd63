#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/flow_fields.h"

namespace exporters {

/// What `names` select, in their order and each once. The first name that is none is left in `unknown`.
FlowColumns chosen_columns(std::span<const std::string> names, std::string& unknown);

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
/// on the wire where only the `first_only` are wanted. Absent where `reason` says why.
std::optional<FlowOrder> flow_order(std::string_view name, bool first_only, NoOrder& reason);

/// The flows of a snapshot in an order, at most `limit`. Those of which the figure is unknown come last, whatever the
/// direction.
std::vector<const metrics::FlowSnapshot*> ordered_flows(const metrics::Snapshot& snapshot, const Context& context,
                                                        const FlowOrder& order, std::optional<std::uint64_t> limit);

}  // namespace exporters
