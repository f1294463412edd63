#pragma once
#include <array>
#include <cstdint>

#include "wire/bth_opcode.h"
#include "wire/infiniband.h"

namespace wire {

/// Base Transport Header. IBTA vol. 1, 9.2; FECN and BECN by Annex A10 and A17.
struct Bth {
    std::uint8_t opcode = 0;
    bool solicited_event = false;
    bool migration_request = false;
    std::uint8_t pad_count = 0;  ///< octets that fill the payload up to a multiple of 4
    std::uint8_t header_version = 0;
    std::uint16_t partition_key = 0xffff;
    bool fecn = false;
    bool becn = false;
    std::uint32_t destination_qp = 0;
    bool ack_request = false;
    std::uint8_t reserved7 = 0;
    std::uint32_t psn = 0;
};

template <>
inline constexpr auto layout_of<Bth> = layout(
    "infiniband.bth", "Base Transport Header",
    bits<&Bth::opcode, 8>("infiniband.bth.opcode", "Opcode").named(bth_opcode_names),
    bits<&Bth::solicited_event, 1>("infiniband.bth.se", "Solicited Event"),
    bits<&Bth::migration_request, 1>("infiniband.bth.m", "MigReq"),
    bits<&Bth::pad_count, 2>("infiniband.bth.padcnt", "Pad Count"),
    bits<&Bth::header_version, 4>("infiniband.bth.tver", "Header Version"),
    bits<&Bth::partition_key, 16>("infiniband.bth.p_key", "Partition Key"),
    bits<&Bth::fecn, 1>("infiniband.bth.fecn", "FECN"),
    bits<&Bth::becn, 1>("infiniband.bth.becn", "BECN"),
    reserved<6>(),
    bits<&Bth::destination_qp, 24>("infiniband.bth.destqp", "Destination Queue Pair").hex(),
    bits<&Bth::ack_request, 1>("infiniband.bth.a", "Acknowledge Request"),
    bits<&Bth::reserved7, 7>("infiniband.bth.reserved7", "Reserved (7 bits)"),
    bits<&Bth::psn, 24>("infiniband.bth.psn", "Packet Sequence Number"));
static_assert(size_of<Bth> == 12);

/// Wireshark shows the octet of FECN and BECN as reserved. This table has that octet as well as the two bits.
inline constexpr auto bth_fields = fields_with<Bth>(std::array{reserved_octets(4, 1)});

/// Octets of the invariant CRC that ends every packet with a BTH.
inline constexpr unsigned icrc_octets = 4;

}  // namespace wire
