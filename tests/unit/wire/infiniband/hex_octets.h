#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// Octets written as hexadecimal digits; blanks are for the reader.
inline std::vector<std::byte> octets(std::string_view hex) {
    std::vector<std::byte> out;
    unsigned value = 0;
    bool half = false;
    for (const char c : hex) {
        if (c == ' ' || c == '\n') continue;
        value = value << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        if (half) out.push_back(static_cast<std::byte>(value & 0xff));
        half = !half;
    }
    return out;
}
