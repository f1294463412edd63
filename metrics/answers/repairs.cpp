// What is repaired on the way: packets lost, late, doubled, damaged, or refused because no receive was posted. One
// cause can have many effects in a flow (a late packet is NAKed, sent again, and arrives twice): a flow gets the cause
// that explains the other effects.
#include "metrics/answers/repairs.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

/// "elsewhere": of the other direction, which was not found.
enum class Cause {
    rnr,
    corruption,
    reordering,
    loss_before,
    loss_after,
    timeout,
    duplication,
    rnr_elsewhere,
    loss_elsewhere
};

Verdict illness_verdicts(Cause cause) {
    switch (cause) {
        case Cause::rnr:
        case Cause::rnr_elsewhere: return Verdict::rnr;
        case Cause::corruption: return Verdict::corruption;
        case Cause::reordering: return Verdict::reordering;
        case Cause::loss_before: return Verdict::loss_before_tap;
        // No hole was seen for what another flow lost: as far as this capture point shows, it was lost after it.
        case Cause::loss_after:
        case Cause::loss_elsewhere: return Verdict::loss_after_tap;
        case Cause::timeout: return Verdict::timeout_recovery;
        case Cause::duplication: break;
    }
    return Verdict::duplication;
}

std::uint64_t all_sequence_naks(const FlowSnapshot& flow) {
    return flow.naks[static_cast<std::size_t>(NakCode::psn_sequence_error)];
}
/// Those that ask for packets of the flow itself.
std::uint64_t sequence_naks(const FlowSnapshot& flow) { return shows_its_own(flow) ? 0 : all_sequence_naks(flow); }
/// Those that ask for packets of another, which was not found.
std::uint64_t naks_of_another(const FlowSnapshot& flow) { return shows_its_own(flow) ? all_sequence_naks(flow) : 0; }

/// Causes of the repeats of a sender that gave up. Holes before the tap, bad checksums and disorder only accompany
/// them.
bool explains_repeats(Cause cause) {
    return cause == Cause::rnr || cause == Cause::timeout || cause == Cause::loss_after;
}

bool is_elsewhere(Cause cause) { return cause == Cause::rnr_elsewhere || cause == Cause::loss_elsewhere; }

std::uint64_t bad_checksums(const FlowSnapshot& flow) { return flow.icrc_bad + flow.crc_bad; }

/// The ICRC was not filled in yet, or was wrong at the capture point alone, if packets with a bad one were acknowledged
/// and not sent again: a responder drops those that come to it so (IBTA vol. 1, 9.6.1).
bool is_damage_refuted(const FlowSnapshot& flow) {
    const std::uint64_t filled = flow.icrc_bad - std::min(flow.icrc_zero, flow.icrc_bad);
    return flow.crc_bad == 0 && flow.icrc_taken * 2 >= filled;
}

bool has_bad_checksums(const FlowSnapshot& flow) {
    const std::uint64_t bad = bad_checksums(flow);
    return bad > 0 && !is_damage_refuted(flow) &&
           ratio(static_cast<double>(bad), static_cast<double>(flow.packets)) <= checksum_artefact_share;
}

/// Late packets explain repeats; repeats that fill holes are not counted as late. So where there are more late ones
/// than holes, packets were reordered.
bool is_reordered(const FlowSnapshot& flow) {
    const std::uint64_t late = flow.reordered_packets.value_or(0);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (late == 0 || late <= missing) return false;
    return repeated_packets(flow) > 0 ||
           static_cast<double>(late) >= reordered_share * static_cast<double>(flow.packets);
}

/// Every run of repeats began when a timer ran out.
bool waited_for_timers(const FlowSnapshot& flow) {
    return flow.timeouts > 0 && flow.timeouts + tail_probes(flow) >= event_count(flow, EventKind::retransmission);
}

/// TCP sends its last segment again after a pause to learn whether it arrived (RFC 8985, 7), and the peer says by a
/// duplicate SACK (RFC 2883) that it did: nothing was lost, and no host waited for it.
bool was_only_probed(const FlowSnapshot& flow) {
    const std::uint64_t again = repeated_packets(flow);
    return flow.tcp && waited_for_timers(flow) && flow.tcp->sack_blocks >= again &&
           (again <= few_probes || ratio(static_cast<double>(again), static_cast<double>(flow.packets)) < probe_share);
}

