#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/frame_observer.h"
#include "metrics/measure/posts/frame_times.h"
#include "metrics/measure/posts/message_join.h"
#include "metrics/measure/posts/queue_pair_table.h"
#include "wire/frame.h"

namespace metrics::inline measure::posts {

/// Trace records and packets, joined by queue pair: what a program did is said of the flow that came of it.
///
/// The caller gives records before the packets that they are about: all records up to a little (`lead_ns`) after a
/// batch's last frame, then frames(batch), then the batch to the engine whose observer this is, then settle().
class TraceJoin final : public FrameObserver {
public:
    explicit TraceJoin(const QueuePairTableOptions& options = {}) : table_(options) {}

    /// Records are needed this far ahead of frames: stamps of both may differ by as much.
    static constexpr std::int64_t lead_ns = 1'000'000;

    QueuePairTable& queue_pairs() { return table_; }
    const QueuePairTable& queue_pairs() const { return table_; }
    void frames(std::span<const wire::Frame> frames);
    /// Says who a flow is between: Analyzer::identify.
    using Identify = std::function<bool(std::uint64_t, FlowSnapshot&)>;
    /// The engine has worked the frames off. `last`: no more of either will come.
    void settle(const Identify& identify, bool last = false);
    /// The remembered flows: as many as the engine has.
    std::size_t flows() const { return flows_.size(); }
    /// Packets were lost to the capture.
    void dropped();
    /// Fills in FlowSnapshot::verbs, and gives time that packets call the application's to whom posts show it to
    /// belong: docs/metrics.md, "Where the time went".
    void describe(Snapshot& out);

    void packet(std::uint64_t flow, std::uint64_t frame) override;
    void taken_back(std::uint64_t flow, std::uint64_t frame) override;
    void event(std::uint64_t flow, EventKind kind, std::uint64_t frame, std::uint64_t value) override;
    void gap(std::uint64_t flow, const Gap& gap, std::uint64_t frame) override;
    void repeats(std::uint64_t flow, std::uint64_t frame, std::uint64_t of_frame) override;
    void repaired(std::uint64_t flow, const Repair& repair, std::uint64_t frame) override;
    void message(std::uint64_t flow, const Message& message, std::uint64_t frame) override;
    void continued(std::uint64_t flow, std::uint64_t position, std::uint64_t frame) override;
    void answered(std::uint64_t flow, std::uint64_t position, const std::uint64_t* latency_ns,
                  std::uint64_t frame) override;
    void forgotten(std::uint64_t flow, bool apart) override;
    void left(std::uint64_t flow) override;
    void outstanding(std::uint64_t flow, std::uint64_t messages, std::uint64_t bytes, std::uint64_t frame) override;

private:
    struct LastGap {
        std::uint64_t frame = 0;
        State state{};
        std::uint64_t ns = 0;
        std::uint64_t wire_ns = 0;
    };
    /// Of flows that may have an owner: it is a hundred times as large as the rest.
    struct Messages {
        MessageJoin join;
        std::array<LastGap, 8> gaps{};
        std::uint8_t next_gap = 0;
    };
    struct Flow {
        std::unique_ptr<Messages> messages;
        QueuePairTable::Handle owner = QueuePairTable::none;
        std::uint64_t looked_for = ~std::uint64_t{0};  ///< QueuePairTable::identities() at the last search for an owner
        std::uint64_t lost = 0;                        ///< records of its process that were lost, when last looked
        JoinRules rules;
        bool joins = true;                   ///< its messages are those of one queue pair alone
        bool begun = false;                  ///< a message has passed
        bool whole = false;                  ///< messages and posts are known from their beginning, and not aligned yet
        bool missed = false;                 ///< messages passed before an owner was known
        std::unique_ptr<WireMessage> first;  ///< without bytes: it may not be the program's
        bool listed = false;
        std::int64_t seen_ns = unknown_time;
    };

    Flow& at(std::uint64_t flow);
    Messages* messages_of(Flow& flow) const;
    void touch(std::uint64_t id, Flow& flow);
    void look_for_owner(std::uint64_t id, Flow& flow, const Identify& identify);
    void place_first(Flow& flow, const QueuePair& life) const;
    void bind(Flow& flow, QueuePairTable::Handle owner, const FlowSnapshot& who);
    void advance(Flow& flow, bool last);

    QueuePairTable table_;
    FrameTimes times_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Flow>> flows_;
    std::unordered_map<QueuePairTable::Handle, std::uint64_t> owned_;  ///< the flow that takes a queue pair's posts
    std::vector<std::uint64_t> touched_;
    std::uint64_t last_id_ = ~std::uint64_t{0};
    Flow* last_flow_ = nullptr;
    std::int64_t first_ns_ = unknown_time;  ///< of the capture
};

/// Moves `held_ns` of a flow's states that packets call the application's to nic_stall. The sum stays.
void give_held_time(FlowSnapshot& flow);

}  // namespace metrics::measure::posts
