#include "snapshot_text.h"

#include <cmath>
#include <sstream>

namespace metrics::test {
namespace {
struct Writer {
    std::ostringstream out;

    Writer() { out.precision(9); }
    /// Sums in another order differ in the last bit. Means of whole numbers often lie in the middle between two numbers
    /// of nine digits, where that bit would decide.
    void value(double number) {
        constexpr double off_the_middle = 1 + 1e-13;
        out << (std::abs(number) < 1e-6 ? 0.0 : number * off_the_middle);
    }
    void value(const std::string& text) { out << '"' << text << '"'; }
    void value(bool flag) { out << (flag ? "yes" : "no"); }
    void value(const Address& address) { out << to_text(address); }
    void value(const Histogram& histogram) {
        out << '{' << histogram.count() << ' ' << histogram.sum() << ' ' << histogram.min().value_or(0) << ' '
            << histogram.max().value_or(0);
        for (const Histogram::Bucket& bucket : histogram.buckets()) out << ' ' << bucket.index << ':' << bucket.count;
        out << '}';
    }
    void value(const Endpoint& end) {
        value(end.address);
        out << '/';
        value(end.qpn);
        out << '/';
        value(end.port);
    }
    void value(const EventSummary& summary) {
        out << name_of(summary.kind);
        all(summary.count, summary.frames, summary.value_max, summary.value_sum);
    }
    void value(AttemptOutcome outcome) { out << name_of(outcome); }
    void value(const ReuseBin& bin) { all(bin.count, bin.distance, bin.turnaround_ns); }
    void value(const ReuseFigures& reuse) {
        all(reuse.accesses, reuse.distinct, reuse.bins, reuse.working_set_mean, reuse.working_set_max);
    }
    void value(const OperationFigures& figures) {
        all(figures.count, figures.bytes, figures.latency_ns, figures.first_response_ns);
    }
    void value(const TcpFigures& tcp) {
        all(tcp.segments, tcp.retransmitted_segments, tcp.retransmitted_bytes, tcp.out_of_order_segments,
            tcp.duplicate_acks, tcp.sack_blocks, tcp.zero_windows, tcp.ece_acks, tcp.cwr_segments, tcp.round_trip_ns,
            tcp.handshake_ns, tcp.mss, tcp.receive_window_min, tcp.receive_window_max, tcp.window_limited_ns,
            tcp.connection_bytes, tcp.unread_bytes, tcp.fpdu_bytes_max);
    }
    void value(const IcmpFigures& icmp) {
        for (const IcmpFigures::Errors& errors : icmp.kinds) all(errors.count, errors.sender);
        value(icmp.mtu);
    }
    void value(std::string_view text) { value(std::string(text)); }
    void value(const CommandRecord& r) {
        all(r.number, r.id, r.kind, r.target, r.end, r.status, r.error, r.bytes, r.advertised_bytes, r.inline_bytes,
            r.moved_in_bytes, r.moved_out_bytes, r.first_block, r.block_count, r.operations, r.open_with_it,
            r.housekeeping, r.waits_for_event, r.request_first_frame, r.request_last_frame, r.data_first_frame,
            r.data_last_frame, r.response_frame, r.begin_ns, r.latency_ns, r.parts_ns, r.request_ack_ns,
            r.repair_own_ns, r.repair_behind_ns);
    }
    void value(const CommandKindFigures& k) {
        all(k.kind, k.commands, k.errors, k.bytes, k.inline_bytes, k.moved_in_bytes, k.moved_out_bytes, k.operations,
            k.orphans, k.replaced, k.unanswered, k.given_up, k.request_ack_ns, k.repair_own_ns, k.repair_behind_ns,
            k.housekeeping, k.latency_ns, k.size_bytes, k.parts_ns, k.think_ns, k.error_classes);
        for (const auto& [status, count] : k.statuses) all(status, count);
        all(k.slowest, k.failed, k.waiting, k.hurt, k.unanswered_long);
    }
    void value(const CommandConnectionFigures& c) {
        all(c.protocol, c.heading, c.evidence, c.confidence, c.of_target, c.queue, c.limit, c.target_name,
            c.initiator_name, c.operations, c.unbound_operations, c.late_operations, c.probes, c.events, c.overtaken,
            c.at_limit_ns, c.limit_asked, c.congested_ports, c.open_max, c.open_now, c.open_long, c.first_ns, c.last_ns,
            c.states_ns, c.host_next_ns, c.oldest_open_ns, c.kinds);
    }
    void value(const RequestFigures& request) {
        all(request.operation, request.message_bytes, request.packet_bytes, request.frame);
    }
    void value(const RetryFigures& retries) {
        all(retries.request, retries.is_first, retries.repeats, retries.rnr_naks, retries.refused_last,
            retries.first_ns, retries.last_ns, retries.repeat_frame, retries.last_frame, retries.interval_min_ns,
            retries.interval_max_ns, retries.rnr_timer_ns, retries.acknowledged_bytes_max);
    }
    void value(const RepeatAnswerFigures& answers) {
        all(answers.repeats, answers.repeated_answers, answers.first_repeat_min_ns, answers.first_answer_ns);
    }
    void value(const HoleOutcomes& o) { all(o.in_order, o.selective, o.placing); }
    void value(const EntropyFigures& e) {
        all(to_text(e.entropy), e.packets, e.wire_bytes, e.ecn_ce_packets, e.late_packets, e.repeated_packets,
            e.loss_episodes);
    }
    void value(const PathFigures& p) {
        all(p.entropies, p.entropy_changes, p.rows, p.hop_limits, p.loss_episodes, p.late_refused, p.outcomes,
            p.late_depth, p.late_ns);
    }
    void value(const LossTimes& l) { all(l.packets, l.episodes, l.packets_since, l.widest_gap, l.last_ns); }
    void value(const EntropyWindows& w) {
        all(to_text(w.entropy), w.marks.more, w.marks.less, w.delays.more, w.delays.less, w.longer_ns, w.losses,
            w.losses_before, w.rerouted_ns);
    }
    void value(const PathWindowFigures& w) { all(w.source, w.destination, w.dscp, w.max_over_mean_permille, w.rows); }
    void value(const PauseSender& sender) {
        for (const std::uint8_t octet : sender.mac) value(std::uint64_t{octet});
        all(sender.host, sender.forwards, sender.frames, sender.resume_frames, sender.priority_frames, sender.first_ns,
            sender.last_ns);
    }
    void value(const LevelFigures& level) {
        all(level.capacity, level.mean, level.max, level.observed_ns, level.empty_ns, level.full_ns);
    }
    void value(const StatusCount& status) { all(status.status, status.count); }
    void value(const OperationWaits& waits) {
        const DelayFigures& d = waits.delays;
        all(waits.operation, waits.completion_ns, d.post_to_wire_ns, d.wire_ns, d.wire_to_ack_ns, d.ack_to_poll_ns,
            d.whole_ns);
    }
    void value(const VerbsFigures& v) {
        all(v.process.pid, v.process.command, v.process.container, v.device, v.queue_pair, v.posts, v.posts_refused,
            v.receives, v.receives_used, v.completions, v.completion_errors, v.statuses, v.records_lost,
            v.completions_missed, v.midway, v.send_queue, v.receive_queue, v.receive_queue_shared, v.post_interval_ns,
            v.operations, v.messages_matched, v.messages_unmatched, v.polled_early, v.held_ns, v.unpolled_ns);
    }
    template <class T>
    requires std::is_integral_v<T>
    void value(T number) { out << +number; }
    template <class T>
    requires std::is_enum_v<T>
    void value(T name) { out << static_cast<unsigned>(name); }
    template <class T>
    void value(const std::optional<T>& maybe) {
        if (maybe)
            value(*maybe);
        else
            out << '-';
    }
    template <class T>
    void value(const base::CompactOptional<T>& maybe) {
        if (maybe)
            value(*maybe);
        else
            out << '-';
    }
    template <class T>
    void list(const T& values) {
        out << '[';
        for (const auto& one : values) {
            value(one);
            out << ' ';
        }
        out << ']';
    }
    template <class T>
    void value(const std::vector<T>& values) {
        list(values);
    }
    template <class T, std::size_t size>
    void value(const std::array<T, size>& values) {
        list(values);
    }
    template <class T, std::size_t size>
    void value(const base::CompactArray<T, size>& values) {
        list(values);
    }
    template <class T, std::size_t size>
    void value(const base::SparseArray<T, size>& values) {
        list(values);
    }
    template <class... T>
    void all(const T&... values) {
        ((out << ' ', value(values)), ...);
    }

