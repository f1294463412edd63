#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "wire/field.h"

/// SCSI: command descriptor blocks, status, sense data. SPC-5, SBC-4.
namespace wire {

inline constexpr std::uint32_t scsi_cdb_bytes = 16;

/// The name of a command in the standards, and the kind of command in reports.
struct ScsiName {
    std::uint8_t opcode = 0;
    std::uint8_t service_action = 0;  ///< of an opcode that has several commands; 0xff: of all others
    std::string_view text = {};       ///< "READ(10)"
    std::string_view kind = {};       ///< "read"
};
ScsiName scsi_command_name(std::uint8_t opcode, std::uint8_t service_action);

/// A descriptor block, as far as it was captured.
struct ScsiCommand {
    std::uint8_t opcode = 0;
    std::uint8_t service_action = 0;           ///< 0 where the opcode has none
    std::optional<std::uint64_t> first_block;  ///< of a command that has one
    std::optional<std::uint32_t> block_count;
};
/// One octet at least.
ScsiCommand parse_scsi_cdb(base::Bytes cdb);
/// Whether the opcode has a service action, and where its octet is.
std::optional<std::uint32_t> scsi_service_action_at(std::uint8_t opcode);

/// Sense data in the fixed or the descriptor format. SPC-5, 4.5.
struct ScsiSense {
    std::uint8_t response_code = 0;
    std::uint8_t key = 0;
    std::uint8_t code = 0;       ///< ASC
    std::uint8_t qualifier = 0;  ///< ASCQ
};
std::optional<ScsiSense> parse_scsi_sense(base::Bytes data);

inline constexpr std::uint8_t scsi_check_condition = 0x02;

/// The number that a logical unit has, by its address of eight octets; nullopt for a kind of address that has none.
/// SAM-6, 4.7.
constexpr std::optional<std::uint32_t> scsi_unit_number(const std::byte* address) {
    const std::uint16_t first = base::load_be16(address);
    switch (first >> 14) {
        case 0: return first & 0xffu;    // peripheral device
        case 1: return first & 0x3fffu;  // flat space
        default: return std::nullopt;
    }
}

/// Words for an ASC with its ASCQ; empty for one without.
std::string_view scsi_sense_text(std::uint8_t code, std::uint8_t qualifier);

inline constexpr std::array<ValueName, 10> scsi_statuses{{{0x00, "Good"},
                                                          {0x02, "Check Condition"},
                                                          {0x04, "Condition Met"},
                                                          {0x08, "Busy"},
                                                          {0x10, "Intermediate"},
                                                          {0x14, "Intermediate Condition Met"},
                                                          {0x18, "Reservation Conflict"},
                                                          {0x28, "Task Set Full"},
                                                          {0x30, "ACA Active"},
                                                          {0x40, "Task Aborted"}}};
inline constexpr std::array<ValueName, 16> scsi_sense_keys{{{0x0, "No Sense"},
                                                            {0x1, "Recovered Error"},
                                                            {0x2, "Not Ready"},
                                                            {0x3, "Medium Error"},
                                                            {0x4, "Hardware Error"},
                                                            {0x5, "Illegal Request"},
                                                            {0x6, "Unit Attention"},
                                                            {0x7, "Data Protection"},
                                                            {0x8, "Blank Check"},
                                                            {0x9, "Vendor Specific"},
                                                            {0xa, "Copy Aborted"},
                                                            {0xb, "Command Aborted"},
                                                            {0xc, "Obsolete Error Code"},
                                                            {0xd, "Overflow Command"},
                                                            {0xe, "Miscompare"},
                                                            {0xf, "Reserved"}}};
inline constexpr std::array<ValueName, 5> scsi_sense_types{{{0x70, "Current Error"},
                                                            {0x71, "Deferred Error"},
                                                            {0x72, "Current Error"},
                                                            {0x73, "Deferred Error"},
                                                            {0x7f, "Vendor Specific"}}};

}  // namespace wire
