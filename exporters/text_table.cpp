#include "exporters/text_table.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace exporters {

namespace {

constexpr std::size_t between = 2;  ///< blanks between columns

/// The columns for people from left to right, and the order in which they are dropped.
struct Choice {
    std::string_view name;
    int importance;
    bool of_intervals = false;  ///< only where rows are intervals
    bool if_any = false;        ///< only if a row has a value
};
constexpr std::array choices{
    Choice{"interval.start_ns", 100, true},
    Choice{"id", 7},
    Choice{"kind", 3},
    Choice{"flow", 99},
    Choice{"cause", 20},
    Choice{"operations", 14},
    Choice{"message_count", 9},
    Choice{"wire_bytes", 12},
    Choice{"packets", 6},
    Choice{"goodput", 15},
    Choice{"latency_p50", 8},
    Choice{"latency_p99", 11},
    Choice{"depth", 5},
    Choice{"resent", 13},
    Choice{"nak_rnr", 10},
    Choice{"ce_cnp", 4},
    Choice{"top_state", 16},
    Choice{"upper", 17, false, true},
};

bool is_blank_figure(const std::string& text) { return text.find_first_not_of("-0/") == std::string::npos; }

struct Column {
    const FlowField* field;
    int importance;
    std::size_t width;
};

/// The most important one, and in turn every other that there is still room for; they stay in their order.
void keep_what_fits(std::vector<Column>& columns, std::size_t room) {
    std::vector<int> importances;
    importances.reserve(columns.size());
    for (const Column& column : columns) importances.push_back(column.importance);
    std::sort(importances.rbegin(), importances.rend());
    std::vector<Column> kept;
    std::size_t used = 0;
    for (const int importance : importances)
        for (const Column& column : columns) {
            if (column.importance != importance) continue;
            if (!kept.empty() && used + column.width + between > room) continue;
            used += column.width + between;
            kept.push_back(column);
        }
    std::erase_if(columns, [&](const Column& column) {
        return std::none_of(kept.begin(), kept.end(), [&](const Column& k) { return k.field == column.field; });
    });
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

Table::Table(std::vector<Heading> headings) : headings_(std::move(headings)) {
    for (const Heading& heading : headings_)
        widths_.push_back(std::max(heading.min_width, display_width(heading.title)));
}

void Table::widen(const std::vector<std::string>& cells) {
    assert(cells.size() == headings_.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t width = display_width(cells[i]);
        if (width <= widths_[i]) continue;
        widths_[i] = width;
        titles_due_ = true;
    }
}

void Table::add(std::vector<std::string> cells) {
    widen(cells);
    rows_.push_back(std::move(cells));
}

void Table::flush(std::string& out) {
    if (titles_due_) {
        std::vector<std::string> titles;
        for (const Heading& heading : headings_) titles.push_back(heading.title);
        append_line(out, titles);
    }
    titles_due_ = false;
    for (const auto& row : rows_) append_line(out, row);
    rows_.clear();
}

void Table::append_line(std::string& out, const std::vector<std::string>& cells) const {
    std::size_t blanks = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t room = widths_[i] - display_width(cells[i]);
        if (!headings_[i].left_aligned) blanks += room;
        if (!cells[i].empty()) {
            out.append(blanks, ' ');
            out += cells[i];
            blanks = 0;
        }
        if (headings_[i].left_aligned) blanks += room;
        blanks += between;
    }
    out += '\n';
}

std::string cell(const FlowField& field, const FlowRow& row, base::Charset charset) {
    return field.text ? field.text(row) : readable(field.value(row), field.unit, {base::Spacing::column, charset});
}

Table flow_table(const FlowColumns& columns, bool growing) {
    const auto usual_width = [](Unit unit) -> std::size_t {
        switch (unit) {
            case Unit::bytes_per_sec: return 10;
            case Unit::bytes: return 7;
            case Unit::ns: return 6;
            case Unit::count:
            case Unit::ratio: return 5;
            default: return 0;
        }
    };
    std::vector<Table::Heading> headings;
    for (const FlowField* field : columns)
        headings.push_back(
            {field->title, is_left_aligned(field->unit), growing ? usual_width(field->unit) : std::size_t{0}});
    return Table(std::move(headings));
}

FlowColumns csv_columns(bool by_interval) {
    FlowColumns columns;
    const auto add = [&columns](std::string_view name) { columns.push_back(find_fields(name).front()); };
    // The form of a time that people read says too little, ns since 1970 too much: spreadsheets round it.
    if (by_interval) {
        add("interval.start_offset_seconds");
        add("interval.start_time");
    }
    for (const Choice& choice : choices)
        if (!choice.of_intervals && !choice.if_any) add(choice.name);
    return columns;
}

FlowColumns default_columns(const std::vector<FlowRow>& rows, bool by_interval, std::optional<std::size_t> width) {
    std::vector<Column> columns;
    std::size_t total = 0;
    for (const Choice& choice : choices) {
        if (choice.of_intervals && !by_interval) continue;
        const FlowColumns found = find_fields(choice.name);
        assert(found.size() == 1);
        Column column{found.front(), choice.importance, display_width(found.front()->title)};
        bool silent = true;
        for (const FlowRow& row : rows) {
            const std::string text = cell(*column.field, row);
            column.width = std::max(column.width, display_width(text));
            silent = silent && is_blank_figure(text);
        }
        if (silent && choice.if_any) continue;
        if (silent) column.importance -= 1000;
        total += column.width + between;
        columns.push_back(column);
    }
    if (width && total > *width + between) keep_what_fits(columns, *width + between);
    FlowColumns chosen;
    for (const Column& column : columns) chosen.push_back(column.field);
    return chosen;
}

}  // namespace exporters
