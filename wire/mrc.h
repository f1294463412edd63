#pragma once
#include <cstdint>

#include "wire/field.h"

/// Multipath Reliable Connection (OCP, MRC 1.0): names of opcodes in the manufacturer's part of the BTH's codes. The
/// names come from two readings of the specification, which agree, and from no capture of an adapter. Another
/// manufacturer may use the same codes.
namespace wire {

/// Opcodes from this one on belong to the manufacturer. IBTA vol. 1, 9.2.1.
inline constexpr std::uint8_t first_manufacturer_opcode = 0xc0;

inline constexpr ValueName mrc_opcode_names[] = {
    {0xc6, "MRC WRITE First"},
    {0xc7, "MRC WRITE Middle"},
    {0xc8, "MRC WRITE Last"},
    {0xc9, "MRC WRITE Last with Immediate"},
    {0xca, "MRC WRITE Only"},
    {0xcb, "MRC WRITE Only with Immediate"},
    {0xd1, "MRC Acknowledge"},
    {0xd8, "MRC Endpoint Request"},
    {0xd9, "MRC Endpoint Response"},
    {0xdc, "MRC SACK"},
    {0xdd, "MRC NACK"},
    {0xde, "MRC Probe Request"},
};

}  // namespace wire
