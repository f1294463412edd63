#include "dissect/output/value_format.h"

#include <algorithm>

namespace dissect::output {

using wire::Base;
using wire::Kind;

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

void append_value(std::string& out, const wire::FieldInfo& info, const wire::Value& value, base::OctetStyle style) {
    switch (info.kind) {
        case Kind::none: out += '1'; break;
        case Kind::boolean: out += value.number != 0 ? '1' : '0'; break;
        case Kind::uint8:
        case Kind::uint16:
        case Kind::uint24:
        case Kind::uint32:
        case Kind::uint64:
            if (info.base == Base::hex)
                base::append_hex(out, value.number, hex_digits(info.kind));
            else
                base::append_decimal(out, value.number);
            break;
        case Kind::bytes: base::append_octets(out, value.bytes, style); break;
        case Kind::ipv4: base::append_ipv4(out, value.bytes); break;
        case Kind::ipv6: base::append_ipv6(out, value.bytes); break;
        case Kind::ether: base::append_ether(out, value.bytes); break;
        case Kind::string: out += value.text; break;
        case Kind::time: base::append_seconds(out, static_cast<std::int64_t>(value.number)); break;
    }
}

namespace {

/// Whether the tree shows which bits of its bytes a field takes.
bool has_pattern(const wire::FieldInfo& info) {
    const bool number = info.kind == Kind::boolean || hex_digits(info.kind) != 0;
    return number && info.bit_width != 0 && (info.bit_offset % 8 != 0 || info.bit_width % 8 != 0);
}

/// A number in the tree: hexadecimal digits as many as the bits need, unless it fills whole bytes.
void append_number(std::string& out, const wire::FieldInfo& info, std::uint64_t number) {
    if (info.base == Base::dec) return base::append_decimal(out, number);
    base::append_hex(out, number, has_pattern(info) ? (info.bit_width + 3u) / 4 : hex_digits(info.kind));
}

/// The longest byte string that is shown in full on one line.
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
        base::append_octets(out, value.bytes.first(std::min(value.bytes.size(), octets_shown)),
                            base::OctetStyle::plain);
        if (value.bytes.size() > octets_shown) out += "\u2026";
    } else if (info.kind == Kind::string) {
        base::append_printable(out, value.text);
    } else if (info.kind == Kind::time) {
        base::append_seconds(out, static_cast<std::int64_t>(value.number));
        out += " seconds";
    } else {
        append_value(out, info, value, base::OctetStyle::plain);
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

}  // namespace dissect::output
