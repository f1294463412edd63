#include "dissect/filter/literal.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/ascii.h"
#include "base/similar.h"
#include "dissect/filter/text.h"
#include "dissect/filter/wireshark_names.h"
#include "dissect/registry.h"

namespace dissect::filter {

namespace {
std::optional<std::uint64_t> read_base(std::string_view digits, int base) {
    std::uint64_t value = 0;
    const char* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, value, base);
    if (error != std::errc{} || end != last) return std::nullopt;
    return value;
}

std::uint64_t greatest(wire::Kind kind) {
    switch (kind) {
        case wire::Kind::uint8: return 0xff;
        case wire::Kind::uint16: return 0xffff;
        case wire::Kind::uint24: return 0xffffff;
        case wire::Kind::uint32: return 0xffffffff;
        default: return ~std::uint64_t{0};
    }
}

std::optional<std::uint64_t> value_named(const RegisteredField* field, std::string_view name) {
    if (field == nullptr) return std::nullopt;
    for (const auto* info : field->declarations)
        for (const auto& known : info->values)
            if (base::same_word(known.text, name)) return known.value;
    return value_in_wireshark(field->info->name, name);
}

/// A literal, or what is wrong with it: one sentence, without a full stop.
using Read = base::Result<Literal, std::string>;

base::Failure<std::string> wrong(std::string message) { return {std::move(message)}; }

Read as_number(const Node& node, std::string_view text, const RegisteredField* field) {
    if (node.kind == NodeKind::character) return Literal{static_cast<unsigned char>(text[0]), {}};
    if (node.kind == NodeKind::word)
        if (const auto number = read_number(text)) {
            if (field != nullptr && *number > greatest(field->info->kind))
                return wrong(fmt::format("{} is too large for {}, whose greatest value is {}", text, field->info->name,
                                         greatest(field->info->kind)));
            return Literal{*number, {}};
        }
    if (const auto named = value_named(field, text)) return Literal{*named, {}};
    if (field != nullptr && !field->info->values.empty())
        return wrong(fmt::format("\"{}\" is not among the values of {}", text, field->info->name));
    return wrong(fmt::format("\"{}\" is not a number of at most 64 bits", text));
}

Read as_boolean(std::string_view text, const RegisteredField* field) {
    if (const auto named = value_named(field, text)) return Literal{*named != 0, {}};
    if (base::same_word(text, "true") || base::same_word(text, "set")) return Literal{1, {}};
    if (base::same_word(text, "false") || base::same_word(text, "not set")) return Literal{0, {}};
    if (const auto number = read_number(text)) return Literal{*number != 0, {}};
    return wrong(fmt::format("\"{}\" is not a boolean: write True, False or a number", text));
}

Read as_address(std::string_view text, Type type) {
    const unsigned bits = type == Type::ipv4 ? 32 : 128;
    Literal literal;
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) {
        const auto prefix = read_base(text.substr(slash + 1), 10);
        if (!prefix || *prefix > bits)
            return wrong(fmt::format("The prefix length of {} is not a number of at most {}", text, bits));
        literal.prefix = static_cast<std::uint8_t>(*prefix);
    }
    std::array<char, 16> octets{};
    const std::string address{text.substr(0, slash)};
    if (address.find('\0') != std::string::npos ||
        inet_pton(type == Type::ipv4 ? AF_INET : AF_INET6, address.c_str(), octets.data()) != 1)
        return wrong(fmt::format("\"{}\" is not {}", address, name_of(type)));
    literal.octets.assign(octets.data(), bits / 8);
    return literal;
}

Read as_octets(const Node& node, std::string_view text, Type type) {
    std::optional<std::string> octets;
    if (node.kind == NodeKind::word || type == Type::ether)
        octets = read_octets(text);
    else
        octets = std::string{text};
    if (octets && type == Type::ether && octets->size() != 6)
        return wrong(fmt::format("\"{}\" has {} bytes; a MAC address has six", text, octets->size()));
    if (!octets)
        return wrong(fmt::format("\"{}\" is not {}", text,
                                 type == Type::ether ? "a MAC address" : "a sequence of bytes in hexadecimal"));
    return Literal{0, std::move(*octets)};
}

Read in_form(const NumberForm& form, std::string_view text) {
    if (const auto number = form.read(text)) return Literal{Wide{*number}, {}};
    return wrong(fmt::format("\"{}\" is not {}", text, form.wanted));
}

Read as_decimal(std::string_view text) {
    if (const auto number = read_seconds(text)) return Literal{*number, {}};
    return wrong(fmt::format("\"{}\" is not a number with or without decimals", text));
}

