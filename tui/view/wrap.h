#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tui::inline view {

/// A text as lines of at most `width` columns, broken at blanks; a figure and its unit stay together. Words that are
/// longer than a line are left whole: the grid cuts them.
std::vector<std::string> wrapped(std::string_view text, int width);

}  // namespace tui::view
