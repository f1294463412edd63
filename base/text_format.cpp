#include "base/text_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/utf8.h"

namespace base {
namespace {

constexpr char digit_of(unsigned nibble) { return "0123456789abcdef"[nibble & 15]; }

void append_octet(std::string& out, std::byte octet) {
    const auto value = std::to_integer<unsigned>(octet);
    out += digit_of(value >> 4);
    out += digit_of(value);
}

void append_escaped(std::string& out, unsigned char octet) {
    out += "\\x";
    append_octet(out, std::byte{octet});
}

/// Whether a character, in UTF-8, changes the order of those around it or ends their line: a name with such a character
/// could look like another one. Unicode Standard Annex 9, 2; Unicode 5.8.
bool reorders(std::string_view character) {
    if (character == "\u061c") return true;
    if (character.size() != 3 || character[0] != '\xe2') return false;
    const auto second = static_cast<unsigned char>(character[1]);
    const auto third = static_cast<unsigned char>(character[2]);
    if (second == 0x80) return third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae);
    return second == 0x81 && third >= 0xa6 && third <= 0xa9;
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
    for (unsigned i = shown; i > 0; --i) {
        text[1 + i] = digit_of(static_cast<unsigned>(value));
        value >>= 4;
    }
    out.append(text.data(), 2 + shown);
}

void append_octets(std::string& out, Bytes octets, OctetStyle style) {
    out.reserve(out.size() + octets.size() * 3);
    for (std::size_t i = 0; i < octets.size(); ++i) {
        if (i != 0 && style == OctetStyle::colons) out += ':';
        append_octet(out, octets[i]);
    }
}

void append_ipv4(std::string& out, Bytes octets) {
    for (std::size_t i = 0; i < octets.size(); ++i) {
        if (i != 0) out += '.';
        append_decimal(out, std::to_integer<std::uint64_t>(octets[i]));
    }
}

void append_ipv6(std::string& out, Bytes octets) {
    if (octets.size() != 16) return append_octets(out, octets, OctetStyle::plain);
    std::array<unsigned, 8> groups;
    for (std::size_t i = 0; i < 8; ++i) groups[i] = load_be16(octets.data() + 2 * i);
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

void append_ether(std::string& out, Bytes octets) { append_octets(out, octets, OctetStyle::colons); }

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
    for (unsigned i = 9; i > 0; --i) {
        decimals[i] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    decimals[0] = '.';
    out.append(decimals.data(), decimals.size());
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
                append_escaped(out, first);
        } else if (length == 0) {
            append_escaped(out, first);
        } else if (reorders(text.substr(0, length))) {
            for (const char octet : text.substr(0, length)) append_escaped(out, static_cast<unsigned char>(octet));
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

}  // namespace base