/// READ requests are repeated if responses were lost, and responses if requests were repeated: time-outs show which of
/// the two it was. A responder sends again as often as it is asked; a requester asks again at once if it saw a hole,
/// and late if it saw nothing.
bool follows_from_reverse(const Subject& subject, const FlowSnapshot& flow) {
    const FlowSnapshot* other = subject.reverse(flow);
    if (other == nullptr || repeated_packets(*other) == 0 || flow.tcp) return false;
    if (sequence_naks(flow) > 0) return false;
    // A NAK that is implied by a response's loss has what followed repeated, too.
    if (requests_responses(flow) && flow.timeouts == 0 && other->missing_packets.value_or(0) > 0) return true;
    if (only_requests_responses(flow)) return flow.timeouts == 0 || other->missing_packets.value_or(0) > 0;
    return flow.messages_total() == 0 && only_requests_responses(*other) && other->timeouts > 0;
}

std::optional<Cause> cause_of(const Subject& subject, const FlowSnapshot& flow) {
    if (has_bad_checksums(flow)) return Cause::corruption;
    const std::uint64_t again = repeated_packets(flow);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (is_reordered(flow)) return Cause::reordering;
    // Every RNR NAK makes the packets after it go again, and some responders NAK those as well.
    if (flow.rnr_naks > 0 && flow.rnr_naks >= missing && !shows_its_own(flow)) return Cause::rnr;
    if (missing > 0) return Cause::loss_before;
    if (again > 0) {
        if (follows_from_reverse(subject, flow)) return std::nullopt;
        if (was_only_probed(flow)) return std::nullopt;
        const bool signalled =
            sequence_naks(flow) > 0 || (flow.tcp && flow.tcp->duplicate_acks > 0 && !waited_for_timers(flow));
        return !signalled && flow.timeouts > 0 ? Cause::timeout : Cause::loss_after;
    }
    return flow.duplicate_packets.value_or(0) > 0 ? std::optional(Cause::duplication) : std::nullopt;
}

/// What the answers that travelled on the flow report of another flow, which was not found. It is independent of the
/// flow's own cause.
std::optional<Cause> cause_elsewhere(const FlowSnapshot& flow) {
    if (!shows_its_own(flow)) return std::nullopt;
    if (flow.rnr_naks > 0) return Cause::rnr_elsewhere;
    return shows_loss(flow) ? std::optional(Cause::loss_elsewhere) : std::nullopt;
}

/// The share of the time, or of the traffic, that repairs cost.
double severity_of(const FlowSnapshot& flow, Cause cause) {
    const auto packets = static_cast<double>(flow.packets);
    const auto busy = static_cast<double>(active_ns(flow));
    if (cause == Cause::duplication)
        return 0.5 * ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), packets);
    // How long another flow waited, and what it repeated, is not known.
    if (cause == Cause::rnr_elsewhere) return ratio(static_cast<double>(flow.rnr_naks), packets);
    if (cause == Cause::loss_elsewhere) return ratio(static_cast<double>(naks_of_another(flow)), packets);
    const double time = ratio(static_cast<double>(repair_ns(flow)), busy);
    const double repeats = ratio(static_cast<double>(repeated_packets(flow)), packets);
    double events = static_cast<double>(flow.missing_packets.value_or(0));
    if (cause == Cause::reordering) events = static_cast<double>(flow.reordered_packets.value_or(0));
    if (cause == Cause::corruption) events = static_cast<double>(bad_checksums(flow));
    if (cause == Cause::rnr) events = static_cast<double>(flow.rnr_naks);
    return std::max({time, repeats, ratio(events, packets)});
}

/// Copies that the capture made were counted as the network's until they were recognised.
bool is_copied_by_capture(const Snapshot& snapshot, const FlowSnapshot& flow) {
    return snapshot.capture.copies > 0 && snapshot.capture.copies >= flow.duplicate_packets.value_or(0) / 4;
}

bool is_worth_an_alarm(const FlowSnapshot& flow, Cause cause, double severity) {
    if (cause == Cause::duplication)
        return ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), static_cast<double>(flow.packets)) >=
               alarming_loss_share;
    if (cause == Cause::corruption || cause == Cause::rnr || cause == Cause::rnr_elsewhere) return true;
    // For a late packet RC repeats its window, TCP one segment at most.
    if (cause == Cause::reordering && flow.tcp) return severity >= alarming_time_share;
    // What was lost of another flow is measured by the answers that were seen.
    if (cause == Cause::loss_elsewhere) return severity >= alarming_loss_share;
    return severity >= alarming_time_share ||
           ratio(static_cast<double>(repeated_packets(flow) + flow.missing_packets.value_or(0)),
                 static_cast<double>(flow.packets)) >= alarming_loss_share;
}

