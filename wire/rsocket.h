#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/field.h"
#include "wire/little_endian.h"

/// The protocol of rsockets, of librdmacm: a stream of bytes by RDMA WRITEs into a ring, and immediate data that say
/// what each is.
namespace wire {

inline constexpr std::uint32_t rsocket_connect_bytes = 40;
inline constexpr std::uint32_t rsocket_grant_bytes = 16;  ///< address, key, length
inline constexpr std::uint32_t rsocket_message_bytes = 4;

enum class RsocketOperation : std::uint8_t { data = 0, grant = 4, io_map = 6, control = 7 };
enum class RsocketControl : std::uint32_t { disconnect, keep_alive, shutdown };

/// Immediate data, or a SEND of four bytes where the transport has none.
struct RsocketMessage {
    std::uint8_t operation = 0;
    std::uint32_t value = 0;  ///< bytes, credits, an index, or what is controlled
};
constexpr RsocketMessage parse_rsocket(std::uint32_t word) {
    return {static_cast<std::uint8_t>(word >> 29), word & 0x1fffffff};
}

inline constexpr std::array<ValueName, 4> rsocket_operations{
    {{0, "data"}, {4, "credits"}, {6, "mapped memory"}, {7, "control"}}};
inline constexpr std::array<ValueName, 3> rsocket_controls{{{0, "disconnect"}, {1, "keep alive"}, {2, "shutdown"}}};

/// A range of memory that is announced.
struct RsocketGrant {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t length = 0;
};
constexpr RsocketGrant parse_rsocket_grant(const std::byte* p, bool is_big_endian) {
    if (is_big_endian) return {base::load_be64(p), base::load_be32(p + 8), base::load_be32(p + 12)};
    return {load_le64(p), load_le32(p + 8), load_le32(p + 12)};
}

/// Private data of REQ and REP, or of MPA's frames. Numbers are big-endian.
struct RsocketConnect {
    static constexpr std::uint8_t big_endian_flag = 1, io_map_flag = 2;

    std::uint8_t flags = 0;
    std::uint16_t credits = 0;
    RsocketGrant grants = {};  ///< where the peer writes further ranges to; its length counts them
    RsocketGrant buffer = {};  ///< the first range for the peer's bytes

    constexpr bool is_big_endian() const { return (flags & big_endian_flag) != 0; }
};
/// nullopt for other data.
constexpr std::optional<RsocketConnect> parse_rsocket_connect(base::Bytes data) {
    if (data.size() < rsocket_connect_bytes) return std::nullopt;
    const std::byte* p = data.data();
    RsocketConnect connect{base::load_u8(p + 1), base::load_be16(p + 2), parse_rsocket_grant(p + 8, true),
                           parse_rsocket_grant(p + 24, true)};
    constexpr std::uint32_t most_ranges = 64;
    const bool fits = base::load_u8(p) == 1 && connect.flags < 4 && connect.credits != 0 &&
                      base::load_be24(p + 4) == 0 && connect.grants.length != 0 &&
                      connect.grants.length <= most_ranges && connect.grants.address != 0 &&
                      connect.buffer.address != 0 && connect.buffer.length != 0;
    if (!fits) return std::nullopt;
    return connect;
}

/// What begins a datagram of an rsocket: the sender's version of IP, port and address.
constexpr std::uint32_t rsocket_datagram_bytes(base::Bytes head) {
    if (head.size() < 8) return 0;
    const std::uint8_t version = base::load_u8(head.data()), length = base::load_u8(head.data() + 1);
    if (version == 4 && length == 8) return length;
    return version == 6 && length == 24 ? length : 0;
}
/// Whether a payload is one of them: its header names the address that the packet comes from.
constexpr bool is_rsocket_datagram(base::Bytes head, base::Bytes source) {
    const std::uint32_t size = rsocket_datagram_bytes(head);
    if (size == 0 || head.size() < size || base::load_be16(head.data() + 2) == 0) return false;
    const base::Bytes address = size == 8 ? head.subspan(4, 4) : head.subspan(8, 16);
    if (source.size() != address.size()) return false;
    for (std::size_t i = 0; i < address.size(); ++i)
        if (source[i] != address[i]) return false;
    return true;
}

}  // namespace wire
