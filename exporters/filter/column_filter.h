#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "dissect/registry.h"
#include "exporters/value.h"

namespace exporters::filter {

/// A column that an expression may compare.
struct FilterColumn {
    std::string_view name;
    std::string_view title;
    Unit unit = Unit::text;
};

/// The columns of one kind of row, as names of the filter's language. The names' texts have to outlive it.
class FilterColumns {
public:
    explicit FilterColumns(std::span<const FilterColumn> columns);
    FilterColumns(const FilterColumns&) = delete;
    FilterColumns& operator=(const FilterColumns&) = delete;

    const std::vector<dissect::FieldOfTable>& table() const { return table_; }
    const dissect::FieldRegistry& registry() const { return registry_; }

private:
    std::vector<dissect::FieldOfTable> table_;
    dissect::FieldRegistry registry_;
};

/// Chooses rows by an expression of `dump -Y`'s language over their columns: `errors > 0 && p99 > 1ms`. Numbers may
/// have the units of number_forms.h; plain ones are in the column's own unit. A row without a value in a column does
/// not satisfy any comparison with it. A single word that is not a column, or a text in quotes, is searched for in the
/// columns of text, in any case.
class ColumnFilter {
public:
    /// An empty text passes every row. The error says what is wrong, at which place of the text, and which names are
    /// similar. `columns` has to outlive the filter.
    static base::Result<ColumnFilter> compile(std::string_view text, const FilterColumns& columns);

    ColumnFilter();
    ~ColumnFilter();
    ColumnFilter(ColumnFilter&&) noexcept;
    ColumnFilter& operator=(ColumnFilter&&) noexcept;

    bool everything() const { return state_ == nullptr; }
    /// The word to look for, in lower case; empty if the text is an expression.
    const std::string& word() const;
    /// `value_of` is called with the places of columns.
    bool matches(const std::function<Value(std::size_t)>& value_of);

private:
    struct State;
    explicit ColumnFilter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Whether a text has a word of ColumnFilter::word(), in any case.
bool holds_word(std::string_view text, std::string_view word);

}  // namespace exporters::filter
