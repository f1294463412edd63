#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/io/column_set.h"
#include "cli/io/options.h"
#include "cli/text_output.h"
#include "exporters/text_table.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

/// Prints a row for each command: when the command ends, or at the end of the capture with `--sort`.
class EachTable {
public:
    EachTable(const IoOptions& options, const analysis::Names& names, TextOutput& output);

    void add(const metrics::CommandConnectionFigures& connection, const metrics::CommandRecord& record);
    /// False if printing failed.
    bool finish();
    /// Whether there were commands, but the filter passed none of them.
    bool hides_all() const { return hides_all_; }

    /// The values of a row: a command and its connection.
    struct Row {
        std::uint64_t connection = 0;
        std::string protocol;
        std::string ends;  ///< "192.0.2.2/0x13 > 192.0.2.1/0x13"
        metrics::CommandRecord record;
    };

private:
    void print(const Row& row);
    void begin();

    const IoOptions& options_;
    const analysis::Names& names_;
    TextOutput& output_;
    ColumnSet<Row>::Columns columns_ = {};
    exporters::filter::ColumnFilter filter_ = {};
    std::vector<Row> rows_ = {};
    std::optional<exporters::Table> table_ = {};
    std::uint64_t ends_of_ = 0;  ///< number of the connection to which `ends_` belongs
    std::string ends_ = {};
    bool begun_ = false;
    bool any_ = false;
    bool any_seen_ = false;
    bool hides_all_ = false;
};

/// The columns of single commands: the table's, and all that CSV has.
const ColumnSet<EachTable::Row>& each_columns();

}  // namespace cli::io
