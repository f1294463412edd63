#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "wire/field.h"

/// Reliable Datagram Sockets on InfiniBand, protocol 3.1 and 4.1: a header before each fragment of a datagram. Big-endian.
namespace wire {

inline constexpr std::uint32_t rds_header_bytes = 48;
inline constexpr std::uint32_t rds_extensions_at = 32;
inline constexpr std::uint32_t rds_fragment_bytes = 4096;
inline constexpr std::uint32_t rds_map_bytes = 8192;  ///< a bit for each port

/// What a header's flags are.
namespace rds_flag {
inline constexpr std::uint8_t congestion_map = 0x01;
inline constexpr std::uint8_t ack_required = 0x02;
inline constexpr std::uint8_t retransmitted = 0x04;
inline constexpr std::uint8_t ping = 0x08;
inline constexpr std::uint8_t pong = 0x10;
inline constexpr std::uint8_t extended = 0x20;
}  // namespace rds_flag

struct RdsHeader {
    std::uint64_t sequence = 0;
    std::uint64_t acknowledged = 0;
    std::uint32_t length = 0;  ///< of the whole datagram
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint8_t flags = 0;
    std::uint8_t credits = 0;

    constexpr bool is_map() const { return (flags & rds_flag::congestion_map) != 0; }
};
/// The caller has 26 bytes.
constexpr RdsHeader parse_rds(const std::byte* p) {
    return {base::load_be64(p),      base::load_be64(p + 8),  base::load_be32(p + 16), base::load_be16(p + 20),
            base::load_be16(p + 22), base::load_u8(p + 24), base::load_u8(p + 25)};
}

/// Whether the header's checksum, that of IP over all of its bytes, is right and its length agrees with that of a SEND.
constexpr bool is_rds(base::Bytes head, std::uint64_t length) {
    if (head.size() < rds_header_bytes || length < rds_header_bytes || length > rds_header_bytes + rds_fragment_bytes)
        return false;
    std::uint32_t sum = 0;
    for (std::uint32_t at = 0; at < rds_header_bytes; at += 2) sum += base::load_be16(head.data() + at);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff && length - rds_header_bytes <= base::load_be32(head.data() + 16);
}

/// Extension headers: a type each, then what it has; type 0 ends them. include/net/rds.h of Linux.
enum class RdsExtension : std::uint8_t { none, version, rdma, rdma_destination, rdma_bytes, paths, generation };
/// Bytes after the type; 0 for one that is not known.
constexpr std::uint32_t rds_extension_bytes(std::uint8_t type) {
    constexpr std::array<std::uint8_t, 7> sizes{0, 4, 4, 8, 8, 2, 4};
    return type < sizes.size() ? sizes[type] : 0;
}

inline constexpr std::array<ValueName, 6> rds_extension_names{{{1, "version"},
                                                               {2, "RDMA"},
                                                               {3, "RDMA destination"},
                                                               {4, "RDMA bytes"},
                                                               {5, "paths"},
                                                               {6, "generation"}}};

/// What the private data of REQ and REP have after both addresses.
inline constexpr std::uint32_t rds_connect_bytes = 20;

/// Where the version stands in private data with addresses of IPv4 (8) or IPv6 (32); 0: they are not of RDS.
constexpr std::uint32_t rds_version_at(base::Bytes data) {
    for (const std::uint32_t at : {8u, 32u}) {
        if (data.size() < at + rds_connect_bytes) continue;
        bool has_addresses = true;
        for (const std::uint32_t first : {0u, at / 2}) {
            std::uint32_t sum = 0;
            for (std::uint32_t i = 0; i < at / 2; ++i) sum += base::load_u8(data.data() + first + i);
            has_addresses = has_addresses && sum != 0;
        }
        const std::byte* p = data.data() + at;
        const std::uint8_t major = base::load_u8(p);
        const std::uint16_t minors = base::load_be16(p + 2);
        const bool is_version = (major == 3 || major == 4) && base::load_u8(p + 1) <= 1 && minors != 0 && minors < 16;
        if (has_addresses && is_version && base::load_be16(p + 6) == 0) return at;
    }
    return 0;
}

}  // namespace wire
