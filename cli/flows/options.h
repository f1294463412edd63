#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/analysis/options.h"
#include "exporters/filter/flow_filter.h"
#include "exporters/flow_order.h"
#include "exporters/traffic_groups.h"

namespace cli::flows {

enum class Form : std::uint8_t { table, json, csv };

/// The command line of `flows`.
struct FlowsOptions : analysis::AnalysisOptions {
    Form form = Form::table;
    bool two_forms = false;                 ///< a contradiction
    std::vector<std::string> columns = {};  ///< names as given; empty: the form's own choice
    std::string sort = {};    ///< a name, with `-` before it for the reverse order; empty: the form's own order
    std::string filter = {};  ///< chooses flows; empty passes all
    bool reverse = false;
    std::optional<exporters::GroupBy> by = {};  ///< rows are sums of flows
    std::optional<std::uint64_t> top = {};
    std::optional<std::uint64_t> interval_ns = {};

    /// All columns, whatever the form shows by default.
    bool every_column() const { return columns.size() == 1 && columns.front() == "all"; }
    bool column_help() const { return columns.size() == 1 && columns.front() == "help"; }
    bool column_names() const { return columns.size() == 1 && columns.front() == "names"; }
};

/// Reads the command line.
std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, FlowsOptions& out);
std::string help_text();
options::OptionTable<FlowsOptions> option_table();

/// Whether the output depends on the upper layer of flows or on their commands: only then are these read.
bool shows_commands(const FlowsOptions& options);

/// The columns that `names` select, in their order and each once; an unknown name leaves the reason in `error`.
exporters::FlowColumns columns_of(const std::vector<std::string>& names, std::string& error);

/// The flows that are listed; an invalid expression leaves the reason in `error`.
exporters::filter::FlowFilter filter_of(const FlowsOptions& options, std::string& error);

/// Flows with a problem come first in the table and in CSV; by id in JSON and in intervals; by bytes if only the first
/// ones are shown. A column's numbers begin with the greatest, text at A; `-NAME` and --reverse each reverse that. Both
/// together cancel out.
exporters::FlowOrder order_of(const FlowsOptions& options, std::string& error);

}  // namespace cli::flows
