#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dissect/dissector.h"
#include "dissect/icmp_error.h"
#include "dissect/subnet/management_learner.h"
#include "metrics/figures/flow_bytes.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/engine_options.h"
#include "metrics/measure/commands/command_reading.h"
#include "metrics/measure/connection/connections.h"
#include "metrics/measure/engine/cnp_resolver.h"
#include "metrics/measure/engine/host_pairs.h"
#include "metrics/measure/engine/partner_table.h"
#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/hosts/reuse.h"
#include "metrics/measure/iwarp/stream_tracker.h"
#include "metrics/measure/packet/packet_record.h"
#include "metrics/measure/roce/roce_tracker.h"

namespace metrics::inline measure::inline engine {

/// A flow that may be forgotten to keep the bound on flows.
struct FlowAge {
    bool is_finished = false;
    std::int64_t last_ns = 0;
    std::uint64_t id = 0;
    FlowIndex index = no_flow;
    std::size_t worker = 0;  ///< the worker whose engine has the flow
};

/// One worker's part of the engine: receives RDMA packets, and keeps flows. The caller sets each frame's context before
/// the dissector gets the frame. Not thread-safe.
class Engine final : public dissect::Sink {
public:
    explicit Engine(const EngineOptions& options);
    ~Engine() override;

    void begin_frame(const FrameContext& context) { context_ = context; }
    /// For the observer, if there is one: all that the frame holds has been reported.
    void end_frame();
    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override;
    void on_unit(const dissect::Unit& unit) override;
    void on_notice(const dissect::Notice& notice) override;

    /// A frame that HostClock found to be plain, in place of the dissector. Counted in plain_frames().
    void on_plain(const wire::Frame& frame, const FrameContext& context, bool verify_crc);
    /// Announces that on_plain() will be called with this frame, after those announced before: fetch() prefetches their
    /// flows' memory, all at once, if there are too many flows for the caches. More than `batch` frames are ignored.
    void expect_plain(const wire::Frame& frame) {
        if (has_many_flows()) note_expected(frame);
    }
    void fetch() {
        if (expected_count_ > 0) fetch_expected();
    }
    /// As Dissector::fetch: segments between these ends will come soon.
    void fetch(std::span<const dissect::Ipv4Ends> ends, unsigned pass) { streams_.fetch(ends, pass); }
    std::size_t flows() const { return store_.table.live(); }
    bool has_many_flows() const { return store_.table.live() > few_flows; }
    std::uint64_t plain_frames() const { return plain_frames_; }
    const ReuseTracker& reuse() const { return reuse_; }