    void flow(const FlowSnapshot& f) {
        out << "flow";
        all(f.id, f.transport, f.service, f.source, f.destination, f.reverse, f.pairing.method, f.pairing.confidence);
        out << "\n  life";
        all(f.vantage, f.confidence, f.traffic_class, f.interface, f.first_ns, f.last_ns, f.finished);
        out << "\n  packets";
        all(f.packets, f.wire_bytes, f.payload_bytes, f.acknowledgement_packets, f.retransmitted_packets,
            f.duplicate_packets, f.reordered_packets, f.missing_packets, f.timeouts, f.unseen_acknowledged_packets);
        out << "\n  operations";
        all(f.operations, f.message_bytes, f.message_duration_ns);
        out << "\n  depth";
        all(f.messages_mean, f.bytes_mean, f.messages_max, f.bytes_max, f.responses_max, f.at_max_ns,
            f.merged_messages);
        out << "\n  errors";
        all(f.naks, f.rnr_naks, f.rnr_timer_ns, f.credits_last, f.credits_exhausted, f.ecn_ce_packets,
            f.ecn_capable_packets, f.cnp_packets, f.cnp_interval_ns, f.icrc_bad, f.crc_bad, f.terminates, f.icrc_zero,
            f.icrc_taken, f.crc_bad_checksum_right);
        out << "\n  states";
        all(f.state_ns, f.state_unsure_ns, f.reaction_tolerance_ns, f.queueing_ns, f.link_bits_per_sec,
            f.round_trip_min_ns, f.reaction_min_ns, f.rate_drop_after_cnp);
        out << "\n  recovery";
        all(f.recovery.count, f.recovery.nak_generation_ns, f.recovery.nak_reaction_ns, f.recovery.total_ns);
        out << "\n  connection";
        const ConnectionFigures& c = f.connection;
        all(c.setup_frame, c.setup_ns, c.initiator_depth, c.responder_resources, c.path_mtu, c.ack_timeout_ns,
            c.retry_count, c.rnr_retry_count, c.starting_psn, c.mpa_revision, c.mpa_crc, c.mpa_markers, c.end,
            c.end_kind, c.end_frame, c.end_ns, c.refused_peer_to_peer_frame, c.service_id);
        out << "\n  classes";
        all(f.packet_class.number(), f.class_changes);
        for (const ClassFigures& one : f.other_classes)
            all(one.packet_class.number(), one.packets, one.wire_bytes, one.first_frame);
        out << "\n  path";
        all(to_text(f.entropy), f.path);
        out << "\n  end";
        all(f.last_answer_frame, f.retries, f.refused, f.repeat_answers, f.udp_port, f.udp_ports, f.icmp);
        out << "\n  tcp";
        all(f.tcp, f.verbs, f.event_summaries, f.commands);
        out << '\n';
    }
    void snapshot(const Snapshot& s) {
        const CaptureFigures& c = s.capture;
        out << "capture";
        all(c.packets, c.bytes, c.rdma_units, c.kernel_dropped, c.truncated, c.malformed, c.unsorted, c.seen_twice,
            c.icrc_bad, c.first_ns, c.last_ns, c.flows_evicted, c.flows_seen, c.streams_evicted, c.stream_octets_lost,
            c.stream_octets_skipped, c.values_misplaced, c.beyond_hosts, c.copies, c.copies_elsewhere, c.cut_by_mirror,
            c.headers_cut, c.copy_distance_ns, c.management, s.memory_octets);
        for (const auto& row : c.unread.rows()) all(text_of(row.carrier), row.frames);
        out << '\n';
        for (const FlowSnapshot& f : s.flows) flow(f);
        for (const HostSnapshot& h : s.hosts) {
            out << "host";
            all(h.address, h.sent_wire_bytes, h.received_wire_bytes, h.received_requests, h.link_bits_per_sec,
                h.senders, h.incast_senders_max, h.incast_frame, h.queue_pairs, h.remote_keys, h.pages, h.sent_packets,
                h.received_packets, h.link_is_learnt);
            out << '\n';
        }
        for (const PauseSnapshot& p : s.pauses) {
            out << "pause";
            all(p.interface, p.pause_frames, p.pfc_frames, p.resume_frames, p.priority_frames, p.priority_quanta,
                p.frames);
            if (p.stopped_ns) all(p.stopped_ns->all_ns, p.stopped_ns->priority_ns);
            all(p.senders);
            out << '\n';
        }
        for (const PathWindowFigures& w : s.path_windows) {
            out << "windows";
            all(w);
            out << '\n';
        }
        for (const AddressName& n : s.names) {
            out << "name";
            all(n.address, n.guid, n.name);
            out << '\n';
        }
        for (const ConnectionAttempt& a : s.attempts) {
            out << "attempt";
            all(a.transport, a.client, a.server, a.request_frame, a.requests, a.end_frame, a.request_ns, a.outcome,
                a.reason, a.by_client, a.reject_reason, a.icmp);
            out << '\n';
        }
    }
};
}  // namespace

std::string text_of(const Snapshot& snapshot) {
    Writer writer;
    writer.snapshot(snapshot);
    return writer.out.str();
}

std::string text_of(const FlowSnapshot& flow) {
    Writer writer;
    writer.flow(flow);
    return writer.out.str();
}

namespace {
struct Summer {
    std::vector<std::uint64_t> sums;
    std::size_t place = 0;

