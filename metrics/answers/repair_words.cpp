#include "metrics/answers/repair_words.h"

#include <algorithm>
#include <fmt/core.h>
#include <string>
#include <string_view>

#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

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

void explain_rnr(const RepairedFlows& repaired, RepairCause cause, Answer& answer) {
    const RepairSums& sums = repaired.sums;
    std::string waited;
    if (cause == RepairCause::rnr_elsewhere)
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

}  // namespace

void explain_repairs(const Subject& subject, RepairCause cause, const Flows& flows, const RepairSums& sums,
                     Answer& answer) {
    const RepairedFlows repaired = describe_flows(subject, flows, sums);
    switch (cause) {
        case RepairCause::loss_before: return explain_loss_before(repaired, answer);
        case RepairCause::loss_after: return explain_loss_after(repaired, answer);
        case RepairCause::loss_elsewhere: return explain_loss_elsewhere(repaired, answer);
        case RepairCause::reordering: return explain_reordering(repaired, answer);
        case RepairCause::duplication: return explain_duplication(repaired, answer);
        case RepairCause::corruption: return explain_corruption(repaired, answer);
        case RepairCause::rnr:
        case RepairCause::rnr_elsewhere: return explain_rnr(repaired, cause, answer);
        case RepairCause::timeout: return explain_timeout(repaired, answer);
    }
}

}  // namespace metrics::answers
