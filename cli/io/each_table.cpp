#include "cli/io/each_table.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "cli/io/words.h"
#include "exporters/command_json.h"
#include "exporters/field_builder.h"

namespace cli::io {

namespace {

using exporters::Unit;
using exporters::Value;
using metrics::CommandRecord;
using Each = EachTable::Row;

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

std::optional<std::uint64_t> frame_or_none(std::uint64_t frame) {
    return frame == 0 ? std::nullopt : std::optional(frame);
}

using EachBuilder = exporters::FieldBuilder<Each>;

/// A column of text, `-` where it is empty.
template <class Of>
void text(EachBuilder& out, std::string path, std::string help, Of of) {
    std::string title = path;
    out.add(std::move(path), {}, std::move(title), Unit::text, std::move(help),
            [of](const Each& row) { return text_or_none(of(row)); });
}

/// A column of a number that the table prints as it is.
template <class Of>
void number(EachBuilder& out, std::string path, Unit unit, std::string help, Of of) {
    std::string title = path;
    exporters::Field<Each>& column =
        out.add(std::move(path), {}, std::move(title), unit, std::move(help),
                [of](const Each& row) { return exporters::value(std::optional(std::invoke(of, row.record))); });
    column.text = [value = column.value](const Each& row) { return exporters::readable(value(row), Unit::count); };
}

/// A column of a duration.
template <class Of>
void duration(EachBuilder& out, std::string path, std::string title, std::string help, Of of) {
    exporters::Field<Each>& column =
        out.add(std::move(path), {}, std::move(title), Unit::ns, std::move(help),
                [of](const Each& row) { return exporters::value(std::optional<std::uint64_t>(of(row.record))); });
    column.text = [of](const Each& row) {
        const std::optional<std::uint64_t> ns = of(row.record);
        return ns ? duration_cell(*ns) : "-";
    };
}

/// What the table combines of several columns.
void add_brief(EachBuilder& out) {
    out.add("frames", {}, "frames", Unit::frame, "frames of the request, of data, of the response",
            [](const Each& row) { return exporters::value(frame_or_none(row.record.request_first_frame)); })
        .text = [](const Each& row) { return frames_cell(row.record); };
    out.add("ends", {}, "initiator > target", Unit::text, "both ends of the connection",
            [](const Each& row) { return row.ends; });
    duration(out, "repair_ns", "repair", "time within repairs of lost packets",
             [](const CommandRecord& record) { return std::optional(record.repair_own_ns + record.repair_behind_ns); });
}

void add_identity(EachBuilder& out) {
    out.add("connection", {}, "connection", Unit::code, "number of the connection in the capture",
            [](const Each& row) { return row.connection; });
    number(out, "number", Unit::code, "number of the command on the connection", &CommandRecord::number);
    text(out, "protocol", "upper layer", [](const Each& row) { return row.protocol; });
    text(out, "kind", "kind of command", [](const Each& row) { return row.record.kind; });
    text(out, "id", "identifier, as the protocol prints it", [](const Each& row) { return row.record.id; });
    text(out, "target", "what it is for: namespace, unit, file", [](const Each& row) { return row.record.target; });
    text(out, "end", "answered, orphan, replaced, unanswered, given_up",
         [](const Each& row) { return row.record.end; });
    text(out, "status", "status of the response", [](const Each& row) { return row.record.status; });
    // People see what became of a command without a response.
    const auto status = [](const Each& row) { return row.record.status.empty() ? row.record.end : row.record.status; };
    out.all.back().rank = status;
    out.all.back().text = status;
    text(out, "error", "class of the error", [](const Each& row) { return row.record.error; });
}

void add_data(EachBuilder& out) {
    using Record = CommandRecord;
    number(out, "bytes", Unit::bytes, "what it asked for, or brought along", &Record::bytes);
    number(out, "advertised_bytes", Unit::bytes, "memory that the target may use", &Record::advertised_bytes);
    number(out, "inline_bytes", Unit::bytes, "data inside the request", &Record::inline_bytes);
    number(out, "moved_in_bytes", Unit::bytes, "data that the target wrote", &Record::moved_in_bytes);
    number(out, "moved_out_bytes", Unit::bytes, "data that the target read", &Record::moved_out_bytes);
    number(out, "first_block", Unit::code, "first block, or first byte of a file", &Record::first_block);
    number(out, "block_count", Unit::count, "number of blocks", &Record::block_count);
    number(out, "operations", Unit::count, "operations of RDMA that moved data", &Record::operations);
    number(out, "open", Unit::count, "commands open when it was asked, with it", &Record::open_with_it);
}

void add_frames(EachBuilder& out) {
    constexpr std::array<std::pair<const char*, std::uint64_t CommandRecord::*>, 5> frames{
        {{"request_frame", &CommandRecord::request_first_frame},
         {"request_last_frame", &CommandRecord::request_last_frame},
         {"data_first_frame", &CommandRecord::data_first_frame},
         {"data_last_frame", &CommandRecord::data_last_frame},
         {"response_frame", &CommandRecord::response_frame}}};
    for (const auto& [path, member] : frames)
        out.add(path, {}, path, Unit::frame, "number of the frame",
                [member = member](const Each& row) { return exporters::value(frame_or_none(row.record.*member)); });
}

void add_times(EachBuilder& out) {
    out.add("start_ns", {}, "start_ns", Unit::time, "time of the request's first packet, ns since 1970",
            [](const Each& row) { return row.record.begin_ns; });
    duration(out, "latency_ns", "latency", "from the request's first packet to the response's last",
             [](const CommandRecord& record) { return record.latency_ns; });
    constexpr std::array<const char*, metrics::command_part_count> titles{"request", "before", "data", "after",
                                                                          "response"};
    for (std::size_t i = 0; i < metrics::command_part_count; ++i)
        duration(out, fmt::format("{}_ns", metrics::command_part_names[i]), titles[i], "part of the latency",
                 [i](const CommandRecord& record) {
                     return record.latency_ns ? std::optional(record.parts_ns[i]) : std::nullopt;
                 });
    duration(out, "request_ack_ns", "request_ack_ns", "until the request was acknowledged",
             [](const CommandRecord& record) { return record.request_ack_ns; });
    duration(out, "repair_own_ns", "repair_own_ns", "within repairs of its own packets",
             [](const CommandRecord& record) { return std::optional(record.repair_own_ns); });
    duration(out, "repair_behind_ns", "repair_behind_ns", "held up by repairs of other commands",
             [](const CommandRecord& record) { return std::optional(record.repair_behind_ns); });
}

constexpr std::array<std::string_view, 16> each_table_names{
    "frames", "connection", "protocol",        "kind",        "id",     "target", "bytes", "latency", "request_ns",
    "before", "data_ns",    "target_after_ns", "response_ns", "repair", "open",   "status"};

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
    exporters::add_command_frames(object, record);
    object["start_ns"] = record.begin_ns;
    object["latency_ns"] = known(record.latency_ns);
    nlohmann::ordered_json parts(nullptr);
    if (record.latency_ns)
        for (std::size_t i = 0; i < metrics::command_part_count; ++i)
            parts[std::string(metrics::command_part_names[i])] = record.parts_ns[i];
    object["parts_ns"] = std::move(parts);
    object["request_ack_ns"] = known(record.request_ack_ns);
    object["repair_ns"] = {{"own", record.repair_own_ns}, {"behind", record.repair_behind_ns}};
    return object;
}

}  // namespace

