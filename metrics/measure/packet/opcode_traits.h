#pragma once
#include <array>
#include <cstdint>

#include "metrics/figures/flow_key.h"
#include "metrics/figures/operation.h"
#include "wire/bth_opcode.h"

namespace metrics::inline measure::inline packet {

/// The properties of an opcode that the fast paths need, in eight bytes.
struct alignas(8) OpcodeTraits {
    enum class Way : std::uint8_t {
        general,
        request,         ///< SEND or RDMA WRITE of RC
        acknowledgement  ///< of RC, not an atomic's
    };
    Way way = Way::general;
    Service service = Service::rc;
    Operation operation = Operation::send;  ///< of the packet alone
    std::uint8_t header_octets = 0;         ///< BTH and extended headers
    bool known : 1 = false;
    bool has_payload : 1 = false;  ///< a payload may follow the headers
    bool requests : 1 = false;     ///< its role
    bool has_data : 1 = false;     ///< what follows the headers is a request's or a response's
    bool starts : 1 = false;       ///< a message
    bool ends : 1 = false;
    bool has_reth : 1 = false;
    bool has_deth : 1 = false;
    bool takes_receive : 1 = false;  ///< the message that it starts takes a receive work request
    bool only() const { return starts && ends; }
};
static_assert(sizeof(OpcodeTraits) == 8);

/// By opcode.
extern const std::array<OpcodeTraits, 256> opcode_traits;

Service service_of(wire::BthService service);

}  // namespace metrics::measure::packet
