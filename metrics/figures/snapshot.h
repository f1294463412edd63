#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/compact.h"
#include "metrics/figures/address.h"
#include "metrics/figures/command_figures.h"
#include "metrics/figures/flow_key.h"
#include "metrics/figures/histogram.h"
#include "metrics/figures/operation.h"
#include "metrics/figures/packet_class.h"
#include "metrics/figures/path_figures.h"
#include "metrics/figures/post_figures.h"
#include "metrics/figures/state.h"
#include "wire/carrier.h"
#include "wire/icmp_error_kind.h"
#include "wire/management_kind.h"
#include "wire/transport.h"

/// The engine's state, copied out of it at one moment: plain values to show, merge and subtract. Code outside the
/// engine sees nothing else of the engine. Times are nanoseconds since 1970-01-01 UTC. A value that the traffic does
/// not show is absent. Frames are numbers as `dump` shows them.
namespace metrics::inline figures {

/// How the opposite direction was found; `none` if it was not.
enum class PairingMethod : std::uint8_t { none, tcp, cm, source_qp, psn };
constexpr std::string_view name_of(PairingMethod method) {
    constexpr std::array<std::string_view, 5> names{"none", "tcp", "cm", "source_qp", "psn"};
    return names[static_cast<std::size_t>(method)];
}
struct Pairing {
    PairingMethod method = PairingMethod::none;
    double confidence = 0;  ///< 0 to 1
};

/// Where the frames were taken, seen from the sender of the flow.
enum class Vantage : std::uint8_t { unknown, sender, receiver, mid_path };
constexpr std::string_view name_of(Vantage vantage) {
    constexpr std::array<std::string_view, 4> names{"unknown", "sender", "receiver", "mid_path"};
    return names[static_cast<std::size_t>(vantage)];
}

/// One end of a flow: `qpn` on RoCE and InfiniBand (the source's is known once the flow is paired), `port` on iWARP.
struct Endpoint {
    Address address;
    std::optional<std::uint32_t> qpn;
    std::optional<std::uint16_t> port;
};

struct OperationFigures {
    std::uint64_t count = 0;  ///< messages whose last packet was seen, each once
    std::uint64_t bytes = 0;  ///< upper-layer bytes of the messages, each once
    Histogram
        latency_ns;  ///< SEND, WRITE: last packet -> acknowledgement; READ, atomics: request -> last response packet
    Histogram first_response_ns;  ///< READ: request -> first response packet

