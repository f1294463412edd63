#pragma once
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "dissect/dissection.h"

/// Bytes as tcpdump's -x, -X and -A show them.
namespace dissect::output {

enum class OctetDump : std::uint8_t { none, hex, hex_ascii, ascii };

/// Appends the lines, each with its line end; for `ascii` one line that may be broken by the bytes themselves.
void append_dump(std::string& out, base::Bytes octets, OctetDump form);

/// Bytes of the link layer, VLAN tags and LLC included: -x, -X and -A skip them; -xx, -XX and -AA show them.
std::uint32_t link_length(const Dissection& dissection);

}  // namespace dissect::output
