#pragma once
#include <cstdint>

#include "wire/layout.h"

/// Direct Data Placement over reliable transports. RFC 5041. The octet that DDP reserves for its upper layer is
/// RDMAP's control field and stands in rdmap.h.
namespace wire {

/// RFC 5041 section 4.1.
struct DdpControl {
    bool tagged = false;
    bool last = false;
    std::uint8_t reserved = 0;
    std::uint8_t version = 1;
};

/// RFC 5041 section 4.2.
struct DdpTagged {
    DdpControl control;
    std::uint8_t ulp = 0;
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
};

/// RFC 5041 section 4.3.
struct DdpUntagged {
    DdpControl control;
    std::uint64_t ulp = 0;  ///< 40 bits
    std::uint32_t queue = 0;
    std::uint32_t msn = 0;     ///< from 1 for each queue
    std::uint32_t offset = 0;  ///< of the segment within its message
};

/// The part of a tagged header after the control octets.
struct DdpTaggedBuffer {
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
};
/// The part of an untagged header after the octets of the upper layer.
struct DdpUntaggedBuffer {
    std::uint32_t queue = 0;
    std::uint32_t msn = 0;
    std::uint32_t offset = 0;
};

template <>
inline constexpr auto layout_of<DdpControl> =
    layout("iwarp_ddp.control_field", "DDP control field",
           bits<&DdpControl::tagged, 1>("iwarp_ddp.tagged_flag", "Tagged flag"),
           bits<&DdpControl::last, 1>("iwarp_ddp.last_flag", "Last flag"),
           bits<&DdpControl::reserved, 4>("iwarp_ddp.rsvd", "Reserved").hex(),
           bits<&DdpControl::version, 2>("iwarp_ddp.dv", "DDP protocol version"));

template <>
inline constexpr auto layout_of<DdpTaggedBuffer> =
    layout("iwarp_ddp.tagged", "Tagged buffer model",
           bits<&DdpTaggedBuffer::stag, 32>("iwarp_ddp.stag", "(Data Sink) Steering Tag").hex(),
           bits<&DdpTaggedBuffer::offset, 64>("iwarp_ddp.tagged_offset", "(Data Sink) Tagged offset").hex());

template <>
inline constexpr auto layout_of<DdpUntaggedBuffer> = layout(
    "iwarp_ddp.untagged", "Untagged buffer model", bits<&DdpUntaggedBuffer::queue, 32>("iwarp_ddp.qn", "Queue number"),
    bits<&DdpUntaggedBuffer::msn, 32>("iwarp_ddp.msn", "Message sequence number"),
    bits<&DdpUntaggedBuffer::offset, 32>("iwarp_ddp.mo", "Message offset"));

inline constexpr std::size_t ddp_tagged_size = 14;
inline constexpr std::size_t ddp_untagged_size = 18;
inline constexpr std::uint8_t ddp_version = 1;

/// The header's size, from its first octet.
constexpr std::size_t ddp_header_size(std::byte control) {
    return (control & std::byte{0x80}) != std::byte{} ? ddp_tagged_size : ddp_untagged_size;
}

constexpr void emit_ddp(std::span<std::byte, ddp_tagged_size> out, const DdpTagged& header) {
    emit<DdpControl>(out.first<1>(), header.control);
    out[1] = static_cast<std::byte>(header.ulp);
    emit<DdpTaggedBuffer>(out.last<12>(), {header.stag, header.offset});
}
constexpr void emit_ddp(std::span<std::byte, ddp_untagged_size> out, const DdpUntagged& header) {
    emit<DdpControl>(out.first<1>(), header.control);
    write_bits(out.data(), 8, 40, header.ulp);
    emit<DdpUntaggedBuffer>(out.last<12>(), {header.queue, header.msn, header.offset});
}
constexpr std::optional<DdpTagged> parse_ddp_tagged(base::Bytes bytes) {
    if (bytes.size() < ddp_tagged_size) return std::nullopt;
    const auto buffer = View<DdpTaggedBuffer>::unchecked(bytes.data() + 2);
    return DdpTagged{*parse<DdpControl>(bytes), base::load_u8(bytes.data() + 1), buffer.get<&DdpTaggedBuffer::stag>(),
                     buffer.get<&DdpTaggedBuffer::offset>()};
}
constexpr std::optional<DdpUntagged> parse_ddp_untagged(base::Bytes bytes) {
    if (bytes.size() < ddp_untagged_size) return std::nullopt;
    const auto buffer = View<DdpUntaggedBuffer>::unchecked(bytes.data() + 6);
    return DdpUntagged{*parse<DdpControl>(bytes), read_bits<8, 40>(bytes.data()),
                       buffer.get<&DdpUntaggedBuffer::queue>(), buffer.get<&DdpUntaggedBuffer::msn>(),
                       buffer.get<&DdpUntaggedBuffer::offset>()};
}

}  // namespace wire