    bool empty() const { return count == 0 && bytes == 0 && latency_ns.empty() && first_response_ns.empty(); }
};

/// By Operation: operations that a flow does not use take no memory.
using OperationTable = base::SparseArray<OperationFigures, operation_count>;

/// Negative acknowledgements by code. IBTA vol. 1, table 45; RNR apart.
enum class NakCode : std::uint8_t {
    psn_sequence_error,
    invalid_request,
    remote_access_error,
    remote_operational_error,
    invalid_rd_request,
    other
};
inline constexpr std::size_t nak_code_count = 6;
inline constexpr std::array<std::string_view, nak_code_count> nak_code_names{
    "psn_sequence_error",       "invalid_request",    "remote_access_error",
    "remote_operational_error", "invalid_rd_request", "other"};

/// Events that frames of a flow can show.
enum class EventKind : std::uint8_t {
    retransmission,  ///< value: packets of the run
    gap,             ///< value: packets (TCP: bytes) missing at the tap
    duplicate,
    reordered,  ///< value: how many packets late
    nak,        ///< value: NakCode
    rnr_nak,    ///< value: the timer, ns
    timeout,    ///< a retransmission that nothing but a timer explains; value: the silence before it, ns
    ce_mark,
    cnp,
    pause,  ///< value: quanta
    zero_window,
    icrc_bad,
    crc_bad,
    terminate,  ///< value: layer << 12 | type << 8 | code; RFC 5040, 4.8
    credit_exhausted,
    long_gap,    ///< the longest gap so far of its state; value: ns
    ack_unseen,  ///< an acknowledgement of packets that the capture does not hold
    connect_request,
    connect_reply,
    established,
    rejected,  ///< value: reason
    disconnected,
    reset,                ///< TCP RST
    go_back_wrong_start,  ///< the sender went back to another PSN than the NAK (or the time-out) asks for; value: how
                          ///< far off
    go_back_incomplete,   ///< the sender did not repeat all that followed; value: packets left out
    nak_wrong_psn,        ///< the receiver's NAK names another PSN than the first missing one; value: difference
    nak_missing,          ///< the receiver saw a hole and sent no NAK; value: packets that arrived past it
    read_restart_wrong,   ///< a repeated READ request does not start at the first missing response; value: difference
    icmp_error,           ///< an ICMP error about a packet of the flow; value: wire::IcmpErrorKind
};
inline constexpr std::size_t event_kind_count = 29;
std::string_view name_of(EventKind kind);  ///< "retransmission", ...

/// The frames that show one kind of event on a flow: the first few and how many there were.
struct EventSummary {
    EventKind kind{};
    std::uint64_t count = 0;
    std::vector<std::uint64_t> frames;  ///< ascending; at most 4
    std::uint64_t value_max = 0;
    std::uint64_t value_sum = 0;
};

/// How a loss was repaired. Lumina's breakdown.
struct RecoveryFigures {
    std::uint64_t count = 0;
    Histogram nak_generation_ns;  ///< first packet out of sequence -> NAK
    Histogram nak_reaction_ns;    ///< NAK -> first packet transmitted again
    Histogram total_ns;           ///< lost packet (or the first packet after the hole) -> its retransmission
};

/// What ended a connection: IBTA vol. 1, 12.6; RFC 5044, 7.1; RFC 9293, 3.5 and 3.6.
enum class EndKind : std::uint8_t {
    disconnect_request,  ///< DREQ
    disconnect_reply,    ///< DREP, where no DREQ was captured
    rejected,            ///< REJ
    mpa_rejected,        ///< an MPA Reply that rejects
    tcp_reset,
    tcp_fin,
    ports_reused,  ///< another connection begins on the same ports
};
inline constexpr std::array<std::string_view, 7> end_kind_names{
    "DREQ", "DREP", "REJ", "MPA reply: rejected", "TCP RST", "TCP FIN", "ports used again"};
constexpr std::string_view name_of(EndKind kind) { return end_kind_names[static_cast<std::size_t>(kind)]; }

/// Why the communication manager rejected, of the reasons that differ in what helps. IBTA vol. 1, 12.6.7.2 (REJ) and
/// 12.11.2 (SIDR_REP).
enum class RejectReason : std::uint8_t { no_queue_pair, no_resources, timeout, invalid_service_id, stale_connection };

/// What the set-up of the connection said. CM: IBTA vol. 1, 12.6; MPA: RFC 5044, 6581.
struct ConnectionFigures {
    std::uint64_t setup_frame = 0;                     ///< REQ, or the MPA request
    std::optional<std::uint64_t> setup_ns;             ///< request -> ready (RTU, or the MPA reply)
    std::optional<std::uint32_t> initiator_depth;      ///< ORD of this flow's sender
    std::optional<std::uint32_t> responder_resources;  ///< IRD of this flow's receiver, as far as negotiated
    std::optional<std::uint32_t> path_mtu;             ///< payload bytes
    std::optional<std::uint64_t> ack_timeout_ns;       ///< local ACK timeout of this flow's sender
    std::optional<std::uint32_t> retry_count;
    std::optional<std::uint32_t> rnr_retry_count;  ///< 7 = for ever
    std::optional<std::uint32_t> starting_psn;
    std::optional<std::uint32_t> mpa_revision;  ///< iWARP: of the reply, or of the request until there is a reply
    std::optional<bool> mpa_crc;                ///< iWARP: FPDUs carry CRCs
    std::optional<bool> mpa_markers;            ///< iWARP: this flow's stream has markers
    std::optional<EndKind> end_kind;            ///< absent while it lives
    std::string end;  ///< how it ended, in words: "DREQ", "TCP RST", "REJ: stale connection"; empty while it lives
    std::uint64_t end_frame = 0;
    std::optional<std::int64_t> end_ns;  ///< the time of that frame
    /// iWARP: the MPA reply that lacks flag A (peer-to-peer) though the request has it; 0 = none. RFC 6581, 9.2.
    std::uint64_t refused_peer_to_peer_frame = 0;
    std::optional<std::uint64_t> service_id;  ///< CM: the service that the REQ asks for. IBTA vol. 1, 12.7.3
    bool operator==(const ConnectionFigures&) const = default;
};

/// iWARP: what TCP did under the flow. Absent figures: nothing of the kind could be measured.
struct TcpFigures {
    std::uint64_t segments = 0;
    std::uint64_t retransmitted_segments = 0;
    std::uint64_t retransmitted_bytes = 0;
    std::uint64_t out_of_order_segments = 0;
    std::uint64_t duplicate_acks = 0;  ///< that the receiver of this flow sent
    std::uint64_t sack_blocks = 0;
    std::uint64_t zero_windows = 0;  ///< advertised by the receiver of this flow
    std::uint64_t ece_acks = 0;      ///< ACKs with ECE, that is this flow was marked. RFC 3168
    std::uint64_t cwr_segments = 0;
    Histogram round_trip_ns;                    ///< bytes -> ACK, at the tap (Karn)
    std::optional<std::uint64_t> handshake_ns;  ///< SYN -> SYN ACK -> ACK, both halves
    std::optional<std::uint32_t> mss;
    std::optional<std::uint64_t> receive_window_min;  ///< bytes, scaled
    std::optional<std::uint64_t> receive_window_max;
    std::uint64_t window_limited_ns = 0;
    std::uint64_t connection_bytes = 0;  ///< bytes of the connection's two streams that passed, each once
    /// The part of them whose FPDUs could not be followed: a snap length cut segments with many FPDUs (GSO, GRO) after
    /// the first head.
    std::uint64_t unread_bytes = 0;
    std::uint64_t fpdu_bytes_max = 0;  ///< the longest FPDU of this flow's sender, with markers and CRC
};

/// A request, as far as one of its packets shows it.
struct RequestFigures {
    Operation operation{};
    std::uint64_t message_bytes = 0;  ///< of the whole message
    std::uint64_t packet_bytes = 0;   ///< payload of the packet that is meant
    std::uint64_t frame = 0;          ///< that carried that packet first; 0 = no longer known
    bool operator==(const RequestFigures&) const = default;
};

/// The oldest request that is not acknowledged, if it was sent again, or refused by RNR NAKs. RoCE and InfiniBand; IBTA
/// vol. 1, 9.7.6 (timer and retry counter), 9.7.5.2.8 (RNR NAK).
struct RetryFigures {
    RequestFigures request;
    bool is_first = false;              ///< the capture has no earlier request of the flow
    std::uint64_t repeats = 0;          ///< sendings after the first one that no RNR NAK asked for
    std::uint64_t rnr_naks = 0;         ///< that refused it
    bool refused_last = false;          ///< an RNR NAK refused it, and it was not sent since
    std::int64_t first_ns = 0;          ///< the first sending
    std::int64_t last_ns = 0;           ///< the last sending, or RNR NAK
    std::uint64_t repeat_frame = 0;     ///< the first repeat; 0 = none
    std::uint64_t last_frame = 0;       ///< the last sending, or RNR NAK
    std::uint64_t interval_min_ns = 0;  ///< between two sendings
    std::uint64_t interval_max_ns = 0;
    std::uint64_t rnr_timer_ns = 0;  ///< that the last RNR NAK asked for
    /// The greatest payload of a packet that was acknowledged; absent if none was, or if that is not known.
    std::optional<std::uint64_t> acknowledged_bytes_max;
    bool operator==(const RetryFigures&) const = default;
};

/// Repeats that began before any answer to the request had passed, and whether they were answered, too: then nothing
/// was lost, and the timer is shorter than the round trip.
struct RepeatAnswerFigures {
    std::uint64_t repeats = 0;              ///< runs of repeats before the first answer
    std::uint64_t repeated_answers = 0;     ///< answers to what was acknowledged already
    std::uint64_t first_repeat_min_ns = 0;  ///< least time from the first sending to the first repeat
    Histogram first_answer_ns;              ///< first sending -> first answer
    bool operator==(const RepeatAnswerFigures&) const = default;
};

/// ICMP and ICMPv6 errors that hosts and routers sent about a flow's packets, or about a request for a connection.
struct IcmpFigures {
    struct Errors {
        std::uint64_t count = 0;
        Address sender;  ///< one host that sent such errors
        bool operator==(const Errors&) const = default;
    };
    std::array<Errors, wire::icmp_error_kind_count> kinds;  ///< by wire::IcmpErrorKind
    std::optional<std::uint32_t> mtu;  ///< bytes of an IP packet: the least MTU of a next hop, if one was named

