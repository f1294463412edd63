// Is there congestion in the network? Marks, CNPs, pauses, many to one, loss, and queues.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <tuple>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/repairs.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/figures/latencies.h"

namespace metrics::inline answers {

namespace {

/// iWARP's receiver reports the marks that packets got after the capture point. RFC 3168, 6.1.3.
std::uint64_t echoes(const FlowSnapshot& flow) { return flow.tcp ? flow.tcp->ece_acks : 0; }

double paced_share(const FlowSnapshot& flow) {
    return ratio(static_cast<double>(time_in(flow, {State::congestion_paced})), static_cast<double>(active_ns(flow)));
}

double marked(const FlowSnapshot& flow) {
    return ratio(static_cast<double>(flow.ecn_ce_packets), static_cast<double>(flow.packets));
}

struct CongestionSums {
    std::uint64_t packets = 0, capable = 0, ce = 0, cnp = 0, ece = 0, paced_ns = 0;
    Histogram interval;
};

/// What `flows` carried, and the CNPs of `notified`.
CongestionSums sum_up(const Flows& flows, const Flows& notified) {
    CongestionSums sums;
    for (const FlowSnapshot* flow : flows) {
        sums.packets += flow->packets;
        sums.capable += flow->ecn_capable_packets;
        sums.ce += flow->ecn_ce_packets;
        sums.ece += echoes(*flow);
        sums.paced_ns += time_in(*flow, {State::congestion_paced});
    }
    for (const FlowSnapshot* flow : notified) {
        sums.cnp += flow->cnp_packets;
        sums.interval.merge(flow->cnp_interval_ns);
    }
    return sums;
}

/// From one host to another. A CNP names the sender that has to slow down, whichever flow shows it.
struct Way {
    Address sender;
    Address receiver;
    wire::Transport transport{};
    Flows flows;     ///< that go this way
    Flows notified;  ///< whose CNPs slow this way's sender down: flows of this way, and unpaired flows of the other way
};

std::vector<Way> ways_of(const Subject& subject) {
    std::vector<Way> ways;
    std::map<std::tuple<Address, Address, wire::Transport>, std::size_t> known;
    const auto way = [&](const Address& sender, const Address& receiver, wire::Transport transport) -> Way& {
        const auto [at, fresh] = known.try_emplace({sender, receiver, transport}, ways.size());
        if (fresh) ways.push_back({sender, receiver, transport, {}, {}});
        return ways[at->second];
    };
    for (const Group& group : subject.groups())
        way(group.source, group.destination, group.flows.front()->transport).flows = group.flows;
    for (const FlowSnapshot* flow : subject.flows())
        if (flow->cnp_packets > 0)
            way(requester_of(*flow).address, responder_of(*flow).address, flow->transport).notified.push_back(flow);
    return ways;
}

/// Those of `flows` that are paired: their CNPs slow down their own sender.
Flows notified_among(const Flows& flows) {
    Flows notified;
    for (const FlowSnapshot* flow : flows)
        if (!shows_its_own(*flow)) notified.push_back(flow);
    return notified;
}

/// The time in which the sender was slowed down, if any was measured; else the share of the packets that `events` are.
Cost cost_of(const Flows& flows, std::uint64_t events) {
    std::uint64_t paced_ns = 0;
    std::uint64_t busy_ns = 0;
    std::uint64_t packets = 0;
    for (const FlowSnapshot* flow : flows) {
        packets += flow->packets;
        // What an unpaired flow itself sends is not what its CNPs slow down.
        if (shows_its_own(*flow)) continue;
        paced_ns += time_in(*flow, {State::congestion_paced});
        busy_ns += active_ns(*flow);
    }
    const double paced = ratio(static_cast<double>(paced_ns), static_cast<double>(busy_ns));
    const double share = ratio(static_cast<double>(events), static_cast<double>(packets));
    if (paced >= share) return {paced, CostBasis::busy_time};
    return {share, CostBasis::packets};
}

void add_figures(Answer& answer, const Flows& flows, const Flows& notified, const CongestionSums& sums) {
    add_evidence(answer, "packets", static_cast<double>(sums.packets), EvidenceUnit::packets);
    add_evidence(answer, "of them ECN-capable", static_cast<double>(sums.capable), EvidenceUnit::packets, {}, true);
    add_evidence(answer, "marked CE", static_cast<double>(sums.ce), EvidenceUnit::packets,
                 frames_of(flows, {EventKind::ce_mark}));
    add_evidence(answer, "CNPs", static_cast<double>(sums.cnp), EvidenceUnit::packets,
                 frames_of(notified, {EventKind::cnp}));
    add_evidence(answer, "TCP acknowledgements with ECE", static_cast<double>(sums.ece), EvidenceUnit::acks);
    if (const auto median = sums.interval.quantile(0.5))
        add_evidence(answer, "median time between CNPs", static_cast<double>(*median), EvidenceUnit::ns);
    add_evidence(answer, "time in which the sender was slowed down", static_cast<double>(sums.paced_ns),
                 EvidenceUnit::ns);
    for (const FlowSnapshot* flow : flows)
        if (flow->rate_drop_after_cnp) {
            add_evidence(answer, "rate that remains within 1 ms after a CNP", *flow->rate_drop_after_cnp,
                         EvidenceUnit::share);
            break;
        }
}

std::uint64_t cnps_of(const Flows& notified) { return sum_up({}, notified).cnp; }

/// What came back of the marks: "6 CNPs asked the sender to slow down". CNPs that were assigned to another flow, or to
/// none, may be about these marks all the same.
std::string echo_words(const Subject& subject, const Way& way, const CongestionSums& sums) {
    if (way.transport == wire::Transport::iwarp)
        return sums.ece > 0 ? "TCP slows the sender down for it" : "the receiver did not report it to the sender";
    if (sums.cnp > 0) return counted(sums.cnp, "CNP") + " asked the sender to slow down";
    if (way.notified.empty()) return "no CNP told the sender of it";
    return fmt::format("{} on other flows asked {} to slow down", counted(cnps_of(way.notified), "CNP"),
                       subject.short_name(way.sender));
}

/// Which counters show that the marks reach the sender. RFC 3168, 6.1; DCQCN.
std::string echo_advice(const Subject& subject, const Way& way, const CongestionSums& sums) {
    const std::string receiver = subject.short_name(way.receiver);
    if (way.transport == wire::Transport::iwarp)
        return sums.ece > 0 ? fmt::format(
                                  " IpExtInCEPkts on {} and TcpExtTCPDeliveredCE on {} (`nstat`) should grow "
                                  "together.",
                                  receiver, subject.short_name(way.sender))
                            : fmt::format(
                                  " TCP on {} should have echoed the marks: both ends have to agree on ECN "
                                  "(net.ipv4.tcp_ecn=1).",
                                  receiver);
    return sums.cnp == 0 && way.notified.empty()
               ? fmt::format(
                     " The receiver should have sent CNPs: switch on DCQCN on {} "
                     "(np_ecn_marked_roce_packets counts marks, np_cnp_sent stands still).",
                     receiver)
               : std::string(
                     " np_ecn_marked_roce_packets and np_cnp_sent on the receiver, rp_cnp_handled on "
                     "the sender should grow together.");
}

/// False where so few packets were marked that it means nothing.
bool find_marks(const Subject& subject, const Way& way, std::vector<Answer>& out) {
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : way.flows)
        if (marked(*flow) >= marked_share || (flow->ecn_ce_packets == 0 && echoes(*flow) > 0))
            affected.push_back({flow, std::max({marked(*flow), paced_share(*flow),
                                                0.1 * ratio(static_cast<double>(echoes(*flow)),
                                                            static_cast<double>(flow->packets))})});
    if (affected.empty()) return false;
    Answer answer = finding(Question::congestion, Verdict::marked, affected);
    const Flows flows = flows_of(affected);
    const Flows notified = notified_among(flows);
    const CongestionSums sums = sum_up(flows, notified);
    answer.cost = cost_of(flows, sums.ce + sums.ece);
    const bool seen = sums.ce > 0;
    const std::string what =
        seen ? fmt::format("Switches marked {} of {} ({}) {} as having met congestion", number(sums.ce),
                           counted(sums.packets, "packet"),
                           percent(ratio(static_cast<double>(sums.ce), static_cast<double>(sums.packets))),
                           subject.from_to(flows))
             : fmt::format("{} tells in {} that packets {} were marked after the capture point",
                           subject.short_name(way.receiver), counted(sums.ece, "acknowledgement"),
                           subject.from_to(flows));
    answer.summary = fmt::format("{}; {}.", what, echo_words(subject, way, sums));
    answer.advice = fmt::format(
        "A queue builds up {} {}: find the port by its ECN mark counter (switch) and see who shares it in "
        "`rdmascope flows`.{}",
        seen ? "between the sender and the capture point, towards" : "after the capture point, towards",
        subject.short_name(way.receiver), echo_advice(subject, way, sums));
    add_figures(answer, flows, notified, sums);
    if (sums.cnp == 0)
        add_evidence(answer, "CNPs on other flows", static_cast<double>(cnps_of(way.notified)), EvidenceUnit::packets,
                     frames_of(way.notified, {EventKind::cnp}));
    out.push_back(std::move(answer));
    return true;
}

void find_notifications(const Subject& subject, const Way& way, std::vector<Answer>& out) {
    if (way.notified.empty()) return;
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : way.notified) {
        const double lost = flow->rate_drop_after_cnp ? std::clamp(1 - *flow->rate_drop_after_cnp, 0.0, 1.0) : 0;
        // What an unpaired flow itself sends is not what its CNPs slow down.
        const double paced = shows_its_own(*flow) ? 0 : std::max(paced_share(*flow), 0.1 * lost);
        affected.push_back({flow, std::max(paced, 0.02)});
    }
    Answer answer = finding(Question::congestion, Verdict::throttled, affected);
    const Flows flows = flows_of(affected);
    const CongestionSums sums = sum_up(flows, flows);
    answer.cost = cost_of(flows, sums.cnp);
    const bool found =
        std::none_of(flows.begin(), flows.end(), [](const FlowSnapshot* flow) { return shows_its_own(*flow); });
    const CongestionSums carried = sum_up(way.flows, {});
    answer.summary = fmt::format(
        "{} asked {} {} to slow down ({}); {}.", subject.host(way.receiver), subject.short_name(way.sender),
        counted(sums.cnp, "time"), subject.requests(flows),
        !found ? "where its packets were marked is unknown: their flow was not found"
        : carried.ce == 0
            ? std::string("the marks were made after the capture point")
            : fmt::format("only {} of {} were marked before the capture point, so most marks were made after it",
                          number(carried.ce), counted(carried.packets, "packet")));
    answer.advice = fmt::format(
        "A queue builds up between {} and {}: find the switch port by its ECN mark counter, and see who else sends "
        "there in `rdmascope flows`.",
        found ? std::string("the capture point") : subject.short_name(way.sender), subject.short_name(way.receiver));
    add_figures(answer, flows, flows, sums);
    out.push_back(std::move(answer));
}

