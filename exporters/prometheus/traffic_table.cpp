#include "exporters/flow_fields.h"
#include "exporters/prometheus/command_totals.h"
#include "exporters/prometheus/devices.h"
#include "exporters/prometheus/labels.h"
#include "exporters/prometheus/latency_buckets.h"
#include "exporters/prometheus/path_gauges.h"
#include "exporters/prometheus/policy_gauges.h"
#include "exporters/prometheus/subnet_families.h"
#include "exporters/prometheus/tables.h"
#include "exporters/prometheus/verdicts.h"

namespace exporters::prometheus {
namespace {

using metrics::FlowSnapshot;
using Type = ::prometheus::MetricType;

constexpr Dimension undivided{};
constexpr Dimension by_op{"op", metrics::operation_names};
constexpr Dimension by_state{"state", metrics::state_names};
constexpr Dimension by_code{"code", metrics::nak_code_names};
constexpr std::array<std::string_view, 9> priorities{"0", "1", "2", "3", "4", "5", "6", "7", "global"};
constexpr std::size_t global_pause = 8;
constexpr Dimension by_priority_or_global{"priority", priorities};
const Dimension per_priority{"priority", std::span(priorities).first(global_pause)};

Series flow_series(std::string_view name, std::string_view unit, Type type, std::string_view help,
                   std::string_view extra = {}) {
    Series series{name, unit, help, type, {"interface", "transport", "direction", "traffic_class", "peer"}};
    if (!extra.empty()) series.labels.push_back(extra);
    return series;
}

FlowCounter counter(std::string_view name, std::string_view unit, std::string_view help,
                    decltype(FlowCounter::take) take, const Dimension& dimension = undivided, double factor = 1) {
    return {flow_series(name, unit, Type::Counter, help, dimension.label), dimension, factor, take};
}

bool is_iwarp(const FlowSnapshot& flow) { return flow.transport == wire::Transport::iwarp; }
/// Services with acknowledgements.
bool is_reliable(const FlowSnapshot& flow) { return flow.retransmitted_packets.has_value(); }

template <auto member>
Taken plain(const FlowSnapshot& flow, std::size_t, const Taking&) {
    return flow.*member;
}
/// InfiniBand's and RoCE's alone.
template <auto member>
Taken of_roce(const FlowSnapshot& flow, std::size_t, const Taking&) {
    return is_iwarp(flow) ? Taken{} : Taken{flow.*member};
}
template <auto member>
Taken of_iwarp(const FlowSnapshot& flow, std::size_t, const Taking&) {
    return is_iwarp(flow) ? Taken{flow.*member} : Taken{};
}
template <auto member>
Taken of_reliable(const FlowSnapshot& flow, std::size_t, const Taking&) {
    return is_reliable(flow) ? Taken{flow.*member} : Taken{};
}
template <auto member>
Taken of_tcp(const FlowSnapshot& flow, std::size_t, const Taking&) {
    return flow.tcp ? Taken{(*flow.tcp).*member} : Taken{};
}
/// The figure is one of the connection, and both of its flows have it: the one that was seen first counts.
Taken unread_bytes(const FlowSnapshot& flow, std::size_t, const Taking&) {
    if (!flow.tcp) return {};
    return Taken{flow.reverse && *flow.reverse < flow.id ? 0 : flow.tcp->unread_bytes};
}
constexpr double nanosecond = 1e-9;

void add_traffic(std::vector<FlowCounter>& rows) {
    rows.push_back(counter("rdma_packets_total", "packets", "Packets of RDMA flows; iWARP: TCP segments.",
                           plain<&FlowSnapshot::packets>));
    rows.push_back(counter("rdma_wire_bytes_total", "bytes",
                           "Bytes of those packets from the link header on, without preamble, FCS and gap.",
                           plain<&FlowSnapshot::wire_bytes>));
    rows.push_back(counter("rdma_payload_bytes_total", "bytes",
                           "Bytes of messages that passed, READ responses among them, repeats not.",
                           plain<&FlowSnapshot::payload_bytes>));
    rows.push_back(counter("rdma_acknowledgement_packets_total", "packets", "Packets that only acknowledge.",
                           plain<&FlowSnapshot::acknowledgement_packets>));
    rows.push_back(counter(
        "rdma_messages_total", "messages",
        "Messages whose last packet was seen, each once, by operation. READ and atomics count at the requester.",
        [](const FlowSnapshot& flow, std::size_t i, const Taking&) {
            const auto& figures = flow.operations[i];
            return figures.count == 0 && figures.bytes == 0 && figures.latency_ns.empty() ? Taken{}
                                                                                          : Taken{figures.count};
        },
        by_op));
    rows.push_back(counter(
        "rdma_message_bytes_total", "bytes", "Bytes of those messages, each once.",
        [](const FlowSnapshot& flow, std::size_t i, const Taking&) {
            const auto& figures = flow.operations[i];
            return figures.count == 0 && figures.bytes == 0 && figures.latency_ns.empty() ? Taken{}
                                                                                          : Taken{figures.bytes};
        },
        by_op));
}

void add_time(std::vector<FlowCounter>& rows) {
    rows.push_back(counter(
        "rdma_flow_state_seconds_total", "seconds",
        "What flows did with their time, by state: the states of one flow sum to its time.",
        [](const FlowSnapshot& flow, std::size_t i, const Taking&) { return Taken{flow.state_ns[i]}; }, by_state,
        nanosecond));
    rows.push_back(counter("rdma_queueing_seconds_total", "seconds",
                           "The part of state ack_window in excess of the least round trip: time in queues.",
                           of_reliable<&FlowSnapshot::queueing_ns>, undivided, nanosecond));
}

void add_losses(std::vector<FlowCounter>& rows) {
    rows.push_back(counter("rdma_retransmitted_packets_total", "packets",
                           "Packets sent again by their sender; none where the service repeats nothing (UC, UD).",
                           plain<&FlowSnapshot::retransmitted_packets>));
    rows.push_back(counter("rdma_duplicate_packets_total", "packets", "Packets that the network doubled.",
                           plain<&FlowSnapshot::duplicate_packets>));
    rows.push_back(counter("rdma_reordered_packets_total", "packets", "Packets that came late but were not sent again.",
                           plain<&FlowSnapshot::reordered_packets>));
    rows.push_back(counter("rdma_missing_packets_total", "packets",
                           "Packets that never passed here although later ones did: lost on the way to this machine's "
                           "tap.",
                           plain<&FlowSnapshot::missing_packets>));
    rows.back().settles = true;
    rows.push_back(counter("rdma_unseen_acknowledged_packets_total", "packets",
                           "Packets that the peer acknowledged and the capture lacks: holes in the capture.",
                           of_reliable<&FlowSnapshot::unseen_acknowledged_packets>));
    rows.push_back(counter("rdma_timeouts_total", "", "Recoveries that only a timer explains.",
                           of_reliable<&FlowSnapshot::timeouts>));
    rows.push_back(counter("rdma_recoveries_total", "", "Losses that were repaired.",
                           [](const FlowSnapshot& flow, std::size_t, const Taking&) {
                               return is_reliable(flow) ? Taken{flow.recovery.count} : Taken{};
                           }));
}

void add_answers(std::vector<FlowCounter>& rows) {
    rows.push_back(counter(
        "rdma_naks_total", "", "Negative acknowledgements of the flows' requests, by code; RNR NAKs not among them.",
        [](const FlowSnapshot& flow, std::size_t i, const Taking&) {
            return is_iwarp(flow) || !is_reliable(flow) ? Taken{} : Taken{flow.naks[i]};
        },
        by_code));
    rows.push_back(counter("rdma_rnr_naks_total", "",
                           "Receiver-not-ready answers: the peer had no receive posted for the flows' messages.",
                           [](const FlowSnapshot& flow, std::size_t, const Taking&) {
                               return is_iwarp(flow) || !is_reliable(flow) ? Taken{} : Taken{flow.rnr_naks};
                           }));
    rows.push_back(counter("rdma_credits_exhausted_total", "", "Times that the credits of acknowledgements ran out.",
                           of_roce<&FlowSnapshot::credits_exhausted>));
    rows.push_back(counter("rdma_ecn_ce_packets_total", "packets",
                           "Packets marked congestion experienced (ECN) when they passed here.",
                           plain<&FlowSnapshot::ecn_ce_packets>));
    rows.push_back(counter("rdma_ecn_capable_packets_total", "packets",
                           "Packets that may be marked: ECT(0), ECT(1) or CE.",
                           plain<&FlowSnapshot::ecn_capable_packets>));
    rows.push_back(counter("rdma_cnp_packets_total", "packets",
                           "Congestion notification packets that receivers sent because of these flows.",
                           of_roce<&FlowSnapshot::cnp_packets>));
    rows.push_back(counter("rdma_icrc_bad_packets_total", "packets",
                           "RoCE, InfiniBand: packets with a wrong ICRC, among those captured whole.",
                           [](const FlowSnapshot& flow, std::size_t, const Taking& taking) {
                               return taking.crc_verified && !is_iwarp(flow) ? Taken{flow.icrc_bad} : Taken{};
                           }));
    rows.push_back(counter("rdma_mpa_crc_bad_total", "", "iWARP: FPDUs with a wrong CRC, among those captured whole.",
                           [](const FlowSnapshot& flow, std::size_t, const Taking& taking) {
                               const bool verified = taking.crc_verified && is_iwarp(flow) && !lacks_crcs(flow);
                               return verified ? Taken{flow.crc_bad} : Taken{};
                           }));
    rows.push_back(counter("rdma_terminates_total", "messages", "iWARP: Terminate messages sent in this direction.",
                           of_iwarp<&FlowSnapshot::terminates>));
}

void add_tcp(std::vector<FlowCounter>& rows) {
    using metrics::TcpFigures;
    rows.push_back(
        counter("rdma_tcp_segments_total", "", "iWARP: TCP segments with data.", of_tcp<&TcpFigures::segments>));
    rows.push_back(counter("rdma_unread_bytes_total", "bytes",
                           "iWARP: bytes of connections in which no FPDU could be followed: cut by the snap length "
                           "(capture.iwarp_snaplen), or lost. Messages in them are not counted.",
                           unread_bytes));
    rows.push_back(counter("rdma_tcp_retransmitted_segments_total", "", "iWARP: TCP segments sent again.",
                           of_tcp<&TcpFigures::retransmitted_segments>));
    rows.push_back(counter("rdma_tcp_duplicate_acks_total", "",
                           "iWARP: duplicate acknowledgements that the flows' receivers sent.",
                           of_tcp<&TcpFigures::duplicate_acks>));
    rows.push_back(counter("rdma_tcp_ece_acks_total", "",
                           "iWARP: acknowledgements with ECE: the flow was marked on its way. RFC 3168.",
                           of_tcp<&TcpFigures::ece_acks>));
    rows.push_back(counter("rdma_tcp_zero_windows_total", "",
                           "iWARP: times that the flows' receivers closed their window.",
                           of_tcp<&TcpFigures::zero_windows>));
    rows.push_back(counter("rdma_tcp_window_limited_seconds_total", "seconds",
                           "iWARP: time in which the receivers' windows did not hold another segment.",
                           of_tcp<&TcpFigures::window_limited_ns>, undivided, nanosecond));
}

std::vector<FlowGauge> flow_gauges() {
    using Source = FlowGauge::Source;
    return {
        {flow_series("rdma_outstanding_messages", "messages", Type::Gauge,
                     "Messages waiting for an acknowledgement or a response, averaged over the last interval; without "
                     "flows for which that is unknown."),
         Source::difference,
         [](const FlowSnapshot& flow, double share) { return knows_depth(flow) ? flow.messages_mean * share : 0; }},
        {flow_series("rdma_outstanding_bytes", "bytes", Type::Gauge, "Their bytes, averaged over the last interval."),
         Source::difference,
         [](const FlowSnapshot& flow, double share) { return knows_depth(flow) ? flow.bytes_mean * share : 0; }},
        {flow_series("rdma_queue_pairs", "", Type::Gauge,
                     "Queue pairs' conversations that are known and have not ended; each counts in both directions."),
         Source::now, [](const FlowSnapshot& flow, double) { return flow.finished ? 0.0 : 1.0; }},
    };
}

std::vector<PauseCounter> pause_counters() {
    using metrics::PauseSnapshot;
    return {
        {{"rdma_pause_frames_total",
          "frames",
          "Frames that asked this machine's link to pause, by priority (802.1Qbb), or global (802.3 annex 31B).",
          Type::Counter,
          {"interface", "priority"}},
         by_priority_or_global,
         1,
         [](const PauseSnapshot& pause, std::size_t i) {
             return Taken{i == global_pause ? pause.pause_frames : pause.priority_frames[i]};
         }},
        {{"rdma_pause_seconds_total",
          "seconds",
          "Time for which pauses held, by priority or global; several senders on one interface add up. None where the "
          "link's rate is not known.",
          Type::Counter,
          {"interface", "priority"}},
         by_priority_or_global,
         nanosecond,
         [](const PauseSnapshot& pause, std::size_t i) {
             if (!pause.stopped_ns) return Taken{};
             return Taken{i == global_pause ? pause.stopped_ns->all_ns : pause.stopped_ns->priority_ns[i]};
         }},
        {{"rdma_pause_quanta_total",
          "",
          "Time that priority pause frames asked for, in quanta of 512 bit times: an upper bound of the time paused.",
          Type::Counter,
          {"interface", "priority"}},
         per_priority,
         1,
         [](const PauseSnapshot& pause, std::size_t i) { return Taken{pause.priority_quanta[i]}; }},
        {{"rdma_pause_resume_frames_total",
          "frames",
          "Pause frames with a time of zero: go on.",
          Type::Counter,
          {"interface"}},
         undivided,
         1,
         [](const PauseSnapshot& pause, std::size_t) { return Taken{pause.resume_frames}; }},
    };
}

TrafficTable make_traffic_table() {
    TrafficTable table;
    add_traffic(table.counters);
    add_time(table.counters);
    add_losses(table.counters);
    add_answers(table.counters);
    add_tcp(table.counters);
    table.histograms.push_back(
        {flow_series("rdma_message_latency_seconds", "seconds", Type::Histogram,
                     "SEND, WRITE: last packet to its acknowledgement; READ, atomics: request to the last response "
                     "packet; nothing that was sent again.",
                     by_op.label),
         by_op, [](const FlowSnapshot& flow, std::size_t i) -> const metrics::Histogram& {
             return flow.operations[i].latency_ns;
         }});
    table.gauges = flow_gauges();
    table.pauses = pause_counters();
    table.hosts.push_back({{"rdma_incast_senders_max",
                            "hosts",
                            "Most hosts that sent data to one within a millisecond, since it is known: this machine's "
                            "addresses, and peers with series of their own.",
                            Type::Gauge,
                            {"host"}},
                           [](const metrics::HostSnapshot& host) { return host.incast_senders_max; }});
    table.attempts = {"rdma_connection_attempts_total",
                      "",
                      "Connection attempts that led to no flow, by outcome; unanswered: for 10 seconds.",
                      Type::Counter,
                      {"transport", "outcome"}};
    table.truncation = {
        {{"rdmascope_peers_truncated",
          "",
          "Peers that are known but have no series of their own: they are in other.",
          Type::Gauge,
          {}},
         &Truncation::peers},
        {{"rdmascope_label_sets_truncated",
          "",
          "Combinations of labels in the last interval that are counted in other, because there are too many.",
          Type::Gauge,
          {}},
         &Truncation::label_sets},
    };
    return table;
}

template <class Rows>
void append_series(std::vector<Series>& out, const Rows& rows) {
    for (const auto& row : rows) out.push_back(row.series);
}

}  // namespace

const TrafficTable& traffic_table() {
    static const TrafficTable table = make_traffic_table();
    return table;
}

std::vector<Series> all_series() {
    const TrafficTable& traffic = traffic_table();
    const ProgramTable& program = program_table();
    std::vector<Series> all;
    append_series(all, traffic.counters);
    append_series(all, traffic.histograms);
    append_series(all, traffic.gauges);
    append_series(all, traffic.pauses);
    append_series(all, traffic.hosts);
    all.push_back(traffic.attempts);
    append_series(all, traffic.truncation);
    for (Series& series : CommandCounters::series()) all.push_back(std::move(series));
    for (Series& series : PathGauges::series()) all.push_back(std::move(series));
    all.push_back(verdict_series());
    all.push_back(program.build);
    append_series(all, program.program);
    append_series(all, program.interfaces);
    for (Series& series : device_series()) all.push_back(std::move(series));
    for (Series& series : policy_series()) all.push_back(std::move(series));
    for (const Series& series : subnet_series()) all.push_back(series);
    return all;
}

}  // namespace exporters::prometheus
