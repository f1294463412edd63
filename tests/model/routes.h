#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/model/packet.h"

/// Hosts with several routes between them: what each route does to packets, how senders and switches choose a route,
/// and what happened. Everything follows from the plan and its seed.
namespace model {

/// How a receiver handles a packet that comes before an earlier one.
enum class Order : std::uint8_t {
    in_order,   ///< drops the packet and sends a NAK; the requester goes back. IBTA vol. 1, 9.7.5.2.8
    selective,  ///< keeps the packet; if the earlier one stays away, sends a NAK, and only the missing comes again
    placing,    ///< keeps the packet and never sends a NAK: only the requester's timer repairs a loss
};

/// Who chooses the route of a packet.
enum class Spread : std::uint8_t {
    by_flow,     ///< the switch, by a hash of the entropy; each queue pair has one entropy
    by_adapter,  ///< the same, but the adapter gives each packet of a queue pair another source port
    by_network,  ///< the switch, packet by packet, whatever the entropy
};

/// Shares are in millionths of the packets.
struct Route {
    std::int64_t delay_ns = 5000;
    std::int64_t jitter_ns = 0;  ///< up to this much is added; packets of a route stay in order
    std::uint32_t loss = 0;
    std::uint32_t burst = 1;  ///< mean length of a run of losses, in packets. Gilbert 1960
    std::uint32_t marks = 0;
    std::uint8_t hops = 0;  ///< routers on the way
};

/// Switches leave a route out from a time on, and hash to the others.
struct Reroute {
    std::int64_t at_ns = 0;  ///< after the first packet; 0 = never
    std::uint32_t without = 0;
    std::int64_t dark_ns = 0;  ///< before that, the route loses all packets for this time
};

/// One requester and its responder.
struct RoutedPair {
    bool from_b = false;      ///< host b asks, else host a
    std::uint16_t port = 0;   ///< UDP source port, of both directions
    std::uint32_t label = 0;  ///< IPv6 flow label
    std::uint32_t packets = 20'000;
    std::int64_t gap_ns = 1000;  ///< between the beginnings of two packets
};

struct RoutePlan {
    std::vector<Route> routes;
    std::vector<RoutedPair> pairs;
    bool one_each = false;  ///< pair i takes route i, modulo their number: not the hash
    Reroute reroute;
    Spread spread = Spread::by_flow;
    std::uint32_t ports = 16;  ///< that an adapter gives in turn, if it spreads
    Order order = Order::in_order;
    bool tap_after = true;  ///< before host b, else after host a
    Framing framing = Framing::roce2_ipv4;
    /// Adapters count the identification of IPv4 up. Else it is 0, and a lone repeat looks like a late packet.
    bool counts = true;
    bool tunnelled = false;     ///< in VXLAN; the outer source port is the entropy
    std::uint32_t message = 8;  ///< packets
    std::uint32_t payload = 64;
    std::uint32_t window = 256;  ///< packets that are on their way at most
    std::int64_t timeout_ns = 1'000'000;
    std::int64_t patience_ns = 100'000;  ///< of a selective receiver, before it sends a NAK
    std::uint64_t seed = 1;
};

/// What a switch hashes, and on which route it sends the packet.
struct Entropy {
    bool from_b = false;
    std::uint16_t port = 0;
    std::uint32_t label = 0;
    std::uint16_t outer_port = 0;  ///< of the tunnel; 0: there is none
    auto operator<=>(const Entropy&) const = default;
};

/// What became of the packets of one entropy.
struct EntropyTruth {
    std::uint32_t route = 0;     ///< of the last packet, if the network spreads
    std::uint64_t sent = 0;      ///< requests, repeats too
    std::uint64_t lost = 0;      ///< of them
    std::uint64_t repeats = 0;   ///< of the sent
    std::uint64_t episodes = 0;  ///< of lost first transmissions: at most 16 PSNs of the queue pair between two of them
    // at the tap, requests and acknowledgements
    std::uint64_t packets = 0;
    std::uint64_t octets = 0;  ///< of the frames
    std::uint64_t marked = 0;
};

struct RouteTruth {
    std::map<Entropy, EntropyTruth> entropies;
    std::vector<std::uint64_t> route_packets;  ///< requests that entered each route
    std::uint64_t late = 0;                    ///< requests that arrived after one with a higher PSN, the first time
    std::uint64_t naks = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t undelivered = 0;  ///< packets of which the requester got no acknowledgement
    std::int64_t end_ns = 0;
};

/// For reading by other programs.
std::string to_json(const RoutePlan& plan, const RouteTruth& truth);

/// `count` pairs alike, each with a source port of its own.
std::vector<RoutedPair> alike(std::uint32_t count, std::uint32_t packets, std::int64_t gap_ns = 1000);

}  // namespace model
