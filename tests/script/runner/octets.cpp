#include "tests/script/runner/octets.h"

#include <array>

namespace script {

void put(Octets& out, std::uint64_t value, std::size_t size) {
    while (size-- > 0) out.push_back(static_cast<std::byte>(value >> 8 * size & 0xff));
}

void put(Octets& out, View octets) { out.insert(out.end(), octets.begin(), octets.end()); }

std::uint64_t take(View& octets, std::size_t size) {
    if (octets.size() < size) throw Failure("a message ends after " + std::to_string(octets.size()) + " octets");
    std::uint64_t value = 0;
    for (const std::byte octet : octets.first(size)) value = value << 8 | std::to_integer<std::uint64_t>(octet);
    octets = octets.subspan(size);
    return value;
}

std::string hex(View octets, std::size_t most) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < octets.size(); ++i) {
        if (octets.size() > most && i == most - 4) {
            text += "..";
            i = octets.size() - 4;
        }
        const auto value = std::to_integer<unsigned>(octets[i]);
        text += digits[value >> 4];
        text += digits[value & 15];
    }
    return text;
}

Octets from_hex(std::string_view text) {
    const auto digit = [&](char c) -> unsigned {
        if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
        if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
        throw Failure("'" + std::string(text) + "' is not hexadecimal");
    };
    if (text.size() % 2 != 0) throw Failure("'" + std::string(text) + "' has half an octet");
    Octets out;
    for (std::size_t i = 0; i < text.size(); i += 2)
        out.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
    return out;
}

std::string hex_number(std::uint64_t value) {
    Octets octets;
    put(octets, value, 8);
    const std::string digits = hex(octets);
    const auto first = digits.find_first_not_of('0');
    return first == std::string::npos ? "0" : "0x" + digits.substr(first);
}

std::uint32_t crc32c(View octets) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t octet = 0; octet < made.size(); ++octet) {
            std::uint32_t crc = octet;
            for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
            made[octet] = crc;
        }
        return made;
    }();
    std::uint32_t crc = 0xffffffff;
    for (const std::byte octet : octets) crc = crc >> 8 ^ table[(crc ^ std::to_integer<std::uint32_t>(octet)) & 0xff];
    return ~crc;
}

}  // namespace script
