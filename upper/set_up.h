#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "dissect/dissector.h"
#include "upper/connection_end.h"
#include "upper/upper_connection.h"

namespace upper {

/// What the set-up of a connection says of its upper layer.
struct SetUp {
    const Protocol* by_private_data = nullptr;
    const Protocol* by_service = nullptr;
    std::uint16_t port = 0;  ///< 0: the service is not one of IP
    ConnectionFacts facts = {};
    base::Bytes private_data = {};  ///< what the consumer has sent; while the unit lasts
};

/// A connection that the Communication Manager has made. IBTA vol. 1, 12.9.
struct ManagedConnection {
    SetUp set_up;
    Endpoint requester;  ///< with its queue pair
    Endpoint acceptor;
};

/// What a message of the Communication Manager says.
struct ManagementFinding {
    std::optional<ManagedConnection> made = {};  ///< complete with this message
    const Protocol* protocol = nullptr;          ///< whose private data the message has
    std::size_t message = 0;                     ///< 0 REQ, 1 REP, 2 REJ
    base::Bytes private_data = {};               ///< the protocol's own
};

/// REQs that wait for their REP. Bounded: the oldest go first.
class ConnectionManager {
public:
    /// A unit with a management datagram.
    ManagementFinding read(const dissect::Unit& unit, const Endpoint& source, const Endpoint& destination);

private:
    static constexpr std::size_t max_requests = 4096;
    struct Request {
        std::uint32_t communication_id = 0;
        Endpoint requester = {};
        Endpoint acceptor = {};
        SetUp set_up = {};
    };
    ManagementFinding read_request(base::Bytes octets, const Endpoint& source, const Endpoint& destination);
    ManagementFinding read_reply(base::Bytes octets, const Endpoint& source, const Endpoint& destination);
    ManagementFinding read_reject(base::Bytes octets, const Endpoint& source, const Endpoint& destination);
    std::deque<Request>::iterator find(std::uint32_t communication_id, const Endpoint& acceptor,
                                       const Endpoint& requester);

    std::deque<Request> requests_ = {};
};

/// The private data of an MPA Reply; empty where the capture lacks them.
base::Bytes read_mpa_reply(const dissect::Unit& unit);

/// What an MPA Request's private data, and the port that the connection goes to, say. RFC 5044, 7.1; RFC 6581, 9.
SetUp read_mpa_request(const dissect::Unit& unit, std::uint16_t port);

}  // namespace upper
