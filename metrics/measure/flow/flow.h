#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "metrics/figures/flow_key.h"
#include "metrics/figures/operation.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/attribution.h"
#include "metrics/measure/account/compact_histogram.h"
#include "metrics/measure/account/hole_watch.h"
#include "metrics/measure/account/ledger.h"
#include "metrics/measure/account/recovery.h"

/// The state of a flow in the engine. Only code in metrics/ reads it; all output is made from a `Snapshot`.
namespace metrics::inline measure::inline flow {

using FlowIndex = std::uint32_t;
inline constexpr FlowIndex no_flow = 0xffffffff;

/// The distributions of a flow.
enum class FlowHistogram : std::uint8_t {
    latency,  ///< the first of eight, one an Operation
    first_response = latency + operation_count,
    message_bytes,
    message_duration,
    rnr_timer,
    cnp_interval,
    round_trip,  ///< iWARP: TCP data -> ACK
    nak_generation,
    nak_reaction,
    recovery_total,
};
inline constexpr std::size_t flow_histogram_count = 17;
constexpr FlowHistogram latency_of(Operation operation) { return static_cast<FlowHistogram>(index_of(operation)); }

/// Counts of a flow's packets and their marks. Every packet changes them. `CountsAbove` has the high bits of some
/// counts.
struct PacketCounts {
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t payload_bytes = 0;
    std::uint32_t acknowledgements = 0;
    std::uint32_t ce = 0;
    std::uint32_t ecn_capable = 0;
    std::uint32_t crc_bad = 0;
};

/// The high bits of PacketCounts: 2^48 packets are a year of 8 million a second. Used once in 2^32 packets.
struct CountsAbove {
    std::uint16_t acknowledgements = 0;
    std::uint16_t ce = 0;
    std::uint16_t ecn_capable = 0;
};

/// The requests of this flow's sender, in PSN order (IBTA vol. 1, 9.7); iWARP uses positions of TCP's sequence.
struct RequestState {
    /// Positions begin here, so that those before the first packet seen have one too.
    static constexpr std::uint64_t first_position = std::uint64_t{1} << 32;
    std::uint64_t lowest_position() const { return first_position + static_cast<std::uint64_t>(std::int64_t{base}); }

