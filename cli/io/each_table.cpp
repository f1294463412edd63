#include "cli/io/each_table.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/similar.h"
#include "cli/io/words.h"

namespace cli::io {

namespace {

using Each = EachTable::Row;
using Part = std::size_t;

std::string duration_cell(std::uint64_t ns) {
    return ns == 0 ? "0" : base::format_duration(static_cast<double>(ns), {base::Spacing::column});
}

std::string frame_range(std::uint64_t first, std::uint64_t last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

/// "745, 747-1000 > 1001": request, data, response.
std::string frames_cell(const metrics::CommandRecord& record) {
    std::string text =
        record.request_last_frame == 0 ? "?" : frame_range(record.request_first_frame, record.request_last_frame);
    if (record.operations != 0) text += ", " + frame_range(record.data_first_frame, record.data_last_frame);
    if (record.response_frame != 0) text += fmt::format(" > {}", record.response_frame);
    return text;
}

/// A column of the table: a number, which is ordered and printed as a quantity, or a text.
struct EachColumn {
    std::string_view name;
    std::optional<std::uint64_t> (*number)(const Each&);
    std::string (*text)(const Each&);  ///< of the table's cell
};

template <std::uint64_t metrics::CommandRecord::*Member>
std::optional<std::uint64_t> member_number(const Each& row) {
    return row.record.*Member;
}
template <Part part>
std::optional<std::uint64_t> part_number(const Each& row) {
    if (!row.record.latency_ns) return std::nullopt;
    return row.record.parts_ns[part];
}
template <Part part>
std::string part_cell(const Each& row) {
    return row.record.latency_ns ? duration_cell(row.record.parts_ns[part]) : "-";
}

const std::array each_columns{
    EachColumn{"frames", [](const Each& row) { return std::optional(row.record.request_first_frame); },
               [](const Each& row) { return frames_cell(row.record); }},
    EachColumn{"connection", [](const Each& row) { return std::optional(row.connection); },
               [](const Each& row) { return fmt::format("{}", row.connection); }},
    EachColumn{"protocol", nullptr, [](const Each& row) { return row.protocol; }},
    EachColumn{"kind", nullptr, [](const Each& row) { return row.record.kind.empty() ? "-" : row.record.kind; }},
    EachColumn{"id", nullptr, [](const Each& row) { return row.record.id; }},
    EachColumn{"target", nullptr, [](const Each& row) { return row.record.target.empty() ? "-" : row.record.target; }},
    EachColumn{"bytes", [](const Each& row) { return row.record.bytes; },
               [](const Each& row) { return row.record.bytes ? fmt::format("{}", *row.record.bytes) : "-"; }},
    EachColumn{"latency", [](const Each& row) { return row.record.latency_ns; },
               [](const Each& row) { return row.record.latency_ns ? duration_cell(*row.record.latency_ns) : "-"; }},
    EachColumn{"request", part_number<0>, part_cell<0>},
    EachColumn{"before", part_number<1>, part_cell<1>},
    EachColumn{"data", part_number<2>, part_cell<2>},
    EachColumn{"after", part_number<3>, part_cell<3>},
    EachColumn{"response", part_number<4>, part_cell<4>},
    EachColumn{"repair",
               [](const Each& row) { return std::optional(row.record.repair_own_ns + row.record.repair_behind_ns); },
               [](const Each& row) { return duration_cell(row.record.repair_own_ns + row.record.repair_behind_ns); }},
    EachColumn{"open", [](const Each& row) { return std::optional<std::uint64_t>(row.record.open_with_it); },
               [](const Each& row) { return fmt::format("{}", row.record.open_with_it); }},
    EachColumn{"status", nullptr,
               [](const Each& row) { return row.record.status.empty() ? row.record.end : row.record.status; }},
};

bool is_text(const EachColumn& column) { return column.number == nullptr || column.name == "frames"; }

const EachColumn* find_column(std::string_view name) {
    for (const EachColumn& column : each_columns)
        if (column.name == name) return &column;
    return nullptr;
}

/// Numbers begin with the greatest, texts at A; what is not known comes last.
void order_rows(std::vector<Each>& rows, std::string_view sort) {
    const bool reverse = sort.starts_with('-');
    if (reverse) sort.remove_prefix(1);
    const EachColumn* column = find_column(sort);
    if (column == nullptr) return;
    std::stable_sort(rows.begin(), rows.end(), [&](const Each& one, const Each& two) {
        if (column->number == nullptr) {
            const int order = column->text(one).compare(column->text(two));
            return reverse ? order > 0 : order < 0;
        }
        const auto first = column->number(one);
        const auto second = column->number(two);
        if (!first || !second) return first.has_value() && !second;
        return reverse ? *first < *second : *first > *second;
    });
}

template <class Number>
void append_csv_number(std::string& out, const std::optional<Number>& number) {
    out += ',';
    if (number) out += fmt::format("{}", *number);
}

std::optional<std::uint64_t> frame_or_none(std::uint64_t frame) {
    return frame == 0 ? std::nullopt : std::optional(frame);
}

constexpr std::string_view csv_header =
    "connection,number,protocol,kind,id,target,end,status,error,bytes,advertised_bytes,inline_bytes,moved_in_bytes,"
    "moved_out_bytes,first_block,block_count,operations,open,request_first_frame,request_last_frame,data_first_frame,"
    "data_last_frame,response_frame,begin_ns,latency_ns,request_ns,target_before_ns,data_ns,target_after_ns,"
    "response_ns,request_ack_ns,repair_own_ns,repair_behind_ns\n";

void append_csv_row(std::string& out, const Each& row) {
    const metrics::CommandRecord& record = row.record;
    out += fmt::format("{},{},{},{},{},{},{},{},{}", row.connection, record.number, row.protocol, record.kind,
                       record.id, csv_text(record.target), record.end, csv_text(record.status), record.error);
    append_csv_number(out, record.bytes);
    out += fmt::format(",{},{},{},{}", record.advertised_bytes, record.inline_bytes, record.moved_in_bytes,
                       record.moved_out_bytes);
    append_csv_number(out, record.first_block);
    append_csv_number(out, record.block_count);
    out += fmt::format(",{},{}", record.operations, record.open_with_it);
    for (const std::uint64_t frame : {record.request_first_frame, record.request_last_frame, record.data_first_frame,
                                      record.data_last_frame, record.response_frame})
        append_csv_number(out, frame_or_none(frame));
    out += fmt::format(",{}", record.begin_ns);
    append_csv_number(out, record.latency_ns);
    for (const std::uint64_t part : record.parts_ns)
        append_csv_number(out, record.latency_ns ? std::optional(part) : std::nullopt);
    append_csv_number(out, record.request_ack_ns);
    out += fmt::format(",{},{}\n", record.repair_own_ns, record.repair_behind_ns);
}

template <class Number>
nlohmann::ordered_json known(const std::optional<Number>& number) {
    return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}
nlohmann::ordered_json known_text(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

nlohmann::ordered_json json_of(const Each& row) {
    const metrics::CommandRecord& record = row.record;
    nlohmann::ordered_json object{{"connection", row.connection},
                                  {"number", record.number},
                                  {"protocol", row.protocol},
                                  {"kind", known_text(record.kind)},
                                  {"id", record.id},
                                  {"target", known_text(record.target)},
                                  {"end", record.end},
                                  {"status", known_text(record.status)},
                                  {"error", known_text(record.error)},
                                  {"bytes", known(record.bytes)},
                                  {"advertised_bytes", record.advertised_bytes},
                                  {"inline_bytes", record.inline_bytes},
                                  {"moved_in_bytes", record.moved_in_bytes},
                                  {"moved_out_bytes", record.moved_out_bytes},
                                  {"first_block", known(record.first_block)},
                                  {"block_count", known(record.block_count)},
                                  {"operations", record.operations},
                                  {"open", record.open_with_it}};
    object["frames"] = {{"request_first", known(frame_or_none(record.request_first_frame))},
                        {"request_last", known(frame_or_none(record.request_last_frame))},
                        {"data_first", known(frame_or_none(record.data_first_frame))},
                        {"data_last", known(frame_or_none(record.data_last_frame))},
                        {"response", known(frame_or_none(record.response_frame))}};
    object["begin_ns"] = record.begin_ns;
    object["latency_ns"] = known(record.latency_ns);
    nlohmann::ordered_json parts(nullptr);
    if (record.latency_ns)
        for (std::size_t i = 0; i < metrics::command_part_count; ++i)
            parts[std::string(metrics::command_part_names[i])] = record.parts_ns[i];
    object["parts_ns"] = std::move(parts);
    object["request_ack_ns"] = known(record.request_ack_ns);
    object["repair_own_ns"] = record.repair_own_ns;
    object["repair_behind_ns"] = record.repair_behind_ns;
    return object;
}

}  // namespace

std::string unknown_order(const std::string& sort) {
    std::string_view name = sort;
    if (name.starts_with('-')) name.remove_prefix(1);
    if (name.empty() || find_column(name) != nullptr) return {};
    std::vector<std::string_view> names;
    std::string list;
    for (const EachColumn& column : each_columns) {
        names.push_back(column.name);
        (list += list.empty() ? "" : ", ") += column.name;
    }
    return fmt::format("--sort {}: there is no such column{}; columns are {}", name, base::did_you_mean(name, names),
                       list);
}

EachTable::EachTable(const IoOptions& options, const analysis::Names& names, TextOutput& output)
    : options_(options), names_(names), output_(output) {}

void EachTable::add(const metrics::CommandConnectionFigures& connection, const metrics::CommandRecord& record) {
    if (ends_of_ != connection.number) {
        ends_of_ = connection.number;
        ends_ = ends_text(connection, names_);
    }
    Row row{connection.number, connection.protocol, ends_, record};
    const bool orders = options_.top || !options_.sort.empty();
    if (orders)
        rows_.push_back(std::move(row));
    else
        print(row);
}

void EachTable::begin() {
    if (begun_) return;
    begun_ = true;
    switch (options_.form) {
        case Form::csv: output_.text() += csv_header; return;
        case Form::json: output_.text() += "{\"commands\":["; return;
        case Form::table: break;
    }
    std::vector<exporters::Table::Heading> headings;
    headings.reserve(std::size(each_columns));
    for (const EachColumn& column : each_columns)
        headings.push_back({std::string(column.name), is_text(column), column.name == "frames" ? 20u : 0u});
    table_.emplace(std::move(headings));
}

void EachTable::print(const Row& row) {
    begin();
    switch (options_.form) {
        case Form::csv: append_csv_row(output_.text(), row); break;
        case Form::json:
            if (any_) output_.text() += ',';
            (output_.text() += '\n') += json_of(row).dump();
            break;
        case Form::table: {
            std::vector<std::string> cells;
            cells.reserve(std::size(each_columns));
            for (const EachColumn& column : each_columns) cells.push_back(column.text(row));
            table_->add(std::move(cells));
            break;
        }
    }
    any_ = true;
    output_.settle();
}

bool EachTable::finish() {
    const std::string_view order = options_.sort.empty() ? std::string_view("latency") : options_.sort;
    if (!rows_.empty()) order_rows(rows_, order);
    if (options_.top && rows_.size() > *options_.top) rows_.resize(*options_.top);
    for (const Row& row : rows_) print(row);
    begin();
    if (options_.form == Form::json) output_.text() += any_ ? "\n]}\n" : "]}\n";
    if (table_ && any_) table_->flush(output_.text());
    return output_.flush();
}

}  // namespace cli::io
