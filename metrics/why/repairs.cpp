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

/// "elsewhere": of the other direction, which was not found.
enum class Illness {
    none,
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

// No hole was seen of what another flow lost: as far as this capture point can tell, it was lost behind it.
constexpr std::array<std::string_view, 10> illness_verdicts{"",
                                                            "rnr",
                                                            "corruption",
                                                            "reordering",
                                                            "loss_before_tap",
                                                            "loss_after_tap",
                                                            "timeout_recovery",
                                                            "duplication",
                                                            "rnr",
                                                            "loss_after_tap"};

std::uint64_t all_sequence_naks(const FlowSnapshot& flow) {
    return flow.naks[static_cast<std::size_t>(NakCode::psn_sequence_error)];
}
/// Those that ask for packets of the flow itself.
std::uint64_t sequence_naks(const FlowSnapshot& flow) { return shows_its_own(flow) ? 0 : all_sequence_naks(flow); }
/// Those that ask for packets of another, which was not found.
std::uint64_t naks_of_another(const FlowSnapshot& flow) { return shows_its_own(flow) ? all_sequence_naks(flow) : 0; }

bool is_elsewhere(Illness illness) { return illness == Illness::rnr_elsewhere || illness == Illness::loss_elsewhere; }

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
    // A NAK that is implied by a response's loss has what followed repeated, too.
    if (requests_responses(flow) && flow.timeouts == 0 && other->missing_packets.value_or(0) > 0) return true;
    if (only_requests_responses(flow)) return flow.timeouts == 0 || other->missing_packets.value_or(0) > 0;
    return flow.messages_total() == 0 && only_requests_responses(*other) && other->timeouts > 0;
}

Illness illness_of(const Scene& scene, const FlowSnapshot& flow) {
    if (has_bad_checksums(flow)) return Illness::corruption;
    const std::uint64_t again = repeated_packets(flow);
    const std::uint64_t missing = flow.missing_packets.value_or(0);
    if (is_reordered(flow)) return Illness::reordering;
    // Every RNR NAK makes the packets behind it go again, and some responders NAK those as well.
    if (flow.rnr_naks > 0 && flow.rnr_naks >= missing && !shows_its_own(flow)) return Illness::rnr;
    if (missing > 0) return Illness::loss_before;
    if (again > 0) {
        if (follows_from_reverse(scene, flow)) return Illness::none;
        if (was_only_probed(flow)) return Illness::none;
        const bool signalled =
            sequence_naks(flow) > 0 || (flow.tcp && flow.tcp->duplicate_acks > 0 && !waited_for_timers(flow));
        return !signalled && flow.timeouts > 0 ? Illness::timeout : Illness::loss_after;
    }
    return flow.duplicate_packets.value_or(0) > 0 ? Illness::duplication : Illness::none;
}

/// What the answers that travelled on the flow tell of another, which was not found: whatever the flow itself suffers.
Illness illness_elsewhere(const FlowSnapshot& flow) {
    if (!shows_its_own(flow)) return Illness::none;
    if (flow.rnr_naks > 0) return Illness::rnr_elsewhere;
    return tells_of_loss(flow) ? Illness::loss_elsewhere : Illness::none;
}

/// By what share of the time, or of the traffic, repairs hurt.
double hurt_of(const FlowSnapshot& flow, Illness illness) {
    const auto packets = static_cast<double>(flow.packets);
    const auto busy = static_cast<double>(active_ns(flow));
    if (illness == Illness::duplication)
        return 0.5 * ratio(static_cast<double>(flow.duplicate_packets.value_or(0)), packets);
    // How long another flow waited, and what it repeated, is not known.
    if (illness == Illness::rnr_elsewhere) return ratio(static_cast<double>(flow.rnr_naks), packets);
    if (illness == Illness::loss_elsewhere) return ratio(static_cast<double>(naks_of_another(flow)), packets);
    const double time = ratio(static_cast<double>(repair_ns(flow)), busy);
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
    if (illness == Illness::corruption || illness == Illness::rnr || illness == Illness::rnr_elsewhere) return true;
    // For a late packet RC repeats its window, TCP one segment at most.
    if (illness == Illness::reordering && flow.tcp) return hurt >= alarming_time_share;
    // What was lost of another flow is measured by the answers that were seen.
    if (illness == Illness::loss_elsewhere) return hurt >= alarming_loss_share;
    return hurt >= alarming_time_share ||
           ratio(static_cast<double>(repeated_packets(flow) + flow.missing_packets.value_or(0)),
                 static_cast<double>(flow.packets)) >= alarming_loss_share;
}

