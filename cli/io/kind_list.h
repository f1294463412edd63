#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/connection_choice.h"
#include "cli/io/kind_columns.h"
#include "cli/io/kinds_report.h"
#include "cli/io/options.h"
#include "exporters/text_table.h"

namespace cli::io {

/// The kinds of commands that the options choose, as rows of one list.
class KindList {
public:
    KindList(const IoOptions& options, const analysis::Names& names, const ConnectionChoice& flow);

    /// Whether --columns, --sort or --top asks for one list, instead of one for each connection.
    bool is_asked_for() const;
    /// Drops the connections of other flows, the kinds that the filter does not pass, and connections without any
    /// other.
    ConnectionFigures passing(ConnectionFigures connections);
    /// Whether there were kinds, but the filter passed none of them.
    bool hides_all() const { return saw_any_ && !passed_any_; }

    /// In the order that is asked for, the first ones alone. They point into `connections`.
    std::vector<KindRow> rows(const ConnectionFigures& connections) const;
    /// An empty table with the columns, after the columns of text in `before`.
    exporters::Table table(const std::vector<std::string_view>& before) const;
    /// The cells of a row of table(), after `before`.
    std::vector<std::string> cells(const KindRow& row, std::vector<std::string> before) const;
    void append_csv_header(std::string& out) const;
    void append_csv(std::string& out, const KindRow& row) const;

private:
    const IoOptions& options_;
    const analysis::Names& names_;
    const ConnectionChoice& flow_;
    exporters::filter::ColumnFilter filter_ = {};
    KindColumns columns_ = {};
    bool saw_any_ = false;
    bool passed_any_ = false;
};

}  // namespace cli::io
