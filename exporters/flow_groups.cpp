#include "exporters/flow_groups.h"

#include <array>
#include <fmt/format.h>

namespace exporters {

namespace {

using metrics::FlowSnapshot;
using Fields = FieldBuilder<FlowRow>;

/// What docs/metrics.md says of each state, in one line.
constexpr std::array<std::string_view, metrics::state_count> state_help{
    "time outside the capture, or in which packets were dropped from it",
    "time on the wire of bytes sent for the first time",
    "time on the wire of bytes sent again",
    "time until a retransmission after an RNR NAK",
    "time until a retransmission after a NAK, or after duplicate or selective TCP acknowledgements",
    "time until a retransmission that nothing but a timer explains",
    "time with as many READs and atomics outstanding as are allowed, until a response made room",
    "time without AETH credits or TCP receive window",
    "time with a full window of outstanding data, until an acknowledgement made room",
    "time in a message in which other flows of the same host filled its link",
    "time in a message in which the sender had been asked to slow down (CNP, ECE)",
    "time in a message for which nothing else is a reason: the adapter stalled",
    "time between messages with some outstanding: the application gave no more",
    "time with nothing outstanding until a message of the peer came",
    "all other time: nothing outstanding, nothing to send",
};

Value known_frame(std::uint64_t frame) { return frame == 0 ? Value{} : Value{frame}; }

/// A TCP figure, for flows over TCP.
template <class Of>
auto of_tcp(Of of) {
    return [of](const FlowRow& row) { return row.flow.tcp ? Value{of(*row.flow.tcp)} : Value{}; };
}
const metrics::Histogram no_samples{};

}  // namespace

void add_states(Fields& fields) {
    for (std::size_t i = 0; i < metrics::state_count; ++i) {
        const std::string name(metrics::state_names[i]);
        fields.add("state_ns." + name, "", name, Unit::ns, std::string(state_help[i]),
                   [i](const FlowRow& row) { return row.flow.state_ns[i]; });
    }
    fields.add("state_unsure_ns", "", "unsure", Unit::ns,
               "time that half or double the reaction tolerance would have named otherwise",
               [](const FlowRow& row) { return row.flow.state_unsure_ns; });
    fields.add("reaction_tolerance_ns", "", "tolerance", Unit::ns,
               "within which a packet counts as a reaction to what came before",
               [](const FlowRow& row) { return row.flow.reaction_tolerance_ns; });
    fields.add("queueing_ns", "", "queueing", Unit::ns, "the part of ack_window in excess of the least round trip",
               [](const FlowRow& row) { return row.flow.queueing_ns; });
    fields.add("link_bits_per_sec", "", "link", Unit::bits_per_sec,
               "the rate with which times on the wire were computed",
               [](const FlowRow& row) { return value(row.flow.link_bits_per_sec); });
    fields.add("round_trip_min_ns", "", "RTT min", Unit::ns, "least time from the tap to the receiver and back",
               [](const FlowRow& row) { return value(row.flow.round_trip_min_ns); });
    fields.add("reaction_min_ns", "", "reaction min", Unit::ns,
               "least time from the tap to the sender and back: acknowledgement to the next packet",
               [](const FlowRow& row) { return value(row.flow.reaction_min_ns); });
}

void add_recovery(Fields& fields) {
    fields.add("recovery.count", "", "recoveries", Unit::count, "losses that were repaired",
               [](const FlowRow& row) { return row.flow.recovery.count; });
    fields.histogram(
        "recovery.nak_generation_ns", "", "NAK after", Unit::ns, "first packet out of sequence to the NAK",
        [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.recovery.nak_generation_ns; });
    fields.histogram("recovery.nak_reaction_ns", "", "NAK reaction", Unit::ns, "NAK to the first packet sent again",
                     [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.recovery.nak_reaction_ns; });
    fields.histogram("recovery.total_ns", "", "recovery", Unit::ns,
                     "the lost packet, or the first after the hole, to its retransmission",
                     [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.recovery.total_ns; });
}

void add_connection(Fields& fields) {
    fields.presence = Presence::with_group;
    fields.add("connection.setup_frame", "", "set-up", Unit::frame, "the CM REQ, or the MPA request",
               [](const FlowRow& row) { return known_frame(row.flow.connection->setup_frame); });
    fields.add("connection.setup_ns", "", "set-up time", Unit::ns, "request until ready: RTU, or the MPA reply",
               [](const FlowRow& row) { return value(row.flow.connection->setup_ns); });
    fields.add("connection.initiator_depth", "", "ORD", Unit::count,
               "READs and atomics that the sender may have outstanding",
               [](const FlowRow& row) { return value(row.flow.connection->initiator_depth); });
    fields.add("connection.responder_resources", "", "IRD", Unit::count, "those that the receiver can serve at once",
               [](const FlowRow& row) { return value(row.flow.connection->responder_resources); });
    fields.add("connection.path_mtu", "", "path MTU", Unit::bytes, "bytes of payload that a packet carries at most",
               [](const FlowRow& row) { return value(row.flow.connection->path_mtu); });
    fields.add("connection.ack_timeout_ns", "", "ACK timeout", Unit::ns, "local ACK timeout of the sender",
               [](const FlowRow& row) { return value(row.flow.connection->ack_timeout_ns); });
    fields.add("connection.retry_count", "", "retries", Unit::count, "times that the sender tries again",
               [](const FlowRow& row) { return value(row.flow.connection->retry_count); });
    fields.add("connection.rnr_retry_count", "", "RNR retries", Unit::count,
               "times that it tries again after an RNR NAK; 7 is for ever",
               [](const FlowRow& row) { return value(row.flow.connection->rnr_retry_count); });
    fields.add("connection.starting_psn", "", "first PSN", Unit::code, "PSN with which the sender begins",
               [](const FlowRow& row) { return value(row.flow.connection->starting_psn); });
    fields.add("connection.service_id", "", "service", Unit::code, "CM: the service that the client asked for",
               [](const FlowRow& row) { return value(row.flow.connection->service_id); });
    fields.add("connection.end", "", "end", Unit::text, "how the connection ended; null while it lives",
               [](const FlowRow& row) {
                   return row.flow.connection->end.empty() ? Value{} : Value{row.flow.connection->end};
               });
    fields.add("connection.end_frame", "", "end frame", Unit::frame, "the frame that ended it",
               [](const FlowRow& row) { return known_frame(row.flow.connection->end_frame); });
    fields.presence = Presence::always;
}

void add_tcp(Fields& fields) {
    using metrics::TcpFigures;
    fields.presence = Presence::with_group;
    const auto count = [&](const char* name, const char* title, const char* help, std::uint64_t TcpFigures::*member) {
        fields.add(std::string("tcp.") + name, "", title, Unit::count, help,
                   of_tcp([member](const TcpFigures& tcp) { return tcp.*member; }));
    };
    count("segments", "segments", "segments with data", &TcpFigures::segments);
    count("retransmitted_segments", "resent segments", "segments sent again", &TcpFigures::retransmitted_segments);
    fields.add("tcp.retransmitted_bytes", "", "resent bytes", Unit::bytes, "bytes sent again",
               of_tcp([](const TcpFigures& tcp) { return tcp.retransmitted_bytes; }));
    count("out_of_order_segments", "out of order", "segments ahead of a hole", &TcpFigures::out_of_order_segments);
    count("duplicate_acks", "duplicate ACKs", "that the receiver sent", &TcpFigures::duplicate_acks);
    count("sack_blocks", "SACK blocks", "that the receiver sent", &TcpFigures::sack_blocks);
    count("zero_windows", "zero windows", "that the receiver advertised", &TcpFigures::zero_windows);
    count("ece_acks", "ECE", "ACKs that say that this flow was marked (RFC 3168)", &TcpFigures::ece_acks);
    count("cwr_segments", "CWR", "segments that say that the sender has slowed down", &TcpFigures::cwr_segments);
    fields.histogram(
        "tcp.round_trip_ns", "", "TCP RTT", Unit::ns, "bytes to their ACK, at the tap; none sent again",
        [](const FlowRow& row) -> const metrics::Histogram& {
            return row.flow.tcp ? row.flow.tcp->round_trip_ns : no_samples;
        },
        [](const FlowRow& row) { return row.flow.tcp.has_value(); });
    fields.add("tcp.handshake_ns", "", "handshake", Unit::ns, "SYN to SYN ACK to ACK",
               of_tcp([](const TcpFigures& tcp) { return value(tcp.handshake_ns); }));
    fields.add("tcp.mss", "", "MSS", Unit::bytes, "maximum segment size",
               of_tcp([](const TcpFigures& tcp) { return value(tcp.mss); }));
    fields.add("tcp.receive_window_min", "", "window min", Unit::bytes, "smallest window that the receiver advertised",
               of_tcp([](const TcpFigures& tcp) { return value(tcp.receive_window_min); }));
    fields.add("tcp.receive_window_max", "", "window max", Unit::bytes, "largest window that the receiver advertised",
               of_tcp([](const TcpFigures& tcp) { return value(tcp.receive_window_max); }));
    fields.add("tcp.window_limited_ns", "", "window limited", Unit::ns, "time for which that window held the sender up",
               of_tcp([](const TcpFigures& tcp) {
                   // Without its scale the size of the window is unknown.
                   return tcp.receive_window_max ? Value{tcp.window_limited_ns} : Value{};
               }));
    fields.add("tcp.connection_bytes", "", "streams", Unit::bytes, "bytes of both directions' streams, each once",
               of_tcp([](const TcpFigures& tcp) { return tcp.connection_bytes; }));
    fields.add("tcp.fpdu_bytes_max", "", "longest FPDU", Unit::bytes,
               "longest FPDU of the sender, markers and CRC in it",
               of_tcp([](const TcpFigures& tcp) { return tcp.fpdu_bytes_max; }));
    fields.add("tcp.unread_bytes", "", "unread", Unit::bytes,
               "of them, those in which no FPDU could be followed; beyond 2 %, goodput and depth are null",
               of_tcp([](const TcpFigures& tcp) { return tcp.unread_bytes; }));
    fields.presence = Presence::always;
}

/// A time in forms that survive where numbers are doubles: from the capture's start, and as a date.
void add_end(Fields& fields, const std::string& name, const std::string& title,
             std::int64_t metrics::FlowSnapshot::*time_ns) {
    fields.add(
        name + "_offset_ns", "", title + " at", Unit::ns,
        fmt::format("time of the {} frame after the capture's first, exact also where numbers are doubles", name),
        [time_ns](const FlowRow& row) { return value(offset_ns(row.flow.*time_ns, row.context)); });
    fields.add(name + "_offset_seconds", "", title + " s", Unit::text,
               fmt::format("time of the {} frame after the capture's first, in seconds with nine digits", name),
               [time_ns](const FlowRow& row) {
                   const auto offset = offset_ns(row.flow.*time_ns, row.context);
                   return offset ? Value{seconds_text(*offset)} : Value{};
               });
    fields.add(name + "_time", "", title + " date", Unit::text,
               fmt::format("time of the {} frame as a date, UTC (ISO 8601)", name),
               [time_ns](const FlowRow& row) { return iso_time(row.flow.*time_ns); });
}

void add_life(Fields& fields) {
    fields.add("first_ns", "", "first", Unit::time, "time of the first frame, ns since 1970",
               [](const FlowRow& row) { return row.flow.first_ns; });
    fields.add("last_ns", "", "last", Unit::time, "time of the last frame, ns since 1970",
               [](const FlowRow& row) { return row.flow.last_ns; });
    add_end(fields, "first", "first", &metrics::FlowSnapshot::first_ns);
    add_end(fields, "last", "last", &metrics::FlowSnapshot::last_ns);
    fields.add("finished", "", "finished", Unit::text, "whether the connection ended, or its QPN was used again",
               [](const FlowRow& row) { return row.flow.finished; });
    fields.add("traffic_class", "", "TC", Unit::code, "DSCP and ECN of the first frame, as one byte",
               [](const FlowRow& row) { return std::uint64_t{row.flow.traffic_class}; });
    fields.add("interface", "", "interface", Unit::code, "of the capture, from 0",
               [](const FlowRow& row) { return std::uint64_t{row.flow.interface}; });
    fields.add("vlan_priority", "", "PCP", Unit::code, "priority in the first frame's VLAN tag; null without a tag",
               [](const FlowRow& row) { return value(row.flow.packet_class.vlan_priority()); });
    fields.add("service_level", "", "SL", Unit::code, "InfiniBand: service level of the first frame",
               [](const FlowRow& row) { return value(row.flow.packet_class.service_level()); });
    fields.add("partition_key", "", "P_Key", Unit::code, "RoCE, InfiniBand: P_Key of the first frame",
               [](const FlowRow& row) { return value(row.flow.packet_class.partition_key()); });
    fields.add("classes", "", "classes", Unit::count,
               "how many classes its frames had: DSCP, VLAN priority, SL and P_Key together; 4 stands for 4 and more",
               [](const FlowRow& row) {
                   return row.flow.packet_class.known() ? Value{1 + std::uint64_t{row.flow.other_classes.size()}}
                                                        : Value{};
               });
    fields.add("class_changes", "", "class changes", Unit::count,
               "frames whose class is not that of the frame before them; CNPs left out",
               [](const FlowRow& row) { return row.flow.class_changes; });
}

void add_event_summaries(Fields& fields) {
    fields.presence = Presence::when_present;
    for (std::size_t i = 0; i < metrics::event_kind_count; ++i) {
        const auto kind = static_cast<metrics::EventKind>(i);
        const std::string path = "exhibits." + std::string(name_of(kind));
        const std::string family = "exhibits.EVENT";
        const std::string title(name_of(kind));
        const auto of = [kind](auto get) {
            return [kind, get](const FlowRow& row) {
                const metrics::EventSummary* summary = row.flow.find_event_summary(kind);
                return summary == nullptr ? Value{} : Value{get(*summary)};
            };
        };
        fields.add(path + ".count", family + ".count", title, Unit::count, "how often that happened",
                   of([](const metrics::EventSummary& summary) { return summary.count; }));
        fields
            .add(path + ".frames", family + ".frames", title + " frames", Unit::frame,
                 "the first frames that show it, at most four",
                 of([](const metrics::EventSummary& summary) { return summary.frames; }))
            .lists_frames = true;
        fields.add(path + ".value_max", family + ".value_max", title + " max", Unit::code,
                   "the greatest of what goes with it: how many packets, ns, which code",
                   of([](const metrics::EventSummary& summary) { return summary.value_max; }));
        fields.add(path + ".value_sum", family + ".value_sum", title + " sum", Unit::code, "the sum of them",
                   of([](const metrics::EventSummary& summary) { return summary.value_sum; }));
    }
    fields.presence = Presence::always;
}

}  // namespace exporters
