#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "cli/endpoint/connect.h"
#include "cli/endpoint/endpoint_address.h"
#include "cli/endpoint/endpoint_protocol.h"
#include "cli/endpoint/memory_budget.h"
#include "cli/endpoint/option_table.h"
#include "cli/endpoint/pattern.h"
#include "metrics/figures/histogram.h"

namespace cli::endpoint {

enum class BenchKind : std::uint8_t { write, read, send, atomic };
std::string_view name_of(BenchKind kind);

struct BenchOptions : CommonOptions {
    BenchKind kind = BenchKind::write;
    Address to = {};
    std::uint64_t size = std::uint64_t{64} << 10;
    std::uint64_t count = 0;  ///< messages of each connection; 0: until `duration_ns` has passed
    std::uint64_t duration_ns = 5'000'000'000;
    std::uint64_t depth = 16;
    std::uint64_t timeout_ns = 10'000'000'000;  ///< without a completion, though there are requests outstanding
    std::uint64_t connections = 1;
    std::optional<std::uint64_t> bits_per_sec = {};  ///< of each connection
    bool verify = false;
    bool ping_pong = false;
    bool compare_swap = false;
    const std::atomic<bool>* stop = nullptr;  ///< ends the measurement early; null: only signals do
    bool ask_server = true;  ///< asks for the server's cost, by a connection of its own before and after
};

/// Messages of one operation that this end started.
struct OperationCount {
    std::uint64_t count = 0;
    std::uint64_t octets = 0;
    void add(std::uint64_t size) {
        ++count;
        octets += size;
    }
};

struct BenchResult {
    std::uint64_t messages = 0;  ///< completed, accepted or sent back, depending on the kind
    std::uint64_t octets = 0;
    std::uint64_t duration_ns = 0;  ///< from the first request to the last completion
    metrics::Histogram latency = {};
    Usage cpu = {};
    std::optional<Usage> server = {};
    OperationCount sends = {};
    OperationCount writes = {};
    OperationCount reads = {};
    OperationCount atomics = {};
    std::uint64_t wrong = 0;
    std::uint64_t deadlines_met = 0;
    std::uint64_t deadlines_missed = 0;
    std::uint64_t deepest = 0;  ///< the most requests outstanding on a connection, as both ends allow
    std::optional<iwarp::Agreement> agreement = {};
    std::string error = {};
};

/// One connection of a measurement. Requests complete in order, so that the n-th completion belongs to request n.
class Lane {
public:
    struct Shared {
        const BenchOptions& options;
        const Pattern& pattern;
        BenchResult& result;
        iwarp::Device& device;
        std::shared_ptr<iwarp::ProtectionDomain> domain;
        std::shared_ptr<iwarp::CompletionQueue> completions;
    };
    Lane(Shared& shared, std::uint32_t index);

    void connect();
    /// The Reply has arrived. Throws iwarp::Error if it does not offer what is needed.
    void established(std::span<const std::byte> private_data);

    bool room() const { return posted_ - done_ < depth_; }
    std::uint64_t posted() const { return posted_; }
    std::uint64_t done() const { return done_; }
    bool busy() const { return posted_ != done_ || flushing_; }
    /// Starts the next request; its latency counts from `now_ns`. Its deadline, if any, is `due_ns`.
    void post(std::int64_t now_ns, std::int64_t due_ns = 0);
    /// Asks for a sign that everything written has been placed.
    void flush();
    void completed(const iwarp::Completion& completion, std::int64_t now_ns);

    const std::shared_ptr<iwarp::QueuePair>& queue_pair() const { return queue_pair_; }
    static std::uint32_t index_of(const iwarp::Completion& completion) {
        return static_cast<std::uint32_t>(completion.id >> 32);
    }
    /// Completions that may wait at once.
    static std::size_t completions(const BenchOptions& options);

private:
    enum Tag : std::uint32_t { tag_done = 0, tag_sent, tag_flush, tag_receive = 1U << 16 };
    std::uint64_t id(std::uint32_t tag) const { return std::uint64_t{index_} << 32 | tag; }
    std::byte* local(std::uint64_t number) const { return memory_.data() + number % slots_ * stride_; }
    /// The place to which written data returns.
    std::byte* back(std::uint64_t number) const { return local(number) + slots_ * stride_; }
    bool echoes() const { return shared_.options.ping_pong; }

    void post(iwarp::Operation operation, std::uint32_t tag, std::byte* at, std::uint64_t length, bool signalled,
              const RemoteRegion& remote, std::uint64_t offset);
    void post_atomic();
    void offer_slot(std::uint32_t slot);
    void done_one(std::int64_t now_ns);
    void check(std::uint64_t number);
    std::uint64_t source_of(std::uint64_t number) const;

    Shared& shared_;
    std::uint32_t index_;
    std::uint64_t slots_;
    std::uint64_t stride_;
    std::uint64_t depth_;
    Memory memory_;
    Memory receives_;
    std::shared_ptr<iwarp::MemoryRegion> region_;
    std::shared_ptr<iwarp::MemoryRegion> receive_region_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    Offer offer_ = {};
    struct Begun {
        std::int64_t at_ns = 0;
        std::int64_t due_ns = 0;
    };
    std::vector<Begun> begun_;
    std::uint64_t posted_ = 0;
    std::uint64_t done_ = 0;
    std::uint32_t wrong_ = 0;  ///< as the peer counts
    bool flushing_ = false;
};

/// The measurement: all connections, driven by this thread.
class Bench {
public:
    explicit Bench(const BenchOptions& options);
    ~Bench();

    /// Connects, measures, disconnects. The result also holds errors, and an interruption before anything could be
    /// measured.
    BenchResult run();

private:
    void connect_all();
    void measure_usage();
    void measure();
    void measure_paced(std::int64_t begun_ns);
    void post_freely(Lane& lane, std::int64_t now_ns);
    bool more(const Lane& lane) const;
    void step(std::int64_t wait_ns, bool post);
    void take_events();
    void fail_if_stuck();
    void fail(const std::string& what);
    void explain_failure();
    void disconnect_all();
    bool any_busy() const;
    bool stopped() const;

    const BenchOptions& options_;
    BenchResult result_ = {};
    Pattern pattern_;
    std::shared_ptr<iwarp::Device> device_;
    Lane::Shared shared_;
    std::vector<std::unique_ptr<Lane>> lanes_ = {};
    std::size_t connected_ = 0;
    std::int64_t stop_ns_ = 0;  ///< no requests begin from then on
    std::int64_t last_ns_ = 0;  ///< of the last completion
    std::int64_t waiting_since_ns_ = 0;
    bool failed_ = false;
    iwarp::Status status_ = iwarp::Status::success;
};

std::string text_of(const BenchOptions& options, const BenchResult& result);
std::string json_of(const BenchOptions& options, const BenchResult& result);

}  // namespace cli::endpoint
