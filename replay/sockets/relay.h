#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "replay/impair/impairment_settings.h"
#include "replay/sockets/tcp_socket.h"

namespace replay::inline sockets {

struct RelayCounters {
    std::uint64_t connections = 0;
    std::uint64_t octets_there = 0;  ///< from clients to the target
    std::uint64_t octets_back = 0;
    std::uint64_t corrupted_blocks = 0;  ///< both ways; of StreamLine::block_octets
    std::uint64_t reset = 0;             ///< connections that ended by a reset or could not be passed on
    std::uint64_t not_reached = 0;       ///< of these: the target could not be connected to
    std::string last_error = {};         ///< the reason of the last one
};

/// Stands between two endpoints: accepts TCP connections and passes each on to the target, late, slowly or with wrong
/// bytes, as StreamLine says. When one side ends, so does the other: a closed stream is closed after its last byte, a
/// reset is passed on at once. The Nth connection draws by the seed and N. Runs in a thread of its own.
class Relay {
public:
    struct Target {
        std::string host;
        std::uint16_t port = 0;
    };
    /// Listens on `host` and `port` (0: any free port) from now on.
    static SocketResult<std::unique_ptr<Relay>> open(const std::string& host, std::uint16_t port, Target target,
                                                     const ImpairmentSettings& settings);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    std::uint16_t port() const { return port_; }
    /// Resets open connections and ends the thread; the counts are final from then on.
    const RelayCounters& stop();

private:
    class Work;
    Relay(base::Descriptor listener, base::Descriptor waker, Target target, const ImpairmentSettings& settings);

    std::uint16_t port_;
    base::Descriptor waker_;
    RelayCounters counters_;
    std::unique_ptr<Work> work_;
    std::thread thread_;
};

}  // namespace replay::sockets