/// If the cause is elsewhere, only what the answers report of it.
struct RepairSums {
    std::uint64_t packets = 0, again = 0, missing = 0, late = 0, doubled = 0, icrc = 0, crc = 0, crc_checksum_right = 0,
                  rnr = 0, naks = 0, naks_of_another = 0, timeouts = 0, duplicate_acks = 0, repair_ns = 0, rnr_ns = 0,
                  timeout_ns = 0, busy_ns = 0;
    Histogram repair, rnr_timer;
};

RepairSums sum_up(const Flows& flows, Cause cause) {
    RepairSums sums;
    for (const FlowSnapshot* flow : flows) {
        sums.packets += flow->packets;
        if (is_elsewhere(cause) == shows_its_own(*flow)) {
            sums.rnr += flow->rnr_naks;
            sums.rnr_timer.merge(flow->rnr_timer_ns);
        }
        if (is_elsewhere(cause)) {
            sums.naks_of_another += naks_of_another(*flow);
            continue;
        }
        sums.again += repeated_packets(*flow);
        sums.missing += flow->missing_packets.value_or(0);
        sums.late += flow->reordered_packets.value_or(0);
        sums.doubled += flow->duplicate_packets.value_or(0);
        sums.icrc += flow->icrc_bad;
        sums.crc += flow->crc_bad;
        sums.crc_checksum_right += flow->crc_bad_checksum_right;
        sums.naks += sequence_naks(*flow);
        sums.timeouts += flow->timeouts;
        if (flow->tcp) sums.duplicate_acks += flow->tcp->duplicate_acks;
        sums.repair_ns += repair_ns(*flow);
        sums.rnr_ns += time_in(*flow, {State::rnr_wait});
        sums.timeout_ns += time_in(*flow, {State::recover_timeout});
        sums.busy_ns += active_ns(*flow);
        sums.repair.merge(flow->recovery.total_ns);
    }
    return sums;
}

/// "; repairing it took 71 % of the time in which there was something to send"
std::string repair_share_text(const RepairSums& sums) {
    const double share = ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns));
    if (share < 0.001) return {};
    return fmt::format("; repairing it took {} of the time in which there was something to send", percent(share));
}

std::string share_of(std::uint64_t part, std::uint64_t packets) {
    return fmt::format("{} of {} ({})", number(part), counted(packets, "packet"),
                       percent(ratio(static_cast<double>(part), static_cast<double>(packets))));
}
std::string share_of_packets(std::uint64_t part, const RepairSums& sums) { return share_of(part, sums.packets); }

/// The flows with one cause, all from one host to another, and the words for them.
struct RepairedFlows {
    const Subject& subject;
    const Flows& flows;
    const RepairSums& sums;
    std::string way;     ///< "from A (port 1) to B (port 2)"
    std::string sender;  ///< short names
    std::string receiver;
    std::string responder;  ///< of the requests that NAKs are about
    bool iwarp = false;
    bool infiniband = false;  ///< no Ethernet beneath
};

RepairedFlows describe_flows(const Subject& subject, const Flows& flows, const RepairSums& sums) {
    const FlowSnapshot& first = *flows.front();
    return {subject,
            flows,
            sums,
            subject.from_to(flows),
            subject.short_name(first.source.address),
            subject.short_name(first.destination.address),
            subject.short_name(responder_of(first).address),
            first.transport == wire::Transport::iwarp,
            first.transport == wire::Transport::infiniband};
}

/// How a host's own counters are read.
std::string_view host_counters(const RepairedFlows& repaired) {
    return repaired.infiniband ? "`perfquery`" : "`ethtool -S`";
}

