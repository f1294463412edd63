#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "iwarp/verbs/transport_interface.h"

namespace iwarp::transport {

/// The impairments of bytes on their way through a MemoryNetwork. Everything follows from the seed.
struct Impairment {
    std::size_t chunk = 0;            ///< bytes are delivered in pieces of this size; 0: as they were sent
    bool random_chunks = false;       ///< pieces of 1 to `chunk` bytes: alignment is lost
    std::int64_t delay_ns = 0;        ///< one way
    std::int64_t jitter_ns = 0;       ///< added, never reorders (the network stands for TCP)
    double corrupt = 0;               ///< chance that a piece has one bit changed
    std::size_t window = 256 * 1024;  ///< bytes under way in one direction; the sender waits, but not a raw peer
    std::size_t direct = 16 * 1024;   ///< the argument of Stream::room; 0: bytes come only by receive()
    std::uint32_t emss = 65483;
    std::uint64_t seed = 1;
};

/// TCP between devices of one process: names are any text; time passes only in advance(), run() and progress(). Tests
/// and scripts drive it; a tap sees what a capture would.
///
/// A connection is made or refused after a round trip (two delays); the acceptor gets it half a round trip later. A
/// Transport::progress with nothing to do moves the clock to the next event of its own device, at most by `wait_ns`. A
/// connection that is not accepted, and one whose transport is destroyed, is reset.
class MemoryNetwork : public std::enable_shared_from_this<MemoryNetwork> {
public:
    static std::shared_ptr<MemoryNetwork> make(const Impairment& impairment = {});
    ~MemoryNetwork();
    /// A transport for one more device on this network, known to the others as `host`.
    std::unique_ptr<iwarp::verbs::Transport> attach(const std::string& host);

    /// A peer without a stack: bytes in and out by hand, for scripts and hostile input.
    class RawPeer {
    public:
        virtual ~RawPeer() = default;
        virtual void send(base::Bytes octets) = 0;
        virtual void close() = 0;  ///< FIN
        virtual void reset() = 0;
        /// What has arrived and was not yet taken.
        virtual std::vector<std::byte> take() = 0;
        virtual bool connected() const = 0;
        virtual bool peer_closed() const = 0;  ///< its FIN has arrived
        virtual bool peer_reset() const = 0;
    };
    /// Connected at once, or, if no process listens, reset. Dropping the peer resets the connection.
    std::unique_ptr<RawPeer> connect_raw(const std::string& host, std::uint16_t port);
    /// Connections to this host and port go to raw peers, in order of arrival; null until there is one.
    void listen_raw(const std::string& host, std::uint16_t port);
    std::unique_ptr<RawPeer> accept_raw(const std::string& host, std::uint16_t port);

    std::int64_t now_ns() const;
    /// Moves the clock; due events are performed by the devices' next progress().
    void advance(std::int64_t ns);
    /// Performs everything that needs no waiting, on all devices, until nothing moves. With `limit_ns` also moves the
    /// clock from event to event, at most that far. Returns whether anything happened.
    bool run(std::int64_t limit_ns = 0);

    /// One piece, seen where it was sent: already damaged, but not yet delayed.
    struct Passed {
        std::int64_t time_ns;
        std::string from, to;
        std::uint16_t from_port, to_port;
        bool fin = false, reset = false;
        base::Bytes octets;
    };
    void tap(std::function<void(const Passed&)> tap);

private:
    struct Impl;
    explicit MemoryNetwork(const Impairment&);
    std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::transport
