#include "trace/perf/format.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <fmt/core.h>
#include <iterator>
#include <netinet/in.h>

#include "base/ascii.h"
#include "base/file.h"

namespace trace::inline perf {

using base::Failure;
namespace {

constexpr std::size_t max_text = 256 * 1024;
constexpr std::size_t max_fields = 1024;
constexpr std::uint32_t max_record = 64 * 1024;  // perf's raw data has a 16-bit length
constexpr std::string_view blanks = " \t\r";

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

bool is_word(char c) { return base::is_alphanumeric(c) || c == '_'; }

/// The whole of `text` as a number: decimal, or hexadecimal after 0x.
std::optional<std::uint64_t> whole_number(std::string_view text) {
    const bool negative = take_prefix(text, "-");
    const int base = take_prefix(text, "0x") || take_prefix(text, "0X") ? 16 : 10;
    while (!text.empty() && (text.back() == 'U' || text.back() == 'L' || text.back() == 'u' || text.back() == 'l'))
        text.remove_suffix(1);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return negative ? ~value + 1 : value;
}

/// `key:NUMBER` among the parts of a line.
std::optional<std::uint32_t> number_after(std::string_view line, std::string_view key) {
    for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
        if (at > 0 && is_word(line[at - 1])) continue;
        const std::string_view rest = line.substr(at + key.size());
        const auto value = whole_number(rest.substr(0, rest.find(';')));
        if (value && *value <= 0xffffffff) return static_cast<std::uint32_t>(*value);
        return std::nullopt;
    }
    return std::nullopt;
}

std::uint32_t size_of_type(std::string_view type) {
    const std::string_view last = type.substr(type.find_last_of(blanks) + 1);  // npos + 1 is 0
    if (last == "char" || last == "bool" || last.ends_with("u8") || last.ends_with("s8")) return 1;
    if (last == "short" || last.ends_with("16")) return 2;
    if (last == "int" || last.ends_with("32")) return 4;
    if (last == "long" || last.ends_with("64")) return 8;
    return 0;
}

/// `unsigned char srcaddr[28]`, `__data_loc char[] name`, `const void * addr` -> name, type, shape.
bool declare(std::string_view text, Field& field) {
    text = base::trimmed(text, blanks);
    if (take_prefix(text, "__data_loc ")) field.place = Field::Place::located;
    if (take_prefix(text, "__rel_loc ")) field.place = Field::Place::relative;
    std::string declared(text);
    for (std::size_t open = declared.find('['); open != std::string::npos; open = declared.find('[')) {
        const std::size_t close = declared.find(']', open);
        if (close == std::string::npos) return false;
        declared.erase(open, close - open + 1);
        field.array = true;
    }
    const std::string_view rest = base::trimmed(declared, blanks);
    std::size_t begin = rest.size();
    while (begin > 0 && is_word(rest[begin - 1])) --begin;
    if (begin == rest.size() || begin == 0) return false;
    field.name = rest.substr(begin);
    field.type = base::trimmed(rest.substr(0, begin), blanks);
    field.pointer = field.type.ends_with('*');
    field.characters = field.array && (field.type == "char" || field.type == "const char");
    return !field.type.empty();
}

void shape(Field& field) {
    if (!field.array) return;
    const std::uint32_t each = field.pointer ? 8 : size_of_type(field.type);
    if (field.place != Field::Place::fixed)
        field.elements = 0;
    else
        field.elements = each != 0 && field.size % each == 0 ? field.size / each : field.size;
}

/// The name after the last `REC->` of an expression; empty if the expression is more than that field (and casts of it).
std::string_view plain_field(std::string_view expression) {
    expression = base::trimmed(expression, blanks);
    const std::size_t at = expression.rfind("REC->");
    if (at == std::string_view::npos) return {};
    std::size_t end = at + 5;
    while (end < expression.size() && is_word(expression[end])) ++end;
    for (const char c : expression.substr(end))
        if (c != ')' && c != ' ') return {};
    return expression.substr(at + 5, end - at - 5);
}

/// `{ 3, "DIRECT" }, { 0, "SOFTIRQ" })`: names whose value is written as a number. Those that are left as an
/// enumerator's name are unknown here, and left out.
std::vector<std::pair<std::uint64_t, std::string>> value_names(std::string_view list) {
    std::vector<std::pair<std::uint64_t, std::string>> names;
    for (;;) {
        const std::size_t open = list.find_first_not_of(" ,\t");
        if (open == std::string_view::npos || list[open] != '{') return names;
        list.remove_prefix(open + 1);
        const std::size_t comma = list.find(',');
        const std::size_t quote = list.find('"');
        if (comma == std::string_view::npos || quote == std::string_view::npos || comma > quote) return names;
        const std::size_t end = list.find('"', quote + 1);
        const std::size_t close = end == std::string_view::npos ? end : list.find('}', end);
        if (close == std::string_view::npos) return names;
        if (const auto value = whole_number(base::trimmed(list.substr(0, comma), blanks)))
            names.emplace_back(*value, list.substr(quote + 1, end - quote - 1));
        list.remove_prefix(close + 1);
    }
}

void name_values(std::string_view print, std::vector<Field>& fields) {
    constexpr std::string_view call = "__print_symbolic(";
    for (std::size_t at = print.find(call); at != std::string_view::npos; at = print.find(call, at + 1)) {
        const std::string_view rest = print.substr(at + call.size());
        const std::size_t comma = rest.find(',');
        if (comma == std::string_view::npos) return;
        const std::string_view name = plain_field(rest.substr(0, comma));
        for (Field& field : fields)
            if (!name.empty() && field.name == name && field.names.empty())
                field.names = value_names(rest.substr(comma));
    }
}

Failure<base::Error> refuse(std::size_t line, std::string_view what) {
    return {base::Error{fmt::format("line {}: {}; this is no trace event's format file", line, what)}};
}

void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c >= 0x20 && c < 0x7f)
            out += c;
        else
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
}

