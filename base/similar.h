#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace base {

/// How many letters have to be added, dropped, changed or swapped to turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b);

/// The word that was probably meant; empty if no word is similar.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// `, did you mean X?`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace base
