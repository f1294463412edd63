// What is repaired on the way: packets lost, late, doubled, damaged, or refused because no receive was posted. One flow
// can show many symptoms of one illness (a late packet is NAKed, sent again, and arrives twice); each flow is given the
// illness that explains the others.
#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "metrics/why/scene.h"
#include "metrics/why/thresholds.h"
#include "metrics/why/words.h"

namespace metrics::why {

namespace {

enum class Illness { none, rnr, corruption, reordering, loss_before, loss_after, timeout, duplication };

constexpr std::array<std::string_view, 8> verdict_of{
    "", "rnr", "corruption", "reordering", "loss_before_tap", "loss_after_tap", "timeout_recovery", "duplication"};

std::uint64_t sequence_naks(const FlowSnapshot& flow) {
    return flow.naks[static_cast<std::size_t>(NakCode::psn_sequence_error)];
}

std::uint64_t bad_checksums(const FlowSnapshot& flow) { return flow.icrc_bad + flow.crc_bad; }

bool has_bad_checksums(const FlowSnapshot& flow) {
    const std::uint64_t bad = bad_checksums(flow);
    return bad > 0 && ratio(static_cast<double>(bad), static_cast<double>(flow.packets)) <= checksum_artefact_share;
}

/// Late packets explain repeats; repeats that fill holes are not counted as late. So where there are more late ones
/// than holes, order is what suffers.
bool is_reordered(const FlowSnapshot& flow) {
    const std::uint64_t late = flow.reordered_packets.value_or(0);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (late == 0 || late <= missing) return false;
    return repeated_packets(flow) > 0 ||
           static_cast<double>(late) >= reordered_share * static_cast<double>(flow.packets);
}

/// Every run of repeats began when a timer ran out.
bool waited_for_timers(const FlowSnapshot& flow) {
    return flow.timeouts > 0 && flow.timeouts + tail_probes(flow) >= exhibit_count(flow, EventKind::retransmission);
}

/// TCP sends its last segment again after a pause to learn whether it arrived (RFC 8985, 7), and the peer says by a
/// duplicate SACK (RFC 2883) that it did: nothing was lost, and nobody waited for it.
bool was_only_probed(const FlowSnapshot& flow) {
    const std::uint64_t again = repeated_packets(flow);
    return flow.tcp && waited_for_timers(flow) && flow.tcp->sack_blocks >= again &&
           (again <= few_probes || ratio(static_cast<double>(again), static_cast<double>(flow.packets)) < probe_share);
}

/// READ requests are repeated where responses were lost, and responses because requests were repeated: which of the two
/// it was, time-outs tell. A responder sends again as often as it is asked; a requester asks again at once where it saw
/// a hole, and late where it saw nothing.
bool follows_from_reverse(const Scene& scene, const FlowSnapshot& flow) {
    const FlowSnapshot* other = scene.reverse(flow);
    if (other == nullptr || repeated_packets(*other) == 0 || flow.tcp) return false;
    if (sequence_naks(flow) > 0) return false;
    if (only_requests_responses(flow)) return flow.timeouts == 0 || other->missing_packets.value_or(0) > 0;
    return flow.messages_total() == 0 && only_requests_responses(*other) && other->timeouts > 0;
}

Illness illness_of(const Scene& scene, const FlowSnapshot& flow) {
    if (has_bad_checksums(flow)) return Illness::corruption;
    const std::uint64_t again = repeated_packets(flow);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (is_reordered(flow)) return Illness::reordering;
    // Every RNR NAK makes the packets behind it go again, and some responders NAK those as well.
    if (flow.rnr_naks > 0 && flow.rnr_naks >= missing) return Illness::rnr;
    if (missing > 0) return Illness::loss_before;
    if (again > 0) {
        if (follows_from_reverse(scene, flow)) return Illness::none;
        if (was_only_probed(flow)) return Illness::none;
        const bool signalled =
            sequence_naks(flow) > 0 || (flow.tcp && flow.tcp->duplicate_acks > 0 && !waited_for_timers(flow));
        return !signalled && flow.timeouts > 0 ? Illness::timeout : Illness::loss_after;
    }
    if (flow.duplicate_packets.value_or(0) > 0) return Illness::duplication;
    return Illness::none;
}

/// By what share of the time, or of the traffic, repairs hurt.
double hurt_of(const FlowSnapshot& flow, Illness illness) {
    const auto packets = static_cast<double>(flow.packets);
    const auto busy = static_cast<double>(active_ns(flow));
    if (illness == Illness::duplication)
        return 0.5 * ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), packets);
    const double time = ratio(static_cast<double>(time_in(flow, {State::transmit_again, State::rnr_wait,
                                                                 State::recover_nak, State::recover_timeout})),
                              busy);
    const double repeats = ratio(static_cast<double>(repeated_packets(flow)), packets);
    double cause = static_cast<double>(flow.missing_packets.value_or(0));
    if (illness == Illness::reordering) cause = static_cast<double>(flow.reordered_packets.value_or(0));
    if (illness == Illness::corruption) cause = static_cast<double>(bad_checksums(flow));
    if (illness == Illness::rnr) cause = static_cast<double>(flow.rnr_naks);
    return std::max({time, repeats, ratio(cause, packets)});
}