/// IPv4 and IPv6 addresses as the kernel prints them with %pISpc.
void append_socket_address(std::string& out, base::Bytes octets) {
    sa_family_t family = 0;
    char text[INET6_ADDRSTRLEN] = {};
    if (octets.size() >= sizeof family) std::memcpy(&family, octets.data(), sizeof family);
    if (family == AF_INET && octets.size() >= sizeof(sockaddr_in)) {
        sockaddr_in address = {};
        std::memcpy(&address, octets.data(), sizeof address);
        ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
        out += fmt::format("{}:{}", text, ntohs(address.sin_port));
    } else if (family == AF_INET6 && octets.size() >= sizeof(sockaddr_in6)) {
        sockaddr_in6 address = {};
        std::memcpy(&address, octets.data(), sizeof address);
        ::inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
        out += fmt::format("[{}]:{}", text, ntohs(address.sin6_port));
    } else {
        out += "(none)";
    }
}

void append_value(std::string& out, const Field& field, base::Bytes record) {
    const base::Bytes octets = Format::octets(field, record);
    if (field.characters) {
        append_escaped(out, Format::text(field, record));
    } else if (field.socket_address) {
        append_socket_address(out, octets);
    } else if (const auto value = Format::number(field, record)) {
        if (const std::string_view name = field.name_of(*value); !name.empty())
            append_escaped(out, name);
        else if (field.pointer)
            out += fmt::format("{:#x}", *value);
        else if (field.is_signed)
            out += fmt::format("{}", static_cast<std::int64_t>(*value));
        else
            out += fmt::format("{}", *value);
    } else if (octets.empty()) {
        out += '?';
    } else {
        for (const std::byte octet : octets) out += fmt::format("{:02x}", static_cast<unsigned>(octet));
    }
}

/// One `field:` line.
std::optional<std::string_view> parse_field(std::string_view line, Field& field) {
    const std::size_t semicolon = line.find(';');
    if (semicolon == std::string_view::npos) return "a field without `;`";
    if (!declare(line.substr(0, semicolon), field)) return "a field without type or name";
    const auto offset = number_after(line, "offset:");
    const auto size = number_after(line, "size:");
    if (!offset || !size) return "a field without offset or size";
    if (*offset > max_record || *size > max_record - *offset) return "a field beyond the 64 KiB of a record";
    field.offset = *offset;
    field.size = *size;
    field.is_signed = number_after(line, "signed:").value_or(0) != 0;
    if (field.place != Field::Place::fixed && field.size != 4) return "a __data_loc that is not of four bytes";
    shape(field);
    return std::nullopt;
}

}  // namespace

bool Field::is_number() const {
    return !array && place == Place::fixed && (size == 1 || size == 2 || size == 4 || size == 8);
}