/// Priorities that are stopped together are stopped at the same time. 0 if the times are not known.
double stopped_ns(const PauseSnapshot& pause) {
    if (!pause.stopped_ns) return 0;
    const auto& by_priority = pause.stopped_ns->priority_ns;
    const std::uint64_t most = *std::max_element(by_priority.begin(), by_priority.end());
    return static_cast<double>(std::max(most, pause.stopped_ns->all_ns));
}

/// Senders stood still in the middle of messages, or were asked to. If neither is known, the frames alone are.
Cost cost_of_pauses(const std::vector<Affected>& stalled, const PauseSnapshot& pause, const CaptureFigures& capture,
                    double asked) {
    double share = asked;
    for (const Affected& each : stalled) share = std::max(share, each.severity);
    if (share > 0) return {share, CostBasis::busy_time};
    return {ratio(static_cast<double>(pause.pause_frames + pause.pfc_frames), static_cast<double>(capture.packets)),
            CostBasis::packets};
}

/// " priority 3, 4"; empty if none is stopped by itself.
std::string priorities_text(const std::array<std::uint64_t, 8>& frames) {
    std::string list;
    for (std::size_t i = 0; i < frames.size(); ++i)
        if (frames[i] > 0) list += fmt::format("{}{}", list.empty() ? " priority " : ", ", i);
    return list;
}