void explain_loss_before(const RepairedFlows& repaired, Answer& answer) {
    const RepairSums& sums = repaired.sums;
    // A repeat that is lost as well leaves no new hole; the receiver's NAKs show some of those.
    answer.summary = fmt::format(
        "{}{} {} were lost before they came to this capture point{}.", sums.naks > sums.missing ? "At least " : "",
        share_of(sums.missing, sums.packets + sums.missing), repaired.way, repair_share_text(sums));
    if (!repaired.iwarp && sums.again >= 2 * sums.missing)
        answer.summary += fmt::format(
            " {} were retransmitted, because a sender repeats all that followed a lost packet "
            "(go-back-N).",
            counted(sums.again, "packet"));
    answer.advice = fmt::format(
        "Look for drops between {0} and the capture point: on {0} {1} for tx drops and errors, on each switch port of "
        "that way the discard and CRC counters; change the cable or transceiver whose port counts CRC errors. Where "
        "ports discard without CRC errors the queue overflows: {2}.",
        repaired.sender, host_counters(repaired),
        repaired.iwarp
            ? "mark instead of dropping (ECN, net.ipv4.tcp_ecn=1 on both hosts), or give the port more buffer"
            : "give this traffic class PFC, or ECN, on every hop");
}

/// How often the receiver asked again; 0 if that is not known. Of lost responses the requester asks by READ requests.
std::uint64_t losses_of(const RepairedFlows& repaired) {
    std::uint64_t losses = std::max<std::uint64_t>(repaired.sums.naks, repaired.flows.front()->recovery.count);
    if (repaired.iwarp) return std::max(losses, repaired.sums.again);
    for (const FlowSnapshot* flow : repaired.flows) {
        const FlowSnapshot* requests = repaired.subject.reverse(*flow);
        if (flow->messages_total() == 0 && requests != nullptr)
            losses = std::max(losses, event_count(*requests, EventKind::retransmission));
    }
    return losses;
}

/// Whether the receiver was seen to ask for packets again.
bool asks_again(const RepairedFlows& repaired) {
    if (repaired.sums.naks > 0) return true;
    if (repaired.iwarp) return repaired.sums.duplicate_acks > 0;
    return std::ranges::any_of(repaired.flows, [&](const FlowSnapshot* flow) {
        const FlowSnapshot* requests = repaired.subject.reverse(*flow);
        return flow->messages_total() == 0 && requests != nullptr &&
               event_count(*requests, EventKind::retransmission) > 0;
    });
}

void explain_loss_after(const RepairedFlows& repaired, Answer& answer) {
    const std::uint64_t losses = losses_of(repaired);
    std::string how_often;
    if (losses > 0 && repaired.iwarp)
        how_often = counted(losses, "lost segment") + ", ";
    else if (losses > 0)
        how_often = counted(losses, "time") + ", ";
    // A NAK, duplicate acknowledgements or a READ ask; without any, the repeats alone show the loss.
    answer.summary =
        asks_again(repaired)
            ? fmt::format(
                  "Packets {} were lost after this capture point: all were seen here, yet {} asked for some "
                  "again ({}{} retransmitted){}.",
                  repaired.way, repaired.receiver, how_often, counted(repaired.sums.again, "packet"),
                  repair_share_text(repaired.sums))
            : fmt::format(
                  "Packets {} seem to be lost after this capture point: all were seen here, and {} "
                  "retransmitted, though nothing that asks for them was seen{}.",
                  repaired.way, counted(repaired.sums.again, "packet was", "packets were"),
                  repair_share_text(repaired.sums));
    answer.advice = fmt::format(
        "Look for drops between the capture point and {0}: discard and CRC counters of the switch ports on that way, "
        "on {0} {1} for rx_discards, rx_out_of_buffer, rx_missed and CRC errors; receive rings too small (`ethtool "
        "-G`) and a firewall or traffic-control rule drop there too.",
        repaired.receiver, host_counters(repaired));
}

/// It is unknown which packets were lost, and where; only their receiver's request is known.
void explain_loss_elsewhere(const RepairedFlows& repaired, Answer& answer) {
    const Address& requester = requester_of(*repaired.flows.front()).address;
    answer.summary = fmt::format(
        "Packets {} were lost: {} asked for some again ({}). The flow that lost them was not found in this capture, so "
        "the side of the capture point where that happened is unknown.",
        repaired.subject.requests(repaired.flows), repaired.responder, counted(repaired.sums.naks_of_another, "time"));
    answer.advice = fmt::format(
        "Capture both directions to learn where they are lost. Until then look for drops all the way from {0} to {1}: "
        "on both {2} for drops, discards and CRC errors, and the same counters of each switch port between them.",
        repaired.subject.short_name(requester), repaired.responder, host_counters(repaired));
    answer.confidence *= 0.6;
}