    std::uint64_t next = 0;            ///< position that a new packet will have; 0 = nothing sent yet
    std::uint64_t acknowledged = 0;    ///< every position before it is acknowledged
    std::int32_t base = 0;             ///< the lowest position seen, from first_position on
    std::uint32_t message_length = 0;  ///< bytes of the message under way, by its RETH; 0 = unknown
    std::uint64_t message_bytes = 0;
    std::int64_t message_first_ns = 0;
    std::uint64_t sibling_bytes_then = 0;  ///< FrameContext::source_wire_bytes at the last data packet
    std::uint32_t own_bytes_since = 0;     ///< of it, this flow's own
    std::uint32_t pauses_then = 0;
    std::int64_t freed_ns = Situation::never;
    std::int64_t credit_freed_ns =
        Situation::never;                         ///< when its credits (iWARP: the receive window) last sufficed again
    std::int64_t response_ns = Situation::never;  ///< a READ or atomic completed
    std::int64_t message_end_ns = Situation::never;  ///< last packet of the last message
    std::uint32_t repeated = 0;                      ///< packets
    std::uint32_t missing = 0;
    std::uint32_t reordered = 0;
    std::uint32_t duplicates = 0;
    std::uint32_t round_trip_min_ns = 0xffffffff;
    std::uint32_t reaction_min_ns = 0xffffffff;
    std::uint64_t last_position = 0;  ///< of the last data packet
    std::int64_t last_data_ns = Situation::never;
    std::uint64_t reuse_position = 0;   ///< of the message whose turnaround is being measured; 0 = none
    std::uint32_t message_packets = 0;  ///< positions that the message under way takes so far, holes among them
    std::uint32_t reuse_handle = 0;
    std::uint32_t freed_messages = 0;       ///< at freed_ns
    std::uint32_t message_counted = 0;      ///< bytes of the unfinished message that passed: counted at its end
    std::array<std::uint32_t, 3> recent{};  ///< identification and lower half of the position of data packets
    std::uint16_t identification = 0;       ///< IPv4's, of the last data packet
    std::uint16_t mtu_payload = 0;          ///< largest payload of a packet that was not the last of its message
    std::uint16_t responses_limit = 0;      ///< ORD, by the connection's set-up; 0 = unknown
    std::uint16_t read_slack = 0;  ///< by how much the next packet may be ahead: a READ of unknown extent came before
    std::uint8_t orderly = 0;      ///< how regularly the sender counts its identifications up
    Operation operation = Operation::send;
    bool in_message : 1 = false;
    bool recovering : 1 = false;        ///< FlowTrouble::recovery must be called for every packet
    bool unobserved : 1 = false;        ///< packets passed that the capture does not hold, since the last data packet
    bool lacking : 1 = false;           ///< FlowTrouble::missing holds what is not acknowledged
    bool watched : 1 = false;           ///< has commands of an upper layer, or may have: Flow::upper
    bool message_whole : 1 = false;     ///< all packets of the message under way have passed, from its first on
    bool lacks_responses : 1 = false;   ///< to READs of this flow: the reverse's FlowTrouble::missing_responses
    bool read_guessed : 1 = false;      ///< a READ in the ledger was given positions because its successor left them
    bool read_reth_cut : 1 = false;     ///< the last READ's length was cut off with its RETH
    std::uint8_t mtu_exponent : 7 = 8;  ///< the path's MTU is 2 to this at least, by what either direction has carried
};
static_assert(sizeof(RequestState) == 176);

/// READ responses that travel on this flow, in the PSN space of the reverse flow's requests. IBTA vol. 1, 9.7.5.1.
struct ResponseState {
    std::uint64_t next = 0;  ///< position of the response packet that continues the one under way; 0 = none seen yet
    std::uint32_t repeated = 0;
    std::uint32_t missing = 0;
    std::uint32_t read_bytes = 0;  ///< of the present response, if its READ does not state the length
    std::uint16_t mtu_payload = 0;
    bool in_response = false;
    bool incomplete = false;             ///< of the present response, packets are missing
    bool repeating = false;              ///< the last response packet was one sent again
    std::uint64_t repeated_next = 0;     ///< the position after that one
    std::uint64_t message_position = 0;  ///< of the first packet of the present response, in the requester's positions
    std::int64_t message_end_ns = Situation::never;
};

/// Up to eight stretches of positions that were never seen while later ones were: lost before the tap, or late.
struct MissingRanges {
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;  ///< one past the last; begin == end: unused
        std::int64_t noticed_ns = 0;
        std::uint16_t identification = 0;  ///< of the packet that showed the hole
        bool counted = true;               ///< counted as missing; not if the capture began within it
        bool refused = false;              ///< the receiver has asked for it: it was lost
        bool acknowledged = false;         ///< it was received, so the capture alone has lost it
        bool answered = false;             ///< its acknowledgement showed it: nothing after it had passed
        bool asked = false;  ///< of responses: their requester has asked again, and what came is not known
    };
    std::array<Range, 8> ranges{};
    /// Positions of stretches that found no room, and where these lie.
    std::uint32_t given_up = 0;
    std::uint64_t given_up_begin = 0;
    std::uint64_t given_up_end = 0;
};

/// Packets of one message that lie side by side, of a message that has others missing.
struct MessagePiece {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;                     ///< one past the last position; begin == end: unused
    std::int64_t first_ns = Situation::never;  ///< when the message's first packet passed
    std::int64_t last_ns = Situation::never;   ///< its last one
    std::uint32_t bytes = 0;
    std::uint32_t uncounted = 0;    ///< of these, not counted under the message's operation yet
    std::uint32_t length = 0;       ///< bytes of the whole message, by its RETH; 0 = unknown
    std::uint16_t mtu_payload = 0;  ///< of its first packet
    Operation operation = Operation::send;
    bool starts : 1 = false;  ///< the message's first packet is of it
    bool ends : 1 = false;
    bool known : 1 = false;  ///< `operation` is the message's, which its last packet showed: it was counted
};
static_assert(sizeof(MessagePiece) == 48);