/// One that stops again and again before the former stop is over. Where the link's rate is not known, at 100 Gbit/s.
bool stops_all_the_time(const PauseSnapshot& pause, const PauseSender& sender) {
    constexpr std::uint64_t enough_frames = 16;
    constexpr double quantum_ns = 5.12;  // 512 bit times
    constexpr double nearly_all = 0.9;
    if (sender.frames < enough_frames || sender.last_ns <= sender.first_ns) return false;
    const double life_ns = static_cast<double>(sender.last_ns) - static_cast<double>(sender.first_ns);
    if (pause.senders.size() == 1 && pause.stopped_ns) return stopped_ns(pause) >= nearly_all * life_ns;
    double longest_ns = 0;
    for (std::size_t i = 0; i < 8; ++i)
        if (sender.priority_frames[i] > 0)
            longest_ns = std::max(longest_ns, quantum_ns * static_cast<double>(pause.priority_quanta[i]) /
                                                  static_cast<double>(pause.priority_frames[i]));
    return longest_ns * static_cast<double>(sender.frames - 1) >= nearly_all * life_ns;
}

/// "192.0.2.2 (02:00:00:00:00:02)", "a switch (02:...)": nothing else sends pauses but has no packets of its own.
std::string pause_sender_text(const Subject& subject, const PauseSender& sender) {
    if (sender.host.family != wire::AddressFamily::none)
        return fmt::format("{} ({})", subject.short_name(sender.host), to_text(sender.mac));
    if (sender.forwards) return fmt::format("a router, or a switch, {}", to_text(sender.mac));
    return fmt::format("a switch ({}, the MAC of no host whose packets pass here)", to_text(sender.mac));
}