bool is_worth_an_alarm(const FlowSnapshot& flow, Illness illness, double hurt) {
    if (illness == Illness::duplication)
        return ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), static_cast<double>(flow.packets)) >=
               alarming_loss_share;
    if (illness == Illness::corruption || illness == Illness::rnr) return true;
    // For a late packet RC repeats its window, TCP one segment at most.
    if (illness == Illness::reordering && flow.tcp) return hurt >= alarming_time_share;
    return hurt >= alarming_time_share ||
           ratio(static_cast<double>(repeated_packets(flow) + flow.missing_packets.value_or(0)),
                 static_cast<double>(flow.packets)) >= alarming_loss_share;
}

struct Sums {
    std::uint64_t packets = 0, again = 0, missing = 0, late = 0, doubled = 0, icrc = 0, crc = 0, rnr = 0, naks = 0,
                  timeouts = 0, duplicate_acks = 0, repair_ns = 0, rnr_ns = 0, timeout_ns = 0, busy_ns = 0,
                  worst_ns = 0;
    Histogram repair, rnr_timer;
};

Sums sum_up(const Flows& flows) {
    Sums sums;
    for (const FlowSnapshot* flow : flows) {
        sums.packets += flow->packets;
        sums.again += repeated_packets(*flow);
        sums.missing += flow->missing_packets.value_or(0);
        sums.late += flow->reordered_packets.value_or(0);
        sums.doubled += flow->duplicate_packets.value_or(0);
        sums.icrc += flow->icrc_bad;
        sums.crc += flow->crc_bad;
        sums.rnr += flow->rnr_naks;
        sums.naks += sequence_naks(*flow);
        sums.timeouts += flow->timeouts;
        if (flow->tcp) sums.duplicate_acks += flow->tcp->duplicate_acks;
        sums.repair_ns +=
            time_in(*flow, {State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout});
        sums.rnr_ns += time_in(*flow, {State::rnr_wait});
        sums.timeout_ns += time_in(*flow, {State::recover_timeout});
        sums.busy_ns += active_ns(*flow);
        sums.repair.merge(flow->recovery.total_ns);
        sums.rnr_timer.merge(flow->rnr_timer_ns);
    }
    return sums;
}

/// "; repairs took 71 % of the time in which there was something to send"
std::string toll(const Sums& sums) {
    const double share = ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns));
    if (share < 0.001) return {};
    return fmt::format("; repairing it took {} of the time in which there was something to send", percent(share));
}

std::string share_of(std::uint64_t part, std::uint64_t packets) {
    return fmt::format("{} of {} ({})", number(part), counted(packets, "packet"),
                       percent(ratio(static_cast<double>(part), static_cast<double>(packets))));
}
std::string share_of_packets(std::uint64_t part, const Sums& sums) { return share_of(part, sums.packets); }

