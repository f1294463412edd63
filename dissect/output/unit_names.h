#pragma once
#include <cstdint>
#include <string_view>

#include "dissect/dissector.h"

/// The words for what a message is.
namespace dissect::output {

/// `RoCEv2`, and for machines `roce2`.
std::string_view name_of(Transport transport);
std::string_view key_of(Transport transport);

/// `RC`, `UC`, `RD`, `UD`, `XRC`; empty where an opcode belongs to none.
std::string_view service_of(const Unit& unit);

/// What a unit does: `send`, `write_immediate`, `read_response`, `nak`, `mpa_request` and so on; empty where it could
/// not be read so far. Management datagrams are `management`.
std::string_view operation_of(const Unit& unit);

/// `first`, `middle`, `last`, `only`: where in its message a packet stands; empty where that has no meaning.
std::string_view position_of(const Unit& unit);

/// Bytes of the upper layer it carries, on the wire.
std::uint32_t length_of(const Unit& unit);

/// `good` or `bad`; empty where no CRC was verified.
std::string_view crc_of(const Unit& unit);

/// One sentence, without frame or stream number: `octets missing from the capture`.
std::string_view text_of(Notice::Kind kind);

}  // namespace dissect::output
