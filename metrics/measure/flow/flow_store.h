#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "metrics/measure/account/engine_options.h"
#include "metrics/measure/account/frame_context.h"
#include "metrics/measure/flow/flow_entropies.h"
#include "metrics/measure/flow/flow_paths.h"
#include "metrics/measure/flow/flow_table.h"
#include "metrics/measure/flow/observed_flows.h"
#include "metrics/measure/flow/path_windows.h"
#include "metrics/measure/flow/psn_pairing.h"

namespace metrics::inline measure::inline flow {

/// The flows of one engine, what the flows share (pools, options), and the steps that are the same for every tracker.
/// Trackers (metrics/measure/roce/, metrics/measure/iwarp/) hold a reference to it.
class FlowStore {
public:
    explicit FlowStore(const EngineOptions& options);

    /// Finds the flow or makes it. If there is no room, the flow that was idle longest is evicted. `frame` becomes the
    /// id of a new one.
    FlowIndex obtain(const FlowKey& key, std::uint32_t hash, std::uint64_t frame, std::int64_t now_ns);
    /// Lets the two be each other's reverse.
    void pair(FlowIndex one, FlowIndex other, PairingMethod method, double confidence);
    /// The flow and its reverse have an upper layer, as it seems: their packets are read.
    void read_upper(FlowIndex index);
    /// They have none: their packets are not looked at any more.
    void leave_upper(FlowIndex index);
    /// Counts a request that fits no upper layer. True where the flow is known to have none by now: after eight SENDs,
    /// or 15 packets.
    static bool decides_upper(Flow& flow, bool begins_send);
    /// The connection is over: later traffic of the same key is another flow.
    void retire(FlowIndex index);
    void evict(FlowIndex index);
    /// Removes flows without a packet since `before_ns` in both directions. Returns their number.
    std::size_t forget_idle(std::int64_t before_ns);
    /// Makes later events show their own frames, although as many as are kept were shown before. Counts continue.
    void forget_frames();

    void record(Flow& flow, FlowHistogram which, std::uint64_t value) {
        if (CompactHistogram* const found = histogram(flow, which); found != nullptr) [[likely]]
            found->record(pages, flow.histogram_pages, value);
    }
    /// Does nothing if the flow has no block for rare things.
    void record(Flow& flow, RareHistogram which, std::uint64_t value);
    /// Where record() puts values, until the next call for the flow; nullptr where the pool is exhausted.
    CompactHistogram* histogram(Flow& flow, FlowHistogram which) {
        const std::uint8_t& slot = flow.histogram_slot[static_cast<std::size_t>(which)];
        if (slot == Flow::no_slot && !take_histogram(flow, which)) [[unlikely]]
            return nullptr;
        return &blocks[flow.histogram_block[slot / 2u]][slot % 2u];
    }
    /// Records the size of a message that has ended. Most flows send messages of one size.
    void record_message(Flow& flow, std::uint64_t bytes) {
        const bool room = flow.usual_messages - 1 < 0xfffffffe;  // neither the first, nor more than the field holds
        if (bytes == flow.usual_message_bytes && room) [[likely]]
            ++flow.usual_messages;
        else
            record_unusual_message(flow, bytes);
    }
    Histogram unpack(const Flow& flow, FlowHistogram which) const;
    Histogram unpack(const FlowTrouble& trouble, RareHistogram which) const;
    /// The counts of one operation, for adding.
    OperationCounts::Count& count(Flow& flow, Operation operation) {
        OperationCounts::Count& first = flow.operations.first[0];
        return first.operation == static_cast<std::uint8_t>(operation) ? first : count_other(flow, operation);
    }
    OperationCounts::Count count_of(const Flow& flow, Operation operation) const;
    /// The READ responses that travel on the flow; made when first asked for, a spare one where the pool is exhausted.
    ResponseState& responder(Flow& flow);
    const ResponseState* responder_of(const Flow& flow) const;
    /// Counts an event at `frame`. The first four frames of each kind are kept.
    void show(Flow& flow, EventKind kind, std::uint64_t frame, std::uint64_t value = 0);
    /// The same, where `value` is greater than any shown of the kind before.
    void show_longest(Flow& flow, EventKind kind, std::uint64_t frame, std::uint64_t value);
    /// The block for rare things, made when first asked for; a shared spare one where the pool is exhausted.
    FlowTrouble& trouble(Flow& flow);
    const FlowTrouble* trouble_of(const Flow& flow) const;

