#include "tests/unit/metrics/answers/random_evidence.h"

#include <utility>
#include <vector>

namespace why_test {

using metrics::EventKind;
using metrics::FlowSnapshot;
using metrics::Operation;
using metrics::Service;
using metrics::State;

metrics::Snapshot RandomEvidence::make() {
    std::vector<FlowSnapshot> flows;
    const std::uint64_t count = once_in(30) ? 0 : 1 + below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
        const bool back = i % 2 == 1;
        flows.push_back(make_flow(i + 1, back ? 1 : 2, back ? 2 : 1));
    }
    if (count >= 2 && once_in(2)) {
        flows[0].reverse = 2;
        flows[1].reverse = 1;
    }
    if (once_in(20)) add_paths(flows);
    metrics::Snapshot snapshot = snapshot_of(std::move(flows));
    snapshot.capture.truncated = sparse(4000);
    if (once_in(4)) snapshot.pauses.push_back(make_pause());
    for (std::uint8_t number = 1; number <= 2; ++number)
        if (once_in(2)) snapshot.hosts.push_back(make_host(number));
    if (once_in(10)) snapshot.attempts.push_back(make_attempt());
    return snapshot;
}

/// Five entropies from one host to another: without losses, or some lose.
void RandomEvidence::add_paths(std::vector<FlowSnapshot>& flows) {
    const bool lossy = once_in(2);
    for (std::uint16_t port = 50'000; port < 50'005; ++port) {
        FlowSnapshot& flow = flows.emplace_back(healthy(port, 2, 1));
        flow.entropy = metrics::Entropy::of_udp(port);
        if (!lossy) continue;
        flow.missing_packets = sparse(5);
        flow.retransmitted_packets = sparse(50);
        if (*flow.retransmitted_packets == 0) continue;
        flow.path = metrics::PathFigures{};
        flow.path->loss_episodes = *flow.retransmitted_packets;
    }
}

FlowSnapshot RandomEvidence::make_flow(std::uint64_t id, std::uint8_t from, std::uint8_t to) {
    FlowSnapshot flow = healthy(id, from, to);
    set_service(flow);
    set_messages(flow);
    set_times(flow);
    set_depth(flow);
    set_marks(flow);
    set_connection(flow);
    // What is wrong stands before what limits: half of the flows have nothing wrong.
    if (once_in(2)) {
        set_repairs(flow);
        set_errors(flow);
    }
    if (once_in(8)) set_violations(flow);
    if (flow.transport != wire::Transport::iwarp && once_in(4)) flow.verbs = make_verbs();
    flow.finished = once_in(3);
    return flow;
}

void RandomEvidence::set_service(FlowSnapshot& flow) {
    if (once_in(4)) {
        flow.transport = wire::Transport::iwarp;
        flow.tcp = make_tcp();
        flow.source.qpn = flow.destination.qpn = std::nullopt;
        flow.source.port = 40'000;
        flow.destination.port = 7174;
        return;
    }
    flow.transport = one_of({wire::Transport::roce2, wire::Transport::roce2, wire::Transport::infiniband});
    flow.service = one_of({Service::rc, Service::rc, Service::rc, Service::rc, Service::uc, Service::ud});
}

void RandomEvidence::set_messages(FlowSnapshot& flow) {
    const auto& write = std::as_const(flow.operations[metrics::index_of(Operation::write)]);
    const metrics::OperationFigures writes = write;
    const auto put = [&](Operation operation, std::uint64_t bytes, std::uint64_t least_ns, std::uint64_t median_ns) {
        metrics::OperationFigures& figures = flow.operations[metrics::index_of(operation)];
        figures = {};
        figures.count = 1000;
        figures.bytes = 1000 * bytes;
        figures.latency_ns.record(least_ns, 10);
        figures.latency_ns.record(median_ns, 990);
        if (operation == Operation::read) figures.first_response_ns.record(median_ns, 1000);
    };
    const std::uint64_t least = one_of<std::uint64_t>({10'000, 100'000, 40'000'000});
    switch (below(8)) {
        case 0: flow.operations = {}; break;
        case 1:
            flow.operations = {};
            flow.payload_bytes = 0;
            break;
        case 2:
            flow.operations = {};
            put(Operation::read, 4096, least, least * (1 + below(8)));
            break;
        case 3:
            put(Operation::write, 64, least, least * (1 + below(8)));
            flow.payload_bytes = 64'000;
            break;
        case 4:
            put(Operation::write, 4096, least, least);
            put(one_of({Operation::read, Operation::fetch_add}), 64, least * 10, least * 10);
            break;
        case 5:
            flow.operations = {};
            flow.operations[metrics::index_of(Operation::send)].count = 1 + below(8);
            flow.operations[metrics::index_of(Operation::send)].bytes = 64;
            flow.packets = 1 + below(120);
            break;
        case 6: flow.operations[metrics::index_of(Operation::write)].latency_ns = {}; break;
        default: put(Operation::write, 4096, least, least * (1 + below(4))); break;
    }
}

