#include "dissect/output/value_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "dissect/output/utf8.h"

namespace dissect::output {

using wire::Base;
using wire::Kind;

namespace {

constexpr char digit_of(unsigned nibble) { return "0123456789abcdef"[nibble & 15]; }

void append_octet(std::string& out, std::byte octet) {
    const auto value = std::to_integer<unsigned>(octet);
    out += digit_of(value >> 4);
    out += digit_of(value);
}

void append_group(std::string& out, unsigned value) {
    std::array<char, 8> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
    out.append(text.data(), end);
}

struct Run {
    unsigned first = 0;
    unsigned length = 0;
};

/// The longest run of zero groups, the first of several; a single zero is not worth abbreviating. RFC 5952 section 4.2.
Run longest_zeros(const std::array<unsigned, 8>& groups) {
    Run best;
    for (unsigned i = 0; i < 8; ++i) {
        unsigned length = 0;
        while (i + length < 8 && groups[i + length] == 0) ++length;
        if (length > best.length) best = {i, length};
        if (length != 0) i += length - 1;
    }
    return best.length < 2 ? Run{} : best;
}

}  // namespace

void append_decimal(std::string& out, std::uint64_t value) {
    std::array<char, 24> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    out.append(text.data(), end);
}

void append_hex(std::string& out, std::uint64_t value, unsigned digits) {
    const unsigned needed = (static_cast<unsigned>(std::bit_width(value)) + 3) / 4;
    const unsigned count = std::max({digits, needed, 1u});
    std::array<char, 2 + 32> text;
    text[0] = '0';
    text[1] = 'x';
    const unsigned shown = std::min(count, 32u);
    for (unsigned i = shown; i > 0; --i, value >>= 4) text[1 + i] = digit_of(static_cast<unsigned>(value));
    out.append(text.data(), 2 + shown);
}

void append_octets(std::string& out, wire::Bytes octets, OctetStyle style) {
    out.reserve(out.size() + octets.size() * 3);
    for (std::size_t i = 0; i < octets.size(); ++i) {
        if (i != 0 && style == OctetStyle::colons) out += ':';
        append_octet(out, octets[i]);
    }
}

void append_ipv4(std::string& out, wire::Bytes octets) {
    for (std::size_t i = 0; i < octets.size(); ++i) {
        if (i != 0) out += '.';
        append_decimal(out, std::to_integer<std::uint64_t>(octets[i]));
    }
}

void append_ipv6(std::string& out, wire::Bytes octets) {
    if (octets.size() != 16) return append_octets(out, octets, OctetStyle::plain);
    std::array<unsigned, 8> groups;
    for (std::size_t i = 0; i < 8; ++i) groups[i] = wire::load_be16(octets.data() + 2 * i);
    const Run zeros = longest_zeros(groups);
    const bool mixed = zeros.first == 0 && (zeros.length == 6 || (zeros.length == 7 && groups[7] != 1) ||
                                            (zeros.length == 5 && groups[5] == 0xffff));
    for (unsigned i = 0; i < 8; ++i) {
        if (zeros.length != 0 && i == zeros.first) {
            out += "::";
            i += zeros.length - 1;
            continue;
        }
        if (i != 0 && out.back() != ':') out += ':';
        if (mixed && i == 6) return append_ipv4(out, octets.last(4));
        append_group(out, groups[i]);
    }
}

void append_ether(std::string& out, wire::Bytes octets) { append_octets(out, octets, OctetStyle::colons); }

void append_seconds(std::string& out, std::int64_t nanoseconds) {
    constexpr std::uint64_t second = 1'000'000'000;
    auto magnitude = static_cast<std::uint64_t>(nanoseconds);
    if (nanoseconds < 0) {
        out += '-';
        magnitude = 0 - magnitude;
    }
    append_decimal(out, magnitude / second);
    std::array<char, 10> decimals;
    std::uint64_t rest = magnitude % second;
    for (unsigned i = 9; i > 0; --i, rest /= 10) decimals[i] = static_cast<char>('0' + rest % 10);
    decimals[0] = '.';
    out.append(decimals.data(), decimals.size());
}

unsigned hex_digits(Kind kind) {
    switch (kind) {
        case Kind::uint8: return 2;
        case Kind::uint16: return 4;
        case Kind::uint24: return 6;
        case Kind::uint32: return 8;
        case Kind::uint64: return 16;
        default: return 0;
    }
}

void append_value(std::string& out, const wire::FieldInfo& info, const wire::Value& value, OctetStyle style) {
    switch (info.kind) {
        case Kind::none: out += '1'; break;
        case Kind::boolean: out += value.number != 0 ? '1' : '0'; break;
        case Kind::uint8:
        case Kind::uint16:
        case Kind::uint24:
        case Kind::uint32:
        case Kind::uint64:
            if (info.base == Base::hex)
                append_hex(out, value.number, hex_digits(info.kind));
            else
                append_decimal(out, value.number);
            break;
        case Kind::bytes: append_octets(out, value.bytes, style); break;
        case Kind::ipv4: append_ipv4(out, value.bytes); break;
        case Kind::ipv6: append_ipv6(out, value.bytes); break;
        case Kind::ether: append_ether(out, value.bytes); break;
        case Kind::string: out += value.text; break;
        case Kind::time: append_seconds(out, static_cast<std::int64_t>(value.number)); break;
    }
}

namespace {

/// Whether the tree shows which bits of its octets a field takes.
bool has_pattern(const wire::FieldInfo& info) {
    const bool number = info.kind == Kind::boolean || hex_digits(info.kind) != 0;
    return number && info.bit_width != 0 && (info.bit_offset % 8 != 0 || info.bit_width % 8 != 0);
}

/// A number in the tree: hexadecimal digits as many as the bits need, unless it fills whole octets.
void append_number(std::string& out, const wire::FieldInfo& info, std::uint64_t number) {
    if (info.base == Base::dec) return append_decimal(out, number);
    append_hex(out, number, has_pattern(info) ? (info.bit_width + 3u) / 4 : hex_digits(info.kind));
}

/// The longest octet string that is shown in full on one line.
constexpr std::size_t octets_shown = 36;

void append_tree_value(std::string& out, const wire::FieldInfo& info, const wire::Value& value) {
    const bool number = hex_digits(info.kind) != 0;
    const std::string_view name =
        number || info.kind == Kind::boolean ? wire::name_of(info.values, value.number) : std::string_view{};
    if (number && !info.values.empty()) {
        out += name.empty() ? "Unknown" : name;
        out += " (";
        append_number(out, info, value.number);
        out += ')';
    } else if (number) {
        append_number(out, info, value.number);
    } else if (info.kind == Kind::boolean) {
        out += !name.empty() ? name : value.number != 0 ? "True" : "False";
    } else if (info.kind == Kind::bytes) {
        append_octets(out, value.bytes.first(std::min(value.bytes.size(), octets_shown)), OctetStyle::plain);
        if (value.bytes.size() > octets_shown) out += "\u2026";
    } else if (info.kind == Kind::string) {
        append_printable(out, value.text);
    } else if (info.kind == Kind::time) {
        append_seconds(out, static_cast<std::int64_t>(value.number));
        out += " seconds";
    } else {
        append_value(out, info, value, OctetStyle::plain);
    }
}

}  // namespace

void append_bit_pattern(std::string& out, const wire::FieldInfo& info, std::uint64_t value) {
    if (!has_pattern(info)) return;
    const unsigned lead = info.bit_offset % 8u;
    const unsigned total = (lead + info.bit_width + 7u) / 8 * 8;
    for (unsigned i = 0; i < total; ++i) {
        if (i != 0 && i % 4 == 0) out += ' ';
        const bool inside = i >= lead && i < lead + info.bit_width;
        out += inside ? static_cast<char>('0' + (value >> (lead + info.bit_width - 1 - i) & 1)) : '.';
    }
}

void append_tree_line(std::string& out, const wire::FieldInfo& info, const wire::Value& value) {
    if (has_pattern(info)) {
        append_bit_pattern(out, info, value.number);
        out += " = ";
    }
    out += info.label;
    if (info.kind == Kind::none) return;
    out += ": ";
    append_tree_value(out, info, value);
}

void append_printable(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        if (length == 1 && (first < 0x20 || first == 0x7f)) {
            if (first == '\n')
                out += "\\n";
            else if (first == '\t')
                out += "\\t";
            else
                (out += "\\x") += {digit_of(first >> 4), digit_of(first)};
        } else if (length == 0) {
            (out += "\\x") += {digit_of(first >> 4), digit_of(first)};
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

}  // namespace dissect::output
