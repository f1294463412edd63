#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/field.h"
#include "wire/little_endian.h"

/// SMB2 Remote Direct Memory Access Transport Protocol, MS-SMBD 2.2. Little-endian.
namespace wire {

inline constexpr std::uint16_t smb_direct_version = 0x0100;
inline constexpr std::uint32_t smb_direct_negotiate_bytes = 20;  ///< of a request
inline constexpr std::uint32_t smb_direct_answer_bytes = 32;     ///< of a negotiate response
inline constexpr std::uint32_t smb_direct_empty_bytes = 20;      ///< a data transfer header without padding
inline constexpr std::uint32_t smb_direct_data_at = 24;          ///< first place of data after a header, 2.2.3
inline constexpr std::uint16_t smb_direct_response_requested = 0x0001;

/// SMB_DIRECT_DATA_TRANSFER, 2.2.3.
struct SmbDirectHeader {
    std::uint16_t credits_requested = 0;
    std::uint16_t credits_granted = 0;
    std::uint16_t flags = 0;
    std::uint16_t reserved = 0;
    std::uint32_t remaining_length = 0;  ///< of the upper message, in later SENDs
    std::uint32_t data_offset = 0;
    std::uint32_t data_length = 0;

    /// Whether the parts agree with each other in a SEND of `length` bytes.
    constexpr bool is_consistent(std::uint64_t length) const {
        if ((flags & ~smb_direct_response_requested) != 0 || reserved != 0) return false;
        if (data_length == 0) return data_offset == 0 && remaining_length == 0;
        return data_offset >= smb_direct_data_at && data_offset % 8 == 0 &&
               std::uint64_t{data_offset} + data_length <= length;
    }
};

/// nullopt where the bytes do not hold all of it.
constexpr std::optional<SmbDirectHeader> parse_smb_direct(base::Bytes head) {
    if (head.size() < smb_direct_empty_bytes) return std::nullopt;
    const std::byte* p = head.data();
    return SmbDirectHeader{load_le16(p),     load_le16(p + 2), load_le16(p + 4), load_le16(p + 6),
                           load_le32(p + 8), load_le32(p + 12), load_le32(p + 16)};
}

/// 2.2.1. A data transfer header never grants so few credits that it looks like one: its first field would be 256.
constexpr bool is_smb_direct_request(base::Bytes head, std::uint64_t length) {
    return length == smb_direct_negotiate_bytes && head.size() >= 8 && load_le16(head.data()) == smb_direct_version &&
           load_le16(head.data() + 2) == smb_direct_version && load_le16(head.data() + 4) == 0;
}
/// 2.2.2.
constexpr bool is_smb_direct_response(base::Bytes head, std::uint64_t length) {
    return length == smb_direct_answer_bytes && head.size() >= 8 && load_le16(head.data()) == smb_direct_version &&
           load_le16(head.data() + 2) == smb_direct_version && load_le16(head.data() + 6) == 0;
}

}  // namespace wire
