#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/transport/memory_network.h"

/// The inside of MemoryNetwork: the state between the hosts.
namespace iwarp::transport::memory {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct Segment {
    std::int64_t due_ns = 0;
    std::vector<std::byte> octets;
    bool open = false;  ///< the end of TCP's set-up: the acceptor gets the connection
    bool fin = false;
    bool reset = false;
};

class Host;
struct Connection;

/// One end of a connection: of a stream, of a raw peer, or without an owner.
struct End {
    Connection* connection = nullptr;
    unsigned side = 0;
    std::string host;
    std::uint16_t port = 0;
    Host* device = nullptr;      ///< null: a raw peer's
    std::uint64_t listener = 0;  ///< which has not got the connection yet
    std::shared_ptr<verbs::Stream> stream;
    std::deque<Segment> arriving;
    std::size_t under_way = 0;  ///< bytes in `arriving` and `inbox`
    std::int64_t last_due_ns = 0;
    std::int64_t ticked_ns = -1;
    // The stream's values at the last call: after an event, or after attention.
    std::int64_t deadline_ns = never;
    bool paused = false;
    std::vector<std::byte> inbox;  ///< a raw peer's
    bool attention = false;
    bool blocked = false;  ///< has more to send than the window permits
    bool fin_sent = false;
    bool fin_received = false;
    bool reset_received = false;
    bool reset_sent = false;
    bool gone = false;

    std::string name() const { return host + ":" + std::to_string(port); }
};

template <class AnEnd>
auto first_reset(AnEnd& end) {
    return std::ranges::find_if(end.arriving, [](const Segment& segment) { return segment.reset; });
}

struct Connection {
    std::array<End, 2> ends;
    End& other(const End& end) { return ends[1 - end.side]; }
};

struct Listener {
    std::uint64_t handle = 0;
    Host* device = nullptr;  ///< null: of raw peers
    iwarp::verbs::Acceptor* acceptor = nullptr;
    std::deque<std::shared_ptr<Connection>> waiting;  ///< for accept_raw
};

using Address = std::pair<std::string, std::uint16_t>;

/// The state between the hosts.
struct Wire {
    explicit Wire(const Impairment& wanted) : impairment(wanted), random(wanted.seed) {}

    Impairment impairment;
    std::mt19937_64 random;
    std::int64_t now_ns = 0;
    std::uint64_t last_handle = 0;
    std::uint16_t last_port = 49151;
    std::vector<Host*> hosts;
    std::map<Address, Listener> listeners;
    std::vector<std::weak_ptr<Connection>> raw;  ///< with an end that belongs to no host
    std::function<void(const MemoryNetwork::Passed&)> tap;

    std::size_t draw(std::size_t below) { return static_cast<std::size_t>(random() % below); }
    bool chance(double of) { return of > 0 && static_cast<double>(random() >> 11) * 0x1p-53 < of; }
    std::uint16_t next_port() {
        last_port = last_port == 65535 ? std::uint16_t{49152} : static_cast<std::uint16_t>(last_port + 1);
        return last_port;
    }
    Listener* listener(std::uint64_t handle);
    bool known(const std::string& host) const;
    std::shared_ptr<Connection> connect(const std::string& from, Host* device, const Address& to);

    void put(End& from, Segment segment);
    void put_octets(End& from, std::vector<std::byte> octets);
    void put_fin(End& from);
    void put_reset(End& from);
    void let_go(End& end, bool reset);
    void take_in(End& raw_end);
    bool serve_raw();
    std::int64_t next_raw_ns() const;
};

}  // namespace iwarp::transport::memory
