#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Taking apart what configuration files, /proc and /sys say.
namespace doctor {

/// Parts between separators, empty ones too.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their ends; none of an empty text.
std::vector<std::string_view> lines(std::string_view text);
/// Words between white space.
std::vector<std::string_view> words(std::string_view text);
/// The number that a text begins with, decimal or 0x.
std::optional<std::uint64_t> number_in(std::string_view text);
/// Words, a comma and a blank between them; from the eighth on only how many more.
std::string listed(const std::vector<std::string>& names);
/// In single quotes where a shell would read it otherwise.
std::string shell_word(std::string_view word);

}  // namespace doctor
