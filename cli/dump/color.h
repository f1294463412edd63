#pragma once
#include <cstddef>
#include <string>

namespace cli::dump {

/// Colours the lines of `text` from `begin` on for a terminal: what went wrong stands out, what is only context
/// steps back.
void color_lines(std::string& text, std::size_t begin);

}  // namespace cli::dump
