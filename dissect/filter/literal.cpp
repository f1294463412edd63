#include "dissect/filter/literal.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "base/ascii.h"
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

std::optional<Literal> as_number(const Node& node, std::string_view text, const RegisteredField* field,
                                 std::string& error) {
    if (node.kind == NodeKind::character) return Literal{static_cast<unsigned char>(text[0]), {}};
    if (node.kind == NodeKind::word)
        if (const auto number = read_number(text)) {
            if (field != nullptr && *number > greatest(field->info->kind)) {
                error = fmt::format("{} is too large for {}, whose greatest value is {}", text, field->info->name,
                                    greatest(field->info->kind));
                return std::nullopt;
            }
            return Literal{*number, {}};
        }
    if (const auto named = value_named(field, text)) return Literal{*named, {}};
    if (field != nullptr && !field->info->values.empty())
        error = fmt::format("\"{}\" is not among the values of {}", text, field->info->name);
    else
        error = fmt::format("\"{}\" is not a number of at most 64 bits", text);
    return std::nullopt;
}

std::optional<Literal> as_boolean(std::string_view text, const RegisteredField* field, std::string& error) {
    if (const auto named = value_named(field, text)) return Literal{*named != 0, {}};
    if (base::same_word(text, "true") || base::same_word(text, "set")) return Literal{1, {}};
    if (base::same_word(text, "false") || base::same_word(text, "not set")) return Literal{0, {}};
    if (const auto number = read_number(text)) return Literal{*number != 0, {}};
    error = fmt::format("\"{}\" is not a boolean: write True, False or a number", text);
    return std::nullopt;
}

std::optional<Literal> as_address(std::string_view text, Type type, std::string& error) {
    const unsigned bits = type == Type::ipv4 ? 32 : 128;
    Literal literal;
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) {
        const auto prefix = read_base(text.substr(slash + 1), 10);
        if (!prefix || *prefix > bits) {
            error = fmt::format("The prefix length of {} is not a number of at most {}", text, bits);
            return std::nullopt;
        }
        literal.prefix = static_cast<std::uint8_t>(*prefix);
    }
    std::array<char, 16> octets{};
    const std::string address{text.substr(0, slash)};
    if (address.find('\0') != std::string::npos ||
        inet_pton(type == Type::ipv4 ? AF_INET : AF_INET6, address.c_str(), octets.data()) != 1) {
        error = fmt::format("\"{}\" is not {}", address, name_of(type));
        return std::nullopt;
    }
    literal.octets.assign(octets.data(), bits / 8);
    return literal;
}

std::optional<Literal> as_octets(const Node& node, std::string_view text, Type type, std::string& error) {
    std::optional<std::string> octets;
    if (node.kind == NodeKind::word || type == Type::ether)
        octets = read_octets(text);
    else
        octets = std::string{text};
    if (octets && type == Type::ether && octets->size() != 6) {
        error = fmt::format("\"{}\" has {} octets; a MAC address has six", text, octets->size());
        return std::nullopt;
    }
    if (!octets) {
        error = fmt::format("\"{}\" is not {}", text,
                            type == Type::ether ? "a MAC address" : "a sequence of octets in hexadecimal");
        return std::nullopt;
    }
    return Literal{0, std::move(*octets)};
}

std::optional<Literal> in_form(const NumberForm& form, std::string_view text, std::string& error) {
    if (const auto number = form.read(text)) return Literal{Wide{*number}, {}};
    error = fmt::format("\"{}\" is not {}", text, form.wanted);
    return std::nullopt;
}

std::optional<Literal> as_decimal(std::string_view text, std::string& error) {
    if (const auto number = read_seconds(text)) return Literal{*number, {}};
    error = fmt::format("\"{}\" is not a number with or without decimals", text);
    return std::nullopt;
}

/// Seconds, or a date, which alone may stand in quotes.
std::optional<Literal> as_time(const Node& node, std::string_view text, std::string& error) {
    const bool quoted = node.kind != NodeKind::word;
    if (const auto seconds = quoted ? std::nullopt : read_seconds(text)) return Literal{*seconds, {}};
    if (const auto date = read_date(text)) return Literal{*date, {}};
    error = fmt::format(R"("{}" is not a time: write seconds, as 0.25, or a date, as "2020-07-04 12:34:56")", text);
    return std::nullopt;
}
}  // namespace

std::optional<Literal> read_literal(const Node& node, Type type, const RegisteredField* field, std::string& error) {
    const std::string_view text = node.kind == NodeKind::word ? node.word : std::string_view{node.decoded};
    switch (type) {
        case Type::number:
            return field != nullptr && field->form != nullptr ? in_form(*field->form, text, error)
                                                              : as_number(node, text, field, error);
        case Type::decimal:
            return field != nullptr && field->form != nullptr ? in_form(*field->form, text, error)
                                                              : as_decimal(text, error);
        case Type::boolean: return as_boolean(text, field, error);
        case Type::time: return as_time(node, text, error);
        case Type::ipv4:
        case Type::ipv6: return as_address(text, type, error);
        case Type::ether:
        case Type::octets: return as_octets(node, text, type, error);
        case Type::text:
        case Type::untyped: break;
    }
    return Literal{0, std::string{text}};
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
        // A single digit is an octet only where it stands alone between separators.
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