    const Errors& of(wire::IcmpErrorKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
    void add(wire::IcmpErrorKind kind, const Address& sender, const std::optional<std::uint32_t>& next_mtu);
    bool operator==(const IcmpFigures&) const = default;
};
inline constexpr std::array<std::string_view, wire::icmp_error_kind_count> icmp_error_names{
    "port_unreachable", "host_unreachable", "prohibited", "fragmentation_needed", "time_exceeded", "other"};

/// The distance between the ids of flows that were first seen in the same frame. Eight such distances are still exact
/// as a number of JSON.
inline constexpr std::uint64_t flow_ids_apart = 1'000'000'000'000'000;
/// Of the flow that is the `place`-th, from 0, to be first seen in that frame.
constexpr std::uint64_t flow_id(std::uint64_t frame, std::uint64_t place) { return frame + place * flow_ids_apart; }
constexpr std::uint64_t first_frame_of(std::uint64_t flow_id) { return flow_id % flow_ids_apart; }

struct FlowSnapshot {
    /// The number of the frame in which the flow was first seen, so that the id is the same in every run. A second flow
    /// that was first seen in the same frame has flow_ids_apart more.
    std::uint64_t id = 0;
    wire::Transport transport{};
    Service service{};
    Endpoint source;
    Endpoint destination;
    std::optional<std::uint64_t> reverse;  ///< id of the paired flow
    Pairing pairing;
    Vantage vantage = Vantage::unknown;
    double confidence = 1;  ///< 0 to 1: how much of what should be there was captured, and how surely it was paired
    std::uint8_t traffic_class = 0;
    std::uint32_t interface = 0;

    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    bool finished = false;  ///< the connection ended, or its QPN was used again