/// What was seen of messages that have packets missing: those may come late, or again.
using MessagePieces = std::array<MessagePiece, 8>;

/// What a flow sends before and after a CNP that is meant for it, in windows of 1 ms.
struct RateDrop {
    static constexpr std::uint64_t window_ns = 1'000'000;

    std::int64_t begin_ns = Situation::never;   ///< of the window under way
    std::int64_t signal_ns = Situation::never;  ///< the CNP whose effect is being watched; never = none
    std::uint32_t octets = 0;                   ///< in the window under way
    std::uint32_t previous = 0;                 ///< in the one before it
    std::uint32_t before = 0;                   ///< in the one before the CNP
    std::uint32_t count = 0;
    double sum = 0;  ///< of the shares that remained

    void data(std::int64_t now_ns, std::uint32_t wire_octets);
    void signal(std::int64_t now_ns);
};

/// Whether a flow has an upper layer whose commands are read. `unknown` is decided by its first packets.
enum class UpperLayer : std::uint8_t { unknown, read, none };

/// Where a message of a flow began.
struct MessageBegin {
    std::uint64_t position = 0;  ///< 0 = none
    std::uint64_t frame = 0;
};

/// Frames of a flow's requests and of their answers. RoCE and InfiniBand. Taken from a pool at the second message or
/// the first answer: a flow with one message needs only the frame in its id.
struct RequestMarks {
    std::uint64_t last_answer_frame = 0;  ///< 0 = none
    std::array<MessageBegin, 2> begun{};  ///< the last messages, the latest first

    void note_begin(std::uint64_t position, std::uint64_t frame) {
        begun[1] = begun[0];
        begun[0] = {position, frame};
    }
};

/// The request that was last sent again, or refused by an RNR NAK. The source of RetryFigures until its position is
/// acknowledged.
struct RepeatedRequest {
    std::uint64_t position = 0;  ///< of the packet that was repeated first; 0 = none
    std::uint64_t frame = 0;     ///< that carried it first; 0 = no longer known
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::int64_t sent_ns = 0;  ///< last sending
    std::uint64_t repeat_frame = 0;
    std::uint64_t last_frame = 0;
    std::uint64_t interval_min_ns = 0;
    std::uint64_t interval_max_ns = 0;
    std::uint64_t rnr_timer_ns = 0;
    std::uint32_t repeats = 0;
    std::uint32_t rnr_naks = 0;
    std::uint32_t packet_bytes = 0;
    std::uint32_t message_bytes = 0;
    Operation operation = Operation::send;
    bool refused_last = false;
};

/// The classes of all flows' packets, each with a number of its own: a flow has room for a byte. Networks use a few; of
/// more than 254, further ones are not told apart from the class before them.
class PacketClasses {
public:
    PacketClass operator[](std::uint8_t number) const { return classes_[number]; }
    /// The number of a known class; 0 if there is no room for it.
    std::uint8_t number_of(PacketClass one) {
        const auto known = std::find(classes_.begin() + 1, classes_.begin() + 1 + known_, one);
        const auto number = static_cast<std::size_t>(known - classes_.begin());
        if (number <= known_) return static_cast<std::uint8_t>(number);
        if (number == classes_.size()) return 0;
        classes_[number] = one;
        ++known_;
        return static_cast<std::uint8_t>(number);
    }

private:
    std::array<PacketClass, 255> classes_{};  ///< the first is unknown
    std::size_t known_ = 0;
};