void explain(const Scene& scene, Illness illness, const Flows& flows, const Sums& sums, Answer& answer) {
    const FlowSnapshot& first = *flows.front();
    const std::string way = scene.from_to(flows);
    const std::string sender = scene.short_name(first.source.address);
    const std::string receiver = scene.short_name(first.destination.address);
    const std::string responder = scene.short_name(responder_of(first).address);
    const bool iwarp = first.transport == dissect::Transport::iwarp;
    switch (illness) {
        case Illness::none: return;
        case Illness::loss_before:
            // A repeat that is lost as well leaves no new hole; the receiver's NAKs tell of some of those.
            answer.summary = fmt::format("{}{} {} were lost before they came to this capture point{}.",
                                         sums.naks > sums.missing ? "At least " : "",
                                         share_of(sums.missing, sums.packets + sums.missing), way, toll(sums));
            answer.advice = fmt::format(
                "Search between {0} and the capture point: on {0} `ethtool -S` for tx drops and errors, on each switch "
                "port of that way the discard and CRC counters; change the cable or transceiver whose port counts CRC "
                "errors. Where ports discard without CRC errors the queue overflows: give this traffic class PFC, or "
                "ECN, on every hop.",
                sender);
            break;
        case Illness::loss_after: {
            const auto losses = std::max<std::uint64_t>(
                {sums.naks, iwarp ? sums.again : 0, std::uint64_t{flows.front()->recovery.count}, 1});
            answer.summary = fmt::format(
                "Packets {} were lost after this capture point: all were seen here, yet {} asked for some again ({}, "
                "{} sent again){}.",
                way, receiver, iwarp ? counted(losses, "lost segment") : counted(losses, "time"),
                counted(sums.again, "packet"), toll(sums));
            answer.advice = fmt::format(
                "Search between the capture point and {0}: discard and CRC counters of the switch ports on that way, "
                "on {0} `ethtool -S` for rx_discards, rx_out_of_buffer, rx_missed and CRC errors; receive rings too "
                "small (`ethtool -G`) and a firewall or traffic-control rule drop there too.",
                receiver);
            break;
        }
        case Illness::reordering:
            answer.summary =
                fmt::format("{} {} came late, overtaken by others{}; {}{}.", share_of_packets(sums.late, sums), way,
                            sums.missing == 0 ? ", though none was lost" : "",
                            sums.again > 0 ? counted(sums.again, "packet was", "packets were") + " sent again for it"
                                           : std::string("nothing was sent again"),
                            toll(sums));
            answer.advice = fmt::format(
                "Something between {} and {} sends packets of one flow over several paths or queues: look for packet "
                "spraying, adaptive routing, link aggregation that hashes by packet, or QoS that re-queues. Hash by "
                "flow (5-tuple), or switch on the receiver's out-of-order support where its adapter has any.",
                sender, receiver);
            break;
        case Illness::duplication:
            answer.summary = fmt::format("{} {} arrived a second time, doubled by the network.",
                                         share_of_packets(sums.doubled, sums), way);
            answer.advice =
                "Look for a loop, a mirror port that feeds back, or a bond in broadcast mode on the way; make sure "
                "that the capture does not listen on two interfaces of the same path.";
            break;
        case Illness::corruption:
            answer.summary = fmt::format("{} {} carried a bad {}: they were damaged on the way{}.",
                                         share_of_packets(sums.icrc + sums.crc, sums), way,
                                         sums.icrc > 0 ? "ICRC" : "CRC", toll(sums));
            answer.advice = fmt::format(
                "A link's own checksum did not catch it, so it happened inside a device between {} and the capture "
                "point, most likely memory of a switch, adapter or host: compare the counters rx_icrc_encapsulated and "
                "CRC errors (`ethtool -S`) along the way, move the flow to another path, and exchange the device at "
                "which it begins.",
                sender);
            break;
        case Illness::rnr:
            answer.summary = fmt::format(
                "{} was not ready: it refused {} {}{}, and the sender waited {} for it ({} of its busy time).",
                responder, sums.rnr == 1 ? "1 message" : "messages", scene.requests(flows),
                sums.rnr == 1 ? std::string() : fmt::format(" {}", counted(sums.rnr, "time")),
                duration(static_cast<double>(sums.rnr_ns)),
                percent(ratio(static_cast<double>(sums.rnr_ns), static_cast<double>(sums.busy_ns))));
            answer.advice = fmt::format(
                "On {} post receives earlier and more of them (a deeper receive queue, or an SRQ with a limit event); "
                "a shorter min_rnr_timer than {} makes each wait shorter. Its counters out_of_buffer and "
                "rnr_nak_retry_err should then stand still.",
                responder,
                sums.rnr_timer.max() ? duration(static_cast<double>(*sums.rnr_timer.max())) : std::string("now"));
            break;
        case Illness::timeout:
            answer.summary = fmt::format("{} had to send {} again {} because no answer came in time ({}){}.",
                                         scene.short_name(first.source.address), counted(sums.again, "packet"), way,
                                         counted(sums.timeouts, "time-out"), toll(sums));
            answer.advice = fmt::format(
                "Either the last packets of a message or their acknowledgements are lost, or {0} did not answer: see "
                "whether {0} was alive and its QP in state RTS (`rdma resource show qp`), read local_ack_timeout_err "
                "on {1}, and capture at {0} as well to tell which of the two it is.",
                receiver, sender);
            break;
    }
}