    std::uint64_t packets = 0;     ///< frames (iWARP: TCP segments)
    std::uint64_t wire_bytes = 0;  ///< bytes of those frames, preamble, FCS and gap not counted
    std::uint64_t payload_bytes =
        0;  ///< upper-layer bytes that passed in this direction, READ responses included, repeats not
    std::uint64_t acknowledgement_packets = 0;
    std::optional<std::uint64_t> retransmitted_packets;  ///< no value if the service repeats nothing (UC, UD)
    std::optional<std::uint64_t> duplicate_packets;      ///< doubled by the network
    std::optional<std::uint64_t> reordered_packets;      ///< late, but not sent again
    std::optional<std::uint64_t> missing_packets;        ///< never seen at the tap when later ones were: lost before it
    std::uint64_t timeouts = 0;                          ///< recoveries that only a timer explains
    std::uint64_t unseen_acknowledged_packets = 0;       ///< acknowledged by the peer, but not in the capture

    OperationTable operations;
    Histogram message_bytes;
    Histogram message_duration_ns;  ///< first packet -> last packet of messages of two packets and more

    double messages_mean = 0;  ///< outstanding, over the flow's wall time
    double bytes_mean = 0;
    std::uint64_t messages_max = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t responses_max = 0;  ///< READ and atomics outstanding
    std::uint64_t at_max_ns = 0;
    std::uint64_t merged_messages = 0;  ///< without a latency sample, because too many were outstanding

    base::CompactArray<std::uint64_t, nak_code_count> naks;  ///< in answer to this flow's requests; RNR not among them
    std::uint64_t rnr_naks = 0;
    Histogram rnr_timer_ns;
    std::optional<std::uint8_t> credits_last;  ///< AETH credit count, as a code; no value if the responder gives none
    std::uint64_t credits_exhausted = 0;
    std::uint64_t ecn_ce_packets = 0;
    std::uint64_t ecn_capable_packets = 0;  ///< ECT(0), ECT(1) or CE
    std::uint64_t cnp_packets = 0;          ///< that the receiver sent because of this flow
    Histogram cnp_interval_ns;
    std::uint64_t icrc_bad = 0;
    std::uint64_t crc_bad = 0;     ///< MPA CRC
    std::uint64_t terminates = 0;  ///< sent in this direction

    base::CompactArray<std::uint64_t, state_count> state_ns;  ///< sums to last_ns - first_ns
    std::uint64_t state_unsure_ns =
        0;  ///< of it, what another reaction tolerance (half, double) would have named otherwise
    std::uint64_t reaction_tolerance_ns = 0;
    std::uint64_t queueing_ns = 0;                   ///< of ack_window: in excess of the least round trip
    std::optional<std::uint64_t> link_bits_per_sec;  ///< what wire times were computed with
    std::optional<std::uint64_t> round_trip_min_ns;  ///< tap -> receiver -> tap
    std::optional<std::uint64_t> reaction_min_ns;    ///< tap -> sender -> tap: acknowledgement -> next packet
    std::optional<double> rate_drop_after_cnp;       ///< mean share of the rate that remains in the 1 ms after a CNP

