#include "upper/protocols/scsi_status.h"

namespace upper::protocols {

namespace {

constexpr std::uint8_t unit_attention = 6;

/// SPC-5, 4.5.8. For NOT READY and UNIT ATTENTION the additional code shows whether the paths changed (ALUA).
ErrorClass error_of_sense(const wire::ScsiSense& sense) {
    constexpr std::uint8_t not_accessible = 0x04, changed = 0x2a, state_changed = 0x06;
    switch (sense.key) {
        case 0x0:  // No Sense
        case 0x1:  // Recovered Error
            return ErrorClass::none;
        case 0x2:  // Not Ready
            return sense.code == not_accessible ? ErrorClass::path : ErrorClass::device;
        case 0x3:  // Medium Error
        case 0x4:  // Hardware Error
            return ErrorClass::device;
        case unit_attention:
            // This is normal after a connection or a reset.
            return sense.code == changed && sense.qualifier == state_changed ? ErrorClass::path : ErrorClass::none;
        case 0x7: return ErrorClass::denied;   // Data Protection
        case 0xb: return ErrorClass::aborted;  // Command Aborted
        default: return ErrorClass::protocol;
    }
}

ErrorClass error_of_status(std::uint8_t status) {
    switch (status) {
        case 0x00:  // Good
        case 0x04:  // Condition Met
        case 0x10:
        case 0x14: return ErrorClass::none;
        case 0x08:  // Busy
        case 0x28:  // Task Set Full
            return ErrorClass::busy;
        case 0x18: return ErrorClass::denied;   // Reservation Conflict
        case 0x40: return ErrorClass::aborted;  // Task Aborted
        default: return ErrorClass::protocol;
    }
}

}  // namespace

std::uint32_t scsi_status_word(std::uint8_t status, const std::optional<wire::ScsiSense>& sense) {
    std::uint32_t word = status;
    if (sense)
        word |=
            std::uint32_t{sense->key} << 8 | std::uint32_t{sense->code} << 16 | std::uint32_t{sense->qualifier} << 24;
    return word;
}

StatusMeaning scsi_status_meaning(std::uint32_t word) {
    const auto status = static_cast<std::uint8_t>(word);
    if (status != wire::scsi_check_condition || word >> 8 == 0)
        return {wire::name_of(wire::scsi_statuses, status), error_of_status(status)};
    const wire::ScsiSense sense{0x70, static_cast<std::uint8_t>(word >> 8 & 0xff),
                                static_cast<std::uint8_t>(word >> 16 & 0xff), static_cast<std::uint8_t>(word >> 24)};
    std::string_view text = wire::scsi_sense_text(sense.code, sense.qualifier);
    if (text.empty() || (sense.code == 0 && sense.qualifier == 0))
        text = wire::name_of(wire::scsi_sense_keys, sense.key);
    return {text, error_of_sense(sense)};
}

void read_scsi_request(base::Bytes cdb, Said& said) {
    said.kind = "other";
    said.kind_text = "Command";
    if (cdb.empty()) return;
    const wire::ScsiCommand command = wire::parse_scsi_cdb(cdb);
    const wire::ScsiName name = wire::scsi_command_name(command.opcode, command.service_action);
    if (!name.kind.empty()) said.kind = name.kind;
    if (!name.text.empty()) said.kind_text = name.text;
    said.detail = command.opcode;
    said.first_block = command.first_block;
    said.block_count = command.block_count;
}

}  // namespace upper::protocols