void explain_reordering(const RepairedFlows& repaired, Answer& answer) {
    const RepairSums& sums = repaired.sums;
    answer.summary =
        fmt::format("{} {} came late, overtaken by others{}; {}{}.", share_of_packets(sums.late, sums), repaired.way,
                    sums.missing == 0 ? ", though none was lost" : "",
                    sums.again > 0 ? counted(sums.again, "packet was", "packets were") + " retransmitted because of it"
                                   : std::string("nothing was retransmitted"),
                    repair_share_text(sums));
    answer.advice = fmt::format(
        "Something between {} and {} sends packets of one flow over several paths or queues: look for packet spraying, "
        "adaptive routing, link aggregation that hashes by packet, or QoS that re-queues. Hash by flow (5-tuple), or "
        "switch on the receiver's out-of-order support where its adapter has any.",
        repaired.sender, repaired.receiver);
}

void explain_duplication(const RepairedFlows& repaired, Answer& answer) {
    answer.summary = fmt::format("{} {} arrived a second time, duplicated by the network.",
                                 share_of_packets(repaired.sums.doubled, repaired.sums), repaired.way);
    answer.advice =
        "Look for a loop, a mirror port that feeds back, or a bond in broadcast mode on the way; make sure that the "
        "capture does not listen on two interfaces of the same path.";
}

/// TCP has summed the bytes as they are here, so they did not change after it.
void explain_changed_buffer(const RepairedFlows& repaired, Answer& answer) {
    const RepairSums& sums = repaired.sums;
    answer.summary = fmt::format(
        "{} {} carried a bad CRC in a segment whose TCP checksum is right: the bytes changed inside {}, after the CRC "
        "was computed and before the TCP checksum was.",
        share_of_packets(sums.crc, sums), repaired.way, repaired.sender);
    answer.advice = fmt::format(
        "Look on {}, not at the network: an application or file system wrote to the buffer before the completion of "
        "its work request (zero copy of pages that are not stable), or its CRC code is wrong.",
        repaired.sender);
}

void explain_corruption(const RepairedFlows& repaired, Answer& answer) {
    const RepairSums& sums = repaired.sums;
    if (sums.crc > 0 && sums.crc_checksum_right == sums.crc && sums.icrc == 0)
        return explain_changed_buffer(repaired, answer);
    answer.summary = fmt::format("{} {} carried a bad {}: they were damaged on the way{}.",
                                 share_of_packets(sums.icrc + sums.crc, sums), repaired.way,
                                 sums.icrc > 0 ? "ICRC" : "CRC", repair_share_text(sums));
    answer.advice = fmt::format(
        "A link's own checksum did not catch it, so it happened inside a device between {} and the capture point, most "
        "likely in the memory of a switch, adapter or host: compare {} ({}) along the way, move the flow to another "
        "path, and replace the device where it starts.",
        repaired.sender,
        repaired.iwarp ? "the counters of CRC and checksum errors" : "the counters rx_icrc_encapsulated and CRC errors",
        host_counters(repaired));
}

void explain_rnr(const RepairedFlows& repaired, Cause cause, Answer& answer) {
    const RepairSums& sums = repaired.sums;
    std::string waited;
    if (cause == Cause::rnr_elsewhere)
        waited = "; how long the sender waited for it is unknown: the flow was not found";
    else if (sums.rnr_ns > 0)
        waited = fmt::format(", and the sender waited {} for it ({} of its busy time)",
                             duration(static_cast<double>(sums.rnr_ns)),
                             percent(ratio(static_cast<double>(sums.rnr_ns), static_cast<double>(sums.busy_ns))));
    else if (sums.again > 0)
        waited = fmt::format(", and {} sent again after it", counted(sums.again, "packet was", "packets were"));
    else
        waited = ", and nothing shows that the sender sent any again";
    answer.summary = fmt::format("{} was not ready: it refused {} {}{}{}.", repaired.responder,
                                 sums.rnr == 1 ? "1 message" : "messages", repaired.subject.requests(repaired.flows),
                                 sums.rnr == 1 ? std::string() : fmt::format(" {}", counted(sums.rnr, "time")), waited);
    const std::string& requester = repaired.responder == repaired.receiver ? repaired.sender : repaired.receiver;
    answer.advice = fmt::format(
        "On {} post receives earlier and more of them (a deeper receive queue, or an SRQ with a limit event); a "
        "shorter min_rnr_timer than {} makes each wait shorter. out_of_buffer there, and rnr_nak_retry_err on {}, "
        "should then stop growing.",
        repaired.responder,
        sums.rnr_timer.max() ? duration(static_cast<double>(*sums.rnr_timer.max())) : std::string("now"), requester);
}

