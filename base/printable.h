#pragma once
#include <string>
#include <string_view>

namespace base {

/// Text that can be printed on a terminal without moving its cursor: control characters become '?'.
inline std::string printable(std::string_view text) {
    std::string out(text);
    for (char& letter : out)
        if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
    return out;
}

/// Text of a file for a terminal: one line of at most 60 bytes, as append_printable() prints them, and "..." if more
/// follow.
std::string excerpt(std::string_view text);

}  // namespace base
