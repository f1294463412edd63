#include "doctor/strings.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

#include "base/ascii.h"

namespace doctor {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> lines(std::string_view text) {
    if (text.empty()) return {};
    if (text.back() == '\n') text.remove_suffix(1);
    return split(text, '\n');
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    for (;;) {
        const std::size_t first = text.find_first_not_of(base::spaces);
        if (first == std::string_view::npos) return found;
        text.remove_prefix(first);
        const std::size_t size = std::min(text.find_first_of(base::spaces), text.size());
        found.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (fault != std::errc{} || end == text.data()) return std::nullopt;
    return value;
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
    return text;
}

}  // namespace doctor