/// Every repeat was answered, one round trip after it.
void explain_short_timer(const RepairedFlows& repaired, Answer& answer) {
    std::uint64_t repeats = 0;
    std::uint64_t least_repeat_ns = ~std::uint64_t{0};
    std::uint64_t least_answer_ns = ~std::uint64_t{0};
    for (const FlowSnapshot* flow : repaired.flows) {
        repeats += flow->repeat_answers->repeats;
        least_repeat_ns = std::min(least_repeat_ns, flow->repeat_answers->first_repeat_min_ns);
        least_answer_ns = std::min(least_answer_ns, *least_round_trip(*flow));
    }
    answer.summary = fmt::format(
        "{} retransmitted {} {}, though nothing was lost: its timer ran out too early. The first answer takes {} at "
        "least, the first repeat came after {}, and the repeats ({}) were answered, too{}.",
        repaired.sender, counted(repaired.sums.again, "packet"), repaired.way,
        duration(static_cast<double>(least_answer_ns)), duration(static_cast<double>(least_repeat_ns)),
        counted(repeats, "run"), repair_share_text(repaired.sums));
    answer.advice = fmt::format(
        "The timer is shorter than the round trip to {0}: give the queue pair of {1} a longer local ACK timeout "
        "(ibv_modify_qp, rdma_set_option), and if repeats come earlier than that timeout, switch adaptive "
        "retransmission off (`mlxreg` roce_accl, roce_adp_retrans on ConnectX).",
        repaired.receiver, repaired.sender);
}

bool is_answered(const Subject& subject, const FlowSnapshot& flow) {
    const FlowSnapshot* const reverse = subject.reverse(flow);
    return flow.last_answer_frame != 0 || (reverse != nullptr && reverse->payload_bytes > 0) ||
           std::ranges::any_of(flow.operations,
                               [](const OperationFigures& figures) { return !figures.latency_ns.empty(); });
}

/// Repeats so soon after the packets before that no host waited: the timer of an older request ran out meanwhile.
void explain_early_timeout(const RepairedFlows& repaired, Answer& answer) {
    answer.summary = fmt::format(
        "{} retransmitted {} {} while others were still answered: its timer ran out too early ({}), and "
        "nothing shows that a packet was lost.",
        repaired.sender, counted(repaired.sums.again, "packet"), repaired.way,
        counted(repaired.sums.timeouts, "time-out"));
    answer.advice = fmt::format(
        "With that much outstanding, answers of {} take longer than {} waits for them: give the queue pair a longer "
        "local ACK timeout (ibv_modify_qp, rdma_set_option), or keep fewer requests outstanding.",
        repaired.receiver, repaired.sender);
}

void explain_timeout(const RepairedFlows& repaired, Answer& answer) {
    if (std::ranges::all_of(repaired.flows, [](const FlowSnapshot* flow) { return repeats_too_early(*flow); }))
        return explain_short_timer(repaired, answer);
    if (!repaired.iwarp && repaired.sums.timeout_ns < repaired.sums.timeouts * shortest_timer_ns &&
        std::ranges::any_of(repaired.flows,
                            [&](const FlowSnapshot* flow) { return is_answered(repaired.subject, *flow); }))
        return explain_early_timeout(repaired, answer);
    answer.summary = fmt::format("{} had to retransmit {} {} because no answer came in time ({}){}.", repaired.sender,
                                 counted(repaired.sums.again, "packet"), repaired.way,
                                 counted(repaired.sums.timeouts, "time-out"), repair_share_text(repaired.sums));
    answer.advice = fmt::format(
        "Either the last packets of a message or their acknowledgements are lost, or {0} did not answer: see whether "
        "{0} was alive{1}, and capture at {0} as well to tell which of the two it is.",
        repaired.receiver,
        repaired.iwarp
            ? fmt::format(", read TcpExtTCPTimeouts (`nstat`) on {}", repaired.sender)
            : fmt::format(" and its QP in state RTS (`rdma resource show qp`), read local_ack_timeout_err on {}",
                          repaired.sender));
}

