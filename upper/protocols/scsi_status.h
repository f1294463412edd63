#pragma once
#include <cstdint>
#include <optional>

#include "upper/upper_protocol.h"
#include "wire/scsi.h"

/// What iSER and SRP have in common: SCSI. Included by their protocols alone.
namespace upper::protocols {

/// Said::status: the status, with the sense data that explain it; or a function's response.
std::uint32_t scsi_status_word(std::uint8_t status, const std::optional<wire::ScsiSense>& sense);
StatusMeaning scsi_status_meaning(std::uint32_t word);

/// Said::status of a response without a status of SCSI: a target's failure, or what a function of task management has
/// come to.
constexpr std::uint32_t function_status_word(std::uint8_t response) { return 0xffu | std::uint32_t{response} << 8; }
constexpr std::optional<std::uint8_t> function_response_of(std::uint32_t word) {
    if ((word & 0xff) != 0xff) return std::nullopt;
    return static_cast<std::uint8_t>(word >> 8);
}

/// Fills what a descriptor block says of a request.
void read_scsi_request(base::Bytes cdb, Said& said);

/// Said::detail of a SCSI command is its opcode; of a task's management, this with the function.
inline constexpr std::uint32_t task_management_detail = 0x10000;

}  // namespace upper::protocols