    RecoveryFigures recovery;
    base::CompactValue<ConnectionFigures> connection;  ///< empty if its set-up was not captured
    base::CompactOptional<TcpFigures> tcp;
    base::CompactOptional<VerbsFigures> verbs;  ///< of the sending process, if it was traced
    std::vector<EventSummary> event_summaries;  ///< by kind; kinds that did not happen are not there
    std::uint64_t last_answer_frame = 0;        ///< RoCE: the last answer to the flow's requests; 0 = none was seen
    base::CompactOptional<RetryFigures> retries;
    base::CompactOptional<RequestFigures> refused;  ///< by the last NAK that ends a queue pair
    base::CompactOptional<RepeatAnswerFigures> repeat_answers;
    std::optional<std::uint16_t> udp_port;    ///< RoCEv2: the source port of the flow's first packet
    std::uint64_t udp_ports = 0;              ///< the number of different ones it used; at most 4 are distinguished
    base::CompactOptional<IcmpFigures> icmp;  ///< empty if no error was seen

    std::uint64_t icrc_zero = 0;               ///< of icrc_bad, those whose ICRC is 0: it was not filled in yet
    std::uint64_t icrc_taken = 0;              ///< of icrc_bad, those that the receiver acknowledged without a repeat
    std::uint64_t crc_bad_checksum_right = 0;  ///< of crc_bad, those in segments whose TCP checksum is right
    /// Of the upper layer, if it is known. The figures are on the flow of the side that asks.
    base::CompactOptional<CommandConnectionFigures> commands;

    PacketClass packet_class;                 ///< of the first packet, CNPs and segments with SYN or RST left out
    std::uint64_t class_changes = 0;          ///< packets whose class is not that of the packet before them
    std::vector<ClassFigures> other_classes;  ///< of later packets, where their class is another; by first_frame

    Entropy entropy;                          ///< of the last data packet; unknown if the transport has none
    base::CompactOptional<PathFigures> path;  ///< empty: one entropy and one hop limit, nothing lost or late

