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

}  // namespace base
