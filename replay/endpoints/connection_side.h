#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/iwarp.h"
#include "metrics/figures/histogram.h"
#include "replay/endpoints/control_messages.h"
#include "replay/endpoints/pattern_memory.h"
#include "replay/plan/payload_window.h"
#include "replay/plan/planned_operation.h"
#include "replay/plan/survey.h"
#include "replay/replay_error.h"

namespace replay::inline endpoints {

/// What one side of a connection did, by its own count.
struct SideResult {
    struct Sum {
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
    };
    std::array<Sum, kind_count> kinds{};
    std::uint64_t with_payload = 0;  ///< posted with the captured bytes
    std::uint64_t could_have = 0;    ///< Sends and Writes that are not empty
    metrics::Histogram late_ns;      ///< how late the operations were posted
    std::int64_t first_ns = 0;       ///< of the posts, by the steady clock
    std::int64_t last_ns = 0;
    std::uint64_t posted() const {
        std::uint64_t sum = 0;
        for (const Sum& one : kinds) sum += one.count;
        return sum;
    }
};

/// One side of one connection (of one copy): posts its operations in their order, each when it is due and when the
/// events that it waits for have happened.
class ConnectionSide {
public:
    /// What all sides of one endpoint share.
    struct Shared {
        iwarp::Device& device;
        std::shared_ptr<iwarp::ProtectionDomain> domain;
        std::shared_ptr<iwarp::CompletionQueue> completions;
        const Survey& survey;
        PatternMemory& source;  ///< what is sent
        PatternMemory& target;  ///< what peers write to and read
        PatternMemory& sink;    ///< for receives and the answers to READs
        std::shared_ptr<iwarp::MemoryRegion> source_region;
        std::shared_ptr<iwarp::MemoryRegion> target_region;
        std::shared_ptr<iwarp::MemoryRegion> sink_region;
        std::shared_ptr<iwarp::MemoryRegion> atomics_region;
        std::optional<double> speed;
    };
    static constexpr std::uint32_t max_send = 256;

    ConnectionSide(Shared& shared, std::uint32_t number, std::uint32_t connection, std::uint32_t copy,
                   std::uint8_t side);

    std::uint32_t connection() const { return connection_; }
    std::uint32_t copy() const { return copy_; }
    std::uint8_t side() const { return side_; }
    const iwarp::QueuePair& queue_pair() const { return *queue_pair_; }
    const std::shared_ptr<iwarp::QueuePair>& handle() const { return queue_pair_; }
    /// Completions that may wait at once.
    std::size_t completions() const { return std::size_t{max_send} + receives_; }

    /// `initiator_side`: informs the peer which side it is.
    std::vector<std::byte> advertisement(std::uint8_t initiator_side) const;
    /// Posts its receives; before the connection is made.
    void begin();
    /// The peer is connected, with the memory that it advertises.
    Status connected(const Advertisement& advertisement);
    bool is_connected() const { return connected_; }

    void add(const Operation& operation) { pending_.push_back(operation); }
    void expect(Kind kind) { expected_ += messages_of(kind); }
    std::size_t pending() const { return pending_.size(); }

    /// When the next operation is due; no value if absent; the start if time does not matter.
    std::optional<std::int64_t> due_ns(std::int64_t start_ns) const;
    /// Posts the operations that are due and may be posted. Returns their number.
    Result<std::size_t> post(std::int64_t now_ns, std::int64_t start_ns);
    /// The event that the next one waits for, in words; empty if it waits only for its time.
    std::string waits_for() const;

    /// `tag`: lower half of the completion's id.
    void completed(std::uint32_t tag, const iwarp::Completion& completion);
    /// The peer reports arrivals.
    void arrived(std::uint64_t messages) { arrived_ = std::max(arrived_, messages); }

    /// The number of the peer's messages that have come, if the peer does not know it.
    std::optional<std::uint64_t> unreported_arrivals() const;
    void reported() { reported_ = received(); }

    /// Everything that was due so far is done, on both ends.
    bool settled() const {
        return pending_.empty() && posted_ == arrived_ && requests_ == answered_ && received() == expected_;
    }
    std::string unsettled() const;
    const SideResult& result() const { return result_; }

    static std::uint32_t number_of(const iwarp::Completion& completion) {
        return static_cast<std::uint32_t>(completion.id >> 32);
    }

private:
    enum Tag : std::uint32_t { tag_sent = 0, tag_answered = 1, tag_receive = 1U << 16 };
    std::uint64_t id(std::uint32_t tag) const { return std::uint64_t{number_} << 32 | tag; }
    std::uint64_t received() const { return queue_pair_->counters().messages_received; }
    bool may_post(const Operation& operation) const;
    Result<iwarp::Posted> post_one(const Operation& operation);
    void note(const Operation& operation);
    void offer(std::uint32_t slot);
    void advertise_again(std::uint32_t stag);
    std::uint32_t next_invalidated() const;

    Shared& shared_;
    std::uint32_t number_;
    std::uint32_t connection_;
    std::uint32_t copy_;
    std::uint8_t side_;
    std::uint32_t receives_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::vector<std::shared_ptr<iwarp::MemoryRegion>> invalidatable_ = {};
    Advertisement peer_ = {};
    bool connected_ = false;

    std::deque<Operation> pending_ = {};
    std::uint64_t posted_ = 0;    ///< messages
    std::uint64_t arrived_ = 0;   ///< of them, as the peer reports
    std::uint64_t requests_ = 0;  ///< READs and atomics
    std::uint64_t answered_ = 0;
    std::uint64_t expected_ = 0;                    ///< messages of the peer
    std::uint64_t reported_ = 0;                    ///< of the messages received
    std::uint64_t invalidated_ = 0;                 ///< Sends with Invalidate that were posted
    std::deque<std::uint64_t> invalidations_ = {};  ///< `posted_` after each of the last ones
    /// A Send or Write under way; they complete in their order.
    struct Sent {
        std::shared_ptr<Payload> payload;
        std::shared_ptr<iwarp::MemoryRegion> region;
    };
    std::deque<Sent> sent_ = {};
    SideResult result_ = {};
};

}  // namespace replay::endpoints