    const EventSummary* find_event_summary(EventKind kind) const;
    /// Every class that packets of the flow have, that of the first packet first.
    std::vector<ClassFigures> classes() const;
    std::uint64_t messages_total() const;
    std::uint64_t message_bytes_total() const;
    std::uint64_t wall_ns() const { return static_cast<std::uint64_t>(last_ns) - static_cast<std::uint64_t>(first_ns); }
    /// messages' bytes by the flow's wall time; no value if the wall time is zero, or if partly_read()
    std::optional<double> goodput_bytes_per_sec() const;
};

/// Responder turnaround by reuse distance; each row is a power of two of the distance.
struct ReuseBin {
    std::uint64_t count = 0;
    double distance = 0;  ///< mean LRU stack distance: distinct keys since the key was last used
    Histogram turnaround_ns;
};
struct ReuseFigures {
    std::uint64_t accesses = 0;
    std::uint64_t distinct = 0;
    std::vector<ReuseBin> bins;   ///< ascending distance
    double working_set_mean = 0;  ///< distinct keys in a window of 10 ms in which there was traffic
    std::uint64_t working_set_max = 0;
};

/// One host, that is one address, as the traffic shows it.
struct HostSnapshot {
    Address address;
    std::uint64_t sent_wire_bytes = 0;  ///< of frames, preamble, FCS and gap not counted, as FlowSnapshot::wire_bytes
    std::uint64_t received_wire_bytes = 0;
    std::uint64_t received_requests = 0;
    std::optional<std::uint64_t> link_bits_per_sec;  ///< given, or the fastest that it sent inside messages
    std::uint64_t senders = 0;                       ///< flows towards it with data
    std::uint64_t incast_senders_max = 0;            ///< most hosts that sent data to it within any 1 ms
    std::uint64_t incast_frame = 0;                  ///< at which that was seen
    ReuseFigures queue_pairs;
    ReuseFigures remote_keys;
    ReuseFigures pages;
    std::uint64_t sent_packets = 0;  ///< frames of sent_wire_bytes
    std::uint64_t received_packets = 0;
    bool link_is_learnt = false;  ///< link_bits_per_sec was not given: a share of the link is an estimate
};
/// What Ethernet adds to each frame on the link: preamble, FCS and the gap between frames (IEEE 802.3, 3.1.1
/// and 4.4.2).
inline constexpr std::uint64_t link_overhead_bytes = 24;
/// The bytes that frames take on the link: of these a share of the link's rate is computed.
constexpr std::uint64_t bytes_on_link(std::uint64_t wire_bytes, std::uint64_t packets) {
    return wire_bytes + link_overhead_bytes * packets;
}

/// For how long pauses held. A pause ends when its time is over, or when the same sender sends another one.
struct StopTimes {
    std::uint64_t all_ns = 0;                    ///< by PAUSE; the senders of pauses added up
    std::array<std::uint64_t, 8> priority_ns{};  ///< by priority flow control, in the same way
    bool operator==(const StopTimes&) const = default;
};

/// One sender of pauses, by its MAC address.
struct PauseSender {
    std::array<std::uint8_t, 6> mac{};
    Address host;  ///< the host whose packets have this source MAC; AddressFamily::none if there is no such host, or
                   ///< several
    bool forwards = false;     ///< packets of several hosts have this source MAC
    std::uint64_t frames = 0;  ///< that ask for a time above zero
    std::uint64_t resume_frames = 0;
    std::array<std::uint64_t, 8> priority_frames{};  ///< of `frames`, those that stop this priority
    std::int64_t first_ns = 0;                       ///< of `frames`
    std::int64_t last_ns = 0;
    bool operator==(const PauseSender&) const = default;
};

/// PAUSE and priority flow control, as seen on one interface.
struct PauseSnapshot {
    std::uint32_t interface = 0;
    std::uint64_t pause_frames = 0;                  ///< IEEE 802.3 annex 31B
    std::uint64_t pfc_frames = 0;                    ///< 802.1Qbb, with a time above zero for a priority or several
    std::uint64_t resume_frames = 0;                 ///< of either kind, with no time above zero
    std::array<std::uint64_t, 8> priority_frames{};  ///< of pfc_frames, those that stop this priority
    std::array<std::uint64_t, 8> priority_quanta{};  ///< sum of the times asked for, of 512 bit times each
    std::vector<std::uint64_t> frames;               ///< the first few
    std::optional<StopTimes> stopped_ns;             ///< no value if the link's rate is unknown
    std::vector<PauseSender> senders;                ///< ascending MAC; at most 64
};

/// In alphabetical order: attempts are listed by it.
enum class AttemptOutcome : std::uint8_t { unknown, established, rejected, reset, unanswered };
inline constexpr std::array<std::string_view, 5> attempt_outcome_names{"unknown", "established", "rejected", "reset",
                                                                       "unanswered"};
constexpr std::string_view name_of(AttemptOutcome outcome) {
    return attempt_outcome_names[static_cast<std::size_t>(outcome)];
}
/// `unknown` if no outcome has this name.
AttemptOutcome attempt_outcome_named(std::string_view name);

/// A connection that failed, or one without flows.
struct ConnectionAttempt {
    wire::Transport transport{};
    Endpoint client;
    Endpoint server;
    std::uint64_t request_frame = 0;
    std::uint64_t requests = 1;  ///< repeated ones counted
    std::uint64_t end_frame = 0;
    std::int64_t request_ns = 0;
    AttemptOutcome outcome = AttemptOutcome::unknown;
    std::string reason;      ///< in words: as `dump` says them, or what part of MPA was refused; empty if none was
                             ///< given
    bool by_client = false;  ///< it is the client that rejected
    std::optional<RejectReason> reject_reason;  ///< absent if the reason is another one
    base::CompactOptional<IcmpFigures> icmp;    ///< about its requests
};

/// The other direction acknowledges it, and was not captured: what is outstanding is unknown.
inline bool lacks_answers(const FlowSnapshot& flow) {
    if (flow.reverse || (flow.service != Service::rc && flow.service != Service::xrc)) return false;
    for (const OperationFigures& operation : flow.operations)
        if (!operation.latency_ns.empty()) return false;
    return true;
}

/// Whether more than 2 % of the connection cannot be read. The known messages are then no measure of the traffic.
inline bool partly_read(const FlowSnapshot& flow) {
    return flow.tcp && flow.tcp->unread_bytes > flow.tcp->connection_bytes / 50;
}

/// Only READs whose lengths are unknown: a snap length cut their RETH.
inline bool lacks_lengths(const FlowSnapshot& flow) {
    return flow.messages_total() > 0 && flow.message_bytes_total() == 0 && flow.message_bytes.empty();
}

/// Bytes of messages passed, but no message has ended. If nothing was outstanding, the bytes are a responder's.
inline bool only_begun(const FlowSnapshot& flow) {
    if (flow.payload_bytes == 0 || flow.messages_total() != 0) return false;
    // The maximum is that of the flow's whole life; an interval is only a part of it.
    return flow.wall_ns() == 0 ? flow.messages_max > 0 : flow.messages_mean > 0;
}

/// Whether what is outstanding is known.
inline bool knows_depth(const FlowSnapshot& flow) { return !lacks_answers(flow) && !partly_read(flow); }

struct CaptureFigures {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< on the wire
    std::uint64_t rdma_units = 0;
    std::optional<std::uint64_t> kernel_dropped;
    std::uint64_t truncated = 0;
    std::uint64_t malformed = 0;
    std::uint64_t unsorted = 0;    ///< frames whose time is before their predecessor's
    std::uint64_t seen_twice = 0;  ///< copies of frames, on a second interface or on one; not counted in the flows
    std::uint64_t icrc_bad = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::uint64_t flows_evicted = 0;
    std::uint64_t flows_seen = 0;
    std::uint64_t streams_evicted = 0;
    std::uint64_t stream_octets_lost = 0;
    std::uint64_t stream_octets_skipped = 0;
    std::uint64_t values_misplaced = 0;  ///< of distributions, in a neighbour's bucket for lack of memory
    std::uint64_t beyond_hosts = 0;      ///< frames of hosts beyond those that have figures
    wire::CarrierCounts unread;          ///< frames that were not read, although RDMA may be in them
    std::uint64_t copies = 0;            ///< of seen_twice, those on the interface of the frame that they copy
    std::uint64_t copies_elsewhere = 0;  ///< of copies, those with another hop limit or other MAC addresses
    Histogram copy_distance_ns;          ///< between a frame and its copy on one interface
    std::array<std::uint64_t, wire::management_kind_count> management{};  ///< datagrams, by wire::ManagementKind
    std::uint64_t cut_by_mirror = 0;  ///< of packets, frames that came to the capture shorter than their IP headers say
    std::uint64_t headers_cut = 0;    ///< the truncated packets and FPDUs whose RDMA headers are not complete
};

/// What management datagrams say of the node that has a LID or a GID.
struct AddressName {
    Address address;
    std::uint64_t guid = 0;  ///< of the node, or of its port if no other is known; 0: unknown
    std::string name;        ///< NodeDescription, printable; empty if unknown

