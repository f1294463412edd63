#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "wire/layout.h"

/// Marker PDU Aligned framing for TCP. RFC 5044; enhanced connection setup RFC 6581.
namespace wire {

/// A start frame, Request or Reply, without its private data. RFC 5044 section 7.1.1.
struct MpaStart {
    std::array<std::byte, 16> key{};
    bool marker = false;        ///< the sender asks for markers in what it receives
    bool crc = false;           ///< one of the two frames with it turns CRCs on, in both directions
    bool rejected = false;      ///< has a meaning in a Reply only
    std::uint8_t reserved = 0;  ///< five bits, the highest of them S of RFC 6581
    std::uint8_t revision = 1;
    std::uint16_t private_length = 0;  ///< octets of private data that follow, 0 to 512

    /// RFC 6581 section 9: the private data begins with MpaEnhanced. Revision 1 knows no such bit.
    constexpr bool enhanced() const { return revision >= 2 && (reserved & 0x10) != 0; }
};
struct MpaRequest : MpaStart {};
struct MpaReply : MpaStart {};

/// Connection parameters at the head of the private data of an enhanced start frame. RFC 6581 section 9.
struct MpaEnhanced {
    bool peer_to_peer = false;  ///< A: the initiator sends a ready-to-receive message
    bool send = false;          ///< B: a zero-length Send may be that message
    std::uint16_t ird = 0;      ///< inbound RDMA Read queue depth; 0x3FFF = no negotiation
    bool write = false;         ///< C: a zero-length RDMA Write may be that message
    bool read = false;          ///< D: a zero-length RDMA Read may be that message
    std::uint16_t ord = 0;      ///< outbound RDMA Read queue depth; 0x3FFF = no negotiation
};

/// IRD and ORD as private data of eight octets, with revision 1: a convention of adapters and of Windows that no RFC
/// has. Numbers that no adapter keeps show that the private data are something else.
struct MpaLegacy {
    std::uint32_t ird = 0;
    std::uint32_t ord = 0;
    bool operator==(const MpaLegacy&) const = default;
};

/// What an FPDU begins with. RFC 5044 section 4.1.
struct MpaFpdu {
    std::uint16_t ulpdu_length = 0;
};

/// Stands every 512 octets of a stream with markers. RFC 5044 section 4.3.
struct MpaMarker {
    std::uint16_t reserved = 0;
    std::uint16_t fpdu_pointer = 0;  ///< octets back to the FPDU's length field; 0 between FPDUs
};

template <>
inline constexpr auto layout_of<MpaRequest> =
    layout("iwarp_mpa.req", "Request frame header", octets<&MpaRequest::key>("iwarp_mpa.key.req", "ID Req frame"),
           bits<&MpaRequest::marker, 1>("iwarp_mpa.marker_flag", "Marker flag"),
           bits<&MpaRequest::crc, 1>("iwarp_mpa.crc_flag", "CRC flag"),
           bits<&MpaRequest::rejected, 1>("iwarp_mpa.rej_flag", "Connection rejected flag"),
           bits<&MpaRequest::reserved, 5>("iwarp_mpa.res", "Reserved").hex(),
           bits<&MpaRequest::revision, 8>("iwarp_mpa.rev", "Revision"),
           bits<&MpaRequest::private_length, 16>("iwarp_mpa.pdlength", "Private data length"));

template <>
inline constexpr auto layout_of<MpaReply> =
    layout("iwarp_mpa.rep", "Reply frame header", octets<&MpaReply::key>("iwarp_mpa.key.rep", "ID Rep frame"),
           bits<&MpaReply::marker, 1>("iwarp_mpa.marker_flag", "Marker flag"),
           bits<&MpaReply::crc, 1>("iwarp_mpa.crc_flag", "CRC flag"),
           bits<&MpaReply::rejected, 1>("iwarp_mpa.rej_flag", "Connection rejected flag"),
           bits<&MpaReply::reserved, 5>("iwarp_mpa.res", "Reserved").hex(),
           bits<&MpaReply::revision, 8>("iwarp_mpa.rev", "Revision"),
           bits<&MpaReply::private_length, 16>("iwarp_mpa.pdlength", "Private data length"));

template <>
inline constexpr auto layout_of<MpaEnhanced> =
    layout("iwarp_mpa.enhanced", "Enhanced connection setup",
           bits<&MpaEnhanced::peer_to_peer, 1>("iwarp_mpa.enhanced.a", "Peer-to-peer connection (A)"),
           bits<&MpaEnhanced::send, 1>("iwarp_mpa.enhanced.b", "Zero-length Send makes ready (B)"),
           bits<&MpaEnhanced::ird, 14>("iwarp_mpa.enhanced.ird", "Inbound RDMA Read queue depth"),
           bits<&MpaEnhanced::write, 1>("iwarp_mpa.enhanced.c", "Zero-length RDMA Write makes ready (C)"),
           bits<&MpaEnhanced::read, 1>("iwarp_mpa.enhanced.D", "Zero-length RDMA Read makes ready (D)"),
           bits<&MpaEnhanced::ord, 14>("iwarp_mpa.enhanced.ord", "Outbound RDMA Read queue depth"));

template <>
inline constexpr auto layout_of<MpaLegacy> =
    layout("iwarp_mpa.legacy", "IRD and ORD by convention (no RFC)",
           bits<&MpaLegacy::ird, 32>("iwarp_mpa.legacy.ird", "Inbound RDMA Read queue depth"),
           bits<&MpaLegacy::ord, 32>("iwarp_mpa.legacy.ord", "Outbound RDMA Read queue depth"));

template <>
inline constexpr auto layout_of<MpaFpdu> =
    layout("iwarp_mpa.fpdu", "FPDU", bits<&MpaFpdu::ulpdu_length, 16>("iwarp_mpa.ulpdulength", "ULPDU length"));

template <>
inline constexpr auto layout_of<MpaMarker> =
    layout("iwarp_mpa.markers", "Markers", bits<&MpaMarker::reserved, 16>("iwarp_mpa.marker_res", "Reserved").hex(),
           bits<&MpaMarker::fpdu_pointer, 16>("iwarp_mpa.marker_fpduptr", "FPDU back pointer"));

/// IRD and ORD from the private data of a start frame; absent if the data cannot be these numbers. Some senders write
/// them in little-endian order.
struct MpaLegacyDepths {
    MpaLegacy depths;
    bool little_endian = false;
};
constexpr std::optional<MpaLegacyDepths> mpa_legacy(std::uint8_t revision, base::Bytes private_data) {
    constexpr std::uint32_t most = 0xffff;
    if (revision != 1 || private_data.size() != size_of<MpaLegacy>) return std::nullopt;
    const auto big = *parse<MpaLegacy>(private_data);
    if (big.ird == 0 && big.ord == 0) return std::nullopt;
    if (big.ird <= most && big.ord <= most) return MpaLegacyDepths{big, false};
    const MpaLegacy little{__builtin_bswap32(big.ird), __builtin_bswap32(big.ord)};
    if (little.ird > most || little.ord > most) return std::nullopt;
    return MpaLegacyDepths{little, true};
}

inline constexpr std::size_t mpa_key_size = 16;
inline constexpr std::uint32_t mpa_private_max = 512;      ///< RFC 5044 section 7.1.1
inline constexpr std::uint32_t mpa_ulpdu_max = 64768;      ///< RFC 5044 section 3; a received one may be longer
inline constexpr std::uint32_t mpa_marker_interval = 512;  ///< RFC 5044 section 4.3
inline constexpr std::uint32_t mpa_marker_size = 4;
inline constexpr std::uint32_t mpa_crc_size = 4;
inline constexpr std::uint16_t mpa_depth_unspecified = 0x3fff;  ///< of IRD and ORD, RFC 6581 section 9.1

namespace detail {
constexpr std::array<std::byte, mpa_key_size> mpa_key(const char (&text)[mpa_key_size + 1]) {
    std::array<std::byte, mpa_key_size> key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(text[i]);
    return key;
}
}  // namespace detail
inline constexpr auto mpa_request_key = detail::mpa_key("MPA ID Req Frame");
inline constexpr auto mpa_reply_key = detail::mpa_key("MPA ID Rep Frame");

enum class MpaStartKind : std::uint8_t { none, request, reply };

/// The start frame that begins here, by the octets of the key that are there. `decided` octets are enough to
/// distinguish a Request, a Reply and other data.
constexpr MpaStartKind mpa_start_kind(base::Bytes bytes) {
    constexpr std::size_t decided = 10;  // "MPA ID Req" and "MPA ID Rep" differ in the tenth octet
    if (bytes.size() < decided) return MpaStartKind::none;
    bool request = true;
    bool reply = true;
    for (std::size_t i = 0; i < mpa_key_size && i < bytes.size(); ++i) {
        request = request && bytes[i] == mpa_request_key[i];
        reply = reply && bytes[i] == mpa_reply_key[i];
    }
    return request ? MpaStartKind::request : reply ? MpaStartKind::reply : MpaStartKind::none;
}
/// Whether these octets, one or more, can be the beginning of a start frame.
constexpr bool mpa_start_possible(base::Bytes bytes) {
    for (std::size_t i = 0; i < mpa_key_size && i < bytes.size(); ++i)
        if (bytes[i] != mpa_request_key[i] && bytes[i] != mpa_reply_key[i]) return false;
    return true;
}

/// Pad octets after a ULPDU, so that the CRC lies on a multiple of four. RFC 5044 section 4.1.
constexpr std::uint32_t mpa_pad(std::uint32_t ulpdu_length) {
    return (0u - (ulpdu_length + 2)) & 3;
}
/// Octets of an FPDU without markers, CRC included.
constexpr std::uint32_t mpa_fpdu_size(std::uint32_t ulpdu_length) {
    return 2 + ulpdu_length + mpa_pad(ulpdu_length) + mpa_crc_size;
}
/// Markers within an FPDU of `size` octets that begins at stream position `phase` (modulo 512, counted from the
/// stream's first FPDU). A marker at `phase` 0 precedes it and counts; one right after its CRC does not. RFC 5044
/// sections 4.3, 4.4.
constexpr std::uint32_t mpa_markers(std::uint32_t size, std::uint32_t phase) {
    const std::uint32_t before_first = phase == 0 ? 0 : mpa_marker_interval - phase;
    if (size <= before_first) return 0;
    constexpr std::uint32_t between = mpa_marker_interval - mpa_marker_size;
    return (size - before_first + between - 1) / between;
}
/// The longest FPDU with all its markers.
inline constexpr std::uint32_t mpa_longest = mpa_fpdu_size(0xffff) + 4 * mpa_markers(mpa_fpdu_size(0xffff), 0);

/// The longest ULPDU that lets an FPDU fit a segment of `emss` octets. RFC 5044 section 4.5.
constexpr std::uint32_t mpa_mulpdu(std::uint32_t emss, bool markers) {
    const std::uint32_t marker_octets = markers ? 4 * ((emss + 511) / 512) : 0;
    return emss - (6 + marker_octets + emss % 4);
}
static_assert(mpa_mulpdu(1448, false) == 1442 && mpa_mulpdu(1448, true) == 1430);

}  // namespace wire
