#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/endpoint/endpoint_address.h"
#include "cli/endpoint/memory_budget.h"
#include "cli/endpoint/server_session.h"
#include "iwarp/iwarp.h"

namespace cli::endpoint {

struct ServerOptions {
    Address listen = {};
    iwarp::ConnectionOptions connection = {};
    std::size_t max_connections = 4096;
    std::size_t spare_connections = 64;  ///< more than the limit: these get the reason of their refusal
    std::uint64_t region_octets = std::uint64_t{16} << 20;  ///< to be read, and at most to be written by one peer
    std::uint64_t memory_octets = std::uint64_t{256}
                                  << 20;  ///< of all connections together, without the region to be read
    std::chrono::nanoseconds idle{std::chrono::minutes(10)};  ///< without an FPDU; zero: for ever
    std::function<void(std::string_view)> say = {};           ///< receives a line for each event; may be empty
};

/// The connections that a process with `descriptors` can have, and the descriptors that it keeps for other uses. No
/// value if there are too few for any connection.
struct ConnectionLimits {
    std::size_t connections;
    std::size_t spare;
};
std::optional<ConnectionLimits> limits_for(std::size_t descriptors);

struct ServerCounters {
    std::uint64_t requests = 0;  ///< MPA Requests
    std::uint64_t established = 0;
    std::uint64_t rejected = 0;  ///< rejected by this server, for lack of room or for an unknown request
    std::uint64_t ended = 0;     ///< closed in an orderly way
    std::uint64_t failed = 0;    ///< lost
    std::uint64_t idle_ended = 0;
    std::size_t open_most = 0;  ///< connections that were open at the same time
    iwarp::QueuePairCounters traffic = {};
    SessionCounters sessions = {};
};

/// The serving endpoint. It serves the requests of each connection within the limits. One thread calls it.
class Server {
public:
    /// Listens. Throws iwarp::Error.
    explicit Server(const ServerOptions& options);
    ~Server();

    Address address() const { return {listener_->address(), listener_->port()}; }
    /// Serves; waits up to `wait` for something to do.
    void progress(std::chrono::nanoseconds wait);
    /// Accepts no new connections, and ends all open connections. Waits up to `within` for the peers.
    void stop(std::chrono::nanoseconds within);

    std::size_t open() const { return sessions_.size(); }
    /// Counts of open connections included.
    ServerCounters counters() const;
    const iwarp::DeviceCounters& device_counters() const { return device_->counters(); }
    const Budget& budget() const { return budget_; }

private:
    void take_completions();
    void handle(const iwarp::Event& event);
    void on_connect_request(iwarp::ConnectionRequest& request);
    void refuse(iwarp::ConnectionRequest& request, const std::string& reason);
    void forget(const iwarp::Event& event);
    void make_room(std::size_t completions);
    void end_the_idle();
    void share_memory();
    void say(const std::string& line) const {
        if (options_.say) options_.say(line);
    }

    ServerOptions options_;
    Memory readable_;
    Budget budget_;
    ServerCounters counters_ = {};
    std::shared_ptr<iwarp::Device> device_;
    std::shared_ptr<iwarp::CompletionQueue> completions_;
    std::shared_ptr<iwarp::Listener> listener_;
    Host host_;
    std::unordered_map<std::uint32_t, std::unique_ptr<Session>> sessions_ = {};
    std::vector<Session*> touched_ = {};
    std::size_t completions_needed_ = 0;
    std::int64_t idle_due_ns_ = 0;
};

/// Throws iwarp::Error with what was wrong and what to do.
std::shared_ptr<iwarp::Listener> listen_at(iwarp::Device& device, const Address& address,
                                           const iwarp::ConnectionOptions& options);

/// Raises the limit of descriptors as far as permitted; returns the limit.
std::size_t raise_descriptor_limit();

}  // namespace cli::endpoint
