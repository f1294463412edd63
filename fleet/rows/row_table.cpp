#include "fleet/rows/row_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.h"

namespace fleet::rows {
namespace {

constexpr std::int64_t hour_seconds = 3600;

/// Little-endian, as all machines that this program runs on are.
template <class T>
void append_number(std::string& out, T value) {
    const std::size_t at = out.size();
    out.resize(at + sizeof value);
    std::memcpy(out.data() + at, &value, sizeof value);
}

/// LEB128.
void append_length(std::string& out, std::uint64_t length) {
    for (; length >= 0x80; length >>= 7) out += static_cast<char>(length | 0x80);
    out += static_cast<char>(length);
}

std::uint64_t unsigned_of(const Cell& cell) {
    if (const auto* number = std::get_if<std::uint64_t>(&cell)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&cell)) return static_cast<std::uint64_t>(*number);
    return 0;
}

template <class T>
void append_list(std::string& out, const Cell& cell) {
    const auto* numbers = std::get_if<Numbers>(&cell);
    append_length(out, numbers == nullptr ? 0 : numbers->size());
    if (numbers == nullptr) return;
    for (const std::uint64_t number : *numbers) append_number(out, static_cast<T>(number));
}

void append_text(std::string& out, const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    append_length(out, text == nullptr ? 0 : text->size());
    if (text != nullptr) out += *text;
}

void append_float(std::string& out, const Cell& cell) {
    const auto* number = std::get_if<double>(&cell);
    append_number(out, number != nullptr && std::isfinite(*number) ? *number : 0.0);
}

void append_cell(std::string& out, Type type, const Cell& cell) {
    switch (type) {
        case Type::u8: return append_number(out, static_cast<std::uint8_t>(unsigned_of(cell)));
        case Type::u16: return append_number(out, static_cast<std::uint16_t>(unsigned_of(cell)));
        case Type::u32:
        case Type::time: return append_number(out, static_cast<std::uint32_t>(unsigned_of(cell)));
        case Type::u64:
        case Type::i64: return append_number(out, unsigned_of(cell));
        case Type::f64: return append_float(out, cell);
        case Type::text:
        case Type::label: return append_text(out, cell);
        case Type::u32_list: return append_list<std::uint32_t>(out, cell);
        case Type::u64_list: return append_list<std::uint64_t>(out, cell);
    }
}

}  // namespace

std::vector<Column> place_columns() {
    return {{"hour", Type::time, Nature::place},
            {"host", Type::label, Nature::place},
            {"boot", Type::u64, Nature::place},
            {"sequence", Type::u32, Nature::place},
            {"end_ns", Type::i64, Nature::place}};
}

std::vector<Column> columns_with_place(std::initializer_list<Column> own) {
    std::vector<Column> columns = place_columns();
    columns.insert(columns.end(), own.begin(), own.end());
    return columns;
}

void append_place(Row& row, const Place& place) {
    const std::int64_t seconds = place.end_ns / base::ns_per_sec;
    row.emplace_back(static_cast<std::uint64_t>(seconds - seconds % hour_seconds));
    row.emplace_back(place.host);
    row.emplace_back(place.boot);
    row.emplace_back(std::uint64_t{place.sequence});
    row.emplace_back(place.end_ns);
}

void set_place(Row& row, const Place& place) {
    Row cells;
    append_place(cells, place);
    std::ranges::move(cells, row.begin());
}

Row before_its_first(const Table& table, Row row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        switch (table.columns[i].nature) {
            case Nature::counter:
            case Nature::estimate:
            case Nature::restarting: row[i] = std::uint64_t{0}; break;
            case Nature::amounts: row[i] = Numbers(); break;
            default: break;
        }
    }
    return row;
}

void clear_notes(const Table& table, Row& row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].nature == Nature::note) std::visit([](auto& value) { value = {}; }, row[i]);
}

void set_begins(const Table& table, Row& row, std::uint8_t begins) {
    if (table.rolls_up) row.back() = std::uint64_t{begins};
}

void append_row_binary(std::string& out, const Table& table, const Row& row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) append_cell(out, table.columns[i].type, row[i]);
}

std::string column_list(const Table& table) {
    std::string names;
    for (const Column& column : table.columns) {
        if (!names.empty()) names += ',';
        names += column.name;
    }
    return names;
}

}  // namespace fleet::rows
