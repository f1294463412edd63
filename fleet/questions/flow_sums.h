#pragma once
#include <span>
#include <string>
#include <string_view>

#include "fleet/questions/scope.h"
#include "fleet/rows/row_table.h"

/// SQL that the questions share. Statements consist of column names of our tables, numbers, and schema::text().
namespace fleet::questions {

/// A query with one row for each flow of each daemon that had traffic in the scope: host, boot, flow, the flow's
/// identity, and each of `counters` since the scope began. Columns have the names of the table with `x_` before them:
/// a query cannot give an aggregate the name of a column that it reads.
///
/// `having` chooses rows, by these names; empty passes all.
std::string flow_sums(const Scope& scope, std::span<const std::string_view> counters, std::string_view having = {},
                      std::string_view more = {});

/// Aggregates that single questions need, each after a comma.
struct MoreColumns {
    std::string of_daemon = {};  ///< over rows of the table, by host, boot and flow
    std::string of_flow = {};    ///< over these, by flow
};

/// The same with one row for each flow, whatever daemons saw it. `x_sent_NAME` is what the source's own daemon counted,
/// `x_arrived_NAME` the destination's, `x_NAME` the best of both: the sender's figure, the receiver's without a sender,
/// else that of a daemon on the path. `x_at_source` and `x_at_destination` say which daemons there were.
std::string joined_flows(const Scope& scope, std::span<const std::string_view> counters, const MoreColumns& more = {});

/// `WHERE` of a table's rows that a scope needs: its own, and the last ones before it.
std::string rows_of(const Scope& scope);

/// An aggregate: a column, or an expression of columns, in the last row before the scope, or else in the first one.
std::string at_beginning(const Scope& scope, std::string_view column);
/// The increase of a counter or an estimate, an aggregate.
std::string increase(const Scope& scope, const rows::Column& column);
/// The same of a column of `flows`, or of a counter of another table.
std::string increase(const Scope& scope, std::string_view name);

/// Ends every query: a host's rows are on one shard, so the shards need not exchange groups.
inline constexpr std::string_view settings = " SETTINGS distributed_group_by_no_merge = 1";

}  // namespace fleet::questions
