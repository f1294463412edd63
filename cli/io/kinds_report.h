#pragma once
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/io/options.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

using ConnectionFigures = std::vector<metrics::CommandConnectionFigures>;

/// A heading for each connection, and below it one row for each kind of command.
void append_table(std::string& out, const ConnectionFigures& connections, const analysis::Names& names);
/// The same as JSON: one object for each connection, with its kinds.
void append_json(std::string& out, const ConnectionFigures& connections, const analysis::Names& names);
/// One row for each kind of command on a connection, after a header.
void append_csv(std::string& out, const ConnectionFigures& connections, const analysis::Names& names);

}  // namespace cli::io
