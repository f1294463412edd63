#pragma once
#include <cstddef>
#include <string>

namespace cli::dump {

/// Colours the lines of `text` from `begin` on for a terminal: errors stand out, context is dim.
void color_lines(std::string& text, std::size_t begin);

}  // namespace cli::dump