const PauseSender* most_of_pauses(const PauseSnapshot& pause) {
    const auto most = std::ranges::max_element(pause.senders, {}, &PauseSender::frames);
    return most == pause.senders.end() || most->frames == 0 ? nullptr : &*most;
}

void explain_pauses(const Subject& subject, const PauseSnapshot& pause, Answer& answer) {
    const std::uint64_t frames = pause.pause_frames + pause.pfc_frames;
    const PauseSender* const sender = most_of_pauses(pause);
    if (sender == nullptr) {
        const std::string classes = priorities_text(pause.priority_frames);
        answer.summary = fmt::format("{} asked a sender to stop{}{}.", counted(frames, "PAUSE frame"),
                                     classes.empty() ? "" : " sending in", classes);
        answer.advice =
            "The capture does not show which device sent these frames. Follow the rx pause counters from port to port "
            "to the host that only sends pauses and receives none.";
        return;
    }
    const std::string who = pause_sender_text(subject, *sender);
    const std::string what = priorities_text(sender->priority_frames);
    const bool storm = stops_all_the_time(pause, *sender);
    const std::string often =
        storm ? fmt::format("all the time: {}, each before the stop before it is over, for {}",
                            counted(sender->frames, "frame"),
                            duration(static_cast<double>(sender->last_ns) - static_cast<double>(sender->first_ns)))
              : fmt::format("{} ({})", sender->frames == 1 ? "once" : "from time to time",
                            counted(sender->frames, "frame"));
    answer.summary = fmt::format("{} asks to stop{} {}.", who, what.empty() ? " all traffic" : what, often);
    if (frames > sender->frames)
        answer.summary += fmt::format(" Other senders have sent {}.", counted(frames - sender->frames, "pause"));
    if (sender->host.family == wire::AddressFamily::none) {
        answer.advice =
            "A switch passes on what a port of it suffers: find its port by that MAC, and follow the rx pause "
            "counters from port to port to the host that only sends pauses and receives none.";
        return;
    }
    answer.advice = fmt::format(
        "{0} is a slow receiver: see there the tx pause counters (`ethtool -S`), PCIe (`lspci -vv`), CPU and cache "
        "misses, and {1}.",
        subject.short_name(sender->host),
        storm ? "whether the adapter hangs: a PFC watchdog on the switch port would cut it off"
              : "receive buffers of that priority");
}

