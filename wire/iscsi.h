#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "wire/field.h"

/// iSCSI, RFC 7143, and its extensions for RDMA, RFC 7145.
namespace wire {

inline constexpr std::uint32_t iser_header_bytes = 28;
inline constexpr std::uint32_t iscsi_header_bytes = 48;

/// The iSER header before a PDU. RFC 7145, 9.2. Read and write are named from the initiator's command: the target reads
/// what the initiator writes.
struct IserHeader {
    std::uint8_t opcode = 0;  ///< 1 a PDU follows, 2 Hello, 3 HelloReply
    bool has_write = false;
    bool has_read = false;
    std::uint32_t write_key = 0;
    std::uint64_t write_base = 0;
    std::uint32_t read_key = 0;
    std::uint64_t read_base = 0;
};
constexpr IserHeader parse_iser(const std::byte* p) {
    const std::uint8_t flags = base::load_u8(p);
    return {static_cast<std::uint8_t>(flags >> 4), (flags & 0x08) != 0,      (flags & 0x04) != 0,
            base::load_be32(p + 4),                base::load_be64(p + 8),   base::load_be32(p + 16),
            base::load_be64(p + 20)};
}
inline constexpr std::uint8_t iser_control_pdu = 1;

enum class IscsiOpcode : std::uint8_t {
    nop_out = 0x00,
    scsi_command = 0x01,
    task_management = 0x02,
    login = 0x03,
    text = 0x04,
    data_out = 0x05,
    logout = 0x06,
    snack = 0x10,
    nop_in = 0x20,
    scsi_response = 0x21,
    task_management_response = 0x22,
    login_response = 0x23,
    text_response = 0x24,
    data_in = 0x25,
    logout_response = 0x26,
    ready_to_transfer = 0x31,
    asynchronous = 0x32,
    reject = 0x3f,
};

inline constexpr ValueName iscsi_opcodes[] = {
    {0x00, "NOP Out"},
    {0x01, "SCSI Command"},
    {0x02, "Task Management Function"},
    {0x03, "Login Command"},
    {0x04, "Text Command"},
    {0x05, "SCSI Data Out"},
    {0x06, "Logout Command"},
    {0x10, "SNACK Request"},
    {0x1c, "Vendor Specific I0"},
    {0x1d, "Vendor Specific I1"},
    {0x1e, "Vendor Specific I2"},
    {0x20, "NOP In"},
    {0x21, "SCSI Response"},
    {0x22, "Task Management Function Response"},
    {0x23, "Login Response"},
    {0x24, "Text Response"},
    {0x25, "SCSI Data In"},
    {0x26, "Logout Response"},
    {0x31, "Ready To Transfer"},
    {0x32, "Asynchronous Message"},
    {0x3c, "Vendor Specific T0"},
    {0x3d, "Vendor Specific T1"},
    {0x3e, "Vendor Specific T2"},
    {0x3f, "Reject"},
};
inline constexpr ValueName iscsi_attributes[] = {
    {0x00, "Untagged"},
    {0x01, "Simple"},
    {0x02, "Ordered"},
    {0x03, "Head of Queue"},
    {0x04, "ACA"},
};
inline constexpr ValueName iscsi_responses[] = {
    {0x00, "Command completed at target"},
    {0x01, "Response does not contain SCSI status"},
};
inline constexpr ValueName iscsi_task_functions[] = {
    {0x01, "Abort Task"},
    {0x02, "Abort Task Set"},
    {0x03, "Clear ACA"},
    {0x04, "Clear Task Set"},
    {0x05, "Logical Unit Reset"},
    {0x06, "Target Warm Reset"},
    {0x07, "Target Cold Reset"},
    {0x08, "Target Reassign"},
};
inline constexpr ValueName iscsi_task_responses[] = {
    {0x00, "Function complete"},
    {0x01, "Task not in task set"},
    {0x02, "LUN does not exist"},
    {0x03, "Task still allegiant"},
    {0x04, "Task failover not supported"},
    {0x05, "Task management function not supported"},
    {0x06, "Authorisation failed"},
    {0xff, "Function rejected"},
};
inline constexpr ValueName iscsi_login_statuses[] = {
    {0x00, "Success"},
    {0x101, "Target moved temporarily"},
    {0x102, "Target moved permanently"},
    {0x200, "Initiator error (miscellaneous error)"},
    {0x201, "Authentication failed"},
    {0x202, "Authorisation failure"},
    {0x203, "Target not found"},
    {0x204, "Target removed"},
    {0x205, "Unsupported version"},
    {0x206, "Too many connections"},
    {0x207, "Missing parameter"},
    {0x208, "Can't include in session"},
    {0x209, "Session type not supported"},
    {0x20a, "Session does not exist"},
    {0x20b, "Invalid request during login"},
    {0x300, "Target error (miscellaneous error)"},
    {0x301, "Service unavailable"},
    {0x302, "Out of resources"},
};
inline constexpr ValueName iscsi_login_stages[] = {
    {0x00, "Security negotiation"},
    {0x01, "Operational negotiation"},
    {0x03, "Full feature phase"},
};
inline constexpr ValueName iscsi_reject_reasons[] = {
    {0x01, "Full feature phase command before login"},
    {0x02, "Data (payload) digest error"},
    {0x03, "Data SNACK reject"},
    {0x04, "Protocol error"},
    {0x05, "Command not supported in this session type"},
    {0x06, "Immediate command reject (too many immediate commands)"},
    {0x07, "Task in progress"},
    {0x08, "Invalid Data Ack"},
    {0x09, "Invalid PDU field"},
    {0x0a, "Long operation reject"},
    {0x0b, "Negotiation reset"},
    {0x0c, "Waiting for logout"},
};
inline constexpr ValueName iscsi_events[] = {
    {0x00, "A SCSI asynchronous event is reported in the sense data"},
    {0x01, "Target requests logout"},
    {0x02, "Target will/has dropped connection"},
    {0x03, "Target will/has dropped all connections"},
    {0x04, "Target requests parameter negotiation"},
};
inline constexpr ValueName iscsi_logout_reasons[] = {
    {0x00, "Close session"},
    {0x01, "Close connection"},
    {0x02, "Remove connection for recovery"},
};
inline constexpr ValueName iscsi_logout_responses[] = {
    {0x00, "Connection closed successfully"},
    {0x01, "CID not found"},
    {0x02, "Connection recovery not supported"},
    {0x03, "Cleanup failed for various reasons"},
};

}  // namespace wire
