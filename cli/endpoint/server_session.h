#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/endpoint/endpoint_protocol.h"
#include "cli/endpoint/memory_budget.h"
#include "iwarp/iwarp.h"

namespace cli::endpoint {

/// The work of all connections of a server.
struct SessionCounters {
    std::uint64_t messages_received = 0;
    std::uint64_t message_octets_received = 0;
    std::uint64_t messages_sent = 0;
    std::uint64_t message_octets_sent = 0;
    std::uint64_t messages_wrong = 0;  ///< messages that differ from what client and server agreed
    std::uint64_t pings = 0;           ///< whole rounds of rping
    std::uint64_t ping_octets = 0;     ///< bytes that were read in pings
};

/// What the sessions of a server share.
struct Host {
    iwarp::Device& device;
    std::shared_ptr<iwarp::CompletionQueue> completions;
    const Memory& readable;  ///< the pattern; longer than `region_octets` by its period
    std::uint64_t region_octets;
    Budget& budget;
    SessionCounters& counters;
};

/// A connection is refused; `what()` is for the peer.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The server's side of one connection: its queue pair, in a protection domain of its own, and memory for the peer.
/// Constructors throw Refused or iwarp::Error.
class Session {
public:
    virtual ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// The session that the client asked for; without a hello, rping's server.
    static std::unique_ptr<Session> make(Host& host, const std::optional<Hello>& hello);

    const std::shared_ptr<iwarp::QueuePair>& queue_pair() const { return queue_pair_; }
    /// Completions of this session that may wait at once.
    std::size_t completions() const { return completions_; }
    /// For the Reply.
    const Offer& offer() const { return offer_; }

    /// Prepares the session; call this before the Reply is sent.
    virtual void begin() {}
    virtual void completed(const iwarp::Completion&) {}
    /// Called after the completions of one round, if one was for this session.
    virtual void settle() {}

    std::uint64_t idle_fpdus = 0;  ///< FPDUs that had arrived at the last check for idleness
    std::int64_t idle_since_ns = 0;
    bool ending = false;  ///< the session has to end
    bool touched = false;

protected:
    struct Sizes {
        std::uint32_t send = 1;
        std::uint32_t receive = 1;
        std::uint64_t writable_octets = 0;
        std::uint64_t message_octets = 0;  ///< all slots together
    };
    Session(Host& host, const Sizes& sizes);

    bool post_receive(std::uint64_t id, std::byte* at, std::size_t length, std::uint32_t stag);
    iwarp::Posted post_inline(std::uint64_t id, std::span<std::byte> octets);

    Host& host_;
    // In the order of making: the queue pair goes first, the memory last.
    Budget::Share share_;
    Memory writable_;
    Memory messages_;
    std::shared_ptr<iwarp::ProtectionDomain> domain_;
    std::shared_ptr<iwarp::MemoryRegion> readable_region_;
    std::shared_ptr<iwarp::MemoryRegion> writable_region_;
    std::shared_ptr<iwarp::MemoryRegion> message_region_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::size_t completions_;
    Offer offer_ = {};
};

std::unique_ptr<Session> make_rping_session(Host& host);
std::unique_ptr<Session> make_sink_session(Host& host, const Hello& hello);
std::unique_ptr<Session> make_echo_session(Host& host, const Hello& hello);

}  // namespace cli::endpoint
