#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/flow_fields.h"

namespace exporters {

/// Columns that a UTF-8 text takes on a terminal, as far as combining and wide characters do not matter.
std::size_t display_width(std::string_view text);

/// An aligned table. Numbers to the right, text to the left; two blanks between columns; no blanks at ends of lines.
class Table {
public:
    struct Heading {
        std::string title;
        bool left_aligned = true;
        std::size_t min_width = 0;
    };
    explicit Table(std::vector<Heading> headings);

    void add(std::vector<std::string> cells);
    /// Makes room for cells that add() will be called with: rows can then be flushed one by one.
    void widen(const std::vector<std::string>& cells);
    /// Appends the heading (the first time, or where columns became wider) and the rows; forgets the rows.
    void flush(std::string& out);
    bool empty() const { return rows_.empty(); }

private:
    void append_line(std::string& out, const std::vector<std::string>& cells) const;

    std::vector<Heading> headings_;
    std::vector<std::size_t> widths_;
    std::vector<std::vector<std::string>> rows_ = {};
    bool titles_due_ = true;
};

/// A cell of the table.
std::string cell(const FlowField& field, const FlowRow& row, base::Charset charset = base::charset());
/// `growing`: rows come piece by piece, so columns of numbers begin as wide as they usually become.
Table flow_table(const FlowColumns& columns, bool growing = false);

/// The default columns of CSV: those of the table, and times as seconds and as dates.
FlowColumns csv_columns(bool by_interval);

/// The default columns of the table for `rows`, within `width` columns of the terminal if there is one. Columns that
/// are empty in every row are dropped first, then those that matter least.
FlowColumns default_columns(const std::vector<FlowRow>& rows, bool by_interval, std::optional<std::size_t> width);

}  // namespace exporters
