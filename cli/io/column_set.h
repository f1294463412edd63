#pragma once
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/similar.h"
#include "exporters/filter/column_filter.h"
#include "exporters/row_field.h"
#include "exporters/text_table.h"

namespace cli::io {

/// All columns of one kind of row, and the rows' filter and order by them.
template <class Row>
class ColumnSet {
public:
    using Column = exporters::Field<Row>;
    using Columns = std::vector<const Column*>;

    /// `usual`: the names of the table's columns. Without --columns, CSV has `columns` from the place `first_of_csv`
    /// on.
    ColumnSet(std::vector<Column> columns, std::size_t first_of_csv, std::span<const std::string_view> usual)
        : columns_(std::move(columns)), filterable_(filter_columns()) {
        for (std::size_t i = first_of_csv; i < columns_.size(); ++i) csv_.push_back(&columns_[i]);
        for (const std::string_view name : usual) table_.push_back(find(name));
    }
    ColumnSet(const ColumnSet&) = delete;
    ColumnSet& operator=(const ColumnSet&) = delete;

    const Columns& of_table() const { return table_; }
    const Columns& of_csv() const { return csv_; }
    /// The column with this path, else the first one with this heading; nullptr if absent.
    const Column* find(std::string_view name) const {
        auto found = std::ranges::find(columns_, name, &Column::path);
        if (found == columns_.end()) found = std::ranges::find(columns_, name, &Column::title);
        return found == columns_.end() ? nullptr : &*found;
    }
    /// The columns with these names, each once; `all` are those of CSV. Leaves the reason in `error`.
    Columns choose(const std::vector<std::string>& names, std::string& error) const {
        if (names.size() == 1 && names.front() == "all") return csv_;
        Columns chosen;
        for (const std::string& name : names) {
            const Column* const column = find(name);
            if (column == nullptr) {
                error = unknown("--columns", name);
                return {};
            }
            if (std::ranges::find(chosen, column) == chosen.end()) chosen.push_back(column);
        }
        return chosen;
    }
    std::string unknown(std::string_view option, std::string_view name) const {
        std::vector<std::string_view> known = names();
        for (const Column& column : columns_) known.push_back(column.path);
        return fmt::format("{} {}: there is no such column{}; columns are {}", option, name,
                           base::did_you_mean(name, known), fmt::join(names(), ", "));
    }

    base::Result<exporters::filter::ColumnFilter> filter(std::string_view text) const {
        return exporters::filter::ColumnFilter::compile(text, filterable_);
    }
    exporters::Value value(std::size_t place_in_filter, const Row& row) const {
        return places_[place_in_filter]->value(row);
    }

    /// One line for each column: its name, its heading in the table, what it is.
    std::string reference() const {
        std::string out;
        for (const Column& column : columns_) {
            const bool has_heading = column.title != column.path;
            out += fmt::format("{:<20}  {:<18}  {}\n", column.path, has_heading ? column.title : "", column.help);
        }
        return out + "\nA heading of the table is a name, too.\n";
    }
    std::string name_lines() const {
        std::string out;
        for (const Column& column : columns_) out += column.path + '\n';
        return out;
    }

private:
    /// Headings of the table.
    std::vector<std::string_view> names() const {
        std::vector<std::string_view> out;
        for (const Column* column : table_) out.push_back(column->title);
        return out;
    }
    /// Names of the filter's language: paths, and the headings that are single words.
    std::vector<exporters::filter::FilterColumn> filter_columns() {
        std::vector<exporters::filter::FilterColumn> out;
        const auto add = [&](std::string_view name, const Column& column) {
            if (std::ranges::find(out, name, &exporters::filter::FilterColumn::name) != out.end()) return;
            if (name.find(' ') != std::string_view::npos) return;
            out.push_back({name, column.title, column.unit});
            places_.push_back(&column);
        };
        for (const Column& column : columns_) add(column.path, column);
        for (const Column& column : columns_) add(column.title, column);
        return out;
    }

    std::vector<Column> columns_;
    Columns places_ = {};  ///< the column of each name of the filter's language
    exporters::filter::FilterColumns filterable_;
    Columns table_ = {};
    Columns csv_ = {};
};

/// What rows are ordered by: numbers begin with the greatest, texts at A. `-` before the name reverses the order.
template <class Row>
class ColumnOrder {
public:
    ColumnOrder(const ColumnSet<Row>& columns, std::string_view sort) {
        const bool is_reversed = sort.starts_with('-');
        if (is_reversed) sort.remove_prefix(1);
        column_ = columns.find(sort);
        descends_ = column_ != nullptr && (column_->unit == exporters::Unit::text) == is_reversed;
    }

    /// Rows without a value come last, in either direction.
    void order(std::vector<Row>& rows) const {
        if (column_ == nullptr) return;
        std::vector<std::pair<exporters::Value, std::size_t>> keys;
        keys.reserve(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            keys.emplace_back(column_->rank ? column_->rank(rows[i]) : column_->value(rows[i]), i);
        std::ranges::stable_sort(keys, [this](const auto& one, const auto& other) {
            const bool is_known = one.first.index() != 0;
            if (is_known != (other.first.index() != 0)) return is_known;
            const int order = exporters::compare(one.first, other.first);
            return descends_ ? order > 0 : order < 0;
        });
        std::vector<Row> ordered;
        ordered.reserve(rows.size());
        for (const auto& key : keys) ordered.push_back(std::move(rows[key.second]));
        rows = std::move(ordered);
    }

private:
    const exporters::Field<Row>* column_ = nullptr;
    bool descends_ = true;
};

/// An unknown text has no value.
inline exporters::Value text_or_none(const std::string& text) {
    return text.empty() ? exporters::Value{} : exporters::Value{text};
}

/// The error if --sort names no column; empty if the name is valid.
template <class Row>
std::string unknown_order(const ColumnSet<Row>& columns, std::string_view sort) {
    if (sort.starts_with('-')) sort.remove_prefix(1);
    return sort.empty() || columns.find(sort) != nullptr ? std::string() : columns.unknown("--sort", sort);
}

template <class Row>
std::string column_cell(const exporters::Field<Row>& column, const Row& row) {
    return column.text ? column.text(row)
                       : exporters::readable(column.value(row), column.unit, {base::Spacing::column});
}

template <class Row>
void append_csv_names(std::string& out, const std::vector<const exporters::Field<Row>*>& columns) {
    bool first = true;
    for (const exporters::Field<Row>* column : columns) {
        out += fmt::format("{}{}", first ? "" : ",", column->path);
        first = false;
    }
    out += '\n';
}

template <class Row>
void append_csv_values(std::string& out, const std::vector<const exporters::Field<Row>*>& columns, const Row& row) {
    bool first = true;
    for (const exporters::Field<Row>* column : columns) {
        if (!first) out += ',';
        first = false;
        exporters::append_csv(out, column->value(row));
    }
    out += '\n';
}

}  // namespace cli::io