    bool operator==(const AddressName&) const = default;
};

struct Snapshot {
    CaptureFigures capture;
    std::vector<FlowSnapshot> flows;              ///< ascending id
    std::vector<HostSnapshot> hosts;              ///< ascending address
    std::vector<PauseSnapshot> pauses;            ///< ascending interface
    std::vector<ConnectionAttempt> attempts;      ///< ascending request_frame; those that have flows not among them
    std::uint64_t memory_octets = 0;              ///< that the engines hold
    std::vector<PathWindowFigures> path_windows;  ///< ascending source, destination, DSCP
    std::vector<AddressName> names;               ///< ascending address; of those that occur in the snapshot

    const FlowSnapshot* flow(std::uint64_t id) const;
};

/// The LIDs and GIDs of flows, hosts and attempts, ascending, each once.
std::vector<Address> subnet_addresses(const Snapshot& snapshot);

/// Adds what other workers, or a later part of a capture, have seen: flows of the same key and overlapping or following
/// life become one, keeping the smaller id; counters, histograms and state times add up.
void merge(Snapshot& into, const Snapshot& other);
void merge(Snapshot& into, Snapshot&& other);

/// What happened between two states of the same engine: counters and histograms subtracted, flows without traffic in
/// between left out, as are hosts and events. Flows that had traffic count as seen, and as senders, so that differences
/// can be merged like parts of a capture.
Snapshot difference(const Snapshot& earlier, const Snapshot& later);

}  // namespace metrics::figures