    /// The flow's responder has answered again what was acknowledged before.
    void note_repeated_answer(Flow& flow) {
        if (flow.trouble == Flow::no_block) return;
        FlowTrouble& trouble = troubles[flow.trouble];
        if (trouble.repeated_answers < trouble.early_repeats) ++trouble.repeated_answers;
    }
    /// A message begins at `position` with the packet of that frame.
    void note_begin(Flow& flow, std::uint64_t position, std::uint64_t frame) {
        if (flow.transport_block == Flow::no_block) [[unlikely]]
            return note_first_begins(flow, position, frame);
        marks[flow.transport_block].note_begin(position, frame);
    }
    /// An answer to the flow's requests.
    void note_answer(Flow& flow, std::uint64_t frame) {
        if (flow.transport_block == Flow::no_block && !take_marks(flow)) [[unlikely]]
            return;
        marks[flow.transport_block].last_answer_frame = frame;
    }
    /// The frame that carried the packet at `position` first, which begins a message; 0 = no longer known.
    std::uint64_t frame_of_begin(const Flow& flow, std::uint64_t position) const;
    /// 0 = none.
    std::uint64_t last_answer_frame(const Flow& flow) const;
    /// Of a request packet.
    void note_udp_port(Flow& flow, std::uint16_t port) {
        if (port != flow.udp_port) [[unlikely]]
            note_other_udp_port(flow, port);
    }
    /// Of a request or response that was counted; `packet` is what it added to the counts.
    void note_path(Flow& flow, PathKey key, const EntropyTotals& packet) {
        if (!paths.has_key(flow, key)) [[unlikely]]
            note_other_path(flow, key, packet);
    }
    /// The row of the entropy that carried the request at `position` first; nullptr if the flow has used one entropy,
    /// or if that is no longer known.
    EntropyRow* entropy_row_of(const Flow& flow, std::uint64_t position);
    /// The row of the last data packet; nullptr if the flow has used one entropy.
    EntropyRow* present_entropy_row(const Flow& flow);
    /// The request at `position`, which passes for the first time, is the last data packet.
    void remember_entropy(const Flow& flow, std::uint64_t position) {
        if (!flow.has_entropies) [[likely]]
            return;
        FlowEntropies& own = entropies_of(flow);
        own.first_row[position % FlowEntropies::remembered] = own.present;
    }
    /// Of a packet that was counted, whose class is not that of the packet before it.
    struct ClassChange {
        PacketClass packet_class;
        std::uint8_t traffic_class = 0;
        std::uint64_t frame = 0;
        std::int64_t time_ns = 0;
        std::uint32_t wire_length = 0;
    };
    void note_class(Flow& flow, const ClassChange& change);
    PacketClass class_of(const Flow& flow) const { return classes[flow.class_number]; }

    /// A data packet closes the gap after its predecessor: fills in what the ledger, the request state and the frame's
    /// context know about the gap, and passes it to the flow's attribution. `situation` holds what only the tracker
    /// knows: now_ns, wire_bytes, again, cause, mid_message, response, unobserved, wants_response, responses_limit,
    /// inbound_ns, signal_ns, credit_exhausted.
    void close_gap(Flow& flow, Situation& situation, const FrameContext& context, std::uint64_t frame);

    /// The ends of the flow, as far as the flow itself knows them.
    void identify(FlowIndex index, FlowSnapshot& out) const;
    /// All figures of the flow itself; the engine adds pairing, connection and the reverse's part.
    void describe(FlowIndex index, FlowSnapshot& out) const;

    /// Calls report(ObservedFlows&) if the options name an observer. Where packets pass, this is the only test for
    /// that: a null object would cost a call through a table for each packet and message.
    template <class Report>
    void observe(Report&& report) {
        if (is_observed()) [[unlikely]]
            report(*observed);
    }
    bool is_observed() const { return observed != nullptr; }

    EngineOptions options;
    FlowTable table;
    HistogramPages pages;
    LedgerPool rings;
    Slab<HistogramBlock> blocks;
    Slab<ResponseState> responders;
    Slab<OperationCounts::Block> counts;
    Slab<FlowTrouble> troubles;
    Slab<EventSummaryRow> rows;
    Slab<RequestMarks> marks;
    FlowPaths paths;
    Slab<FlowEntropies> entropies;
    Slab<ManyEntropies> many_entropies;
    PathWindows path_windows;
    PsnPairing pairing;
    PacketClasses classes;
    /// Called before a flow is evicted, so that trackers free what they attached to it.
    std::function<void(FlowIndex)> on_leave;
    /// Called when a flow's packets are read from now on.
    std::function<void(FlowIndex)> on_read;
    std::uint8_t drop_epoch = 0;  ///< changes when the capture lost frames: what passed meanwhile is unknown
    std::unique_ptr<ObservedFlows> observed;  ///< if the options name an observer
    std::uint64_t evicted = 0;
    std::uint64_t seen = 0;

    std::size_t octets() const;

private:
    void close_observed_gap(Flow& flow, const Situation& situation, std::uint64_t frame);
    std::uint64_t next_id(const FlowKey& key, std::uint64_t frame);
    std::uint64_t ids_made_of(std::uint64_t frame) const;
    bool take_histogram(Flow& flow, FlowHistogram which);
    void note_other_udp_port(Flow& flow, std::uint16_t port);
    void note_other_path(Flow& flow, PathKey key, const EntropyTotals& packet);
    FlowEntropies& entropies_of(const Flow& flow) { return entropies[paths[flow.path].entropies]; }
    const FlowEntropies& entropies_of(const Flow& flow) const { return entropies[paths[flow.path].entropies]; }
    void note_hop_limit(Flow& flow, std::uint8_t before, std::uint8_t now);
    void describe_entropies(const Flow& flow, PathFigures& out) const;
    void describe_path(const Flow& flow, FlowSnapshot& out) const;
    void describe_classes(const Flow& flow, FlowSnapshot& out) const;
    void note_first_begins(Flow& flow, std::uint64_t position, std::uint64_t frame);
    bool take_marks(Flow& flow);
    void record_unusual_message(Flow& flow, std::uint64_t bytes);
    OperationFigures figures_of(const Flow& flow, Operation operation) const;
    OperationCounts::Count& count_other(Flow& flow, Operation operation);

    std::uint64_t newest_ = 0;        ///< frame that an id was made of
    std::uint64_t newest_count_ = 0;  ///< how many
    std::uint64_t last_ = 0;          ///< the same of the frame that what waited at the end stands for
    std::uint64_t last_count_ = 0;
    FlowTrouble spare_;
    ResponseState spare_responder_;
    OperationCounts::Count spare_count_;
};

}  // namespace metrics::measure::flow