void find_pauses(const Subject& subject, std::vector<Answer>& out) {
    const Snapshot& snapshot = subject.snapshot();
    const auto wall = static_cast<double>(snapshot.capture.last_ns) - static_cast<double>(snapshot.capture.first_ns);
    for (const PauseSnapshot& pause : snapshot.pauses) {
        const std::uint64_t frames = pause.pause_frames + pause.pfc_frames;
        if (frames == 0) continue;
        std::vector<Affected> affected;
        for (const FlowSnapshot* flow : subject.flows())
            if (flow->interface == pause.interface && carries_data(*flow) && time_in(*flow, {State::nic_stall}) > 0)
                affected.push_back({flow, ratio(static_cast<double>(time_in(*flow, {State::nic_stall})),
                                                static_cast<double>(active_ns(*flow)))});
        if (subject.about_one_flow() && affected.empty()) continue;
        Answer answer = finding(Question::congestion, Verdict::pause, affected);
        const double asked_ns = std::min(stopped_ns(pause), std::max(wall, 0.0));
        answer.severity = std::max({answer.severity, wall > 0 ? ratio(asked_ns, wall) : 0, 0.02});
        answer.cost = cost_of_pauses(affected, pause, snapshot.capture, ratio(asked_ns, wall));
        answer.confidence = 1;
        if (answer.flows.size() > 16) answer.flows.resize(16);
        explain_pauses(subject, pause, answer);
        add_evidence(answer, "PAUSE frames", static_cast<double>(pause.pause_frames), EvidenceUnit::frames,
                     pause.pause_frames > 0 ? pause.frames : std::vector<std::uint64_t>{});
        add_evidence(answer, "priority flow control frames", static_cast<double>(pause.pfc_frames),
                     EvidenceUnit::frames, pause.pause_frames > 0 ? std::vector<std::uint64_t>{} : pause.frames);
        add_evidence(answer, "resume frames", static_cast<double>(pause.resume_frames), EvidenceUnit::frames);
        add_evidence(answer, "stop asked for, at this link's rate", asked_ns, EvidenceUnit::ns);
        out.push_back(std::move(answer));
    }
}

Cost cost_of_incast(const std::vector<Affected>& affected) {
    std::uint64_t events = 0;
    for (const FlowSnapshot* flow : flows_of(affected))
        events += flow->ecn_ce_packets + flow->cnp_packets +
                  std::max(flow->missing_packets.value_or(0), repeated_packets(*flow));
    return cost_of(flows_of(affected), events);
}

