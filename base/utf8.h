#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace base {

/// The length of the UTF-8 sequence at the beginning of `text`; 0 if absent (RFC 3629 section 4: no overlong
/// forms, no surrogates, nothing beyond U+10FFFF). C1 control characters do not count: terminals act on them.
constexpr std::size_t utf8_length(std::string_view text) {
    const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto tail = [&](std::size_t i) { return (at(i) & 0xc0u) == 0x80u; };
    const unsigned first = at(0);
    if (text.empty()) return 0;
    if (first < 0x80) return 1;
    if (first == 0xc2) return tail(1) && at(1) >= 0xa0 ? 2 : 0;
    if (first >= 0xc3 && first <= 0xdf) return tail(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f)) return 0;
        return tail(1) && tail(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        if ((first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) > 0x8f)) return 0;
        return tail(1) && tail(2) && tail(3) ? 4 : 0;
    }
    return 0;
}

/// Appends a character, at most U+10FFFF. RFC 3629, 3.
inline void append_utf8(std::string& out, char32_t character) {
    const auto put = [&out](char32_t octet) { out += static_cast<char>(static_cast<unsigned char>(octet)); };
    const auto tail = [&](unsigned shift) { put(0x80 | ((character >> shift) & 0x3f)); };
    if (character < 0x80) return put(character);
    if (character < 0x800) {
        put(0xc0 | (character >> 6));
    } else if (character < 0x10000) {
        put(0xe0 | (character >> 12));
        tail(6);
    } else {
        put(0xf0 | (character >> 18));
        tail(12);
        tail(6);
    }
    tail(0);
}

}  // namespace base
