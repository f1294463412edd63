#pragma once
#include <string>
#include <vector>

#include "fleet/rows/row_table.h"

namespace fleet::rows {

/// A row that shows the state of one thing at the end of an interval.
struct StateRow {
    std::string key;  ///< tells the thing from others of the daemon
    Row row;          ///< with the cells of an empty Place
};
using StateRows = std::vector<StateRow>;

}  // namespace fleet::rows
