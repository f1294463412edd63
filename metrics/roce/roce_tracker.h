#pragma once
#include <cstdint>

#include "metrics/flow/flow_store.h"
#include "metrics/hosts/reuse.h"
#include "metrics/roce/packet_record.h"
#include "wire/bth_opcode.h"

namespace metrics {

struct Passing;
struct Progress;

/// InfiniBand's transport: requests, responses, acknowledgements and notifications of a queue pair turned into what
/// every flow has. IBTA vol. 1, chapter 9. The flow of the record has been found by the engine.
class RoceTracker {
public:
    RoceTracker(FlowStore& store, ReuseTracker* reuse) : store_(store), reuse_(reuse) {}

    void on_packet(const PacketRecord& record);

    /// The way of the commonest packets: a request in sequence, or an acknowledgement of such, of a flow that is known,
    /// paired and in no trouble. False, with nothing done, for all others: on_packet() must be called then. `flow` is
    /// the flow that it is expected to be of, or `no_flow`. The frame is plain (FrameContext::plain_bth), its CRC not
    /// wrong.
    bool on_plain(const wire::Frame& frame, const FrameContext& context, FlowIndex flow);

private:
    /// A second answer within the window of the flow that the first one named: chance would have to strike twice.
    static constexpr std::uint8_t confirmed_percent = 99;

