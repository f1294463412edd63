#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/endpoint/bench.h"
#include "cli/endpoint/endpoint_server.h"

namespace cli::demo {

/// One client of the demo: a description of its work, and its counts.
struct Strand {
    std::string what;
    endpoint::BenchOptions options;
    endpoint::BenchResult result = {};
};

/// A mix of Sends, Writes, Reads and atomics over several queue pairs between endpoints of this process, each with a
/// thread and TCP connections of its own. One server is busy with other work most of the time, so that its client lacks
/// credits.
class Traffic {
public:
    enum class Length : std::uint8_t { three_seconds, until_stopped };

    /// Makes the servers, on free ports of 127.0.0.1. Throws iwarp::Error.
    explicit Traffic(Length length);
    ~Traffic();

    /// A pcap-filter expression that selects it.
    std::string filter() const;
    void start();
    /// Clients start no new operation.
    void stop() { clients_stop_ = true; }
    bool done() const { return running_ == 0; }
    /// Waits for the end; then strands() has the counts.
    void finish();
    /// The messages with which the servers returned credits.
    endpoint::OperationCount credits() const;
    const std::vector<std::unique_ptr<Strand>>& strands() const { return strands_; }

private:
    void add(std::string what, endpoint::BenchKind kind, std::uint64_t size, std::uint64_t depth,
             std::uint64_t bits_per_sec);

    Length length_;
    endpoint::Server diligent_;
    endpoint::Server sluggish_;
    std::vector<std::unique_ptr<Strand>> strands_ = {};
    std::vector<std::thread> servers_ = {};
    std::vector<std::thread> clients_ = {};
    std::atomic<unsigned> running_ = 0;
    std::atomic<bool> clients_stop_ = false;
    std::atomic<bool> stop_ = false;
};

}  // namespace cli::demo
