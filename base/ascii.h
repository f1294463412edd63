#pragma once
#include <algorithm>
#include <string>
#include <string_view>

/// Letters of formats and protocols: ASCII, in any locale.
namespace base {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
inline std::string lowered(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

/// Equal, in any case of the letters.
constexpr bool same_word(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

inline constexpr std::string_view spaces = " \t\n\v\f\r";

/// The text without the given letters at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view letters = spaces) {
    const std::size_t first = text.find_first_not_of(letters);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(letters) + 1 - first);
}

}  // namespace base