/// The classes of a flow whose packets have several. Packets are counted where the class changes.
struct FlowClasses {
    PacketClass first;
    std::uint64_t changes = 0;
    std::array<ClassFigures, most_flow_classes - 1> others{};  ///< the last one stands for further ones as well
    std::uint8_t known = 0;                                    ///< of `others`
    std::uint8_t present = 0;          ///< the class of the packets now: 0 is `first`, n is others[n - 1]
    std::uint64_t packets_before = 0;  ///< of the flow, when that class began
    std::uint64_t bytes_before = 0;
};

/// Packets that were lost together count as one episode: losses come in bursts, whose length says nothing about a path.
struct LossEpisodes {
    /// Two lost packets are of one episode if at most this number of PSNs lies between them.
    static constexpr std::uint64_t most_apart = 16;

    std::uint32_t count = 0;
    std::uint64_t last_position = 0;  ///< of the last packet that filled a hole because it was sent again; 0 = none
    std::array<std::uint64_t, 4>
        late{};  ///< positions of the last packets that came late: what repeats them is no loss
    std::uint8_t late_next = 0;

    void note_late(std::uint64_t position) {
        late[late_next] = position;
        late_next = static_cast<std::uint8_t>((late_next + 1u) % late.size());
    }
    /// The packets [begin, end) did not pass, and nothing will send them again. They begin an episode if they are not
    /// near the last one.
    bool note_hole(std::uint64_t begin, std::uint64_t end) {
        const bool begins = last_position == 0 || begin > last_position + most_apart + 1;
        last_position = end - 1;
        count += begins ? 1 : 0;
        return begins;
    }
    /// The packet at `position` is sent again. It begins an episode if it fills a hole that is not near the last one,
    /// or, if the capture holds its first transmission, if it begins a run of repeats.
    bool note(std::uint64_t position, bool fills, bool begins_run) {
        bool begins = begins_run;
        if (fills) {
            constexpr std::uint64_t near = most_apart + 1;
            begins = last_position == 0 || position > last_position + near || position + near < last_position;
            last_position = position;
        } else if (std::ranges::find(late, position) != late.end()) {
            return false;
        }
        count += begins ? 1 : 0;
        return begins;
    }
};

/// The distributions of rare cases.
enum class RareHistogram : std::uint8_t {
    first_answer,  ///< RepeatAnswerFigures
    late_depth,    ///< PathFigures
    late_ns,       ///< PathFigures
};
inline constexpr std::size_t rare_histogram_count = 3;

/// Everything that is counted in rare cases only. Taken from a pool at the first of them.
struct FlowTrouble {
    std::array<std::uint64_t, nak_code_count>
        naks{};  ///< that travelled on this flow, about the reverse flow's requests
    std::uint64_t rnr_naks = 0;
    std::uint64_t cnps = 0;  ///< that travelled on this flow
    std::int64_t last_cnp_ns = Situation::never;
    std::uint64_t timeouts = 0;
    std::uint64_t unseen_acknowledged = 0;
    std::uint64_t credits_exhausted = 0;
    std::uint64_t terminates = 0;
    MissingRanges missing;            ///< requests
    MissingRanges missing_responses;  ///< READ responses that travel on this flow
    MessagePieces pieces;
    std::array<std::uint64_t, 4> damaged{};  ///< positions of packets whose CRC was bad
    std::uint8_t damaged_next = 0;
    std::uint32_t crc_zero = 0;            ///< packets whose ICRC is 0
    std::uint32_t crc_taken = 0;           ///< packets with a bad ICRC that were acknowledged without a repeat
    std::uint32_t crc_checksum_right = 0;  ///< bad FPDUs in segments whose TCP checksum is right
    std::int64_t response_gap_ns = Situation::never;  ///< since when an answered READ of this flow lacks responses
    /// Responses that the flow's sender has asked for again, when it last went back; positions of its own.
    std::uint64_t asked_begin = 0;
    std::uint64_t asked_end = 0;
    std::int64_t asked_ns = Situation::never;  ///< when it began to
    std::uint64_t doubtful = 0;  ///< position that was assumed to be sent again, unless new data follows it; 0 = none
    bool doubtful_timeout = false;
    bool doubtful_episode = false;  ///< LossEpisodes has counted it
    std::uint64_t repeats_end = 0;  ///< past the last position that may have been sent again
    Recovery recovery;
    RateDrop rate;
    RepeatedRequest repeated;
    RequestFigures refused;  ///< by a NAK that ends the queue pair, if `is_refused`
    bool is_refused = false;
    std::uint64_t early_repeats = 0;  ///< RepeatAnswerFigures
    std::uint64_t repeated_answers = 0;
    std::uint64_t first_repeat_min_ns = 0;
    /// A HistogramBlock for each two of RareHistogram, if there is one.
    std::array<std::uint32_t, (rare_histogram_count + 1) / 2> histograms{0xffffffff, 0xffffffff};
    std::array<std::uint16_t, 4> udp_ports{};  ///< that differ from Flow::udp_port
    IcmpFigures icmp;                          ///< about packets of this flow
    FlowClasses classes;
    std::array<std::uint8_t, 4> hop_limits{};  ///< that its packets had, if not all have the same; 0 = unused
    std::uint32_t late_refused = 0;            ///< late packets whose hole the receiver had refused
    LossEpisodes losses;
    HoleWatch holes;
};

