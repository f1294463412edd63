#include "wire/nvme.h"

#include <algorithm>
#include <span>

namespace wire {

namespace {

// NVMe Base 2.0, figure 138.
constexpr NvmeCommandName admin_commands[] = {
    {0x00, "Delete I/O SQ", "delete_io_sq"},
    {0x01, "Create I/O SQ", "create_io_sq"},
    {0x02, "Get Log Page", "get_log_page"},
    {0x04, "Delete I/O CQ", "delete_io_cq"},
    {0x05, "Create I/O CQ", "create_io_cq"},
    {0x06, "Identify", "identify"},
    {0x08, "Abort", "abort"},
    {0x09, "Set Features", "set_features"},
    {0x0a, "Get Features", "get_features"},
    {0x0c, "Async Event Request", "async_event"},
    {0x0d, "Namespace Management", "namespace_management"},
    {0x10, "Firmware Commit", "firmware_commit"},
    {0x11, "Firmware Download", "firmware_download"},
    {0x14, "Device Self-test", "device_self_test"},
    {0x15, "Namespace Attachment", "namespace_attachment"},
    {0x18, "Keep Alive", "keep_alive"},
    {0x19, "Directive Send", "directive_send"},
    {0x1a, "Directive Receive", "directive_receive"},
    {0x1c, "Virtualization Management", "virtualization_management"},
    {0x1d, "NVMe-MI Send", "nvme_mi_send"},
    {0x1e, "NVMe-MI Receive", "nvme_mi_receive"},
    {0x7c, "Doorbell Buffer Config", "doorbell_buffer_config"},
    {0x80, "Format NVM", "format"},
    {0x81, "Security Send", "security_send"},
    {0x82, "Security Receive", "security_receive"},
    {0x84, "Sanitize", "sanitize"},
    {0x86, "Get LBA Status", "get_lba_status"},
};

// NVM Command Set 1.0, figure 11; Zoned Namespace Command Set 1.1, figure 22; Base 2.0, figure 390.
constexpr NvmeCommandName io_commands[] = {
    {0x00, "Flush", "flush"},
    {0x01, "Write", "write"},
    {0x02, "Read", "read"},
    {0x04, "Write Uncorrectable", "write_uncorrectable"},
    {0x05, "Compare", "compare"},
    {0x08, "Write Zeroes", "write_zeroes"},
    {0x09, "Dataset Management", "dsm"},
    {0x0c, "Verify", "verify"},
    {0x0d, "Reservation Register", "reservation_register"},
    {0x0e, "Reservation Report", "reservation_report"},
    {0x11, "Reservation Acquire", "reservation_acquire"},
    {0x12, "I/O Management Receive", "io_management_receive"},
    {0x15, "Reservation Release", "reservation_release"},
    {0x19, "Copy", "copy"},
    {0x1d, "I/O Management Send", "io_management_send"},
    {0x79, "Zone Management Send", "zone_management_send"},
    {0x7a, "Zone Management Receive", "zone_management_receive"},
    {0x7d, "Zone Append", "zone_append"},
};

constexpr NvmeCommandName fabrics_commands[] = {
    {0x00, "Property Set", "property_set"},
    {0x01, "Connect", "connect"},
    {0x04, "Property Get", "property_get"},
    {0x05, "Authentication Send", "authentication_send"},
    {0x06, "Authentication Receive", "authentication_receive"},
    {0x08, "Disconnect", "disconnect"},
};

NvmeCommandName find_name(std::span<const NvmeCommandName> commands, std::uint8_t opcode) {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [opcode](const NvmeCommandName& one) { return one.opcode == opcode; });
    return found == commands.end() ? NvmeCommandName{opcode, {}, {}} : *found;
}

// NVMe Base 2.0, figures 94 to 100.
constexpr ValueName generic_status[] = {
    {0x00, "Success"},
    {0x01, "Invalid Opcode"},
    {0x02, "Invalid Field"},
    {0x03, "Command ID Conflict"},
    {0x04, "Data Transfer Error"},
    {0x05, "Aborted by Power Loss"},
    {0x06, "Internal Error"},
    {0x07, "Abort Requested"},
    {0x08, "Aborted by SQ Deletion"},
    {0x09, "Aborted, Failed Fused Command"},
    {0x0a, "Aborted, Missing Fused Command"},
    {0x0b, "Invalid Namespace or Format"},
    {0x0c, "Command Sequence Error"},
    {0x0d, "Invalid SGL Segment Descriptor"},
    {0x0e, "Invalid Number of SGL Descriptors"},
    {0x0f, "Invalid Data SGL Length"},
    {0x10, "Invalid Metadata SGL Length"},
    {0x11, "Invalid SGL Descriptor Type"},
    {0x12, "Invalid Use of CMB"},
    {0x13, "Invalid PRP Offset"},
    {0x14, "Atomic Write Unit Exceeded"},
    {0x15, "Operation Denied"},
    {0x16, "Invalid SGL Offset"},
    {0x18, "Host Identifier Inconsistent Format"},
    {0x19, "Keep Alive Timer Expired"},
    {0x1a, "Invalid Keep Alive Timeout"},
    {0x1b, "Aborted by Preempt and Abort"},
    {0x1c, "Sanitize Failed"},
    {0x1d, "Sanitize in Progress"},
    {0x1e, "Invalid SGL Data Block Granularity"},
    {0x1f, "Command Not Supported in CMB"},
    {0x20, "Namespace is Write Protected"},
    {0x21, "Command Interrupted"},
    {0x22, "Transient Transport Error"},
    {0x23, "Prohibited by Lockdown"},
    {0x24, "Admin Command Media Not Ready"},
    {0x80, "LBA Out of Range"},
    {0x81, "Capacity Exceeded"},
    {0x82, "Namespace Not Ready"},
    {0x83, "Reservation Conflict"},
    {0x84, "Format in Progress"},
};

constexpr ValueName specific_status[] = {
    {0x00, "Invalid Completion Queue"},
    {0x01, "Invalid Queue Identifier"},
    {0x02, "Invalid Queue Size"},
    {0x03, "Abort Command Limit Exceeded"},
    {0x05, "Async Event Request Limit Exceeded"},
    {0x06, "Invalid Firmware Slot"},
    {0x07, "Invalid Firmware Image"},
    {0x08, "Invalid Interrupt Vector"},
    {0x09, "Invalid Log Page"},
    {0x0a, "Invalid Format"},
    {0x0b, "Firmware Needs Conventional Reset"},
    {0x0c, "Invalid Queue Deletion"},
    {0x0d, "Feature Not Saveable"},
    {0x0e, "Feature Not Changeable"},
    {0x0f, "Feature Not Namespace Specific"},
    {0x10, "Firmware Needs Subsystem Reset"},
    {0x11, "Firmware Needs Controller Reset"},
    {0x12, "Firmware Needs Maximum Time"},
    {0x13, "Firmware Activation Prohibited"},
    {0x14, "Overlapping Range"},
    {0x15, "Namespace Insufficient Capacity"},
    {0x16, "Namespace Identifier Unavailable"},
    {0x18, "Namespace Already Attached"},
    {0x19, "Namespace is Private"},
    {0x1a, "Namespace Not Attached"},
    {0x1b, "Thin Provisioning Not Supported"},
    {0x1c, "Invalid Controller List"},
    {0x1d, "Self-test in Progress"},
    {0x1e, "Boot Partition Write Prohibited"},
    {0x1f, "Invalid Controller Identifier"},
    {0x20, "Invalid Secondary Controller State"},
    {0x21, "Invalid Number of Controller Resources"},
    {0x22, "Invalid Resource Identifier"},
    {0x23, "Sanitize Prohibited by PMR"},
    {0x24, "Invalid ANA Group Identifier"},
    {0x25, "ANA Attach Failed"},
    {0x80, "Conflicting Attributes"},
    {0x81, "Invalid Protection Information"},
    {0x82, "Write to Read Only Range"},
    {0x83, "Command Size Limit Exceeded"},
    {0xb8, "Zone Boundary Error"},
    {0xb9, "Zone is Full"},
    {0xba, "Zone is Read Only"},
    {0xbb, "Zone is Offline"},
    {0xbc, "Zone Invalid Write"},
    {0xbd, "Too Many Active Zones"},
    {0xbe, "Too Many Open Zones"},
    {0xbf, "Invalid Zone State Transition"},
};

// NVMe over Fabrics 1.1, figure 19.
constexpr ValueName connect_status[] = {
    {0x80, "Connect Incompatible Format"},
    {0x81, "Connect Controller Busy"},
    {0x82, "Connect Invalid Parameters"},
    {0x83, "Connect Restart Discovery"},
    {0x84, "Connect Invalid Host"},
    {0x90, "Discovery Restart"},
    {0x91, "Authentication Required"},
};

constexpr ValueName media_status[] = {
    {0x80, "Write Fault"},
    {0x81, "Unrecovered Read Error"},
    {0x82, "End-to-end Guard Check Error"},
    {0x83, "End-to-end Application Tag Check Error"},
    {0x84, "End-to-end Reference Tag Check Error"},
    {0x85, "Compare Failure"},
    {0x86, "Access Denied"},
    {0x87, "Deallocated or Unwritten Block"},
    {0x88, "End-to-end Storage Tag Check Error"},
};

constexpr ValueName path_status[] = {
    {0x00, "Internal Path Error"},
    {0x01, "Asymmetric Access Persistent Loss"},
    {0x02, "Asymmetric Access Inaccessible"},
    {0x03, "Asymmetric Access Transition"},
    {0x60, "Controller Pathing Error"},
    {0x70, "Host Pathing Error"},
    {0x71, "Command Aborted by Host"},
};

/// Whether an I/O command begins its own part with a block's address and a count of blocks.
bool has_blocks(std::uint8_t opcode) {
    switch (opcode) {
        case 0x01:  // Write
        case 0x02:  // Read
        case 0x04:  // Write Uncorrectable
        case 0x05:  // Compare
        case 0x08:  // Write Zeroes
        case 0x0c:  // Verify
        case 0x7d:  // Zone Append
            return true;
        default: return false;
    }
}

}  // namespace