    void value(std::uint64_t figure) {
        if (place == sums.size()) sums.resize(place + 1);
        sums[place++] += figure;
    }
    void value(const std::optional<std::uint64_t>& figure) { value(figure.value_or(0)); }
    void value(const Histogram& histogram) {
        value(histogram.count());
        value(histogram.sum());
    }
    void value(const ReuseFigures& reuse) {
        Histogram turnaround;
        std::uint64_t count = 0;
        for (const ReuseBin& bin : reuse.bins) {
            count += bin.count;
            turnaround.merge(bin.turnaround_ns);
        }
        all(reuse.accesses, count, turnaround);
    }
    template <class... T>
    void all(const T&... figures) {
        (value(figures), ...);
    }
    void flow(const FlowSnapshot& f) {
        all(f.packets, f.wire_bytes, f.payload_bytes, f.acknowledgement_packets, f.retransmitted_packets,
            f.duplicate_packets, f.reordered_packets, f.missing_packets, f.timeouts, f.unseen_acknowledged_packets,
            f.message_bytes, f.message_duration_ns, f.merged_messages, f.rnr_naks, f.rnr_timer_ns, f.credits_exhausted,
            f.ecn_ce_packets, f.ecn_capable_packets, f.cnp_packets, f.cnp_interval_ns, f.icrc_bad, f.crc_bad,
            f.terminates, f.state_unsure_ns, f.queueing_ns, f.recovery.count, f.recovery.nak_generation_ns,
            f.recovery.nak_reaction_ns, f.recovery.total_ns, f.icrc_zero, f.icrc_taken, f.crc_bad_checksum_right);
        for (const OperationFigures& o : f.operations) all(o.count, o.bytes, o.latency_ns, o.first_response_ns);
        for (const std::uint64_t naks : f.naks) value(naks);
        for (const std::uint64_t time_ns : f.state_ns) value(time_ns);
        const TcpFigures t = f.tcp.value_or(TcpFigures{});
        all(t.segments, t.retransmitted_segments, t.retransmitted_bytes, t.out_of_order_segments, t.duplicate_acks,
            t.sack_blocks, t.zero_windows, t.ece_acks, t.cwr_segments, t.round_trip_ns, t.window_limited_ns,
            t.connection_bytes, t.unread_bytes);
        const VerbsFigures v = f.verbs.value_or(VerbsFigures{});
        const DelayFigures d = v.delays();
        all(v.posts, v.posts_refused, v.receives, v.receives_used, v.completions, v.completion_errors, v.records_lost,
            v.completions_missed, v.messages_matched, v.messages_unmatched, v.polled_early, v.post_interval_ns,
            v.send_queue.observed_ns, v.send_queue.empty_ns, v.send_queue.full_ns, v.receive_queue.observed_ns,
            d.post_to_wire_ns, d.wire_ns, d.wire_to_ack_ns, d.ack_to_poll_ns, d.whole_ns);
        for (std::size_t i = 0; i < application_states; ++i) all(v.held_ns[i], v.unpolled_ns[i]);
        const RepeatAnswerFigures answers = f.repeat_answers.value_or(RepeatAnswerFigures{});
        all(answers.repeats, answers.repeated_answers, answers.first_answer_ns);
        for (const IcmpFigures::Errors& errors : f.icmp.value_or(IcmpFigures{}).kinds) value(errors.count);
        const CommandTotals commands = f.commands ? totals_of(*f.commands) : CommandTotals{};
        all(commands.commands, commands.errors, commands.bytes, commands.unanswered, commands.repair_own_ns,
            commands.latency_ns);
        for (const std::uint64_t part : commands.parts_ns) value(part);
        for (std::size_t kind = 0; kind < event_kind_count; ++kind) {
            const EventSummary* const summary = f.find_event_summary(static_cast<EventKind>(kind));
            all(summary == nullptr ? 0 : summary->count, summary == nullptr ? 0 : summary->value_sum);
        }
    }
};
}  // namespace

std::vector<std::uint64_t> additive_figures(const Snapshot& snapshot) {
    std::vector<std::uint64_t> figures;
    const auto keep = [&figures](const Summer& summer) {
        figures.insert(figures.end(), summer.sums.begin(), summer.sums.end());
    };
    Summer capture;
    const CaptureFigures& c = snapshot.capture;
    capture.all(c.packets, c.bytes, c.rdma_units, c.kernel_dropped, c.truncated, c.malformed, c.unsorted, c.seen_twice,
                c.icrc_bad, c.flows_evicted, c.streams_evicted, c.stream_octets_lost, c.stream_octets_skipped,
                c.values_misplaced, c.beyond_hosts, c.copies, c.copies_elsewhere, c.cut_by_mirror, c.headers_cut,
                c.copy_distance_ns, snapshot.memory_octets, c.unread.frames());
    for (const std::uint64_t datagrams : c.management) capture.value(datagrams);
    keep(capture);
    Summer flows;
    flows.flow({});
    for (const FlowSnapshot& f : snapshot.flows) {
        flows.place = 0;
        flows.flow(f);
    }
    keep(flows);
    Summer hosts;
    for (const HostSnapshot& h : snapshot.hosts) {
        hosts.place = 0;
        hosts.all(h.sent_wire_bytes, h.received_wire_bytes, h.received_requests, h.queue_pairs, h.remote_keys, h.pages,
                  h.sent_packets, h.received_packets);
    }
    hosts.sums.resize(64);
    keep(hosts);
    Summer pauses;
    for (const PauseSnapshot& p : snapshot.pauses) {
        pauses.place = 0;
        pauses.all(p.pause_frames, p.pfc_frames, p.resume_frames);
        const StopTimes stopped = p.stopped_ns.value_or(StopTimes{});
        pauses.all(stopped.all_ns);
        for (std::size_t i = 0; i < 8; ++i)
            pauses.all(p.priority_frames[i], p.priority_quanta[i], stopped.priority_ns[i]);
    }
    pauses.sums.resize(64);
    keep(pauses);
    return figures;
}

}  // namespace metrics::test
