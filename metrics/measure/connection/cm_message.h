#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "dissect/dissector.h"
#include "metrics/figures/address.h"
#include "metrics/figures/flow_key.h"
#include "metrics/figures/snapshot.h"

/// What Connections needs of the messages that set connections up, read from their bytes.
namespace metrics::inline measure::inline connection::cm {

/// A REQ. IBTA vol. 1, 12.6.5.
struct Request {
    std::uint64_t service_id = 0;
    std::uint32_t qpn = 0;
    std::uint32_t starting_psn = 0;
    std::uint32_t responder_resources = 0;
    std::uint32_t initiator_depth = 0;
    std::optional<std::uint32_t> path_mtu;
    std::optional<std::uint64_t> ack_timeout_ns;
    std::uint64_t response_timeout_ns = 0;
    std::uint32_t retry_count = 0;
    std::uint32_t rnr_retry_count = 0;
    std::uint16_t client_port = 0;  ///< of an IP service; 0 = none
    std::uint16_t server_port = 0;
    Service service = Service::rc;
    /// InfiniBand: the addresses that the connection's packets will have, where they are not the message's own.
    std::optional<Address> local;
    std::optional<Address> remote;

    /// Whether another message is the same request, as far as the capture shows.
    bool same_as(const Request& other) const {
        return service_id == other.service_id && qpn == other.qpn && starting_psn == other.starting_psn &&
               service == other.service;
    }
};

/// A REP. IBTA vol. 1, 12.6.8.
struct Reply {
    std::uint32_t qpn = 0;
    std::uint32_t starting_psn = 0;
    std::uint32_t responder_resources = 0;
    std::uint32_t initiator_depth = 0;
    std::uint32_t rnr_retry_count = 0;
};

struct Message {
    dissect::LayerId layer = dissect::LayerId::none;
    wire::Transport transport{};
    Address source;
    Address destination;
    std::uint32_t local_id = 0;   ///< the sender's communication id; the request id of a SIDR message
    std::uint32_t remote_id = 0;  ///< 0 if the message has none
    Request request;              ///< of a REQ; its ports of a SIDR_REQ
    Reply reply;
    std::uint16_t reason = 0;      ///< of a REJ; the status of a SIDR_REP
    std::uint64_t timeout_ns = 0;  ///< of an MRA
};

/// False if the unit is no CM message about a connection, or is not complete.
bool read(const dissect::Unit& unit, Message& out);

/// As `dump` names it; "reason 99" for one without a name.
std::string reject_words(std::uint16_t reason);
std::string resolution_words(std::uint16_t status);
/// No value if the reason is not one of the known ones.
std::optional<RejectReason> reject_reason(std::uint16_t reason);
std::optional<RejectReason> resolution_reject_reason(std::uint16_t status);

/// How many READs a side accepts and makes; no value if that is not negotiated. RFC 6581, 9.
struct Limits {
    std::optional<std::uint32_t> ird;
    std::optional<std::uint32_t> ord;
};
struct MpaFrame {
    bool request = false;
    bool rejected = false;
    bool crc = false;
    bool markers = false;  ///< its sender requests them in what it receives
    std::uint32_t revision = 0;
    Limits limits;
    bool by_convention = false;  ///< `limits` are private data of revision 1: valid where both start frames have them
    bool peer_to_peer = false;   ///< A of RFC 6581, 9.2
};
bool read(const dissect::Unit& unit, MpaFrame& out);

std::optional<std::uint32_t> lower_of(const std::optional<std::uint32_t>& a, const std::optional<std::uint32_t>& b);

}  // namespace metrics::measure::connection::cm
