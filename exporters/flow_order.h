#pragma once
#include <cstdint>
#include <functional>
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

/// The columns that `names` select, in their order and each once. Empty names select nothing. Fails with the first
/// unknown name.
base::Result<FlowColumns, UnknownColumn> chosen_columns(std::span<const std::string> names);

/// The order of rows.
struct FlowOrder {
    const FlowField* field = nullptr;
    bool descending = true;
    const FlowField* then = nullptr;  ///< orders rows with equal first figures, the greatest first; may be null

    /// What a row is sorted by.
    Value key(const FlowRow& row) const { return key_of(*field, row); }
    static Value key_of(const FlowField& field, const FlowRow& row) {
        return field.rank ? field.rank(row) : field.value(row);
    }
};

/// Flows with a problem first, the worst of them at the top, then by goodput.
FlowOrder worst_first();

/// Why a name is not an order: there is no such column, or `group` is the first of several that it means.
struct NoOrder {
    std::string name;
    const FlowField* group = nullptr;
};

/// Numbers begin with the greatest, text at A; `-NAME` reverses the order. An empty name is by id, upwards; if only the
/// `first_only` flows are shown, by bytes on the wire.
base::Result<FlowOrder, NoOrder> flow_order(std::string_view name, bool first_only);

/// Whether a row is listed.
using FlowChooser = std::function<bool(const FlowRow&)>;

/// The flows of a snapshot in an order, at most `limit` of those that `chooses` accepts; null accepts all. Flows with
/// an unknown figure come last, in either direction.
std::vector<const metrics::FlowSnapshot*> ordered_flows(const metrics::Snapshot& snapshot, const Context& context,
                                                        const FlowOrder& order, std::optional<std::uint64_t> limit,
                                                        const FlowChooser& chooses = {});

}  // namespace exporters
