#include "wire/vcrc.h"

#include <array>

namespace wire {
namespace {

constexpr std::array<std::uint16_t, 256> make_table() {
    constexpr unsigned reversed_polynomial = 0xd008;
    std::array<std::uint16_t, 256> table{};
    for (unsigned octet = 0; octet < 256; ++octet) {
        unsigned crc = octet;
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ reversed_polynomial : crc >> 1;
        table[octet] = static_cast<std::uint16_t>(crc);
    }
    return table;
}

constexpr std::array<std::uint16_t, 256> table = make_table();

}  // namespace

std::uint16_t vcrc(base::Bytes packet) {
    unsigned crc = 0xffff;
    for (const std::byte octet : packet) crc = crc >> 8 ^ table[(crc ^ std::to_integer<unsigned>(octet)) & 0xff];
    crc ^= 0xffff;
    return static_cast<std::uint16_t>(crc << 8 | crc >> 8);
}

}  // namespace wire
