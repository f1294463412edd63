#pragma once
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "capture/files/byte_order.h"

/// Numbers of the pcapng format, shared by reader and writer.
/// https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcapng
namespace capture::inline files::pcapng {

constexpr std::uint32_t byte_order_magic = 0x1a2b3c4d;

namespace block {
constexpr std::uint32_t section_header = 0x0a0d0d0a;  ///< the same in both byte orders
constexpr std::uint32_t interface_description = 1;
constexpr std::uint32_t obsolete_packet = 2;
constexpr std::uint32_t simple_packet = 3;
constexpr std::uint32_t name_resolution = 4;
constexpr std::uint32_t interface_statistics = 5;
constexpr std::uint32_t enhanced_packet = 6;
}  // namespace block

namespace option {
constexpr std::uint16_t end = 0;
constexpr std::uint16_t comment = 1;

constexpr std::uint16_t shb_hardware = 2;
constexpr std::uint16_t shb_os = 3;
constexpr std::uint16_t shb_application = 4;

constexpr std::uint16_t if_name = 2;
constexpr std::uint16_t if_description = 3;
constexpr std::uint16_t if_speed = 8;
constexpr std::uint16_t if_tsresol = 9;
constexpr std::uint16_t if_filter = 11;
constexpr std::uint16_t if_os = 12;
constexpr std::uint16_t if_fcslen = 13;
constexpr std::uint16_t if_tsoffset = 14;
constexpr std::uint16_t if_hardware = 15;

constexpr std::uint16_t epb_flags = 2;
constexpr std::uint16_t epb_dropcount = 4;

constexpr std::uint16_t isb_ifrecv = 4;
constexpr std::uint16_t isb_ifdrop = 5;
constexpr std::uint16_t isb_osdrop = 7;
}  // namespace option

/// The bytes that `octets` bytes of content take with their padding.
constexpr std::size_t padded(std::size_t octets) { return (octets + 3) & ~std::size_t{3}; }

/// Calls visit(code, value) for every option; returns false if a value reaches beyond `options`. The list may lack its
/// end.
template <bool Swapped, class Visit>
bool for_each_option(base::Bytes options, Visit&& visit) {
    while (options.size() >= 4) {
        const std::uint16_t code = ByteOrder<Swapped>::u16(options.data());
        const std::uint16_t octets = ByteOrder<Swapped>::u16(options.data() + 2);
        if (code == option::end) return true;
        if (octets > options.size() - 4) return false;
        visit(code, options.subspan(4, octets));
        const std::size_t whole = 4 + padded(octets);
        if (whole >= options.size()) return true;
        options = options.subspan(whole);
    }
    return true;
}

}  // namespace capture::files::pcapng
