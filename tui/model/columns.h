#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/flow_fields.h"

namespace tui::inline model {

/// How a cell of the table of flows is drawn.
enum class CellForm : std::uint8_t {
    field,   ///< exporters::cell()
    ends,    ///< "source > destination", as much of it as fits
    cause,   ///< the problem, coloured by its grade; the mark of the row shows that there is one
    mix,     ///< the operations' shares
    states,  ///< where the time went, as a bar
};

/// What the role of a cell of CellForm::field depends on.
enum class Emphasis : std::uint8_t {
    none,
    resent,        ///< the share of packets that were resent
    latency_tail,  ///< how far the tail is from the median
    nak_rnr,       ///< whether there are NAKs, or RNR NAKs alone
    depth,         ///< whether the limit of READs and atomics is reached
    warning,       ///< anything but nothing is a warning
    bad,           ///< anything but nothing is bad
};

/// A column of the table of flows.
struct Column {
    std::string name;   ///< "goodput", "latency_p99", "time", or any path of exporters/flow_fields.h
    std::string title;  ///< above it
    CellForm form = CellForm::field;
    const exporters::FlowField* field = nullptr;  ///< what it shows and is sorted by; never null
    bool left_aligned = false;
    unsigned least_width = 0;  ///< columns on the screen
    Emphasis emphasis = Emphasis::none;
    unsigned weight = 0;  ///< 0: stays on the narrowest screen; without room, the column with the greatest weight is
                          ///< dropped first
};

/// The default table, and the other columns that `column_named` knows.
const std::vector<Column>& usual_columns();
/// A default column by its name, or one made of any field of exporters::find_fields(); no value if there is no such
/// name.
std::optional<Column> column_named(std::string_view name);
/// The chosen columns; the usual ones if `names` is empty. Unknown names are left out.
std::vector<Column> columns_of(std::span<const std::string> names);

}  // namespace tui::model
