#include "exporters/filter/flow_filter.h"

#include <fmt/format.h>
#include <vector>

#include "exporters/filter/column_filter.h"

namespace exporters::filter {

namespace {

/// Every column of flows.
struct Columns {
    std::vector<const FlowField*> fields = {};
    std::vector<bool> are_paces = {};  ///< is_pace()
};
const Columns& columns() {
    static const Columns all = [] {
        Columns made;
        for (const auto* part : {&brief_fields(), &flow_fields(), &interval_fields()})
            for (const FlowField& field : *part) {
                made.fields.push_back(&field);
                made.are_paces.push_back(is_pace(field));
            }
        return made;
    }();
    return all;
}
const FilterColumns& filter_columns() {
    static const FilterColumns all = [] {
        std::vector<FilterColumn> made;
        for (const FlowField* field : columns().fields) made.push_back({field->path, field->title, field->unit});
        return FilterColumns(made);
    }();
    return all;
}

/// Both ends by name and by address, the kind, the operations, what took the most time, and the id.
bool finds_word(const FlowRow& row, const std::string& word) {
    for (const metrics::Endpoint* end : {&row.flow.source, &row.flow.destination}) {
        if (holds_word(endpoint_text(*end, row.context.names), word)) return true;
        if (row.context.names != nullptr && holds_word(endpoint_text(*end, nullptr), word)) return true;
    }
    static const std::vector<const FlowField*> shown = [] {
        std::vector<const FlowField*> fields;
        for (const char* name : {"kind", "operations", "top_state"}) fields.push_back(find_fields(name).front());
        return fields;
    }();
    for (const FlowField* field : shown) {
        const Value value = field->value(row);
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && holds_word(*text, word)) return true;
    }
    return word == fmt::to_string(row.flow.id);
}

}  // namespace

base::Result<FlowFilter> FlowFilter::compile(std::string_view text) {
    if (text.empty()) return FlowFilter{};  // needs no table of columns
    auto filter = ColumnFilter::compile(text, filter_columns());
    if (!filter) return base::Failure{filter.error()};
    FlowFilter out;
    out.filter_ = std::move(*filter);
    return out;
}

bool FlowFilter::matches(const FlowRow& row, bool idle) {
    if (filter_.everything()) return true;
    if (!filter_.word().empty()) return finds_word(row, filter_.word());
    return filter_.matches([&row, idle](std::size_t place) {
        return idle && columns().are_paces[place] ? Value{} : columns().fields[place]->value(row);
    });
}

}  // namespace exporters::filter