/// The frames that show one kind of event on a flow; chained, from a pool.
struct EventSummaryRow {
    std::uint32_t next = 0xffffffff;
    EventKind kind{};
    std::uint8_t kept = 0;
    std::uint64_t count = 0;
    std::array<std::uint64_t, 4> frames{};
    std::uint64_t value_max = 0;
    std::uint64_t value_sum = 0;
};

/// Messages and bytes by operation. Most flows use one or two; the others' counts are in a block from a pool.
struct OperationCounts {
    static constexpr std::uint8_t none = 0xff;
    struct Count {
        std::uint64_t bytes = 0;
        std::uint64_t messages : 56 = 0;
        std::uint64_t operation : 8 = none;
    };
    static_assert(sizeof(Count) == 16);
    using Block = std::array<Count, operation_count>;

    std::array<Count, 2> first;
    std::uint32_t others = 0xffffffff;
};

/// Two histograms, from a pool: which ones is written in Flow::histogram_slot.
using HistogramBlock = std::array<CompactHistogram, 2>;

/// One direction of a conversation. Members that every packet uses come first; rare members are in pooled blocks.
struct alignas(64) Flow {
    static constexpr std::uint8_t no_slot = 0xff;
    static constexpr std::uint32_t no_block = 0xffffffff;
    static constexpr std::uint32_t no_message = 0xffffffff;
    static constexpr std::uint32_t no_queue_pair = 0xffffffff;

    [[no_unique_address]] PlainKey plain_key;  ///< of `key`, if that is of a plain frame
    std::uint32_t path_mark = 0;               ///< PathKey::mark() of the last data packet
    FlowIndex reverse = no_flow;
    std::uint32_t trouble = no_block;
    std::uint8_t drop_epoch = 0;  ///< FlowStore::drop_epoch when its last data packet passed
    std::uint8_t credits = 0xff;  ///< last AETH credit code that travelled on it; 0xff: none
    PairingMethod pairing : 4 = PairingMethod::none;
    /// Lives of the same key in a row before this one that were short: see Tracking::has_unsteady_psn().
    std::uint8_t short_lives : 4 = 0;
    std::uint8_t class_number = 0;  ///< of the last packet: see PacketClasses
    bool live : 1 = false;          ///< the slot is in use
    bool finished : 1 = false;      ///< find() no longer returns it: the connection ended, or the QPN was used again
    /// The capture reports of some packets that they came in, or went out, which shows the vantage.
    bool inbound : 1 = false;
    bool outbound : 1 = false;
    bool begins_at_id : 1 = false;  ///< a message began in the frame that the id is made of, at the lowest position
    bool only_zero_crcs : 1 =
        false;  ///< all packets in counts.crc_bad had an ICRC of 0, so that no FlowTrouble is needed
    UpperLayer upper : 2 = UpperLayer::none;
    std::uint8_t looked_at : 4 = 0;                  ///< while `upper` is unknown: what its packets have counted for
    std::uint8_t other_udp_ports : 2 = 0;            ///< how many of FlowTrouble::udp_ports are in use
    bool is_hole_open : 1 = false;                   ///< FlowTrouble::holes must be called for every acknowledgement
    bool has_entropies : 1 = false;                  ///< it has used several: FlowPath::entropies
    std::uint16_t udp_port = 0;                      ///< RoCEv2: source port of the first packet
    std::uint32_t usual_message_bytes = no_message;  ///< size of the first message: others have the histogram
    std::uint32_t usual_messages = 0;                ///< how many were of that size
    std::uint64_t reuse_clock = ~std::uint64_t{0};   ///< FrameContext::destination_requests at the last request
    std::uint32_t reuse_responder = 0xffffffff;      ///< the destination in ReuseTracker; none before the first request
    std::uint32_t responder = no_block;              ///< its ResponseState, once it carries READ responses

