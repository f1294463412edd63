#include "cli/io/kind_list.h"

namespace cli::io {

KindList::KindList(const IoOptions& options, const analysis::Names& names, const ConnectionChoice& flow)
    : options_(options), names_(names), flow_(flow) {
    std::string error;
    columns_ = kind_columns().choose(options.columns, error);
    if (columns_.empty()) columns_ = options.form == Form::csv ? kind_columns().of_csv() : kind_columns().of_table();
    if (auto filter = kind_columns().filter(options.filter)) filter_ = std::move(*filter);
}

bool KindList::is_asked_for() const { return !options_.columns.empty() || !options_.sort.empty() || options_.top; }

ConnectionFigures KindList::passing(ConnectionFigures connections) {
    std::erase_if(connections, [this](const auto& connection) { return !flow_.has(connection); });
    if (filter_.everything()) return connections;
    const auto is_hidden = [this](const metrics::CommandConnectionFigures& connection,
                                  const metrics::CommandKindFigures& kind) {
        const KindRow row{&connection, &kind, &names_};
        const bool passes = filter_.matches([&row](std::size_t place) { return kind_columns().value(place, row); });
        saw_any_ = true;
        passed_any_ = passed_any_ || passes;
        return !passes;
    };
    for (metrics::CommandConnectionFigures& connection : connections) {
        // The time of a connection is that of all kinds: no heading above some of them has it.
        if (options_.form == Form::table) connection.states_ns = {};
        std::erase_if(connection.kinds, [&](const auto& kind) { return is_hidden(connection, kind); });
    }
    std::erase_if(connections, [](const auto& connection) { return connection.kinds.empty(); });
    return connections;
}

std::vector<KindRow> KindList::rows(const ConnectionFigures& connections) const {
    std::vector<KindRow> rows;
    for (const metrics::CommandConnectionFigures& connection : connections) {
        if (options_.form == Form::csv)
            for (const metrics::CommandKindFigures& kind : connection.kinds)
                rows.push_back({&connection, &kind, &names_});
        else
            for (const metrics::CommandKindFigures* kind : ordered_kinds(connection))
                rows.push_back({&connection, kind, &names_});
    }
    std::string_view order = options_.sort;
    if (order.empty() && options_.top) order = "latency_sum_ns";
    if (!order.empty()) ColumnOrder<KindRow>(kind_columns(), order).order(rows);
    if (options_.top && rows.size() > *options_.top) rows.resize(static_cast<std::size_t>(*options_.top));
    return rows;
}

exporters::Table KindList::table(const std::vector<std::string_view>& before) const {
    return kind_table(before, columns_);
}

std::vector<std::string> KindList::cells(const KindRow& row, std::vector<std::string> before) const {
    for (const exporters::Field<KindRow>* column : columns_) before.push_back(column_cell(*column, row));
    return before;
}

void KindList::append_csv_header(std::string& out) const { append_csv_names(out, columns_); }

void KindList::append_csv(std::string& out, const KindRow& row) const { append_csv_values(out, columns_, row); }

}  // namespace cli::io