void find_incast(const Subject& subject, std::vector<Answer>& out) {
    for (const HostSnapshot& host : subject.snapshot().hosts) {
        if (host.incast_senders_max < incast_senders || !subject.concerns(host.address)) continue;
        std::vector<Affected> affected;
        for (const FlowSnapshot* flow : subject.flows()) {
            const bool suffers = flow->destination.address == host.address &&
                                 (flow->ecn_ce_packets > 0 || lost_on_the_way(subject, *flow));
            const bool slowed = flow->cnp_packets > 0 && responder_of(*flow).address == host.address;
            if (suffers || slowed) affected.push_back({flow, std::max(marked(*flow), paced_share(*flow))});
        }
        if (affected.empty()) continue;
        Answer answer = finding(Question::congestion, Verdict::incast, affected);
        answer.cost = cost_of_incast(affected);
        answer.summary = fmt::format(
            "Up to {} sent to {} within one millisecond, and {} of them were marked, slowed down or lost packets.",
            counted(host.incast_senders_max, "host"), subject.host(host.address), counted(affected.size(), "flow"));
        answer.advice = fmt::format(
            "Let {} ask for less at a time (limit outstanding READs, or grant senders credits in turn), spread its "
            "peers' answers in time, or give its switch port deeper buffers and earlier ECN marks.",
            subject.short_name(host.address));
        add_evidence(
            answer, "hosts that sent within 1 ms", static_cast<double>(host.incast_senders_max), EvidenceUnit::hosts,
            host.incast_frame != 0 ? std::vector<std::uint64_t>{host.incast_frame} : std::vector<std::uint64_t>{});
        out.push_back(std::move(answer));
    }
}

/// Flows that carry data, sorted by what may be a sign of congestion where nothing was marked, paused or many to one.
struct Signs {
    std::vector<Affected> lossy;
    std::vector<Affected> queued;
    std::vector<Affected> all;
    bool lost = false;  ///< something was retransmitted, or is missing
    bool iwarp = false;
};

Signs signs_of(const Subject& subject) {
    Signs signs;
    for (const FlowSnapshot* flow : subject.flows()) {
        const bool lossy = lost_on_the_way(subject, *flow);
        if (!lossy && shows_loss(*flow)) signs.lossy.push_back({flow, 0});
        if (!carries_data(*flow)) continue;
        signs.all.push_back({flow, 0});
        signs.lost = signs.lost || repeated_packets(*flow) > 0 || flow->missing_packets.value_or(0) > 0;
        signs.iwarp = signs.iwarp || flow->transport == wire::Transport::iwarp;
        if (lossy)
            signs.lossy.push_back(
                {flow, ratio(static_cast<double>(std::max(flow->missing_packets.value_or(0), repeated_packets(*flow))),
                             static_cast<double>(flow->packets))});
        if (partly_read(*flow)) continue;
        const Histogram latency = alike_latencies(*flow).ns;
        if (latency.count() < 50 || *latency.min() == 0) continue;
        const double times = static_cast<double>(*latency.quantile(0.5)) / static_cast<double>(*latency.min());
        if (times >= queueing_ratio) signs.queued.push_back({flow, 1 - 1 / times});
    }
    return signs;
}

Verdict verdict_of(const Signs& signs) {
    if (!signs.lossy.empty()) return Verdict::loss;
    if (signs.all.empty()) return Verdict::undecidable;
    return signs.queued.empty() ? Verdict::none : Verdict::queueing;
}

/// Marks that are too few for an answer of their own, and pauses that did not stop the flow that is asked about.
struct QuietSigns {
    std::uint64_t marks = 0;
    std::uint64_t packets = 0;
    bool paused = false;
};

QuietSigns quiet_signs_of(const Subject& subject) {
    const CongestionSums all = sum_up(subject.flows(), {});
    const auto& pauses = subject.snapshot().pauses;
    const bool paused = std::any_of(pauses.begin(), pauses.end(), [](const PauseSnapshot& pause) {
        return pause.pause_frames + pause.pfc_frames > 0;
    });
    return {all.ce + all.ece, all.packets, paused};
}

/// "nothing was marked or paused", as far as that is so.
std::string quiet_text(const QuietSigns& quiet) {
    if (quiet.marks == 0 && !quiet.paused) return "nothing was marked or paused";
    const std::string marks = quiet.marks == 0 ? std::string("nothing was marked")
                                               : fmt::format("few packets were marked ({} of {})", number(quiet.marks),
                                                             number(quiet.packets));
    return marks + (quiet.paused ? ", and pauses did not hold it up" : ", and nothing paused");
}

