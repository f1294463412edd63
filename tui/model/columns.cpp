#include "tui/model/columns.h"

#include <algorithm>
#include <iterator>

namespace tui::inline model {

namespace {

struct Usual {
    const char* name;
    const char* title;
    const char* field;
    CellForm form;
    unsigned least_width;
    unsigned weight;
};

/// From left to right. On 80 columns there is room for those of weight 0.
constexpr Usual usual_table[] = {
    {"id", "id", "id", CellForm::field, 4, 11},
    {"kind", "kind", "kind", CellForm::field, 8, 7},
    {"flow", "source > destination", "flow", CellForm::ends, 25, 0},
    {"cause", "cause", "cause", CellForm::cause, 10, 0},
    {"operations", "operations", "operations", CellForm::mix, 10, 8},
    {"goodput", "goodput", "goodput", CellForm::field, 10, 0},
    {"wire_bytes", "bytes", "wire_bytes", CellForm::field, 7, 2},
    {"packets", "packets", "packets", CellForm::field, 7, 7},
    {"message_rate", "msg/s", "message_rate", CellForm::field, 5, 4},
    {"latency_p50", "p50", "latency_p50", CellForm::field, 6, 5},
    {"latency_p99", "p99", "latency_p99", CellForm::field, 6, 1},
    {"depth", "depth", "depth", CellForm::field, 6, 3},
    {"depth_used", "used", "depth_used", CellForm::field, 5, 10},
    {"resent", "resent", "resent", CellForm::field, 6, 2},
    {"nak_rnr", "NAK/RNR", "nak_rnr", CellForm::field, 7, 6},
    {"ce_cnp", "CE/CNP", "ce_cnp", CellForm::field, 6, 6},
    {"stalled", "stalled", "stalled", CellForm::field, 7, 9},
    {"time", "time", "stalled", CellForm::states, 8, 0},
};

struct EmphasisRow {
    std::string_view family;  ///< of fields
    Emphasis emphasis;
};
constexpr EmphasisRow emphases[] = {
    {"resent", Emphasis::resent},
    {"retransmitted_packets", Emphasis::resent},
    {"latency_p99", Emphasis::latency_tail},
    {"nak_rnr", Emphasis::nak_rnr},
    {"depth", Emphasis::depth},
    {"timeouts", Emphasis::bad},
    {"missing_packets", Emphasis::warning},
    {"duplicate_packets", Emphasis::warning},
    {"reordered_packets", Emphasis::warning},
    {"unseen_acknowledged_packets", Emphasis::warning},
    {"rnr_naks", Emphasis::warning},
    {"credits.exhausted", Emphasis::warning},
    {"ce_cnp", Emphasis::warning},
    {"ecn_ce_packets", Emphasis::warning},
    {"cnp_packets", Emphasis::warning},
    {"icrc_bad", Emphasis::bad},
    {"crc_bad", Emphasis::bad},
    {"terminates", Emphasis::bad},
    {"naks.CODE", Emphasis::bad},
    {"tcp.retransmitted_segments", Emphasis::warning},
    {"tcp.zero_windows", Emphasis::warning},
};

Emphasis emphasis_of(const exporters::FlowField& field) {
    if (field.statistic == exporters::Statistic::p99) return Emphasis::latency_tail;
    const auto* const row = std::ranges::find(emphases, field.family, &EmphasisRow::family);
    return row == std::end(emphases) ? Emphasis::none : row->emphasis;
}

unsigned usual_width(exporters::Unit unit) {
    switch (unit) {
        case exporters::Unit::bytes_per_sec:
        case exporters::Unit::bits_per_sec: return 10;
        case exporters::Unit::ns: return 6;
        case exporters::Unit::bytes: return 7;
        default: return 5;
    }
}

std::vector<Column> make_usual() {
    std::vector<Column> columns;
    for (const Usual& row : usual_table) {
        const exporters::FlowColumns fields = exporters::find_fields(row.field);
        const exporters::FlowField* field = fields.front();
        columns.push_back({row.name, row.title, row.form, field,
                           exporters::is_left_aligned(field->unit) || row.form != CellForm::field, row.least_width,
                           emphasis_of(*field), row.weight});
    }
    return columns;
}

}  // namespace

const std::vector<Column>& usual_columns() {
    static const std::vector<Column> columns = make_usual();
    return columns;
}

std::optional<Column> column_named(std::string_view name) {
    for (const Column& column : usual_columns())
        if (column.name == name) return column;
    const exporters::FlowColumns fields = exporters::find_fields(name);
    if (fields.size() != 1) return {};
    const exporters::FlowField* field = fields.front();
    // A group of one column is no name of the column; a heading is.
    if (field->path != name && field->path.starts_with(name)) return {};
    for (const Column& column : usual_columns())
        if (column.name == field->path) return column;
    const auto width = std::max(usual_width(field->unit), static_cast<unsigned>(field->title.size()));
    return Column{field->path,
                  field->title,
                  CellForm::field,
                  field,
                  exporters::is_left_aligned(field->unit),
                  width,
                  emphasis_of(*field),
                  1};
}

std::vector<Column> columns_of(std::span<const std::string> names) {
    std::vector<Column> columns;
    for (const std::string& name : names) {
        auto column = column_named(name);
        const auto same = [&](const Column& other) { return other.name == column->name; };
        if (column && std::none_of(columns.begin(), columns.end(), same)) columns.push_back(std::move(*column));
    }
    return columns.empty() ? usual_columns() : columns;
}

}  // namespace tui::model
