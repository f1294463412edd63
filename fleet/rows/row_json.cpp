#include "fleet/rows/row_json.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace fleet::rows {
namespace {

/// Takes values from the beginning of RowBinary.
class Reader {
public:
    explicit Reader(std::string_view rest) : rest_(rest) {}

    bool at_end() const { return rest_.empty(); }

    template <class Number>
    std::optional<Number> number() {
        Number value{};
        if (rest_.size() < sizeof value) return {};
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }
    /// LEB128.
    std::optional<std::uint64_t> length() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = number<std::uint8_t>();
            if (!byte) return {};
            value |= std::uint64_t{*byte & 0x7fu} << shift;
            if ((*byte & 0x80) == 0) return value;
        }
        return {};
    }
    std::optional<std::string_view> text() {
        const auto size = length();
        if (!size || *size > rest_.size()) return {};
        const std::string_view found = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return found;
    }

private:
    std::string_view rest_;
};

template <class Number>
bool append_number(std::string& out, Reader& in) {
    const auto value = in.number<Number>();
    if (value) out += fmt::format("{}", *value);
    return value.has_value();
}

template <class Number>
bool append_list(std::string& out, Reader& in) {
    const auto size = in.length();
    if (!size) return false;
    out += '[';
    for (std::uint64_t i = 0; i < *size; ++i) {
        if (i != 0) out += ',';
        if (!append_number<Number>(out, in)) return false;
    }
    out += ']';
    return true;
}

std::string quoted(std::string_view text) {
    using Json = nlohmann::json;
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool append_value(std::string& out, Type type, Reader& in) {
    switch (type) {
        case Type::u8: return append_number<std::uint8_t>(out, in);
        case Type::u16: return append_number<std::uint16_t>(out, in);
        case Type::u32:
        case Type::time: return append_number<std::uint32_t>(out, in);
        case Type::u64: return append_number<std::uint64_t>(out, in);
        case Type::i64: return append_number<std::int64_t>(out, in);
        case Type::f64: return append_number<double>(out, in);
        case Type::u32_list: return append_list<std::uint32_t>(out, in);
        case Type::u64_list: return append_list<std::uint64_t>(out, in);
        case Type::text:
        case Type::label: break;
    }
    const auto text = in.text();
    if (text) out += quoted(*text);
    return text.has_value();
}

}  // namespace

base::Result<std::vector<Column>> columns_named(const Table& table, std::string_view list) {
    std::vector<Column> columns;
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(','));
        list.remove_prefix(std::min(name.size() + 1, list.size()));
        const auto found = std::ranges::find(table.columns, name, &Column::name);
        if (found == table.columns.end())
            return base::failure(fmt::format("the table {} has no column '{}'", table.name, name));
        columns.push_back(*found);
    }
    return columns;
}

base::Result<void> append_json_lines(std::string& out, std::string_view table, std::span<const Column> columns,
                                     std::string_view binary) {
    Reader in(binary);
    while (!in.at_end()) {
        out += fmt::format("{{\"table\":\"{}\"", table);
        for (const Column& column : columns) {
            out += fmt::format(",\"{}\":", column.name);
            if (!append_value(out, column.type, in)) return base::failure(fmt::format("a row of {} is cut", table));
        }
        out += "}\n";
    }
    return {};
}

}  // namespace fleet::rows