void explain(const Subject& subject, Cause cause, const Flows& flows, const RepairSums& sums, Answer& answer) {
    const RepairedFlows repaired = describe_flows(subject, flows, sums);
    switch (cause) {
        case Cause::loss_before: return explain_loss_before(repaired, answer);
        case Cause::loss_after: return explain_loss_after(repaired, answer);
        case Cause::loss_elsewhere: return explain_loss_elsewhere(repaired, answer);
        case Cause::reordering: return explain_reordering(repaired, answer);
        case Cause::duplication: return explain_duplication(repaired, answer);
        case Cause::corruption: return explain_corruption(repaired, answer);
        case Cause::rnr:
        case Cause::rnr_elsewhere: return explain_rnr(repaired, cause, answer);
        case Cause::timeout: return explain_timeout(repaired, answer);
    }
}

void add_figures(Cause cause, const Flows& flows, const RepairSums& sums, Answer& answer) {
    const auto add = [&](std::string what, std::uint64_t value, EvidenceUnit unit,
                         std::initializer_list<EventKind> kinds) {
        add_evidence(answer, std::move(what), static_cast<double>(value), unit,
                     value > 0 ? frames_of(flows, kinds) : std::vector<std::uint64_t>{});
    };
    add("packets seen", sums.packets, EvidenceUnit::packets, {});
    add("packets missing at the capture point", sums.missing, EvidenceUnit::packets, {EventKind::gap});
    add("packets late", sums.late, EvidenceUnit::packets, {EventKind::reordered});
    add("packets duplicated", sums.doubled, EvidenceUnit::packets, {EventKind::duplicate});
    add("packets with a bad ICRC", sums.icrc, EvidenceUnit::packets, {EventKind::icrc_bad});
    add("FPDUs with a bad CRC", sums.crc, EvidenceUnit::fpdus, {EventKind::crc_bad});
    add("receiver-not-ready NAKs", sums.rnr, EvidenceUnit::naks, {EventKind::rnr_nak});
    if ((cause == Cause::rnr || cause == Cause::rnr_elsewhere) && sums.rnr_timer.max())
        add_evidence(answer, "longest RNR timer asked for", static_cast<double>(*sums.rnr_timer.max()),
                     EvidenceUnit::ns);
    add("sequence error NAKs", sums.naks + sums.naks_of_another, EvidenceUnit::naks, {EventKind::nak});
    if (is_elsewhere(cause)) return;
    add("duplicate TCP acknowledgements", sums.duplicate_acks, EvidenceUnit::acks, {});
    add("packets retransmitted", sums.again, EvidenceUnit::packets, {EventKind::retransmission});
    add("recoveries that waited for a timer", sums.timeouts, EvidenceUnit::recoveries, {EventKind::timeout});
    add("time lost to repairs", sums.repair_ns, EvidenceUnit::ns, {});
    add("of it waiting for timers", sums.timeout_ns, EvidenceUnit::ns, {});
    add_evidence(answer, "share of the busy time",
                 ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns)), EvidenceUnit::share);
    if (const auto median = sums.repair.quantile(0.5))
        add_evidence(answer, "median repair, loss to retransmission", static_cast<double>(*median), EvidenceUnit::ns);
    if (const auto worst = sums.repair.max())
        add_evidence(answer, "longest repair", static_cast<double>(*worst), EvidenceUnit::ns);
}

/// The time that repairs took, if any was measured; else the share of the packets.
Cost cost_of(Cause cause, const RepairSums& sums) {
    const auto packets = static_cast<double>(sums.packets);
    if (sums.repair_ns > 0 && cause != Cause::duplication && !is_elsewhere(cause))
        return {ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns)), CostBasis::busy_time};
    std::uint64_t events = std::max(sums.again, sums.missing);
    if (cause == Cause::duplication) events = sums.doubled;
    if (cause == Cause::corruption) events = std::max(events, sums.icrc + sums.crc);
    if (cause == Cause::rnr || cause == Cause::rnr_elsewhere) events = sums.rnr;
    if (cause == Cause::loss_elsewhere) events = sums.naks_of_another;
    return {ratio(static_cast<double>(events), packets + static_cast<double>(sums.missing)), CostBasis::packets};
}

