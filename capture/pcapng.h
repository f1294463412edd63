#pragma once
#include <cstddef>
#include <cstdint>

#include "capture/byte_order.h"
#include "wire/bytes.h"

/// Numbers of the pcapng format, shared by reader and writer.
/// https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcapng
namespace capture::pcapng {

constexpr std::uint32_t BYTE_ORDER_MAGIC = 0x1a2b3c4d;

namespace block {
constexpr std::uint32_t SECTION_HEADER = 0x0a0d0d0a;  ///< the same in both byte orders
constexpr std::uint32_t INTERFACE_DESCRIPTION = 1;
constexpr std::uint32_t OBSOLETE_PACKET = 2;
constexpr std::uint32_t SIMPLE_PACKET = 3;
constexpr std::uint32_t NAME_RESOLUTION = 4;
constexpr std::uint32_t INTERFACE_STATISTICS = 5;
constexpr std::uint32_t ENHANCED_PACKET = 6;
}  // namespace block

namespace option {
constexpr std::uint16_t END = 0;
constexpr std::uint16_t COMMENT = 1;

constexpr std::uint16_t SHB_HARDWARE = 2;
constexpr std::uint16_t SHB_OS = 3;
constexpr std::uint16_t SHB_APPLICATION = 4;

constexpr std::uint16_t IF_NAME = 2;
constexpr std::uint16_t IF_DESCRIPTION = 3;
constexpr std::uint16_t IF_SPEED = 8;
constexpr std::uint16_t IF_TSRESOL = 9;
constexpr std::uint16_t IF_FILTER = 11;
constexpr std::uint16_t IF_OS = 12;
constexpr std::uint16_t IF_FCSLEN = 13;
constexpr std::uint16_t IF_TSOFFSET = 14;
constexpr std::uint16_t IF_HARDWARE = 15;

constexpr std::uint16_t EPB_FLAGS = 2;
constexpr std::uint16_t EPB_DROPCOUNT = 4;

constexpr std::uint16_t ISB_IFRECV = 4;
constexpr std::uint16_t ISB_IFDROP = 5;
constexpr std::uint16_t ISB_OSDROP = 7;
}  // namespace option

/// Octets that `octets` of content take with their padding.
constexpr std::size_t padded(std::size_t octets) { return (octets + 3) & ~std::size_t{3}; }

/// Calls visit(code, value) for every option; false where a value reaches beyond `options`. The list may lack its end.
template <bool Swapped, class Visit>
bool for_each_option(wire::Bytes options, Visit&& visit) {
    while (options.size() >= 4) {
        const std::uint16_t code = ByteOrder<Swapped>::u16(options.data());
        const std::uint16_t octets = ByteOrder<Swapped>::u16(options.data() + 2);
        if (code == option::END) return true;
        if (octets > options.size() - 4) return false;
        visit(code, options.subspan(4, octets));
        const std::size_t whole = 4 + padded(octets);
        if (whole >= options.size()) return true;
        options = options.subspan(whole);
    }
    return true;
}

}  // namespace capture::pcapng
