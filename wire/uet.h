#pragma once
#include <cstdint>

#include "wire/field.h"

/// Ultra Ethernet Transport 1.0: the types of packets over UDP. The type is in the high five bits of the first byte.
namespace wire {

inline constexpr std::uint16_t uet_udp_port = 4793;

inline constexpr ValueName uet_packet_types[] = {
    {1, "TSS"},        {2, "RUD_REQ"}, {3, "ROD_REQ"}, {4, "RUDI_REQ"}, {5, "RUDI_RESP"}, {6, "UUD_REQ"},    {7, "ACK"},
    {8, "ACK_CC"},     {9, "ACK_CCX"}, {10, "NACK"},   {11, "CP"},      {12, "NACK_CCX"}, {13, "RUD_CC_REQ"}, {14, "ROD_CC_REQ"},
};

}  // namespace wire
