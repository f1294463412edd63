#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Parsing of configuration files, /proc and /sys.
namespace doctor {

/// Parts between separators, empty ones too.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their ends; an empty text has none.
std::vector<std::string_view> lines(std::string_view text);
/// Words between white space.
std::vector<std::string_view> words(std::string_view text);
/// The number at the beginning of a text, decimal or 0x.
std::optional<std::uint64_t> number_in(std::string_view text);
/// Words with a comma and a blank between them; after the seventh only the number of the others.
std::string listed(const std::vector<std::string>& names);

}  // namespace doctor
