#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/io/capture_run.h"
#include "cli/io/connection_groups.h"
#include "cli/io/kind_columns.h"
#include "exporters/text_table.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

using ConnectionFigures = std::vector<metrics::CommandConnectionFigures>;

/// A heading for each connection, and below it one row for each kind of command.
void append_table(std::string& out, const ConnectionFigures& connections, const analysis::Names& names);
/// The same as JSON: what was read, and one object for each connection, with its kinds.
void append_json(std::string& out, const ConnectionFigures& connections, const Extent& extent,
                 const analysis::Names& names);

// The same for groups.
void append_table(std::string& out, const std::vector<Group>& groups);
void append_json(std::string& out, const std::vector<Group>& groups);
void append_csv(std::string& out, const std::vector<Group>& groups);

// Parts of these reports, for reports of other forms.
/// The array of connections of append_json(), on one line.
std::string connections_text(const ConnectionFigures& connections, const analysis::Names& names);
nlohmann::ordered_json connections_json(const ConnectionFigures& connections, const analysis::Names& names);
nlohmann::ordered_json groups_json(const std::vector<Group>& groups);
std::string groups_text(const std::vector<Group>& groups);
std::string groups_csv_header();
/// The rows of append_csv(). Each row begins with `before`.
void append_csv_rows(std::string& out, const std::vector<Group>& groups, std::string_view before);
/// An empty table of kinds with these columns, after the columns of text in `before`.
exporters::Table kind_table(const std::vector<std::string_view>& before, const KindColumns& columns);
/// The kinds that had commands. The kind that took most time comes first.
std::vector<const metrics::CommandKindFigures*> ordered_kinds(const metrics::CommandConnectionFigures& connection);
/// The cells of append_table() for each of them.
std::vector<std::vector<std::string>> kind_rows(const metrics::CommandConnectionFigures& connection);

}  // namespace cli::io
