#pragma once
#include <span>

#include "fleet/rows/amounts.h"
#include "fleet/rows/state_rows.h"
#include "metrics/figures/snapshot.h"

/// Commands of upper layers, as `io` shows them.
namespace fleet::rows {

/// What a row of `commands` is about: the connection, one kind of commands on it, or the errors of that kind that have
/// one status. Names are the values of the column `level`.
inline constexpr std::string_view level_connection = "connection";
inline constexpr std::string_view level_kind = "kind";
inline constexpr std::string_view level_status = "status";

const Table& commands_table();
/// The rows of all connections with commands. `own`: the daemon's addresses.
StateRows command_rows(const metrics::Snapshot& snapshot, std::span<const metrics::Address> own);

/// Sets what a row has in its amounts.
void set_command_amounts(metrics::CommandConnectionFigures& connection, const Amounts& amounts);
void set_command_amounts(metrics::CommandKindFigures& kind, const Amounts& amounts);

}  // namespace fleet::rows