NvmeCommand parse_nvme_command(const std::byte* p, std::size_t captured) {
    NvmeCommand command;
    command.opcode = base::load_u8(p);
    command.id = load_le16(p + 2);
    if (command.opcode == nvme_fabrics_opcode) {
        if (captured > 4) command.fabrics_type = base::load_u8(p + 4);
    } else if (captured >= 8) {
        command.name_space = load_le32(p + 4);
    }
    if (captured >= 40) command.sgl = parse_nvme_sgl(p + 24);
    if (captured >= 48 && has_blocks(command.opcode)) command.first_block = load_le64(p + 40);
    if (captured >= 50 && has_blocks(command.opcode)) command.block_count = load_le16(p + 48) + 1u;
    return command;
}

bool looks_like_nvme_command(const std::byte* p, std::size_t captured) {
    if (captured < 40) return false;
    const bool uses_sgl = base::load_u8(p + 1) >> 6 == 1;
    const bool fabrics = base::load_u8(p) == nvme_fabrics_opcode;
    // Octets 5 to 23 of a fabrics command are reserved; of the others 8 to 15 are.
    const bool reserved = load_le64(p + 8) == 0 && (!fabrics || load_le(p + 5, 3) == 0);
    switch (base::load_u8(p + 39)) {
        case 0x01:  // in the capsule
        case 0x30:
        case 0x31:  // descriptors in the capsule
        case 0x40:
        case 0x4f: return uses_sgl && reserved;
        default: return false;
    }
}

NvmeCommandName nvme_command_name(NvmeQueueType queue, std::uint8_t opcode, std::uint8_t fabrics_type) {
    if (opcode == nvme_fabrics_opcode) return find_name(fabrics_commands, fabrics_type);
    if (queue == NvmeQueueType::admin) return find_name(admin_commands, opcode);
    if (queue == NvmeQueueType::io) return find_name(io_commands, opcode);
    return {opcode, {}, {}};
}

std::string_view nvme_status_name(std::uint8_t type, std::uint8_t code, bool connect) {
    switch (type) {
        case 0: return name_of(generic_status, code);
        case 1: {
            const std::string_view own = connect ? name_of(connect_status, code) : std::string_view{};
            return own.empty() ? name_of(specific_status, code) : own;
        }
        case 2: return name_of(media_status, code);
        case 3: return name_of(path_status, code);
        default: return {};
    }
}

}  // namespace wire
