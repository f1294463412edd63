#pragma once
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "wire/field.h"

/// SCSI RDMA Protocol, T10 SRP r16a, 6; with the immediate data of SRP-2. Big-endian; tags are opaque.
namespace wire {

enum class SrpType : std::uint8_t {
    login_request = 0x00,
    task_management = 0x01,
    command = 0x02,
    initiator_logout = 0x03,
    credit_response = 0x41,
    event_response = 0x42,
    target_logout = 0x80,
    credit_request = 0x81,
    event_request = 0x82,
    login_response = 0xc0,
    response = 0xc1,
    login_reject = 0xc2,
};

/// The formats in which a command describes its buffers for data out and data in.
enum class SrpBuffer : std::uint8_t { none, direct, indirect, immediate };

inline constexpr std::uint32_t srp_command_bytes = 48;  ///< with a descriptor block of 16, without additional octets
inline constexpr std::uint32_t srp_response_bytes = 36;
inline constexpr std::uint32_t srp_task_bytes = 48;
inline constexpr std::uint32_t srp_login_request_bytes = 64;
inline constexpr std::uint32_t srp_login_short_bytes = 56;  ///< Linux: the RDMA CM uses 36 octets of the private data
inline constexpr std::uint32_t srp_login_response_bytes = 52;
inline constexpr std::uint32_t srp_login_reject_bytes = 32;
inline constexpr std::uint32_t srp_direct_bytes = 16;
inline constexpr std::uint32_t srp_indirect_bytes = 20;  ///< the table's own descriptor, and the length of all

/// A range of the initiator's memory.
struct SrpDescriptor {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t length = 0;
};
constexpr SrpDescriptor parse_srp_descriptor(const std::byte* p) {
    return {base::load_be64(p), base::load_be32(p + 8), base::load_be32(p + 12)};
}

/// Offset of the first buffer descriptor in a command. `buffer_formats`: high half data out, low half data in.
constexpr SrpBuffer srp_out_format(std::uint8_t formats) { return static_cast<SrpBuffer>(formats >> 4); }
constexpr SrpBuffer srp_in_format(std::uint8_t formats) { return static_cast<SrpBuffer>(formats & 0x0f); }

inline constexpr std::array<ValueName, 12> srp_types{{{0x00, "SRP_LOGIN_REQ"},
                                                      {0x01, "SRP_TSK_MGMT"},
                                                      {0x02, "SRP_CMD"},
                                                      {0x03, "SRP_I_LOGOUT"},
                                                      {0x41, "SRP_CRED_RSP"},
                                                      {0x42, "SRP_AER_RSP"},
                                                      {0x80, "SRP_T_LOGOUT"},
                                                      {0x81, "SRP_CRED_REQ"},
                                                      {0x82, "SRP_AER_REQ"},
                                                      {0xc0, "SRP_LOGIN_RSP"},
                                                      {0xc1, "SRP_RSP"},
                                                      {0xc2, "SRP_LOGIN_REJ"}}};
inline constexpr std::array<ValueName, 4> srp_buffer_formats{
    {{0, "none"}, {1, "direct"}, {2, "indirect"}, {3, "immediate"}}};
inline constexpr std::array<ValueName, 7> srp_reject_reasons{{{0x10000, "unable to establish the channel"},
                                                              {0x10001, "insufficient resources"},
                                                              {0x10002, "requested information unit too long"},
                                                              {0x10003, "unable to associate the channel"},
                                                              {0x10004, "unsupported buffer format"},
                                                              {0x10005, "no multi-channel operation"},
                                                              {0x10006, "channel limit reached"}}};
inline constexpr std::array<ValueName, 5> srp_task_functions{{{0x01, "Abort Task"},
                                                              {0x02, "Abort Task Set"},
                                                              {0x04, "Clear Task Set"},
                                                              {0x08, "Logical Unit Reset"},
                                                              {0x40, "Clear ACA"}}};
/// Of a response to a task's management. SRP r16a, table 23.
inline constexpr std::array<ValueName, 5> srp_response_codes{{{0x00, "Function complete"},
                                                              {0x02, "Invalid fields"},
                                                              {0x04, "Task management function not supported"},
                                                              {0x05, "Task management function failed"},
                                                              {0x09, "Incorrect logical unit number"}}};

}  // namespace wire