    /// No more frames will come.
    void finish();
    /// Handles the packets that wait for their flows. Call this before any question about the engine's state.
    void flush();
    /// For an engine that runs for months: a new interval shows frames of its own, and flows idle since `idle_since_ns`
    /// (with their reverses) are forgotten. Returns how many.
    std::size_t begin_interval(std::int64_t idle_since_ns);
    /// Adds all flows, in no order.
    void add_ages(std::vector<FlowAge>& out, std::size_t worker) const;
    void add_bytes(std::vector<FlowBytes>& out) const;
    /// Forgets one of these flows, and counts it as evicted.
    void evict(FlowIndex index);
    /// Frames were lost: what passed meanwhile is unknown to every flow.
    void dropped() { ++store_.drop_epoch; }
    /// Adds the flows (in no order), the reuse figures of hosts, the attempts at connections, and what they hold in
    /// memory.
    void describe(Snapshot& out, std::int64_t now_ns);
    /// Adds the flows that had traffic since the last call, without commands of upper layers; `all`: every flow.
    void describe_changed(std::vector<FlowSnapshot>& out, bool all);
    /// As describe(), and gives the memory of flows back as soon as they are described: nothing but the destructor may
    /// follow. Flows and their figures are then not held twice.
    void describe_and_release(Snapshot& out, std::int64_t now_ns);
    /// What management datagrams have said of nodes; null if nothing.
    const dissect::subnet::SubnetNames* subnet_names() const { return learner_ ? &learner_->names() : nullptr; }
    /// With an observer: the two ends of a flow, and its reverse's id; no figures. False if there is no such flow.
    bool identify(std::uint64_t id, FlowSnapshot& out) const;

private:
    static constexpr std::size_t batch = 32;
    /// Up to this number, flows fit the caches: their memory need not be prefetched.
    static constexpr std::size_t few_flows = 128;
    /// Plain frames of one flow that are to come, in order.
    struct Expected {
        PlainKey key;
        std::uint32_t hash = 0;
        FlowIndex flow = no_flow;
        std::uint32_t frames = 0;
        bool answers = false;
    };
    void describe_outstanding(ObservedFlows& observed) const;
    bool waits_for_no_batch(const dissect::Unit& unit, const PacketRecord& record) const;
    bool is_of_interest(const Flow& flow) const;
    void look_for_commands(const PacketRecord& record, const wire::Frame& frame);
    void look_for_commands(const PacketRecord& record, const dissect::Unit& unit);
    void look_for_commands(FlowIndex index, const dissect::Unit& unit);
    bool may_have_commands(Flow& flow, FlowIndex index, bool requests, bool begins_send, base::Bytes head,
                           std::uint64_t length);
    void keep_reading(FlowIndex index, bool wanted);
    void on_management(const dissect::Unit& unit);
    void count_management(const dissect::Unit& unit);
    void learn_names(const dissect::Unit& unit);
    void on_icmp_error(const dissect::Notice& notice);
    FlowIndex quoted_flow(const dissect::Dissection& dissection, const dissect::IcmpError& error, const Address& source,
                          const Address& destination);
    void note_expected(const wire::Frame& frame);
    void fetch_expected();
    void find_flow(PacketRecord& record);
    void work_off(PacketRecord& record);
    void identify(FlowIndex index, FlowSnapshot& out) const;
    void describe(FlowIndex index, std::int64_t now_ns, FlowSnapshot& out) const;
    void describe_measured(FlowIndex index, FlowSnapshot& out) const;
    /// What differs in a flow that had traffic: its own, its reverse's, answers about it, or its connection's end.
    struct FlowMark {
        std::uint64_t id = 0;
        FlowIndex reverse = no_flow;
        bool is_finished = false;
        std::array<std::uint64_t, 2> packets{};  ///< of the flow, of its reverse
        std::array<std::int64_t, 2> last_ns{};
        std::array<std::int64_t, 2> last_data_ns{};
        std::array<std::uint64_t, 2> answers{};  ///< NAKs, RNR NAKs, CNPs, errors of ICMP
        std::uint64_t end_frame = 0;             ///< of the connection
        bool operator==(const FlowMark&) const = default;
    };
    FlowMark mark_of(const Flow& flow) const;
    void describe_if_live(FlowIndex index, std::int64_t now_ns, Snapshot& out) const;
    void describe_rest(Snapshot& out, std::int64_t now_ns) const;
    std::vector<std::size_t> last_uses_of_blocks() const;
    void describe_end(const Flow& flow, FlowSnapshot& out) const;

    FlowStore store_;
    ReuseTracker reuse_;
    RoceTracker roce_;
    iwarp::StreamTracker streams_;
    Connections connections_;
    PartnerTable partners_{store_};
    CnpResolver cnps_{store_, partners_};
    HostPairs pairs_{store_};
    std::unique_ptr<CommandReading> commands_;  ///< if the options say so
    /// Hashes of flows without an upper layer: their packets may wait. If another flow has the same hash, its commands
    /// are found a few packets later.
    std::array<std::uint32_t, 64> decided_{};
    const dissect::Unit* unit_ = nullptr;  ///< of the record that waits last, while it is worked off
    std::array<std::uint64_t, wire::management_kind_count> management_{};
    std::unique_ptr<dissect::subnet::ManagementLearner> learner_;  ///< once there is a datagram to learn from
    FrameContext context_;
    std::array<PacketRecord, batch> waiting_;
    std::size_t waiting_count_ = 0;
    std::uint64_t plain_frames_ = 0;
    std::vector<FlowMark> described_ = {};  ///< by index, as of the last describe_changed()
    std::array<Expected, batch> expected_;
    std::size_t expected_count_ = 0;
    std::size_t expected_next_ = 0;  ///< the one that on_plain() will be called with
};

}  // namespace metrics::measure::engine
