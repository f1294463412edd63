#pragma once
#include <array>
#include <cstdint>

#include "metrics/flow/flow_key.h"
#include "metrics/operation.h"
#include "wire/bth_opcode.h"

namespace metrics {

/// What the path of the commonest packets asks of an opcode, in one place of eight octets.
struct OpcodeTraits {
    enum class Way : std::uint8_t {
        general,
        request,         ///< SEND or RDMA WRITE of RC
        acknowledgement  ///< of RC, not an atomic's
    };
    Way way = Way::general;
    Service service = Service::rc;
    Operation operation = Operation::send;  ///< of the packet alone
    std::uint8_t header_octets = 0;         ///< BTH and extended headers
    bool starts : 1 = false;
    bool ends : 1 = false;
    bool has_reth : 1 = false;
    bool takes_receive : 1 = false;
};

/// By opcode.
extern const std::array<OpcodeTraits, 256> opcode_traits;

Service service_of(wire::BthService service);

}  // namespace metrics
