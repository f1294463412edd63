#pragma once
#include <cstdint>
#include <string_view>

#include "dissect/dissector.h"

/// The words for the kinds of messages.
namespace dissect::output {

/// `RoCEv2`, and in output for machines `roce2`.
std::string_view name_of(Transport transport);
std::string_view key_of(Transport transport);

/// `RC`, `UC`, `RD`, `UD`, `XRC`; empty if an opcode belongs to none.
std::string_view service_of(const Unit& unit);

/// The operation of a unit: `send`, `write_immediate`, `read_response`, `nak`, `mpa_request` and so on; empty if it
/// could not be read. Management datagrams are `management`.
std::string_view operation_of(const Unit& unit);

/// `first`, `middle`, `last`, `only`: a packet's place in its message; empty if it has none.
std::string_view position_of(const Unit& unit);

/// Bytes of the upper layer that it carries, on the wire.
std::uint32_t length_of(const Unit& unit);

/// `good` or `bad`; empty if no CRC was verified.
std::string_view crc_of(const Unit& unit);

/// One sentence, without frame or stream number: `bytes missing from the capture`.
std::string_view text_of(Notice::Kind kind);

}  // namespace dissect::output
