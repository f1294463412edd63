#include "random_snapshot.h"

#include <algorithm>
#include <array>

namespace metrics::test {
namespace {
constexpr unsigned flow_numbers = 8;  ///< flow n and n ^ 1 are the two directions of a conversation

Address host(unsigned number) {
    Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets[0] = 10;
    address.octets[3] = static_cast<std::uint8_t>(number);
    return address;
}
}  // namespace

std::optional<std::uint64_t> RandomSnapshots::maybe(std::uint64_t bound) {
    if (chance()) return std::nullopt;
    return below(bound);
}

Histogram RandomSnapshots::histogram() {
    Histogram values;
    for (std::uint64_t i = below(5); i > 0; --i) values.record(below(100'000), 1 + below(3));
    return values;
}

ReuseFigures RandomSnapshots::reuse() {
    ReuseFigures figures;
    figures.accesses = 1 + below(1000);
    figures.distinct = below(100);
    figures.working_set_max = below(100);
    figures.working_set_mean = static_cast<double>(below(100));
    for (unsigned octave = 0; octave < 6; ++octave)
        if (chance()) {
            ReuseBin bin;
            bin.count = 1 + below(100);
            // Inside its power of two, where means stay.
            bin.distance = octave == 0 ? 0 : static_cast<double>((1u << (octave - 1)) + below(1u << (octave - 1)));
            bin.turnaround_ns = histogram();
            figures.bins.push_back(bin);
        }
    return figures;
}

IcmpFigures RandomSnapshots::icmp() {
    IcmpFigures figures;
    for (std::uint64_t i = 1 + below(5); i > 0; --i) {
        std::optional<std::uint32_t> mtu;
        if (chance()) mtu = static_cast<std::uint32_t>(1000 + below(3));
        figures.add(static_cast<wire::IcmpErrorKind>(below(wire::icmp_error_kind_count)),
                    host(static_cast<unsigned>(2 + below(3))), mtu);
    }
    return figures;
}

CommandRecord RandomSnapshots::command() {
    CommandRecord record;
    record.number = 1 + below(100);
    record.id = "0x12";
    record.kind = chance() ? "read" : "";
    if (chance()) record.target = "ns 1";
    record.end = "answered";
    if (chance()) record.status = "Busy";
    if (chance()) record.error = "busy";
    record.bytes = maybe(10'000);
    record.first_block = maybe(10'000);
    if (chance()) record.block_count = 8;
    record.moved_in_bytes = below(10'000);
    record.operations = static_cast<std::uint32_t>(below(3));
    record.request_first_frame = 1 + below(1000);
    record.request_last_frame = record.request_first_frame + below(3);
    record.response_frame = chance() ? record.request_last_frame + 1 : 0;
    record.begin_ns = static_cast<std::int64_t>(below(1'000'000));
    record.latency_ns = maybe(100'000);
    record.parts_ns[below(command_part_count)] = below(1000);
    record.request_ack_ns = maybe(100);
    record.repair_own_ns = below(100);
    return record;
}

CommandConnectionFigures RandomSnapshots::commands() {
    CommandConnectionFigures figures;
    figures.protocol = "nvme";
    figures.heading = "NVMe";
    figures.evidence = "shape";
    figures.confidence = 0.95;
    // The latest part says which of them hold: these are equal in all parts.
    figures.queue = 1;
    figures.limit = 32;
    figures.limit_asked = 64;
    figures.open_now = 1;
    figures.target_name = "nqn.test";
    figures.operations = below(100);
    figures.unbound_operations = below(3);
    figures.at_limit_ns = below(1000);
    figures.open_max = static_cast<std::uint32_t>(below(32));
    figures.congested_ports = static_cast<std::uint32_t>(below(3));
    figures.first_ns = static_cast<std::int64_t>(1 + below(1000));
    figures.last_ns = figures.first_ns + static_cast<std::int64_t>(below(1000));
    for (std::uint64_t& state : figures.states_ns) state = below(1000);
    for (std::uint64_t i = below(4); i > 0; --i) figures.host_next_ns.record(below(1'000'000));
    for (const char* const name : {"", "flush", "read", "write"}) {
        if (chance()) continue;
        CommandKindFigures& kind = figures.kinds.emplace_back();
        kind.kind = name;
        kind.commands = 1 + below(100);
        kind.errors = below(3);
        kind.bytes = below(100'000);
        kind.unanswered = below(2);
        kind.repair_own_ns = below(100);
        kind.latency_ns = histogram();
        kind.size_bytes = histogram();
        for (Histogram& part : kind.parts_ns) part = histogram();
        for (Histogram& think : kind.think_ns) think = histogram();
        kind.error_classes[below(command_error_count)] = kind.errors;
        if (kind.errors != 0) kind.statuses["Busy"] = kind.errors;
        for (std::uint64_t i = below(3); i > 0; --i) kind.failed.push_back(command());
        std::ranges::sort(kind.failed, {}, &CommandRecord::begin_ns);
    }
    return figures;
}

RequestFigures RandomSnapshots::request() {
    RequestFigures figures;
    figures.operation = static_cast<Operation>(below(operation_count));
    figures.message_bytes = below(10'000);
    figures.packet_bytes = below(1'000);
    figures.frame = ++frame_;
    return figures;
}

/// What became of a RoCE flow's last request.
void RandomSnapshots::add_end(FlowSnapshot& f) {
    f.last_answer_frame = chance() ? 0 : ++frame_;
    f.udp_port = static_cast<std::uint16_t>(49152 + below(3));
    f.udp_ports = 1 + below(4);
    if (chance()) f.refused = request();
    if (chance()) {
        RetryFigures& retries = f.retries.emplace();
        retries.request = request();
        retries.repeats = 1 + below(7);
        retries.rnr_naks = below(3);
        retries.first_ns = f.first_ns;
        retries.last_ns = f.last_ns;
        retries.last_frame = ++frame_;
        retries.interval_max_ns = below(1000);
        retries.acknowledged_bytes_max = maybe(1000);
    }
    if (chance()) f.repeat_answers = RepeatAnswerFigures{1 + below(10), below(10), 1 + below(1000), histogram()};
}

/// Of three classes.
void RandomSnapshots::add_classes(FlowSnapshot& f) {
    const auto some_class = [&] { return PacketClass::of(static_cast<std::uint8_t>(below(3) * 32), 0xffff); };
    f.packet_class = some_class();
    f.connection->service_id = maybe(1000);
    if (const PacketClass other = some_class(); other != f.packet_class && f.packets > 1) {
        f.class_changes = 1 + below(5);
        f.other_classes = {{other, 1 + below(f.packets - 1), below(f.wire_bytes + 1), ++frame_, f.last_ns}};
    }
}

/// Of three entropies, in some flows of several.
void RandomSnapshots::add_path(FlowSnapshot& f) {
    const auto port = [&] { return Entropy::of_udp(static_cast<std::uint16_t>(50'000 + below(3))); };
    f.entropy = port();
    if (chance()) return;
    PathFigures& path = f.path.emplace();
    path.loss_episodes = below(5);
    path.late_refused = below(3);
    path.outcomes = {below(3), below(3), below(3)};
    path.late_depth = histogram();
    path.late_ns = histogram();
    if (chance()) path.hop_limits = {62, 63};
    if (chance() || f.packets < 2) return;
    const std::uint64_t packets = 1 + below(f.packets - 1);
    const std::uint64_t bytes = below(f.wire_bytes + 1);
    path.entropies = 2;
    path.entropy_changes = 1 + below(9);
    path.rows = {{Entropy::of_udp(50'000), packets, bytes, below(3), below(3), below(3), below(3)},
                 {Entropy::of_udp(50'001), f.packets - packets, f.wire_bytes - bytes, below(3), 0, 0, 0}};
}

PathWindowFigures RandomSnapshots::path_windows() {
    PathWindowFigures figures;
    figures.source = host(0);
    figures.destination = host(1);
    figures.dscp = static_cast<std::uint8_t>(below(2) * 26);
    figures.max_over_mean_permille = histogram();
    for (const std::uint16_t port : std::to_array<std::uint16_t>({50'000, 50'001}))
        figures.rows.push_back({Entropy::of_udp(port), {1 + below(9), below(9)}, {below(9), below(9)}, histogram()});
    return figures;
}

FlowSnapshot RandomSnapshots::flow(unsigned number, std::int64_t first_ns, std::int64_t last_ns, bool finished) {
    FlowSnapshot f;
    f.id = ++frame_;
    const bool iwarp = number >= 6;
    f.transport = iwarp ? wire::Transport::iwarp : wire::Transport::roce2;
    f.source.address = host(number % 2);
    f.destination.address = host(1 - number % 2);
    if (iwarp) {
        f.source.port = static_cast<std::uint16_t>(1000 + number);
        f.destination.port = static_cast<std::uint16_t>(1000 + (number ^ 1u));
    } else {
        f.destination.qpn = 100 + number;
        if (chance()) f.source.qpn = 100 + (number ^ 1u);
    }
    f.vantage = static_cast<Vantage>(below(4));
    f.confidence = static_cast<double>(below(11)) / 10;
    f.traffic_class = static_cast<std::uint8_t>(below(256));
    f.interface = static_cast<std::uint32_t>(below(3));
    f.first_ns = first_ns;
    f.last_ns = last_ns;
    f.finished = finished;
    for (std::uint64_t* counter : {&f.packets,
                                   &f.wire_bytes,
                                   &f.payload_bytes,
                                   &f.acknowledgement_packets,
                                   &f.timeouts,
                                   &f.unseen_acknowledged_packets,
                                   &f.merged_messages,
                                   &f.rnr_naks,
                                   &f.credits_exhausted,
                                   &f.ecn_ce_packets,
                                   &f.ecn_capable_packets,
                                   &f.icrc_bad,
                                   &f.crc_bad,
                                   &f.terminates,
                                   &f.state_unsure_ns,
                                   &f.queueing_ns,
                                   &f.at_max_ns,
                                   &f.recovery.count,
                                   &f.icrc_zero,
                                   &f.icrc_taken,
                                   &f.crc_bad_checksum_right})
        *counter = below(1000);
    f.packets += 1;
    f.messages_max = below(3);
    f.bytes_max = below(10'000);
    f.responses_max = below(16);
    f.reaction_tolerance_ns = below(10'000);
    f.messages_mean = static_cast<double>(below(100)) / 10;
    f.bytes_mean = static_cast<double>(below(100'000));
    for (auto* counter : {&f.retransmitted_packets, &f.duplicate_packets, &f.reordered_packets, &f.missing_packets,
                          &f.link_bits_per_sec, &f.round_trip_min_ns, &f.reaction_min_ns})
        *counter = maybe(1000);
    for (OperationFigures& operation : f.operations)
        if (chance()) operation = {below(100), below(10'000), histogram(), histogram()};
    for (Histogram* values : {&f.message_bytes, &f.message_duration_ns, &f.rnr_timer_ns, &f.cnp_interval_ns,
                              &f.recovery.nak_generation_ns, &f.recovery.nak_reaction_ns, &f.recovery.total_ns})
        *values = histogram();
    for (std::uint64_t& naks : f.naks) naks = below(10);
    if (chance()) {
        f.cnp_packets = 1 + below(100);
        f.rate_drop_after_cnp = static_cast<double>(below(100)) / 100;
    }
    f.credits_last = static_cast<std::uint8_t>(below(32));
    for (std::uint64_t left = f.wall_ns(); left > 0;) {
        const std::uint64_t part = 1 + below(left);
        f.state_ns[below(state_count)] += part;
        left -= part;
    }
    f.connection->setup_frame = below(3);
    f.connection->setup_ns = maybe(1000);
    for (auto* setting : {&f.connection->initiator_depth, &f.connection->responder_resources, &f.connection->path_mtu,
                          &f.connection->retry_count, &f.connection->rnr_retry_count, &f.connection->starting_psn})
        if (chance()) *setting = static_cast<std::uint32_t>(below(8));
    f.connection->ack_timeout_ns = maybe(1000);
    if (finished) {
        f.connection->end_kind = static_cast<metrics::EndKind>(below(metrics::end_kind_names.size()));
        f.connection->end = name_of(*f.connection->end_kind);
        f.connection->end_frame = ++frame_;
        f.connection->end_ns = f.last_ns;
    }
    if (iwarp) {
        TcpFigures tcp;
        for (std::uint64_t* counter :
             {&tcp.segments, &tcp.retransmitted_segments, &tcp.retransmitted_bytes, &tcp.out_of_order_segments,
              &tcp.duplicate_acks, &tcp.sack_blocks, &tcp.zero_windows, &tcp.ece_acks, &tcp.cwr_segments,
              &tcp.window_limited_ns, &tcp.connection_bytes, &tcp.unread_bytes, &tcp.fpdu_bytes_max})
            *counter = below(1000);
        tcp.round_trip_ns = histogram();
        tcp.handshake_ns = maybe(1000);
        if (chance()) tcp.mss = 1460;
        tcp.receive_window_min = maybe(1000);
        tcp.receive_window_max = maybe(1000);
        f.tcp = tcp;
        if (chance()) f.connection->mpa_revision = 1 + static_cast<std::uint32_t>(below(2));
        if (chance()) f.connection->mpa_crc = chance();
        if (chance()) f.connection->mpa_markers = chance();
    }
    if (!iwarp) add_end(f);
    add_classes(f);
    add_path(f);
    if (chance()) f.icmp = icmp();
    if (chance()) f.commands = commands();
    if (chance()) f.verbs = verbs();
    for (std::size_t kind = 0; kind < event_kind_count; kind += 1 + below(8)) {
        EventSummary summary{static_cast<EventKind>(kind), 1 + below(10), {}, below(100), below(1000)};
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(summary.count, 4); ++i)
            summary.frames.push_back(++frame_);
        f.event_summaries.push_back(summary);
    }
    return f;
}

VerbsFigures RandomSnapshots::verbs() {
    VerbsFigures v;
    v.process = {static_cast<std::uint32_t>(below(3)), chance() ? "ib_write_bw -t 16" : "", chance() ? "c0ffee" : ""};
    v.device = static_cast<std::uint32_t>(below(2));
    v.queue_pair = static_cast<std::uint32_t>(below(4));
    for (std::uint64_t* counter :
         {&v.posts, &v.posts_refused, &v.receives, &v.receives_used, &v.completions, &v.completion_errors,
          &v.records_lost, &v.completions_missed, &v.messages_matched, &v.messages_unmatched, &v.polled_early})
        *counter = below(1000);
    for (LevelFigures* level : {&v.send_queue, &v.receive_queue}) {
        if (chance()) level->capacity = static_cast<std::uint32_t>(1 + below(128));
        level->observed_ns = below(3) * 1000;
        // Binary fractions, for sums to be exact in any order.
        level->mean = level->observed_ns == 0 ? 0 : static_cast<double>(below(64)) / 4;
        level->max = below(128);
        level->empty_ns = below(1000);
        level->full_ns = below(1000);
    }
    v.receive_queue_shared = chance();
    v.midway = chance();
    v.post_interval_ns = histogram();
    if (chance()) v.status(0).count = 1 + below(10);
    if (chance()) v.status(12).count = 1 + below(10);
    for (const Operation operation : {Operation::write, Operation::read}) {
        if (chance()) continue;
        OperationWaits& waits = v.waits(operation);
        waits.completion_ns = histogram();
        waits.delays = {histogram(), histogram(), histogram(), histogram(), histogram()};
    }
    for (std::uint64_t& time : v.held_ns) time = below(1000);
    for (std::uint64_t& time : v.unpolled_ns) time = below(1000);
    return v;
}

Snapshot RandomSnapshots::around(std::vector<FlowSnapshot> flows, std::int64_t first_ns, std::int64_t last_ns) {
    Snapshot s;
    for (FlowSnapshot& one : flows)
        for (const FlowSnapshot& other : flows)
            if (one.source.address == other.destination.address && one.transport == other.transport &&
                (one.source.port ? one.source.port == other.destination.port
                                 : (*one.destination.qpn ^ 1u) == *other.destination.qpn) &&
                one.first_ns == other.first_ns) {
                one.reverse = other.id;
                one.pairing = {PairingMethod::psn, 0.9};
            }
    s.flows = std::move(flows);
    std::sort(s.flows.begin(), s.flows.end(), [](const FlowSnapshot& a, const FlowSnapshot& b) { return a.id < b.id; });
    s.path_windows = {path_windows()};
    CaptureFigures& c = s.capture;
    for (std::uint64_t* counter :
         {&c.packets, &c.bytes, &c.rdma_units, &c.truncated, &c.malformed, &c.unsorted, &c.seen_twice, &c.icrc_bad,
          &c.flows_evicted, &c.streams_evicted, &c.stream_octets_lost, &c.stream_octets_skipped, &c.values_misplaced,
          &c.beyond_hosts, &c.copies, &c.copies_elsewhere, &c.cut_by_mirror, &c.headers_cut, &s.memory_octets})
        *counter = below(1000);
    c.packets += 1;
    for (std::uint64_t kind = below(3); kind > 0; --kind)
        c.unread.add({wire::CarrierKind::ip_protocol, static_cast<std::uint16_t>(50 + below(4))}, below(10));
    for (std::uint64_t& datagrams : c.management) datagrams = below(100);
    c.flows_seen = s.flows.size() + below(3);
    c.kernel_dropped = maybe(100);
    c.first_ns = first_ns;
    c.last_ns = last_ns;
    for (unsigned number = 0; number < 4; ++number) {
        if (number >= 2 && chance()) continue;  // the hosts of flows are listed in any case
        HostSnapshot h;
        h.address = host(number);
        h.sent_wire_bytes = below(1000);
        h.received_wire_bytes = below(1000);
        h.received_requests = below(1000);
        h.sent_packets = below(1000);
        h.received_packets = below(1000);
        h.link_bits_per_sec = maybe(1000);
        h.link_is_learnt = h.link_bits_per_sec && chance();
        h.senders = 100 + below(4);
        h.incast_senders_max = below(4);
        h.incast_frame = h.incast_senders_max == 0 ? 0 : ++frame_;
        h.queue_pairs = reuse();
        h.remote_keys = reuse();
        h.pages = reuse();
        s.hosts.push_back(h);
    }
    for (std::uint32_t interface = 0; interface < 3; ++interface) {
        if (chance()) continue;
        PauseSnapshot p;
        p.interface = interface;
        p.pause_frames = below(10);
        p.pfc_frames = below(10);
        p.resume_frames = below(10);
        for (std::size_t i = 0; i < 8; ++i) {
            p.priority_frames[i] = below(10);
            p.priority_quanta[i] = below(1000);
        }
        StopTimes& stopped = p.stopped_ns.emplace();
        stopped.all_ns = below(1000);
        for (std::uint64_t& ns : stopped.priority_ns) ns = below(1000);
        for (std::uint64_t i = below(5); i > 0; --i) p.frames.push_back(++frame_);
        for (std::uint8_t number = 1; number < 4; ++number) {
            if (chance()) continue;
            PauseSender& sender = p.senders.emplace_back();
            sender.mac[5] = number;
            if (chance()) sender.host = host(static_cast<unsigned>(below(2)));
            sender.frames = below(10);
            sender.resume_frames = below(10);
            sender.priority_frames[3] = sender.frames;
            if (sender.frames == 0) continue;
            sender.first_ns = first_ns + static_cast<std::int64_t>(below(100));
            sender.last_ns = sender.first_ns + static_cast<std::int64_t>(below(100));
        }
        s.pauses.push_back(p);
    }
    for (std::uint64_t i = below(4); i > 0; --i) {
        ConnectionAttempt a;
        a.client.address = host(0);
        a.server.address = host(1);
        a.server.port = static_cast<std::uint16_t>(below(2));
        a.request_frame = chance() ? 5 : ++frame_;  // 5: seen by several
        a.request_ns = 77;
        a.requests = 1 + below(3);
        a.end_frame = chance() ? 0 : ++frame_;
        a.outcome = a.end_frame == 0 ? metrics::AttemptOutcome::unanswered : metrics::AttemptOutcome::rejected;
        a.by_client = a.outcome == metrics::AttemptOutcome::rejected && chance();
        if (a.by_client) a.reject_reason = static_cast<metrics::RejectReason>(below(5));
        if (chance()) a.icmp = icmp();
        s.attempts.push_back(a);
    }
    std::sort(s.attempts.begin(), s.attempts.end(), [](const ConnectionAttempt& a, const ConnectionAttempt& b) {
        return std::tie(a.request_frame, a.server.port) < std::tie(b.request_frame, b.server.port);
    });
    return s;
}

std::vector<Snapshot> RandomSnapshots::parts_in_time(unsigned count) {
    std::vector<Snapshot> parts;
    for (unsigned part = 0; part < count; ++part) {
        const std::int64_t begin_ns = 1'000'000 * static_cast<std::int64_t>(part);
        std::vector<FlowSnapshot> flows;
        for (unsigned conversation = 0; conversation < flow_numbers; conversation += 2) {
            if (below(4) == 0) continue;
            // One life in the part, or one that ends and another of the same key.
            const unsigned lives = 1 + static_cast<unsigned>(below(2));
            for (unsigned life = 0; life < lives; ++life) {
                const std::int64_t first_ns = begin_ns + 400'000 * life + static_cast<std::int64_t>(below(1000));
                const std::int64_t last_ns = first_ns + static_cast<std::int64_t>(below(300'000));
                const bool finished = life + 1 < lives || below(4) == 0;
                flows.push_back(flow(conversation, first_ns, last_ns, finished));
                flows.push_back(flow(conversation + 1, first_ns, last_ns, finished));
            }
        }
        parts.push_back(around(std::move(flows), begin_ns, begin_ns + 999'999));
    }
    return parts;
}

std::vector<Snapshot> RandomSnapshots::parts_at_once(unsigned count) {
    std::vector<Snapshot> parts;
    for (unsigned part = 0; part < count; ++part) {
        std::vector<FlowSnapshot> flows;
        for (unsigned conversation = 0; conversation < flow_numbers; conversation += 2) {
            if (below(4) == 0) continue;
            const std::int64_t first_ns = static_cast<std::int64_t>(below(1000));
            const std::int64_t last_ns = 2000 + static_cast<std::int64_t>(below(1000));
            flows.push_back(flow(conversation, first_ns, last_ns, false));
            flows.push_back(flow(conversation + 1, first_ns, last_ns, false));
        }
        parts.push_back(around(std::move(flows), static_cast<std::int64_t>(below(1000)),
                               2000 + static_cast<std::int64_t>(below(1000))));
    }
    return parts;
}

}  // namespace metrics::test