struct Violation {
    EventKind kind;
    std::string_view what;
    bool of_sender;
};
constexpr std::array<Violation, 5> violations{{
    {EventKind::go_back_wrong_start, "the sender went back to another packet than the one asked for", true},
    {EventKind::go_back_incomplete, "the sender did not repeat all that followed the lost packet", true},
    {EventKind::nak_wrong_psn, "the receiver's NAK named another packet than the first missing one", false},
    {EventKind::nak_missing, "the receiver saw a hole and sent no NAK", false},
    {EventKind::read_restart_wrong, "a repeated READ did not start at the first missing response", true},
}};

std::vector<Affected> violating_flows(const Group& group) {
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : group.flows) {
        std::uint64_t events = 0;
        for (const Violation& violation : violations) events += event_count(*flow, violation.kind);
        // A violation that is also a loss must not come before the loss.
        if (events > 0)
            affected.push_back(
                {flow, std::min(0.1, ratio(static_cast<double>(events), static_cast<double>(flow->packets)))});
    }
    return affected;
}

void find_violations(const Subject& subject, const Group& group, std::vector<Answer>& out) {
    std::vector<Affected> affected = violating_flows(group);
    if (affected.empty()) return;
    Answer answer = finding(Question::bandwidth, Verdict::go_back_n_violation, affected);
    answer.cost.basis = CostBasis::packets;
    const Flows flows = flows_of(affected);
    const Violation* most = nullptr;
    std::uint64_t most_count = 0;
    for (const Violation& violation : violations) {
        std::uint64_t count = 0;
        for (const FlowSnapshot* flow : flows) count += event_count(*flow, violation.kind);
        if (most == nullptr || count > most_count) {
            most = &violation;
            most_count = count;
        }
        add_evidence(answer, std::string(violation.what), static_cast<double>(count), EvidenceUnit::times,
                     frames_of(flows, {violation.kind}));
    }
    const FlowSnapshot& first = *flows.front();
    const Address& culprit = most->of_sender ? first.source.address : first.destination.address;
    answer.summary = fmt::format("Recovery {} does not follow the specification: {} ({}).", subject.from_to(flows),
                                 most->what, counted(most_count, "time"));
    answer.advice = fmt::format(
        "Compare the driver and firmware of {} with its vendor's newest release, and report it with a capture that "
        "holds these frames (`rdmascope dump -w`). Without loss it does no harm: mend that first.",
        subject.short_name(culprit));
    answer.confidence *= 0.7;  // a packet that the capture lacks looks like a violation
    out.push_back(std::move(answer));
}

}  // namespace

bool lost_on_the_way(const Subject& subject, const FlowSnapshot& flow) {
    const std::optional<Cause> cause = cause_of(subject, flow);
    return cause == Cause::loss_before || cause == Cause::loss_after;
}

/// Every RNR NAK makes what follows out of sequence: those explain as many.
bool shows_loss(const FlowSnapshot& flow) { return naks_of_another(flow) > flow.rnr_naks; }

void find_repairs(const Subject& subject, std::vector<Answer>& out) {
    for (const Group& group : subject.groups()) {
        std::map<Cause, std::vector<Affected>> by_cause;
        for (const FlowSnapshot* flow : group.flows) {
            for (const std::optional<Cause> cause : {cause_of(subject, *flow), cause_elsewhere(*flow)}) {
                if (!cause) continue;
                if (cause == Cause::duplication && is_copied_by_capture(subject.snapshot(), *flow)) continue;
                if (cause == Cause::timeout && unreachable_verdict(group, *flow)) continue;
                if (explains_repeats(*cause) && end_verdict(subject, *flow)) continue;
                const double severity = severity_of(*flow, *cause);
                if (is_worth_an_alarm(*flow, *cause, severity)) by_cause[*cause].push_back({flow, severity});
            }
        }
        for (auto& [cause, affected] : by_cause) {
            Answer answer = finding(Question::bandwidth, illness_verdicts(cause), affected);
            const Flows flows = flows_of(affected);
            const RepairSums sums = sum_up(flows, cause);
            answer.cost = cost_of(cause, sums);
            explain(subject, cause, flows, sums, answer);
            add_figures(cause, flows, sums, answer);
            if (cause == Cause::loss_after && sums.naks + sums.duplicate_acks == 0) answer.confidence *= 0.6;
            out.push_back(std::move(answer));
        }
        find_violations(subject, group, out);
    }
}

}  // namespace metrics::answers