/// Of an illness that is elsewhere, only what the answers tell of it.
struct RepairSums {
    std::uint64_t packets = 0, again = 0, missing = 0, late = 0, doubled = 0, icrc = 0, crc = 0, rnr = 0, naks = 0,
                  naks_of_another = 0, timeouts = 0, duplicate_acks = 0, repair_ns = 0, rnr_ns = 0, timeout_ns = 0,
                  busy_ns = 0;
    Histogram repair, rnr_timer;
};

RepairSums sum_up(const Flows& flows, Illness illness) {
    RepairSums sums;
    for (const FlowSnapshot* flow : flows) {
        sums.packets += flow->packets;
        if (is_elsewhere(illness) == shows_its_own(*flow)) {
            sums.rnr += flow->rnr_naks;
            sums.rnr_timer.merge(flow->rnr_timer_ns);
        }
        if (is_elsewhere(illness)) {
            sums.naks_of_another += naks_of_another(*flow);
            continue;
        }
        sums.again += repeated_packets(*flow);
        sums.missing += flow->missing_packets.value_or(0);
        sums.late += flow->reordered_packets.value_or(0);
        sums.doubled += flow->duplicate_packets.value_or(0);
        sums.icrc += flow->icrc_bad;
        sums.crc += flow->crc_bad;
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
std::string toll(const RepairSums& sums) {
    const double share = ratio(static_cast<double>(sums.repair_ns), static_cast<double>(sums.busy_ns));
    if (share < 0.001) return {};
    return fmt::format("; repairing it took {} of the time in which there was something to send", percent(share));
}

std::string share_of(std::uint64_t part, std::uint64_t packets) {
    return fmt::format("{} of {} ({})", number(part), counted(packets, "packet"),
                       percent(ratio(static_cast<double>(part), static_cast<double>(packets))));
}
std::string share_of_packets(std::uint64_t part, const RepairSums& sums) { return share_of(part, sums.packets); }

/// What is told about the flows of one illness, all from one host to another.
struct Patient {
    const Scene& scene;
    const Flows& flows;
    const RepairSums& sums;
    std::string way;     ///< "from A (port 1) to B (port 2)"
    std::string sender;  ///< short names
    std::string receiver;
    std::string responder;  ///< of the requests that NAKs are about
    bool iwarp = false;
    bool infiniband = false;  ///< no Ethernet beneath
};

Patient patient_of(const Scene& scene, const Flows& flows, const RepairSums& sums) {
    const FlowSnapshot& first = *flows.front();
    return {scene,
            flows,
            sums,
            scene.from_to(flows),
            scene.short_name(first.source.address),
            scene.short_name(first.destination.address),
            scene.short_name(responder_of(first).address),
            first.transport == dissect::Transport::iwarp,
            first.transport == dissect::Transport::infiniband};
}

/// How a host's own counters are read.
std::string_view host_counters(const Patient& patient) { return patient.infiniband ? "`perfquery`" : "`ethtool -S`"; }

void explain_loss_before(const Patient& patient, Answer& answer) {
    const RepairSums& sums = patient.sums;
    // A repeat that is lost as well leaves no new hole; the receiver's NAKs tell of some of those.
    answer.summary = fmt::format("{}{} {} were lost before they came to this capture point{}.",
                                 sums.naks > sums.missing ? "At least " : "",
                                 share_of(sums.missing, sums.packets + sums.missing), patient.way, toll(sums));
    answer.advice = fmt::format(
        "Look for drops between {0} and the capture point: on {0} {1} for tx drops and errors, on each switch port of "
        "that way the discard and CRC counters; change the cable or transceiver whose port counts CRC errors. Where "
        "ports discard without CRC errors the queue overflows: {2}.",
        patient.sender, host_counters(patient),
        patient.iwarp ? "mark instead of dropping (ECN, net.ipv4.tcp_ecn=1 on both hosts), or give the port more buffer"
                      : "give this traffic class PFC, or ECN, on every hop");
}

/// How often the receiver asked again; 0 where nothing tells. Of lost responses the requester asks by READ requests.
std::uint64_t losses_of(const Patient& patient) {
    std::uint64_t losses = std::max<std::uint64_t>(patient.sums.naks, patient.flows.front()->recovery.count);
    if (patient.iwarp) return std::max(losses, patient.sums.again);
    for (const FlowSnapshot* flow : patient.flows) {
        const FlowSnapshot* requests = patient.scene.reverse(*flow);
        if (flow->messages_total() == 0 && requests != nullptr)
            losses = std::max(losses, exhibit_count(*requests, EventKind::retransmission));
    }
    return losses;
}

void explain_loss_after(const Patient& patient, Answer& answer) {
    const std::uint64_t losses = losses_of(patient);
    std::string how_often;
    if (losses > 0 && patient.iwarp)
        how_often = counted(losses, "lost segment") + ", ";
    else if (losses > 0)
        how_often = counted(losses, "time") + ", ";
    answer.summary = fmt::format(
        "Packets {} were lost after this capture point: all were seen here, yet {} asked for some again "
        "({}{} retransmitted){}.",
        patient.way, patient.receiver, how_often, counted(patient.sums.again, "packet"), toll(patient.sums));
    answer.advice = fmt::format(
        "Look for drops between the capture point and {0}: discard and CRC counters of the switch ports on that way, "
        "on {0} {1} for rx_discards, rx_out_of_buffer, rx_missed and CRC errors; receive rings too small (`ethtool "
        "-G`) and a firewall or traffic-control rule drop there too.",
        patient.receiver, host_counters(patient));
}

/// Which packets were lost is not known, nor where: only that their receiver asked for them.
void explain_loss_elsewhere(const Patient& patient, Answer& answer) {
    const Address& requester = requester_of(*patient.flows.front()).address;
    answer.summary = fmt::format(
        "Packets {} were lost: {} asked for some again ({}). The flow that lost them was not found in this capture, so "
        "on which side of the capture point that was cannot be told.",
        patient.scene.requests(patient.flows), patient.responder, counted(patient.sums.naks_of_another, "time"));
    answer.advice = fmt::format(
        "Capture both directions to learn where they are lost. Until then look for drops all the way from {0} to {1}: "
        "on both {2} for drops, discards and CRC errors, and the same counters of each switch port between them.",
        patient.scene.short_name(requester), patient.responder, host_counters(patient));
    answer.confidence *= 0.6;
}

void explain_reordering(const Patient& patient, Answer& answer) {
    const RepairSums& sums = patient.sums;
    answer.summary =
        fmt::format("{} {} came late, overtaken by others{}; {}{}.", share_of_packets(sums.late, sums), patient.way,
                    sums.missing == 0 ? ", though none was lost" : "",
                    sums.again > 0 ? counted(sums.again, "packet was", "packets were") + " retransmitted because of it"
                                   : std::string("nothing was retransmitted"),
                    toll(sums));
    answer.advice = fmt::format(
        "Something between {} and {} sends packets of one flow over several paths or queues: look for packet spraying, "
        "adaptive routing, link aggregation that hashes by packet, or QoS that re-queues. Hash by flow (5-tuple), or "
        "switch on the receiver's out-of-order support where its adapter has any.",
        patient.sender, patient.receiver);
}

void explain_duplication(const Patient& patient, Answer& answer) {
    answer.summary = fmt::format("{} {} arrived a second time, duplicated by the network.",
                                 share_of_packets(patient.sums.doubled, patient.sums), patient.way);
    answer.advice =
        "Look for a loop, a mirror port that feeds back, or a bond in broadcast mode on the way; make sure that the "
        "capture does not listen on two interfaces of the same path.";
}

void explain_corruption(const Patient& patient, Answer& answer) {
    const RepairSums& sums = patient.sums;
    answer.summary = fmt::format("{} {} carried a bad {}: they were damaged on the way{}.",
                                 share_of_packets(sums.icrc + sums.crc, sums), patient.way,
                                 sums.icrc > 0 ? "ICRC" : "CRC", toll(sums));
    answer.advice = fmt::format(
        "A link's own checksum did not catch it, so it happened inside a device between {} and the capture point, most "
        "likely in the memory of a switch, adapter or host: compare {} ({}) along the way, move the flow to another "
        "path, and replace the device where it starts.",
        patient.sender,
        patient.iwarp ? "the counters of CRC and checksum errors" : "the counters rx_icrc_encapsulated and CRC errors",
        host_counters(patient));
}

void explain_rnr(const Patient& patient, Illness illness, Answer& answer) {
    const RepairSums& sums = patient.sums;
    const std::string waited =
        illness == Illness::rnr_elsewhere
            ? std::string("how long the sender waited for it cannot be told, for the flow was not found")
            : fmt::format("and the sender waited {} for it ({} of its busy time)",
                          duration(static_cast<double>(sums.rnr_ns)),
                          percent(ratio(static_cast<double>(sums.rnr_ns), static_cast<double>(sums.busy_ns))));
    answer.summary = fmt::format("{} was not ready: it refused {} {}{}{} {}.", patient.responder,
                                 sums.rnr == 1 ? "1 message" : "messages", patient.scene.requests(patient.flows),
                                 sums.rnr == 1 ? std::string() : fmt::format(" {}", counted(sums.rnr, "time")),
                                 illness == Illness::rnr_elsewhere ? ";" : ",", waited);
    const std::string& requester = patient.responder == patient.receiver ? patient.sender : patient.receiver;
    answer.advice = fmt::format(
        "On {} post receives earlier and more of them (a deeper receive queue, or an SRQ with a limit event); a "
        "shorter min_rnr_timer than {} makes each wait shorter. out_of_buffer there, and rnr_nak_retry_err on {}, "
        "should then stop growing.",
        patient.responder,
        sums.rnr_timer.max() ? duration(static_cast<double>(*sums.rnr_timer.max())) : std::string("now"), requester);
}

/// Repeats so soon after what went before that nobody waited: the timer of an older request ran out meanwhile.
void explain_early_timeout(const Patient& patient, Answer& answer) {
    answer.summary = fmt::format(
        "{} retransmitted {} {} while others were still answered: its timer ran out too early ({}), and "
        "nothing shows that a packet was lost.",
        patient.sender, counted(patient.sums.again, "packet"), patient.way, counted(patient.sums.timeouts, "time-out"));
    answer.advice = fmt::format(
        "With so much outstanding, answers of {} take longer than {} waits for them: give the queue pair a longer "
        "local ACK timeout (ibv_modify_qp, rdma_set_option), or keep fewer requests outstanding.",
        patient.receiver, patient.sender);
}

void explain_timeout(const Patient& patient, Answer& answer) {
    if (!patient.iwarp && patient.sums.timeout_ns < patient.sums.timeouts * shortest_timer_ns)
        return explain_early_timeout(patient, answer);
    answer.summary = fmt::format("{} had to retransmit {} {} because no answer came in time ({}){}.", patient.sender,
                                 counted(patient.sums.again, "packet"), patient.way,
                                 counted(patient.sums.timeouts, "time-out"), toll(patient.sums));
    answer.advice = fmt::format(
        "Either the last packets of a message or their acknowledgements are lost, or {0} did not answer: see whether "
        "{0} was alive{1}, and capture at {0} as well to tell which of the two it is.",
        patient.receiver,
        patient.iwarp
            ? fmt::format(", read TcpExtTCPTimeouts (`nstat`) on {}", patient.sender)
            : fmt::format(" and its QP in state RTS (`rdma resource show qp`), read local_ack_timeout_err on {}",
                          patient.sender));
}

void explain(const Scene& scene, Illness illness, const Flows& flows, const RepairSums& sums, Answer& answer) {
    const Patient patient = patient_of(scene, flows, sums);
    switch (illness) {
        case Illness::none: return;
        case Illness::loss_before: return explain_loss_before(patient, answer);
        case Illness::loss_after: return explain_loss_after(patient, answer);
        case Illness::loss_elsewhere: return explain_loss_elsewhere(patient, answer);
        case Illness::reordering: return explain_reordering(patient, answer);
        case Illness::duplication: return explain_duplication(patient, answer);
        case Illness::corruption: return explain_corruption(patient, answer);
        case Illness::rnr:
        case Illness::rnr_elsewhere: return explain_rnr(patient, illness, answer);
        case Illness::timeout: return explain_timeout(patient, answer);
    }
}

void add_figures(Illness illness, const Flows& flows, const RepairSums& sums, Answer& answer) {
    const auto add = [&](std::string what, std::uint64_t value, std::string unit,
                         std::initializer_list<EventKind> kinds) {
        add_evidence(answer, std::move(what), static_cast<double>(value), std::move(unit),
                     value > 0 ? frames_of(flows, kinds) : std::vector<std::uint64_t>{});
    };
    add("packets seen", sums.packets, "packets", {});
    add("packets missing at the capture point", sums.missing, "packets", {EventKind::gap});
    add("packets late", sums.late, "packets", {EventKind::reordered});
    add("packets duplicated", sums.doubled, "packets", {EventKind::duplicate});
    add("packets with a bad ICRC", sums.icrc, "packets", {EventKind::icrc_bad});
    add("FPDUs with a bad CRC", sums.crc, "FPDUs", {EventKind::crc_bad});
    add("receiver-not-ready NAKs", sums.rnr, "NAKs", {EventKind::rnr_nak});
    if ((illness == Illness::rnr || illness == Illness::rnr_elsewhere) && sums.rnr_timer.max())
        add_evidence(answer, "longest RNR timer asked for", static_cast<double>(*sums.rnr_timer.max()), "ns");
    add("sequence error NAKs", sums.naks + sums.naks_of_another, "NAKs", {EventKind::nak});
    if (is_elsewhere(illness)) return;
    add("duplicate TCP acknowledgements", sums.duplicate_acks, "ACKs", {});
    add("packets retransmitted", sums.again, "packets", {EventKind::retransmission});
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

bool lost_on_the_way(const Scene& scene, const FlowSnapshot& flow) {
    const Illness illness = illness_of(scene, flow);
    return illness == Illness::loss_before || illness == Illness::loss_after;
}

/// Every RNR NAK makes what follows out of sequence: those explain as many.
bool tells_of_loss(const FlowSnapshot& flow) { return naks_of_another(flow) > flow.rnr_naks; }

void find_repairs(const Scene& scene, std::vector<Answer>& out) {
    for (const Group& group : scene.groups()) {
        std::map<Illness, std::vector<Sick>> by_illness;
        for (const FlowSnapshot* flow : group.flows) {
            for (const Illness illness : {illness_of(scene, *flow), illness_elsewhere(*flow)}) {
                if (illness == Illness::none) continue;
                const double hurt = hurt_of(*flow, illness);
                if (is_worth_an_alarm(*flow, illness, hurt)) by_illness[illness].push_back({flow, hurt});
            }
        }
        for (auto& [illness, sick] : by_illness) {
            Answer answer = finding(Question::bandwidth, illness_verdicts[static_cast<std::size_t>(illness)], sick);
            const Flows flows = flows_of(sick);
            const RepairSums sums = sum_up(flows, illness);
            explain(scene, illness, flows, sums, answer);
            add_figures(illness, flows, sums, answer);
            if (illness == Illness::loss_after && sums.naks + sums.duplicate_acks == 0) answer.confidence *= 0.6;
            out.push_back(std::move(answer));
        }
        find_violations(scene, group, out);
    }
}

}  // namespace metrics::why
