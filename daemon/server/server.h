#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "daemon/server/command_backend.h"

namespace service::inline server {

struct ServerOptions {
    std::string path;
    std::string user;                                 ///< of the socket's file; empty leaves it to the process
    std::string group;                                ///< the same
    std::uint64_t max_clients = 64;                   ///< one more gets a refusal and is closed
    std::size_t max_line = 65536;                     ///< bytes of a request
    std::size_t max_waiting = std::size_t{64} << 20;  ///< bytes waiting for one client before it counts as slow
    std::size_t max_owed = std::size_t{256} << 20;    ///< the same for all clients together; beyond it requests are
                                                      ///< refused
    std::uint64_t slice_ns = 20'000'000;              ///< of requests and updates in one progress()
    std::uint64_t slow_ns = 30'000'000'000;           ///< a client that read nothing for this time is closed
};

struct ServerCounters {
    std::uint64_t clients = 0;  ///< now
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::uint64_t requests = 0;
    std::uint64_t errors = 0;   ///< requests that were answered with an error
    std::uint64_t skipped = 0;  ///< updates that a slow subscriber did not get
    std::uint64_t closed_slow = 0;
};

/// The control socket: a unix stream socket, mode 0660, JSON lines in and out (protocol.h). One epoll loop, driven by
/// its owner: a slow or vanishing client does not delay the others. A socket file left by a daemon that died is
/// replaced; if a daemon answers on it, that is an error.
class ControlServer {
public:
    static base::Result<std::unique_ptr<ControlServer>> open(const ServerOptions& options, Commands& commands);
    virtual ~ControlServer() = default;  ///< removes the socket's file

    /// Waits up to `wait_ms` (0: not at all; -1: until there is something) and does what is due, for a bounded time;
    /// the next call does the rest. Every client has one request answered before any client has a second one answered.
    virtual void progress(int wait_ms) = 0;
    /// Ends the wait from another thread, or from a signal handler.
    virtual void wake() = 0;
    /// Disconnects all clients, and removes the socket's file. Fails with the reason if the file stays.
    virtual base::Result<void> end() = 0;
    /// Readable when progress() has something to do.
    virtual int descriptor() const = 0;
    virtual const ServerCounters& counters() const = 0;
};

}  // namespace service::server