std::string_view Field::name_of(std::uint64_t value) const {
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.first == value; });
    return found == names.end() ? std::string_view() : found->second;
}

base::Result<Format> Format::parse(std::string_view text) {
    if (text.size() > max_text)
        return Failure{base::Error{"longer than 256 KiB: this is no trace event's format file"}};
    Format format;
    bool has_id = false;
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        if (const std::size_t at = text.find("print fmt:"); at == 0) {  // the rest, whatever is in it
            format.print_ = base::trimmed(text.substr(10), blanks);
            while (format.print_.ends_with('\n')) format.print_.pop_back();
            break;
        }
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = base::trimmed(text.substr(0, end), blanks);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (take_prefix(line, "name:")) {
            format.name_ = base::trimmed(line, blanks);
        } else if (take_prefix(line, "ID:")) {
            const auto id = whole_number(base::trimmed(line, blanks));
            if (!id || *id > 0xffffffff) return refuse(number, "an ID that is no number");
            format.id_ = static_cast<std::uint32_t>(*id);
            has_id = true;
        } else if (take_prefix(line, "field:")) {
            Field field;
            if (const auto fault = parse_field(line, field)) return refuse(number, *fault);
            if (format.fields_.size() == max_fields) return refuse(number, "more than 1024 fields");
            format.fields_.push_back(std::move(field));
        }
    }
    if (format.name_.empty() || !has_id) return refuse(number, "the end comes without a name and an ID");
    name_values(format.print_, format.fields_);
    const bool prints_addresses = format.print_.find("%pIS") != std::string::npos;
    for (Field& field : format.fields_)
        field.socket_address = prints_addresses && field.array && !field.characters &&
                               field.place == Field::Place::fixed && field.size == sizeof(sockaddr_in6);
    return format;
}

base::Result<Format> Format::read(const std::string& path) {
    const auto text = base::read_file(path);
    if (!text)
        return Failure{base::Error{"cannot be read: trace events need root, or the right to read tracefs", path}};
    auto format = parse(*text);
    if (!format) return Failure{base::Error{format.error().message, path}};
    return format;
}

const Field* Format::find(std::string_view name) const {
    const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
    return found == fields_.end() ? nullptr : &*found;
}

base::Bytes Format::octets(const Field& field, base::Bytes record) {
    if (field.offset > record.size() || field.size > record.size() - field.offset) return {};
    const base::Bytes there = record.subspan(field.offset, field.size);
    if (field.place == Field::Place::fixed) return there;
    std::uint32_t word = 0;
    std::memcpy(&word, there.data(), sizeof word);  // parse() made sure that it has four bytes
    std::size_t begin = word & 0xffff;
    if (field.place == Field::Place::relative) begin += field.offset + sizeof word;
    const std::size_t length = word >> 16;
    if (begin > record.size() || length > record.size() - begin) return {};
    return record.subspan(begin, length);
}

std::optional<std::uint64_t> Format::number(const Field& field, base::Bytes record) {
    if (!field.is_number()) return std::nullopt;
    const base::Bytes octets = Format::octets(field, record);
    const auto as = [&]<class Unsigned, class Signed>(Unsigned value, Signed) {
        std::memcpy(&value, octets.data(), sizeof value);
        return field.is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<Signed>(value)})
                               : std::uint64_t{value};
    };
    switch (octets.size()) {
        case 1: return as(std::uint8_t{}, std::int8_t{});
        case 2: return as(std::uint16_t{}, std::int16_t{});
        case 4: return as(std::uint32_t{}, std::int32_t{});
        case 8: return as(std::uint64_t{}, std::int64_t{});
        default: return std::nullopt;
    }
}

std::string_view Format::text(const Field& field, base::Bytes record) {
    const base::Bytes there = octets(field, record);
    const std::string_view all(reinterpret_cast<const char*>(there.data()), there.size());
    return all.substr(0, all.find('\0'));
}

std::string Format::describe(base::Bytes record) const {
    std::string out;
    for (const Field& field : fields_) {
        if (field.name.starts_with("common_") || field.name.starts_with("__probe_")) continue;
        if (!out.empty()) out += ' ';
        append_escaped(out, field.name);
        out += '=';
        append_value(out, field, record);
    }
    return out;
}

}  // namespace trace::perf