const ColumnSet<EachTable::Row>& each_columns() {
    static const ColumnSet<Each> all = [] {
        EachBuilder made;
        add_brief(made);
        const std::size_t first_of_csv = made.all.size();
        for (const auto add : {add_identity, add_data, add_frames, add_times}) add(made);
        return ColumnSet<Each>(std::move(made.all), first_of_csv, each_table_names);
    }();
    return all;
}

EachTable::EachTable(const IoOptions& options, const analysis::Names& names, TextOutput& output)
    : options_(options), names_(names), output_(output) {
    std::string error;
    columns_ = each_columns().choose(options.columns, error);
    if (columns_.empty()) columns_ = options.form == Form::csv ? each_columns().of_csv() : each_columns().of_table();
    if (auto filter = each_columns().filter(options.filter)) filter_ = std::move(*filter);
}

void EachTable::add(const metrics::CommandConnectionFigures& connection, const metrics::CommandRecord& record) {
    if (ends_of_ != connection.number) {
        ends_of_ = connection.number;
        ends_ = ends_text(connection, names_);
    }
    Row row{connection.number, connection.protocol, ends_, record};
    const bool passes = filter_.matches([&row](std::size_t place) { return each_columns().value(place, row); });
    hides_all_ = !passes && (hides_all_ || !any_seen_);
    any_seen_ = true;
    if (!passes) return;
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
        case Form::csv: append_csv_names(output_.text(), columns_); return;
        case Form::json: return;
        case Form::table: break;
    }
    std::vector<exporters::Table::Heading> headings;
    headings.reserve(columns_.size());
    constexpr std::size_t usual_frames_width = 20;
    for (const exporters::Field<Row>* column : columns_) {
        const bool is_frames = column->path == "frames";
        headings.push_back(
            {column->title, is_frames || exporters::is_left_aligned(column->unit), is_frames ? usual_frames_width : 0});
    }
    table_.emplace(std::move(headings));
}

void EachTable::print(const Row& row) {
    begin();
    switch (options_.form) {
        case Form::csv: append_csv_values(output_.text(), columns_, row); break;
        case Form::json: (output_.text() += json_of(row).dump()) += '\n'; break;
        case Form::table: {
            std::vector<std::string> cells;
            cells.reserve(columns_.size());
            for (const exporters::Field<Row>* column : columns_) cells.push_back(column_cell(*column, row));
            table_->add(std::move(cells));
            break;
        }
    }
    any_ = true;
    output_.settle();
}

bool EachTable::finish() {
    const std::string_view order = options_.sort.empty() ? std::string_view("latency") : options_.sort;
    ColumnOrder<Row>(each_columns(), order).order(rows_);
    if (options_.top && rows_.size() > *options_.top) rows_.resize(*options_.top);
    for (const Row& row : rows_) print(row);
    begin();
    if (table_ && any_) table_->flush(output_.text());
    return output_.flush();
}

}  // namespace cli::io