/// One state has most of the time, or all states share it.
void RandomEvidence::set_times(FlowSnapshot& flow) {
    constexpr std::uint64_t wall_ns = 1'000'000'000;
    flow.state_ns = {};
    const std::uint64_t most = once_in(3) ? wall_ns / 5 : wall_ns / 2 + below(wall_ns / 2);
    const std::size_t state = below(metrics::state_count);
    flow.state_ns[state] = most;
    std::uint64_t left = wall_ns - most;
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t part = below(left + 1);
        flow.state_ns[below(metrics::state_count)] += part;
        left -= part;
    }
    flow.state_ns[metrics::index_of(State::application_idle)] += left;
    flow.queueing_ns = once_in(2) ? 0 : flow.state_ns[metrics::index_of(State::ack_window)];
    if (once_in(3)) flow.link_bits_per_sec = 100'000'000;
    if (once_in(20)) flow.last_ns = flow.first_ns;
}

void RandomEvidence::set_depth(FlowSnapshot& flow) {
    flow.vantage = one_of({metrics::Vantage::unknown, metrics::Vantage::sender, metrics::Vantage::receiver});
    flow.round_trip_min_ns = one_of<std::optional<std::uint64_t>>({std::nullopt, 10'000, 100'000, 40'000'000});
    flow.messages_max = one_of<std::uint64_t>({0, 1, 4, 10});
    flow.messages_mean = static_cast<double>(flow.messages_max) * one_of({0.001, 0.2, 0.5, 0.9});
    flow.bytes_max = flow.messages_max * 4096;
    flow.bytes_mean = flow.messages_mean * 4096;
    flow.at_max_ns = sparse(1'000'000'000);
    flow.responses_max = std::min(sparse(16), flow.messages_max);
}

void RandomEvidence::set_repairs(FlowSnapshot& flow) {
    flow.retransmitted_packets = sparse(50);
    flow.duplicate_packets = sparse(50);
    flow.reordered_packets = sparse(50);
    flow.missing_packets = sparse(50);
    flow.timeouts = sparse(8);
    flow.rnr_naks = sparse(8);
    flow.last_answer_frame = sparse(100);
    flow.icrc_bad = once_in(4) ? sparse(20) : 0;
    if (flow.tcp && once_in(4)) {
        flow.crc_bad = sparse(20);
        flow.crc_bad_checksum_right = once_in(2) ? flow.crc_bad : 0;
    }
    for (std::uint64_t& code : flow.naks) code = !flow.tcp && once_in(6) ? sparse(8) : 0;
    if (*flow.retransmitted_packets > 0 && once_in(2))
        add_event(flow, EventKind::retransmission, {20, 30}, 1 + below(8));
    if (once_in(2)) {
        flow.retries = make_retries();
        flow.rnr_naks += flow.retries->rnr_naks;
        *flow.retransmitted_packets += flow.retries->repeats;
    }
    if (!once_in(3)) return;
    auto& answers = flow.repeat_answers.emplace();
    answers.repeats = sparse(8);
    answers.repeated_answers = std::min(answers.repeats, sparse(8));
    answers.first_repeat_min_ns = 2'000'000;
    if (once_in(2)) answers.first_answer_ns.record(40'000'000, 1 + below(4));
}

void RandomEvidence::set_violations(FlowSnapshot& flow) {
    for (const EventKind kind : {EventKind::go_back_wrong_start, EventKind::go_back_incomplete,
                                 EventKind::nak_wrong_psn, EventKind::nak_missing, EventKind::read_restart_wrong})
        if (once_in(4)) add_event(flow, kind, {40}, 1 + below(8));
}

void RandomEvidence::set_marks(FlowSnapshot& flow) {
    flow.ecn_ce_packets = once_in(3) ? one_of<std::uint64_t>({1, 3, 400}) : 0;
    flow.ecn_capable_packets = flow.ecn_ce_packets > 0 || once_in(2) ? flow.packets : 0;
    if (!flow.tcp && once_in(6)) {
        flow.cnp_packets = 1 + below(20);
        flow.rate_drop_after_cnp = once_in(2) ? std::optional(0.5) : std::nullopt;
    }
}

void RandomEvidence::set_connection(FlowSnapshot& flow) {
    metrics::ConnectionFigures& connection = flow.connection.obtain();
    if (once_in(3)) connection.responder_resources = static_cast<std::uint32_t>(below(8));
    if (once_in(3)) connection.initiator_depth = static_cast<std::uint32_t>(below(8));
    if (once_in(3)) connection.rnr_retry_count = static_cast<std::uint32_t>(below(8));
    if (once_in(3)) connection.retry_count = static_cast<std::uint32_t>(below(8));
    if (!flow.tcp) return;
    if (once_in(2)) connection.setup_ns = 100'000;
    if (once_in(4)) connection.mpa_revision = static_cast<std::uint32_t>(below(4));
}

void RandomEvidence::set_errors(FlowSnapshot& flow) {
    if (once_in(4)) flow.refused = metrics::RequestFigures{Operation::write, sparse(9000), sparse(4096), sparse(90)};
    if (once_in(4)) flow.icmp = make_icmp();
    if (!flow.tcp || !once_in(4)) return;
    flow.terminates = 1;
    // Layer, type and code of RFC 5040, 4.8, RFC 5041, 7.2 and RFC 5044, 8.
    add_event(flow, EventKind::terminate, {70}, 1,
              one_of<std::uint64_t>({0x1100, 0x0000, 0x0205, 0x1202, 0x1205, 0x2002, 0x2001}));
}

metrics::TcpFigures RandomEvidence::make_tcp() {
    metrics::TcpFigures tcp;
    tcp.segments = 4000;
    tcp.retransmitted_segments = once_in(4) ? sparse(20) : 0;
    tcp.duplicate_acks = sparse(20);
    tcp.sack_blocks = sparse(20);
    tcp.zero_windows = once_in(4) ? sparse(4) : 0;
    tcp.ece_acks = once_in(4) ? sparse(20) : 0;
    tcp.mss = 1448;
    if (once_in(3)) tcp.receive_window_min = one_of<std::uint64_t>({0, 700, 65'536});
    tcp.connection_bytes = 5'000'000;
    tcp.unread_bytes = once_in(5) ? below(5'000'000) : 0;
    return tcp;
}

metrics::VerbsFigures RandomEvidence::make_verbs() {
    metrics::VerbsFigures verbs;
    verbs.process = {42, once_in(2) ? "/usr/bin/ib_write_bw -d" : "", {}};
    verbs.posts = 1000;
    verbs.completions = 1000;
    verbs.midway = once_in(3);
    verbs.records_lost = once_in(3) ? sparse(8) : 0;
    metrics::LevelFigures& queue = verbs.send_queue;
    queue.observed_ns = once_in(6) ? 0 : 1'000'000'000;
    queue.max = 1 + below(once_in(2) ? 10 : 40);
    queue.mean = static_cast<double>(queue.max) * one_of({0.1, 0.5, 1.0});
    if (once_in(2)) queue.capacity = static_cast<std::uint32_t>(queue.max + below(2) * 64);
    queue.full_ns = once_in(3) ? queue.observed_ns : 0;
    queue.empty_ns = once_in(3) ? queue.observed_ns - queue.full_ns : 0;
    for (std::uint64_t& ns : verbs.held_ns) ns = sparse(400'000'000);
    for (std::uint64_t& ns : verbs.unpolled_ns) ns = sparse(400'000'000);
    metrics::DelayFigures& delays = verbs.waits(Operation::write).delays;
    const std::uint64_t posted = sparse(500'000);
    const std::uint64_t polled = sparse(500'000);
    delays.post_to_wire_ns.record(posted, 100);
    delays.wire_ns.record(0, 100);
    delays.wire_to_ack_ns.record(100'000, 100);
    delays.ack_to_poll_ns.record(polled, 100);
    delays.whole_ns.record(100'000 + posted + polled, 100);
    return verbs;
}

metrics::RetryFigures RandomEvidence::make_retries() {
    metrics::RetryFigures retries;
    retries.request = {static_cast<Operation>(below(8)), sparse(9000), sparse(4096), sparse(90)};
    retries.is_first = once_in(2);
    retries.repeats = sparse(9);
    retries.rnr_naks = sparse(9);
    retries.refused_last = retries.rnr_naks > 0 && once_in(2);
    retries.first_ns = 1'200'000'000;
    retries.last_ns = 1'200'000'000 + static_cast<std::int64_t>(below(700'000'000));
    retries.repeat_frame = retries.repeats > 0 ? 60 : 0;
    retries.last_frame = 90;
    retries.interval_min_ns = retries.repeats > 0 ? 1'000'000 : 0;
    retries.interval_max_ns = retries.repeats > 0 ? 1'000'000 + below(60'000'000) : 0;
    retries.rnr_timer_ns = 1'280'000;
    if (once_in(2)) retries.acknowledged_bytes_max = sparse(4096);
    return retries;
}

metrics::IcmpFigures RandomEvidence::make_icmp() {
    metrics::IcmpFigures icmp;
    for (metrics::IcmpFigures::Errors& errors : icmp.kinds) {
        errors.count = once_in(4) ? sparse(8) : 0;
        errors.sender = ipv4(static_cast<std::uint8_t>(1 + below(3)));
    }
    const auto& long_ones = icmp.of(wire::IcmpErrorKind::fragmentation_needed);
    if (long_ones.count > 0 && once_in(2)) icmp.mtu = 1500;
    return icmp;
}

metrics::PauseSnapshot RandomEvidence::make_pause() {
    metrics::PauseSnapshot pause;
    pause.pfc_frames = sparse(100);
    pause.pause_frames = once_in(4) ? sparse(20) : 0;
    pause.resume_frames = sparse(4);
    if (pause.pfc_frames == 0) return pause;
    pause.priority_frames[3] = pause.pfc_frames;
    pause.priority_quanta[3] = pause.pfc_frames * (once_in(2) ? 65'535 : 10);
    if (once_in(2)) return pause;
    metrics::PauseSender sender;
    sender.mac = {2, 0, 0, 0, 0, 2};
    if (once_in(2)) sender.host = ipv4(2);
    sender.frames = pause.pfc_frames;
    sender.priority_frames[3] = sender.frames;
    sender.first_ns = 1'000'000'000;
    sender.last_ns = 1'000'000'000 + static_cast<std::int64_t>(below(900'000'000));
    pause.senders.push_back(sender);
    return pause;
}

metrics::ReuseFigures RandomEvidence::make_reuse() {
    metrics::ReuseFigures figures;
    figures.accesses = 10'000;
    figures.distinct = one_of<std::uint64_t>({0, 2, 60, 3000});
    figures.working_set_max = figures.distinct;
    if (once_in(3)) return figures;
    const std::uint64_t far_ns = one_of<std::uint64_t>({2'000, 9'000});
    for (int i = 0; i < 2; ++i) {
        metrics::ReuseBin bin;
        bin.count = one_of<std::uint64_t>({10, 400, 9000});
        bin.distance = i == 0 ? 100 : 2000;
        bin.turnaround_ns.record(i == 0 ? 2'000 : far_ns, bin.count);
        figures.bins.push_back(bin);
    }
    return figures;
}

metrics::HostSnapshot RandomEvidence::make_host(std::uint8_t number) {
    metrics::HostSnapshot host;
    host.address = ipv4(number);
    host.received_requests = sparse(10'000);
    host.incast_senders_max = once_in(3) ? 2 + below(8) : 0;
    host.queue_pairs = make_reuse();
    host.remote_keys = make_reuse();
    host.pages = make_reuse();
    return host;
}

metrics::ConnectionAttempt RandomEvidence::make_attempt() {
    metrics::ConnectionAttempt attempt;
    attempt.transport = one_of({wire::Transport::roce2, wire::Transport::iwarp});
    attempt.client.address = ipv4(2);
    attempt.server.address = ipv4(1);
    attempt.request_frame = 1;
    attempt.request_ns = 500'000'000;
    attempt.outcome = static_cast<metrics::AttemptOutcome>(below(metrics::attempt_outcome_names.size()));
    attempt.by_client = attempt.outcome == metrics::AttemptOutcome::rejected && once_in(2);
    if (attempt.outcome == metrics::AttemptOutcome::unanswered && once_in(2)) attempt.icmp = make_icmp();
    return attempt;
}

}  // namespace why_test
