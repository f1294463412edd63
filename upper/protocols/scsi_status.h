#pragma once
#include <cstdint>
#include <optional>

#include "upper/upper_protocol.h"
#include "wire/scsi.h"

/// SCSI, which iSER and SRP share. Only these two protocols include this header.
namespace upper::protocols {

/// Said::status holds the status with its sense data, or the response of a task management function.
std::uint32_t scsi_status_word(std::uint8_t status, const std::optional<wire::ScsiSense>& sense);
StatusMeaning scsi_status_meaning(std::uint32_t word);

/// Said::status of a response without a SCSI status: a failure of the target, or the result of a task management
/// function.
constexpr std::uint32_t function_status_word(std::uint8_t response) { return 0xffu | std::uint32_t{response} << 8; }
constexpr std::optional<std::uint8_t> function_response_of(std::uint32_t word) {
    if ((word & 0xff) != 0xff) return std::nullopt;
    return static_cast<std::uint8_t>(word >> 8);
}

/// Fills in what a command descriptor block says about a request.
void read_scsi_request(base::Bytes cdb, Said& said);

/// Said::detail of a SCSI command is its opcode. For task management it is this value with the function.
inline constexpr std::uint32_t task_management_detail = 0x10000;

}  // namespace upper::protocols