void describe_loss(const Subject& subject, const FlowSnapshot& flow, const CongestionSums& sums, Answer& answer) {
    // Of packets that were not found, nothing else is known.
    const bool seen = lost_on_the_way(subject, flow);
    answer.summary =
        fmt::format("Packets {} were lost, which an overflowing queue can cause; {}{}.",
                    seen ? subject.from_to({&flow}) : subject.requests({&flow}), quiet_text(quiet_signs_of(subject)),
                    seen && sums.capable == 0 ? ", but no packet was ECN-capable" : "");
    answer.advice =
        "Compare the discard counters of the switch ports (queue full) with their CRC counters (cable). See the "
        "answer about bandwidth.";
    answer.confidence *= 0.5;
}

void describe_queueing(const Subject& subject, const FlowSnapshot& flow, const Signs& signs, const CongestionSums& sums,
                       Answer& answer) {
    answer.summary = fmt::format(
        "Messages {} typically take several times their least latency, but {}{}: the queues are more likely in the "
        "hosts than in the network.",
        subject.from_to({&flow}), quiet_text(quiet_signs_of(subject)), signs.lost ? "" : ", and nothing was lost");
    answer.advice = sums.capable == 0
                        ? fmt::format(
                              "No packet is ECN-capable, so switches cannot mark: set ECT ({}) to learn of queues in "
                              "switches; read their queue depth counters.",
                              signs.iwarp ? "net.ipv4.tcp_ecn=1 on both hosts" : "traffic class, DCQCN")
                        : std::string("Read the queue depth counters of the switches on the way.");
    answer.confidence *= 0.6;
}

void describe_none(const Subject& subject, const Signs& signs, const CongestionSums& sums, Answer& answer) {
    const QuietSigns quiet = quiet_signs_of(subject);
    const std::string marks = quiet.marks > 0 ? fmt::format("few packets were marked ({} of {}), ", number(quiet.marks),
                                                            number(quiet.packets))
                                              : std::string(sums.capable == 0 ? "" : "nothing marked, ");
    answer.summary = fmt::format(
        "No sign of congestion: {}{}{}{}.", marks, quiet.paused ? "pauses did not hold it up" : "nothing paused",
        signs.lost ? "" : ", nothing lost on the way",
        sums.capable == 0 ? "; no packet is ECN-capable, so switches could not have marked any" : "");
    answer.advice = "Nothing needs to be done.";
    answer.confidence *= sums.capable == 0 ? 0.7 : 0.9;
}

Answer congestion_answer(const Subject& subject) {
    Signs signs = signs_of(subject);
    std::vector<Affected>& affected = !signs.lossy.empty()    ? signs.lossy
                                      : !signs.queued.empty() ? signs.queued
                                                              : signs.all;
    const Verdict verdict = verdict_of(signs);
    Answer answer = finding(Question::congestion, verdict, affected);
    answer.severity = 0;
    const Flows flows = flows_of(affected);
    const CongestionSums sums = sum_up(flows, flows);
    switch (verdict) {
        case Verdict::loss: describe_loss(subject, *flows.front(), sums, answer); break;
        case Verdict::queueing: describe_queueing(subject, *flows.front(), signs, sums, answer); break;
        case Verdict::none: describe_none(subject, signs, sums, answer); break;
        default:
            answer.summary = "No traffic was seen that could have met congestion.";
            answer.advice = "Capture while the load runs.";
            answer.confidence = 0;
    }
    if (answer.flows.size() > 16) answer.flows.resize(16);
    add_figures(answer, flows, flows, sums);
    return answer;
}

}  // namespace

void ask_congestion(const Subject& subject, std::vector<Answer>& out) {
    const std::size_t before = out.size();
    for (const Way& way : ways_of(subject))
        if (!find_marks(subject, way, out)) find_notifications(subject, way, out);
    find_pauses(subject, out);
    find_incast(subject, out);
    if (out.size() == before) out.push_back(congestion_answer(subject));
}

}  // namespace metrics::answers