/// Seconds, or a date, which alone may stand in quotes.
Read as_time(const Node& node, std::string_view text) {
    const bool quoted = node.kind != NodeKind::word;
    if (const auto seconds = quoted ? std::nullopt : read_seconds(text)) return Literal{*seconds, {}};
    if (const auto date = read_date(text)) return Literal{*date, {}};
    return wrong(
        fmt::format(R"("{}" is not a time: write seconds, as 0.25, or a date, as "2020-07-04 12:34:56")", text));
}

/// A word of a field that has no others. Wireshark compares texts with their case.
bool is_value_of(const RegisteredField& field, std::string_view text) {
    const auto& values = field.info->values;
    return values.empty() ||
           std::any_of(values.begin(), values.end(), [text](const wire::ValueName& one) { return one.text == text; });
}

base::Failure<SyntaxError> no_such_value(const RegisteredField& field, std::string_view text, const Node& node) {
    std::vector<std::string_view> known;
    for (const wire::ValueName& one : field.info->values) known.push_back(one.text);
    std::vector<std::string> meant;
    for (const std::string_view one : known)
        if (base::same_word(one, text)) meant.emplace_back(one);
    if (const std::string_view near = base::nearest(text, known); meant.empty() && !near.empty())
        meant.emplace_back(near);
    std::string message = fmt::format("{} has no such value as \"{}\"", field.info->name, text);
    if (meant.empty()) message += fmt::format("; its values are {}", fmt::join(known, ", "));
    return {SyntaxError{std::move(message), node.column, node.length, std::move(meant)}};
}

Read read_as(const Node& node, Type type, const RegisteredField* field) {
    const std::string_view text = node.kind == NodeKind::word ? node.word : std::string_view{node.decoded};
    switch (type) {
        case Type::number:
            return field != nullptr && field->form != nullptr ? in_form(*field->form, text)
                                                              : as_number(node, text, field);
        case Type::decimal:
            return field != nullptr && field->form != nullptr ? in_form(*field->form, text) : as_decimal(text);
        case Type::boolean: return as_boolean(text, field);
        case Type::time: return as_time(node, text);
        case Type::ipv4:
        case Type::ipv6: return as_address(text, type);
        case Type::ether:
        case Type::octets: return as_octets(node, text, type);
        case Type::text:
        case Type::untyped: break;
    }
    return Literal{0, std::string{text}};
}
}  // namespace

base::Result<Literal, SyntaxError> read_literal(const Node& node, Type type, const RegisteredField* field) {
    const std::string_view word = node.kind == NodeKind::word ? node.word : std::string_view{node.decoded};
    if (type == Type::text && field != nullptr && !is_value_of(*field, word)) return no_such_value(*field, word, node);
    auto literal = read_as(node, type, field);
    if (!literal) return base::Failure{SyntaxError{literal.error(), node.column, node.length}};
    return std::move(literal).value();
}

std::optional<std::uint64_t> read_number(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) return read_base(text.substr(2), 16);
    if (text.starts_with("0b") || text.starts_with("0B")) return read_base(text.substr(2), 2);
    if (text.size() > 1 && text[0] == '0') return read_base(text.substr(1), 8);
    return read_base(text, 10);
}

std::optional<std::string> read_octets(std::string_view text) {
    const auto digits = [](std::string_view pair) { return read_base(pair, 16); };
    std::string octets;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        const auto value = read_base(text.substr(2), 16);
        if (!value || *value > 0xff) return std::nullopt;
        return std::string(1, static_cast<char>(static_cast<unsigned char>(*value)));
    }
    if (text.starts_with(':')) text.remove_prefix(1);
    const auto is_separator = [](char c) { return c == ':' || c == '-' || c == '.'; };
    while (!text.empty()) {
        std::size_t length = std::min<std::size_t>(2, text.size());
        if (length == 2 && is_separator(text[1])) length = 1;
        // A single digit is a byte only if it stands alone between separators.
        if (length == 1 && !octets.empty() && !is_separator(*(text.data() - 1))) return std::nullopt;
        const auto value = digits(text.substr(0, length));
        if (!value) return std::nullopt;
        octets += static_cast<char>(static_cast<unsigned char>(*value));
        text.remove_prefix(length);
        if (text.empty()) break;
        if (is_separator(text[0])) text.remove_prefix(1);
    }
    if (octets.empty()) return std::nullopt;
    return octets;
}

}  // namespace dissect::filter