    PacketCounts counts;
    RequestState request;
    Ledger ledger;
    Attribution attribution;

    [[no_unique_address]] OperationCounts operations;
    std::uint32_t path = no_block;  ///< its FlowPath, once it needs one

    std::array<std::uint8_t, flow_histogram_count>
        histogram_slot{};  ///< block * 2 + place; set to no_slot by FlowTable
    static constexpr std::uint8_t no_dscp = 0xff;
    std::uint8_t path_dscp = no_dscp;  ///< of its pair in PathWindows
    HistogramOwner histogram_pages;
    std::array<std::uint32_t, 9> histogram_block{};

    FlowKey key;
    std::uint32_t path_window = 0;  ///< PathWindows::window_of() its last packet, if it takes part
    std::uint32_t event_summaries = no_block;
    std::uint64_t id = 0;                      ///< FlowSnapshot::id
    std::uint32_t transport_block = no_block;  ///< iWARP: the stream tracker's; else one of FlowStore::marks
    std::uint32_t source_qp = no_queue_pair;   ///< as a DETH or CM said it
    std::uint32_t connection = 0;              ///< serial of the CM connection it belongs to; 0 = none known
    std::uint16_t interface = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hops = 0xff;      ///< that its packets had taken at the tap, by their hop limit; 0xff: unknown
    std::uint8_t ack_timeout = 0;  ///< of the sender, by the connection's set-up: 4096 ns << (n - 1); 0 = unknown
    std::uint8_t pairing_percent = 0;
    CountsAbove counts_above;

    bool is_iwarp() const { return key.transport == wire::Transport::iwarp; }
    /// How many histograms it has.
    std::uint8_t histograms() const {
        return static_cast<std::uint8_t>(histogram_slot.size() -
                                         static_cast<std::size_t>(std::ranges::count(histogram_slot, no_slot)));
    }
    /// The stream tracker's block; no_block for flows other than iWARP's.
    std::uint32_t stream() const { return is_iwarp() ? transport_block : no_block; }

    void note_direction(bool came_in) {
        inbound = inbound || came_in;
        outbound = outbound || !came_in;
    }
    void count_acknowledgement() { add(counts.acknowledgements, counts_above.acknowledgements, true); }
    void count_ecn_capable(bool capable) { add(counts.ecn_capable, counts_above.ecn_capable, capable); }
    void count_ce() { add(counts.ce, counts_above.ce, true); }
    static std::uint64_t sum(std::uint32_t below, std::uint16_t above) { return std::uint64_t{above} << 32 | below; }
    std::uint64_t ack_timeout_ns() const { return ack_timeout == 0 ? 0 : std::uint64_t{4096} << (ack_timeout - 1u); }

private:
    static void add(std::uint32_t& below, std::uint16_t& above, bool one) {
        below += one;
        if (below == 0 && one) [[unlikely]]
            ++above;
    }
};
static_assert(std::is_trivially_copyable_v<Flow> && sizeof(Flow) <= 832);

}  // namespace metrics::measure::flow
