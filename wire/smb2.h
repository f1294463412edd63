#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "wire/field.h"
#include "wire/little_endian.h"

/// Server Message Block 2 and 3, MS-SMB2 2.2. Little-endian.
namespace wire {

inline constexpr std::uint32_t smb2_header_bytes = 64;
inline constexpr std::uint32_t smb2_transform_bytes = 52;    ///< 2.2.41
inline constexpr std::uint32_t smb2_compression_bytes = 16;  ///< 2.2.42
inline constexpr std::uint32_t smb2_status_pending = 0x00000103;
/// Of a notification that no request has asked for. 3.3.4.6.
inline constexpr std::uint64_t smb2_unsolicited_id = ~std::uint64_t{0};

/// By the first byte of 'SMB' headers.
enum class SmbHeader : std::uint8_t { none, plain, encrypted, compressed };
constexpr SmbHeader smb_header_of(base::Bytes head) {
    if (head.size() < 4 || base::load_be24(head.data() + 1) != 0x534d42) return SmbHeader::none;
    switch (base::load_u8(head.data())) {
        case 0xfe: return SmbHeader::plain;
        case 0xfd: return SmbHeader::encrypted;
        case 0xfc: return SmbHeader::compressed;
        default: return SmbHeader::none;
    }
}

enum class Smb2Command : std::uint16_t {
    negotiate,
    session_setup,
    logoff,
    tree_connect,
    tree_disconnect,
    create,
    close,
    flush,
    read,
    write,
    lock,
    ioctl,
    cancel,
    echo,
    query_directory,
    change_notify,
    query_info,
    set_info,
    oplock_break,
};
inline constexpr std::uint16_t smb2_command_count = 19;

/// Of a command: `kind` in figures, `text` in lines.
struct Smb2Name {
    std::string_view kind;
    std::string_view text;
};
Smb2Name smb2_name(std::uint16_t command);

enum class Smb2Channel : std::uint32_t { none, rdma_v1, rdma_v1_invalidate, rdma_transform };

/// 2.2.1. What was not captured is zero: `size` says how much there is.
struct Smb2Header {
    static constexpr std::uint32_t response_flag = 1, async_flag = 2;

    std::uint16_t credit_charge = 0;
    std::uint32_t status = 0;  ///< of a response
    std::uint16_t command = 0;
    std::uint16_t credits = 0;  ///< requested, granted
    std::uint32_t flags = 0;
    std::uint32_t next_command = 0;
    std::uint64_t message_id = 0;
    std::uint32_t tree_id = 0;  ///< of one that is not asynchronous
    bool has_tree = false;

    constexpr bool is_response() const { return (flags & response_flag) != 0; }
    constexpr bool is_async() const { return (flags & async_flag) != 0; }
};
/// nullopt where the identifier was not captured, or where it is no such header.
std::optional<Smb2Header> parse_smb2(base::Bytes head);

/// SMB_DIRECT_BUFFER_DESCRIPTOR_V1, MS-SMBD 2.2.3.1.
inline constexpr std::uint32_t smb_descriptor_bytes = 16;
struct SmbDescriptor {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t length = 0;
};
constexpr SmbDescriptor parse_smb_descriptor(const std::byte* p) {
    return {load_le64(p), load_le32(p + 8), load_le32(p + 12)};
}

/// A range of bytes that a header names, from the header's first byte on.
struct Smb2Range {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

/// What a READ or a WRITE asks for. 2.2.19, 2.2.21.
struct Smb2Transfer {
    std::uint32_t length = 0;  ///< of READ, and of data that are in the WRITE
    std::uint64_t file_offset = 0;
    std::uint32_t channel = 0;
    std::uint32_t remaining = 0;  ///< of a WRITE: bytes that the server fetches
    Smb2Range descriptors = {};

    constexpr bool is_rdma() const {
        return channel == static_cast<std::uint32_t>(Smb2Channel::rdma_v1) ||
               channel == static_cast<std::uint32_t>(Smb2Channel::rdma_v1_invalidate);
    }
};
/// `head` begins with the header; nullopt where the body was cut.
std::optional<Smb2Transfer> parse_smb2_read(base::Bytes head);
std::optional<Smb2Transfer> parse_smb2_write(base::Bytes head);

/// Little-endian UTF-16 as UTF-8; at most `most` bytes of it are read.
std::string smb_text(base::Bytes utf16, std::size_t most);
/// "663fd73d-6acd-8c4f-97df-4f54611644db": 16 bytes. MS-DTYP 2.3.4.
std::string smb_guid_text(const std::byte* p);
/// "Nov 21, 2026 02:22:53.354740300 UTC": 100 ns since 1601, MS-DTYP 2.3.3. Zero is 1970, as Wireshark has it.
std::string smb_time_text(std::uint64_t time);

}  // namespace wire