    struct CommonPacket;
    bool common_request(Flow& flow, const CommonPacket& packet);
    bool common_acknowledgement(Flow& flow, const CommonPacket& packet);
    void count(Flow& flow, const PacketRecord& record);
    void reliable_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode);
    void unreliable_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode);
    void response(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode);
    void acknowledgement(FlowIndex index, const PacketRecord& record);
    void notification(Flow& flow, const PacketRecord& record);

    void close_gap(Flow& flow, const PacketRecord& record, Situation& situation);
    void close_gap(Flow& flow, const Passing& packet, Situation& situation);
    void close_gap_in_sequence(Flow& flow, const Passing& packet, Situation& situation);
    void new_request(Flow& flow, const Progress& packet);
    void part_of_message(Flow& flow, const Progress& packet);
    void measure_part(Flow& flow, const Progress& packet);
    void piece_of_message(Flow& flow, const Progress& packet, std::uint32_t uncounted);
    void take_piece(Flow& flow, const MessagePiece& piece);
    void cut_message(Flow& flow);
    void give_up(Flow& flow, Operation operation, std::uint32_t octets);
    void leave_message(Flow& flow);
    void begin_later(Flow& flow, std::uint64_t position, std::uint32_t told);
    void name_message(Flow& flow, const Progress& packet);
    void settle(Flow& requester, std::uint64_t position, std::int64_t now_ns);
    bool past_request(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode,
                      std::uint64_t position, std::uint32_t span, Situation& situation);
    void note_hole(Flow& flow, const PacketRecord& record, std::uint64_t position);
    bool take_hole(Flow& flow, const PacketRecord& record, std::uint64_t position, MissingRanges::Range& hole);
    void fill_hole(Flow& flow, const Progress& packet);
    void unreliable_part(Flow& flow, const Progress& packet);
    void past_unreliable(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode,
                         std::uint64_t position);
    static void ask_again(FlowTrouble& trouble, std::uint64_t begin, std::uint64_t end, bool running,
                          std::int64_t now_ns);
    RepeatCause tell_recovery(Flow& flow, const PacketRecord& record, std::uint64_t position, std::uint32_t span,
                              bool read, bool late);
    void received(Flow& requester, std::uint64_t position, const PacketRecord& answer);
    void acknowledge(Flow& requester, std::uint64_t position, const PacketRecord& answer);
    void take_credits(Flow& carrier, Flow* requester, const PacketRecord& record);
    void refused(Flow& carrier, Flow* requester, const PacketRecord& record);
    void notice_reuse(Flow& flow, const Progress& packet);
    void decide_doubt(Flow& flow, std::uint64_t position);
    void beyond_seen(Flow& requester, std::uint64_t position, std::uint64_t packets, const PacketRecord& answer);
    void settle_holes(Flow& requester, std::uint64_t end, std::uint64_t frame);
    void settle_responses(Flow& requester, std::int64_t now_ns, std::uint64_t frame);
    void responses_received(Flow& requester, std::int64_t since_ns, std::uint64_t frame);
    bool gap_known(const Flow& requester) const;
    bool skips_read(Flow& requester, const PacketRecord& response);
    static std::uint64_t awaited_before(const Flow& requester, const PacketRecord& response);
    std::uint64_t awaited_from(const Flow& requester, const OutstandingMessage& message) const;
    std::uint64_t awaited_span(const Flow& requester, const OutstandingMessage& message) const;
    template <class Found>
    void awaited_responses(const Flow& requester, std::uint64_t from, std::uint64_t to, Found&& found) const;
    /// Positions of responses.
    struct Skipped {
        std::uint64_t begin = 0;
        std::uint64_t sure = 0;  ///< from here on they are, whatever the ledger says
        std::uint64_t end = 0;
        bool answered = false;  ///< no response, but an acknowledgement has skipped them
    };
    void miss_responses(Flow* requester, Flow& carrier, const PacketRecord& record, const Skipped& skipped,
                        bool continues);
    bool past_response(Flow* requester, Flow& carrier, const PacketRecord& record, const wire::BthOpcode& opcode,
                       std::uint64_t here);
    bool is_asked_again(const Flow& requester, std::uint64_t position) const;
    bool is_under_way(const Flow& requester, std::int64_t now_ns) const;
    void late_response(Flow& requester, Flow& carrier, const PacketRecord& record, const wire::BthOpcode& opcode,
                       std::uint64_t here);
    void first_response(Flow& requester, std::uint64_t position, const PacketRecord& record);
    bool skips_response(Flow& requester, std::uint64_t position);
    bool waits_for_response(Flow& requester, Flow& carrier, const PacketRecord& record, std::uint64_t position,
                            std::uint64_t end);
    bool went_on(const Flow& requester, std::int64_t sent_ns) const;
    void release_responses(Flow& requester, const PacketRecord& record, const wire::BthOpcode& opcode);
    void give_up_responses(Flow& requester, std::uint64_t position);
    void lost_response(Flow& requester, const PacketRecord& record, std::uint64_t position);
    void answered(Flow& requester, Flow& carrier, const PacketRecord& record, const wire::BthOpcode& opcode);
    void damaged(Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode);
    bool has_been_answered(const Flow& flow, std::uint64_t position) const;
    bool is_late(const Flow& flow, const FlowTrouble& trouble, const PacketRecord& record, std::uint64_t position,
                 const MissingRanges::Range* hole) const;
    static bool was_answered_early(const Flow& flow, const FlowTrouble& trouble, std::int64_t now_ns,
                                   std::uint64_t position, const MissingRanges::Range& hole);
    void answered_early(FlowIndex index, const PacketRecord& record, const wire::BthOpcode& opcode,
                        const Progress& packet, std::uint64_t position, const MissingRanges::Range& hole);
    bool is_another_life(const Flow& flow, const PacketRecord& record, const wire::BthOpcode& opcode) const;
    FlowIndex begin_another_life(FlowIndex index, const PacketRecord& record);
    Flow* requester_of(FlowIndex& carrier, const PacketRecord& record);
    std::uint32_t read_span(const Flow& flow, std::uint32_t length) const;
    static void learn_mtu(RequestState& request, std::uint32_t payload);
    static void learn_mtu_before(Flow& requester, std::uint64_t position);
    void extend_read(Flow& requester, std::uint64_t end, bool guessed = false);
    void shorten_read(Flow& requester, std::uint64_t begin, const PacketRecord& record);
    void learn_extent(Flow& requester, const PacketRecord& response, const wire::BthOpcode& opcode);
    void request_of_response(Flow& requester, Flow& carrier, const PacketRecord& record, const wire::BthOpcode& opcode,
                             bool continues);

    // For the witness, where there is one.
    void watch_repair(const Flow& flow, const Recovery& recovery, std::uint64_t frame, RepeatCause cause,
                      Repair& repair);
    void watch_packet(FlowIndex index, std::uint64_t frame);
    void watch_request(FlowIndex index, const Progress& packet, std::uint64_t frame);
    void watch_end_unseen(FlowIndex index, std::uint64_t position);
    void watch_past(FlowIndex index, const PacketRecord& record, const Progress& packet, bool first_sight);

    FlowStore& store_;
    ReuseTracker* reuse_;
};

}  // namespace metrics