void add_figures(Illness illness, const Flows& flows, const Sums& sums, Answer& answer) {
    const auto add = [&](std::string what, std::uint64_t value, std::string unit,
                         std::initializer_list<EventKind> kinds) {
        add_evidence(answer, std::move(what), static_cast<double>(value), std::move(unit),
                     value > 0 ? frames_of(flows, kinds) : std::vector<std::uint64_t>{});
    };
    add("packets seen", sums.packets, "packets", {});
    add("packets missing at the capture point", sums.missing, "packets", {EventKind::gap});
    add("packets late", sums.late, "packets", {EventKind::reordered});
    add("packets doubled", sums.doubled, "packets", {EventKind::duplicate});
    add("packets with a bad ICRC", sums.icrc, "packets", {EventKind::icrc_bad});
    add("FPDUs with a bad CRC", sums.crc, "FPDUs", {EventKind::crc_bad});
    add("receiver-not-ready NAKs", sums.rnr, "NAKs", {EventKind::rnr_nak});
    if (illness == Illness::rnr && sums.rnr_timer.max())
        add_evidence(answer, "longest RNR timer asked for", static_cast<double>(*sums.rnr_timer.max()), "ns");
    add("sequence error NAKs", sums.naks, "NAKs", {EventKind::nak});
    add("duplicate TCP acknowledgements", sums.duplicate_acks, "ACKs", {});
    add("packets transmitted again", sums.again, "packets", {EventKind::retransmission});
    add("recoveries that waited for a timer", sums.timeouts, "recoveries", {EventKind::timeout});
    add("time lost to repairs", sums.repair_ns, "ns", {});
    add("of it waiting for timers", sums.timeout_ns, "ns", {});
    add_evidence(answer, "share of the busy time",
                 ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns)), "share");
    if (const auto median = sums.repair.quantile(0.5))
        add_evidence(answer, "median repair, loss to retransmission", static_cast<double>(*median), "ns");
    if (const auto worst = sums.repair.max()) add_evidence(answer, "longest repair", static_cast<double>(*worst), "ns");
}

void find_violations(const Scene& scene, const Group& group, std::vector<Answer>& out) {
    struct Kind {
        EventKind kind;
        std::string_view what;
        bool senders;
    };
    constexpr std::array<Kind, 5> kinds{{
        {EventKind::go_back_wrong_start, "the sender went back to another packet than the one asked for", true},
        {EventKind::go_back_incomplete, "the sender did not repeat all that followed the lost packet", true},
        {EventKind::nak_wrong_psn, "the receiver's NAK named another packet than the first missing one", false},
        {EventKind::nak_missing, "the receiver saw a hole and sent no NAK", false},
        {EventKind::read_restart_wrong, "a repeated READ did not start at the first missing response", true},
    }};
    std::vector<Sick> sick;
    std::array<std::uint64_t, kinds.size()> counts{};
    for (const FlowSnapshot* flow : group.flows) {
        std::uint64_t events = 0;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const std::uint64_t count = exhibit_count(*flow, kinds[i].kind);
            counts[i] += count;
            events += count;
        }
        // A lapse that is also a loss must not come before the loss.
        if (events > 0)
            sick.push_back(
                {flow, std::min(0.1, ratio(static_cast<double>(events), static_cast<double>(flow->packets)))});
    }
    if (sick.empty()) return;
    Answer answer = finding(Question::bandwidth, "go_back_n_violation", sick);
    const Flows flows = flows_of(sick);
    std::size_t most = 0;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (counts[i] > counts[most]) most = i;
        add_evidence(answer, std::string(kinds[i].what), static_cast<double>(counts[i]), "times",
                     frames_of(flows, {kinds[i].kind}));
    }
    const FlowSnapshot& first = *flows.front();
    const Address& culprit = kinds[most].senders ? first.source.address : first.destination.address;
    answer.summary = fmt::format("Recovery {} does not follow the specification: {} ({}).", scene.from_to(flows),
                                 kinds[most].what, counted(counts[most], "time"));
    answer.advice = fmt::format(
        "Compare the driver and firmware of {} with its vendor's newest release, and report it with a capture that "
        "holds these frames (`rdmascope dump -w`). Without loss it does no harm: mend that first.",
        scene.short_name(culprit));
    answer.confidence *= 0.7;  // a packet that the capture lacks looks like a lapse
    out.push_back(std::move(answer));
}

}  // namespace

void find_repairs(const Scene& scene, std::vector<Answer>& out) {
    for (const Group& group : scene.groups()) {
        std::map<Illness, std::vector<Sick>> by_illness;
        for (const FlowSnapshot* flow : group.flows) {
            const Illness illness = illness_of(scene, *flow);
            if (illness == Illness::none) continue;
            const double hurt = hurt_of(*flow, illness);
            if (is_worth_an_alarm(*flow, illness, hurt)) by_illness[illness].push_back({flow, hurt});
        }
        for (auto& [illness, sick] : by_illness) {
            Answer answer = finding(Question::bandwidth, verdict_of[static_cast<std::size_t>(illness)], sick);
            const Flows flows = flows_of(sick);
            const Sums sums = sum_up(flows);
            explain(scene, illness, flows, sums, answer);
            add_figures(illness, flows, sums, answer);
            if (illness == Illness::loss_after && sums.naks + sums.duplicate_acks == 0) answer.confidence *= 0.6;
            out.push_back(std::move(answer));
        }
        find_violations(scene, group, out);
    }
}

}  // namespace metrics::why
