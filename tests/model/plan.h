#pragma once
#include <cstdint>
#include <vector>

#include "metrics/figures/operation.h"
#include "tests/model/packet.h"

/// What is to happen: hosts on one switch, connections between them, what applications, adapters and the network do.
/// All times are nanoseconds; everything follows from the set-up and its seeds.
namespace model {

struct Work {
    metrics::Operation operation = metrics::Operation::write;
    std::uint32_t bytes = 4096;
};

/// How one end of a connection posts work requests.
struct Application {
    std::vector<Work> mix;       ///< in turn, again and again
    std::uint64_t messages = 0;  ///< altogether; 0: this end asks for nothing
    std::uint32_t depth = 16;    ///< posted and not completed, at most
    std::uint32_t burst = 0;     ///< after so many it thinks or waits; 0 = never
    std::int64_t think_ns = 0;
    std::int64_t period_ns = 0;  ///< bursts are due at this distance, whatever has come back; 0: it thinks instead
    std::int64_t jitter_ns = 0;  ///< a burst begins up to this later than it is due
    bool waits = false;          ///< after each burst, until the peer's message has come
    bool answers = false;        ///< posts one message for each of the peer's
    std::int64_t reaction_ns = 300;
    std::int64_t start_ns = 1000;
};

/// What an end's adapter does as requester and as responder.
struct Adapter {
    std::uint32_t read_depth = 16;  ///< ORD
    std::int64_t ack_timeout_ns = 2'000'000;
    std::uint64_t stall_every = 0;  ///< packets, mid-message
    std::int64_t stall_ns = 0;
    bool slows_down = false;  ///< reacts to CNPs

    std::uint32_t ack_messages = 1;  ///< that one ACK may cover
    std::int64_t ack_delay_ns = 2000;
    std::int64_t answer_ns = 400;  ///< packet -> ACK or NAK
    std::int64_t read_ns = 1500;   ///< READ or atomic request -> response
    std::uint32_t receives = 0;    ///< of its receive queue; 0 = never empty
    std::int64_t repost_ns = 1000;
    std::uint8_t rnr_timer = 1;  ///< code
    bool credits = false;        ///< AETHs carry credit counts, and the requester heeds them
    std::int64_t cnp_interval_ns = 50'000;
};

struct End {
    std::uint32_t host = 0;
    std::uint32_t qpn = 0;
    std::uint32_t start_psn = 0;
    Application application;
    Adapter adapter;
};

struct Connection {
    End a;
    End b;
    std::uint64_t seed = 1;
};

struct Pause {
    std::int64_t at_ns = 0;
    std::uint16_t quanta = 0;
};

struct Host {
    std::uint64_t bits_per_sec = 100'000'000'000;       ///< host -> switch
    std::uint64_t down_bits_per_sec = 100'000'000'000;  ///< switch -> host
    std::int64_t delay_ns = 1000;                       ///< propagation to the switch
    std::vector<Pause> pauses;                          ///< that the switch sends it
};

/// One loss by name: the `nth` transmission of the packet `psn` of what connection `connection`'s end a (or b) sends.
struct Loss {
    std::uint32_t connection = 0;
    bool from_b = false;
    bool acknowledgement = false;  ///< an ACK, NAK or response with that psn instead of a request
    std::uint64_t psn = 0;
    std::uint32_t nth = 1;
};

/// Shares are in millionths of the packets.
struct Network {
    std::uint32_t loss_before = 0;  ///< between sender and switch
    std::uint32_t loss_behind = 0;  ///< between switch and receiver
    std::uint32_t doubled = 0;
    std::uint32_t reordered = 0;  ///< of requests
    std::uint32_t late_responses = 0;
    std::int64_t hold_ns = 2000;              ///< of a reordered packet
    std::uint64_t mark_octets = 0;            ///< queue length from which CE is set; 0 = never
    std::uint64_t queue_octets = 16'000'000;  ///< longest queue; what does not fit is lost
    std::vector<Loss> losses_before;
    std::vector<Loss> losses_behind;
};

struct Plan {
    Framing framing = Framing::roce2_ipv4;
    std::uint32_t mtu = 1024;
    std::int64_t epoch_ns = 1'700'000'000'000'000'000;
    std::vector<Host> hosts;
    std::vector<Connection> connections;
    Network network;
};

/// Deterministic everywhere, unlike the standard library's distributions. Steele, Lea, Flood: SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
    bool hit(std::uint32_t millionths) { return millionths != 0 && below(1'000'000) < millionths; }

private:
    std::uint64_t state_;
};

}  // namespace model
