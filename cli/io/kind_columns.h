#pragma once
#include "cli/analysis/session.h"
#include "cli/io/column_set.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

/// One kind of command on a connection or in a group. Where the connection is a group's sum, its ends have no value.
struct KindRow {
    const metrics::CommandConnectionFigures* connection = nullptr;
    const metrics::CommandKindFigures* kind = nullptr;
    const analysis::Names* names = nullptr;
};
using KindColumns = ColumnSet<KindRow>::Columns;

/// The columns of kinds: the table's after those of the connection, and all that CSV has.
const ColumnSet<KindRow>& kind_columns();
/// The table's columns below a heading that names the connection or group.
const KindColumns& kind_columns_below_heading();
/// CSV's columns after those of the connection.
const KindColumns& kind_columns_after_connection();

}  // namespace cli::io
