#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/field.h"
#include "wire/little_endian.h"

/// NVM Express over RDMA: what the SENDs of a queue carry. NVMe Base 2.0, 3.3.3 and 4; NVMe over Fabrics 1.1, 2 and 7.3;
/// NVMe RDMA Transport 1.0, 3. Every number is little-endian.
namespace wire {

inline constexpr std::uint32_t nvme_command_bytes = 64;
inline constexpr std::uint32_t nvme_completion_bytes = 16;
inline constexpr std::uint8_t nvme_fabrics_opcode = 0x7f;
inline constexpr std::uint32_t nvme_connect_data_bytes = 1024;
/// Where Connect's data has the names, each of up to 256 octets that end with a zero. NVMe over Fabrics 1.1, figure 20.
inline constexpr std::uint32_t nvme_subsystem_name_offset = 256;
inline constexpr std::uint32_t nvme_host_name_offset = 512;
inline constexpr std::uint32_t nvme_name_bytes = 256;

/// Where an entry has a field: octets, then bits of the little-endian number that these octets are.
struct NvmePlace {
    std::uint16_t octet = 0;
    std::uint16_t octets = 0;  ///< of what read_nvme() reads, 8 at most
    std::uint8_t shift = 0;
    std::uint8_t width = 0;  ///< bits; 0: all of them
};

/// Reads the field; the octets are there.
constexpr std::uint64_t read_nvme(const std::byte* entry, const NvmePlace& place) {
    const std::uint64_t value = load_le(entry + place.octet, place.octets) >> place.shift;
    return place.width == 0 ? value : value & ((std::uint64_t{1} << place.width) - 1);
}

/// The set of commands that a queue accepts; queue 0 is the administrator's.
enum class NvmeQueueType : std::uint8_t { unknown, admin, io };

/// Commands of queue 0xnn with opcode 0x7f. NVMe over Fabrics 1.1, figure 15.
enum class NvmeFabricsType : std::uint8_t {
    property_set = 0,
    connect = 1,
    property_get = 4,
    authentication_send = 5,
    authentication_receive = 6,
    disconnect = 8,
};

/// A scatter gather list descriptor. NVMe Base 2.0, 4.1.2.
struct NvmeSgl {
    enum Type : std::uint8_t { data_block = 0, last_segment = 3, keyed_data_block = 4 };
    std::uint8_t type = 0;
    std::uint8_t subtype = 0;  ///< of a data block, 1: an offset into the capsule; keyed, 15: to be invalidated
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint32_t key = 0;
};
inline constexpr std::uint32_t nvme_sgl_bytes = 16;

constexpr NvmeSgl parse_nvme_sgl(const std::byte* p) {
    NvmeSgl sgl;
    const std::uint8_t identifier = base::load_u8(p + 15);
    sgl.type = identifier >> 4;
    sgl.subtype = identifier & 15;
    sgl.address = load_le64(p);
    const bool keyed = sgl.type == NvmeSgl::keyed_data_block;
    sgl.length = keyed ? static_cast<std::uint32_t>(load_le(p + 8, 3)) : load_le32(p + 8);
    if (keyed) sgl.key = load_le32(p + 11);
    return sgl;
}

/// A submission queue entry as far as it was captured.
struct NvmeCommand {
    std::uint8_t opcode = 0;
    std::uint16_t id = 0;
    std::optional<std::uint32_t> name_space;
    std::optional<std::uint8_t> fabrics_type;  ///< of a fabrics command alone
    std::optional<NvmeSgl> sgl;
    std::optional<std::uint64_t> first_block;   ///< of an I/O command that has one
    std::optional<std::uint32_t> block_count;   ///< of an I/O command that has one
};

inline constexpr std::uint32_t nvme_command_id_end = 4;  ///< the octets that must be there

/// `captured` octets of an entry, nvme_command_id_end at least.
NvmeCommand parse_nvme_command(const std::byte* p, std::size_t captured);

/// Whether 64 octets are an entry of a submission queue of NVMe over RDMA: SGLs in use, reserved octets zero, a
/// descriptor that the transport permits. False if too few octets were captured.
bool looks_like_nvme_command(const std::byte* p, std::size_t captured);

/// A completion queue entry of 16 octets.
struct NvmeCompletion {
    std::uint64_t result = 0;  ///< its meaning depends on the command
    std::uint16_t queue_head = 0;
    std::uint16_t queue_id = 0;
    std::uint16_t id = 0;
    std::uint16_t status = 0;  ///< without the phase: SC 8 bits, SCT 3, CRD 2, M, DNR

    constexpr std::uint8_t code() const { return static_cast<std::uint8_t>(status); }
    constexpr std::uint8_t type() const { return status >> 8 & 7; }
};
constexpr NvmeCompletion parse_nvme_completion(const std::byte* p) {
    return {load_le64(p), load_le16(p + 8), load_le16(p + 10), load_le16(p + 12),
            static_cast<std::uint16_t>(load_le16(p + 14) >> 1)};
}

/// Private data of a REQ. NVMe RDMA Transport 1.0, figure 5.
struct NvmeRdmaRequest {
    std::uint16_t record_format = 0;
    std::uint16_t queue = 0;
    std::uint16_t receive_queue_size = 0;
    std::uint16_t send_queue_size = 0;  ///< less one
    std::uint16_t controller = 0;
};
inline constexpr std::uint32_t nvme_rdma_request_bytes = 32;
constexpr NvmeRdmaRequest parse_nvme_rdma_request(const std::byte* p) {
    return {load_le16(p), load_le16(p + 2), load_le16(p + 4), load_le16(p + 6), load_le16(p + 8)};
}

/// The name of a command in the specification, and the kind of command in reports.
struct NvmeCommandName {
    std::uint8_t opcode;
    std::string_view text;
    std::string_view kind;
};
/// Empty texts for a command without a name. `fabrics_type` counts for opcode 0x7f.
NvmeCommandName nvme_command_name(NvmeQueueType queue, std::uint8_t opcode, std::uint8_t fabrics_type);

/// Words for a status, "Success" for 0; empty for one without words. `connect`: of a Connect command, whose own codes
/// differ.
std::string_view nvme_status_name(std::uint8_t type, std::uint8_t code, bool connect);

inline constexpr std::array<ValueName, 6> nvme_fabrics_types{{{0, "Property Set"},
                                                              {1, "Connect"},
                                                              {4, "Property Get"},
                                                              {5, "Authentication Send"},
                                                              {6, "Authentication Recv"},
                                                              {8, "Disconnect"}}};
inline constexpr std::array<ValueName, 5> nvme_status_types{{{0, "Generic Command Status"},
                                                             {1, "Command Specific Status"},
                                                             {2, "Media and Data Integrity Errors"},
                                                             {3, "Path Related Status"},
                                                             {7, "Vendor Specific"}}};
/// NVMe RDMA Transport 1.0, figure 7.
inline constexpr std::array<ValueName, 9> nvme_rdma_reject_codes{{{1, "Invalid Private Data Length"},
                                                                  {2, "Invalid RECFMT"},
                                                                  {3, "Invalid QID"},
                                                                  {4, "Invalid HSQSIZE"},
                                                                  {5, "Invalid HRQSIZE"},
                                                                  {6, "No Resources"},
                                                                  {7, "Invalid IRD"},
                                                                  {8, "Invalid ORD"},
                                                                  {9, "Invalid CNTLID"}}};

}  // namespace wire
