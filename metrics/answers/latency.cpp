// Why is latency high? The way there, the responder, queues, or repairs.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"
#include "metrics/figures/latencies.h"

namespace metrics::inline answers {

namespace {

std::uint64_t round_trips(const FlowSnapshot& flow) {
    std::uint64_t samples = 0;
    for (const OperationFigures& operation : flow.operations) samples += operation.latency_ns.count();
    return flow.tcp ? std::max(samples, flow.tcp->round_trip_ns.count()) : samples;
}

void add_operation(Answer& answer, Operation operation, const OperationFigures& figures) {
    const Histogram& latency = figures.latency_ns;
    if (latency.empty()) return;
    const std::string name(name_of(operation));
    add_evidence(answer, name + " latencies", static_cast<double>(latency.count()), EvidenceUnit::samples);
    for (const auto& [label, value] : {std::pair{"least", latency.min()}, std::pair{"median", latency.quantile(0.5)},
                                       std::pair{"99 %", latency.quantile(0.99)}, std::pair{"longest", latency.max()}})
        if (value) add_evidence(answer, name + " " + label, static_cast<double>(*value), EvidenceUnit::ns);
    if (const auto first = figures.first_response_ns.quantile(0.5))
        add_evidence(answer, name + " median to the first response", static_cast<double>(*first), EvidenceUnit::ns);
}

/// The flows between two hosts that have far round trips.
std::vector<Affected> distant_flows(const Group& group) {
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : group.flows) {
        const auto least = least_round_trip(*flow);
        if (!least || *least < far_round_trip_ns) continue;
        std::uint64_t samples = round_trips(*flow);
        // Each repeat and its answer show the way's length as well.
        if (repeats_too_early(*flow))
            samples += flow->repeat_answers->repeats + flow->repeat_answers->first_answer_ns.count();
        if (samples < enough_round_trips) continue;
        const double waited = static_cast<double>(*least) * static_cast<double>(samples);
        const double depth = std::max(1.0, flow->messages_mean);
        affected.push_back({flow, std::max(0.2, ratio(waited / depth, static_cast<double>(flow->wall_ns())))});
    }
    return affected;
}

Answer answer_about_distance(const Subject& subject, std::vector<Affected>& affected) {
    Answer answer = finding(Question::latency, Verdict::network_delay, affected);
    const Flows flows = flows_of(affected);
    const FlowSnapshot& worst = *flows.front();
    std::uint64_t least = *least_round_trip(worst);
    Histogram all;
    for (const FlowSnapshot* flow : flows) {
        least = std::min(least, *least_round_trip(*flow));
        all.merge(all_latencies(*flow).ns);
        if (repeats_too_early(*flow)) all.merge(flow->repeat_answers->first_answer_ns);
    }
    const auto median = all.quantile(0.5);
    const bool steady = median && static_cast<double>(*median) <= steady_ratio * static_cast<double>(least);
    const std::string peer = subject.short_name(worst.destination.address);
    answer.summary = fmt::format(
        "Even the fastest message {} takes {} to be answered{}: the way from the capture point to {} and back is that "
        "long.",
        subject.from_to(flows), duration(static_cast<double>(least)),
        steady ? ", and most take little more, so it is distance or a fixed delay and no queue" : "", peer);
    answer.advice = fmt::format(
        "`ping` {0} from the capture point shows the same if it is the network: then look for a long or wrong "
        "route (`tracepath {1}`), a WAN link, or a delay set by traffic control (`tc qdisc` shows netem) on {0} "
        "and on the way. If ping is fast, it is the adapter or the software stack of {0}.",
        peer, to_text(worst.destination.address));
    if (!steady) answer.confidence *= 0.8;
    add_evidence(answer, "least round trip, capture point to " + peer + " and back", static_cast<double>(least),
                 EvidenceUnit::ns);
    if (median)
        add_evidence(answer, "median latency of all operations", static_cast<double>(*median), EvidenceUnit::ns);
    if (const FlowSnapshot* other = subject.reverse(worst); other != nullptr && other->round_trip_min_ns)
        add_evidence(answer, "least round trip on the other side", static_cast<double>(*other->round_trip_min_ns),
                     EvidenceUnit::ns);
    for (std::size_t i = 0; i < operation_count; ++i)
        add_operation(answer, static_cast<Operation>(i), worst.operations[i]);
    return answer;
}

void find_distance(const Subject& subject, std::vector<Answer>& out) {
    for (const Group& group : subject.groups()) {
        std::vector<Affected> affected = distant_flows(group);
        if (!affected.empty()) out.push_back(answer_about_distance(subject, affected));
    }
}

struct Slowness {
    double ratio;  ///< of the first response's median by the least round trip
    Operation operation;
};

/// READ data and atomics come from memory, through the adapter; acknowledgements come from the adapter itself. RC
/// alone: iWARP's acknowledgements are TCP's.
std::optional<Slowness> slow_responder(const FlowSnapshot& flow) {
    if (flow.transport == wire::Transport::iwarp) return std::nullopt;
    std::optional<std::uint64_t> least;
    for (std::size_t i = 0; i < operation_count; ++i) {
        if (wants_response(static_cast<Operation>(i))) continue;
        if (const auto fastest = flow.operations[i].latency_ns.min())
            least = least ? std::min(*least, *fastest) : *fastest;
    }
    if (!least || *least == 0) return std::nullopt;
    std::optional<Slowness> worst;
    for (std::size_t i = 0; i < operation_count; ++i) {
        if (!wants_response(static_cast<Operation>(i))) continue;
        const Histogram& first = flow.operations[i].first_response_ns.empty() ? flow.operations[i].latency_ns
                                                                              : flow.operations[i].first_response_ns;
        if (first.count() < enough_round_trips) continue;
        const double times = static_cast<double>(*first.quantile(0.5)) / static_cast<double>(*least);
        if (times >= slow_responder_ratio && (!worst || times > worst->ratio))
            worst = Slowness{times, static_cast<Operation>(i)};
    }
    return worst;
}

/// The flow with the most latencies.
const FlowSnapshot* most_sampled(const Subject& subject) {
    const FlowSnapshot* best = nullptr;
    std::uint64_t most = 0;
    for (const FlowSnapshot* flow : subject.flows()) {
        if (partly_read(*flow)) continue;
        std::uint64_t samples = 0;
        for (const OperationFigures& operation : flow->operations) samples += operation.latency_ns.count();
        if (samples > most) {
            most = samples;
            best = flow;
        }
    }
    return best;
}

/// The part of the time from post to polled completion that is most of it, where that is the sender's own.
struct OwnPart {
    Verdict verdict;
    double share = 0;
    double mean_ns = 0;
};
std::optional<OwnPart> own_part(const FlowSnapshot& flow) {
    if (!flow.verbs) return std::nullopt;
    const DelayFigures delays = flow.verbs->delays();
    if (delays.whole_ns.count() < enough_round_trips || delays.whole_ns.sum() == 0) return std::nullopt;
    const auto part = [&](const Histogram& of, Verdict verdict) {
        const double share = ratio(static_cast<double>(of.sum()), static_cast<double>(delays.whole_ns.sum()));
        return OwnPart{verdict, share, *of.mean()};
    };
    const OwnPart posted = part(delays.post_to_wire_ns, Verdict::posted_not_sent);
    const OwnPart polled = part(delays.ack_to_poll_ns, Verdict::slow_polling);
    const OwnPart& more = posted.share > polled.share ? posted : polled;
    return more.share > own_part_share ? std::optional(more) : std::nullopt;
}

std::string what_was_measured(const FlowSnapshot& flow) {
    if (flow.transport == wire::Transport::iwarp)
        return "SEND and WRITE are measured to TCP's acknowledgement, READ to its last byte.";
    return "SEND and WRITE are measured to the adapter's acknowledgement, without the remote application; READ to its "
           "last byte.";
}

/// SENDs have neither keys nor pages
const FlowSnapshot* most_repaired(const Subject& subject) {
    const FlowSnapshot* worst = nullptr;
    for (const FlowSnapshot* flow : subject.flows())
        if (!partly_read(*flow) && (repeated_packets(*flow) > 0 || (flow->rnr_naks > 0 && !shows_its_own(*flow))) &&
            ratio(static_cast<double>(repair_ns(*flow)), static_cast<double>(active_ns(*flow))) >=
                hurting_repair_share &&
            (worst == nullptr || repair_ns(*flow) > repair_ns(*worst)))
            worst = flow;
    return worst;
}

/// A flow with its latencies, and the words for them.
struct Measured {
    const Subject& subject;
    const FlowSnapshot& flow;
    LatencySet all;
    std::string way;
    std::string spread;  ///< "median of WRITEs 4.2 us, 99 % within ..."; empty without samples
};

std::string spread_of(const LatencySet& set) {
    if (set.ns.empty()) return {};
    return fmt::format(
        "median of {} {}, 99 % within {}, longest {}", set.of, duration(static_cast<double>(*set.ns.quantile(0.5))),
        duration(static_cast<double>(*set.ns.quantile(0.99))), duration(static_cast<double>(*set.ns.max())));
}

Measured measure(const Subject& subject, const FlowSnapshot& flow) {
    Measured measured{subject, flow, all_latencies(flow), subject.from_to({&flow}), {}};
    measured.spread = spread_of(measured.all);
    return measured;
}

/// A verdict with its words; without value where the rule says nothing of the flow.
struct Explanation {
    Verdict verdict;
    std::string summary;
    std::string advice;
};
using Rule = std::optional<Explanation> (*)(const Measured&);

std::string others(const Measured& measured) {
    return measured.spread.empty() ? std::string("no other could be measured") : "the others: " + measured.spread;
}

std::optional<Explanation> waits_for_receives(const Measured& measured) {
    if (measured.flow.rnr_naks == 0 || shows_its_own(measured.flow)) return std::nullopt;
    const std::uint64_t waited_ns = time_in(measured.flow, {State::rnr_wait});
    const std::string waited = waited_ns > 0 ? fmt::format("waited for receives to be posted, {} in all",
                                                           duration(static_cast<double>(waited_ns)))
                                             : std::string("were refused, for no receive was posted");
    return Explanation{Verdict::rnr, fmt::format("Messages {} {}; {}.", measured.way, waited, others(measured)),
                       "See the answer about bandwidth: post receives earlier."};
}

std::optional<std::uint64_t> longest_repair_of(const FlowSnapshot& flow) {
    return longest_repair(flow.recovery.total_ns, time_in(flow, {State::recover_nak, State::recover_timeout}));
}

std::optional<Explanation> waits_for_repairs(const Measured& measured) {
    const FlowSnapshot& flow = measured.flow;
    if (repeated_packets(flow) == 0) return std::nullopt;
    if (const auto end = end_verdict(measured.subject, flow); end && flow.retries->repeats > 0)
        return Explanation{Verdict::retransmission,
                           fmt::format("The last request {} was sent again ({}) and never acknowledged; {}.",
                                       measured.way, counted(flow.retries->repeats, "time"), others(measured)),
                           "See the answer about bandwidth: the sender gave up."};
    const auto longest = longest_repair_of(flow);
    std::string waited = "were retransmitted in part";
    // A sender may go on with other messages during a repair. Messages waited longer then than the sender stood still.
    if (longest && *longest > repair_ns(flow))
        waited = "waited for repairs";
    else if (repair_ns(flow) > 0)
        waited = fmt::format("waited {} for repairs", duration(static_cast<double>(repair_ns(flow))));
    if (longest) waited += fmt::format(", {} at worst", duration(static_cast<double>(*longest)));
    return Explanation{Verdict::retransmission,
                       fmt::format("Messages {} {}; {}.", measured.way, waited, others(measured)),
                       "See the answer about bandwidth: what is repaired there makes the long waits."};
}

std::optional<Explanation> waits_for_responder(const Measured& measured) {
    const auto slow = slow_responder(measured.flow);
    if (!slow) return std::nullopt;
    const std::string responder = measured.subject.short_name(measured.flow.destination.address);
    return Explanation{
        Verdict::responder_slow,
        fmt::format("{} takes {} times as long to answer {} as to acknowledge ({}; {}).", responder, rough(slow->ratio),
                    slow->operation == Operation::read ? "READs" : "atomics", measured.way, measured.spread),
        fmt::format("On {} look at the way from adapter to memory: PCIe (`lspci -vv`), NUMA node of the "
                    "buffers, IOMMU, power states; for a software stack, its CPU.",
                    responder)};
}

std::string capitalized(std::string_view words) {
    std::string out(words);
    if (!out.empty()) out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
    return out;
}

std::optional<Explanation> waits_for_each_other(const Measured& measured) {
    const FlowSnapshot& flow = measured.flow;
    const LatencySet alike = alike_latencies(flow);
    if (alike.ns.count() < 50 || flow.messages_max <= 1) return std::nullopt;
    const auto least = static_cast<double>(*alike.ns.min());
    const auto median = static_cast<double>(*alike.ns.quantile(0.5));
    if (least == 0 || median < queueing_ratio * least) return std::nullopt;
    return Explanation{
        Verdict::queueing,
        fmt::format("{} {} typically take {} times the least latency of {}: with up to {} outstanding "
                    "they wait for each other ({}).",
                    capitalized(alike.of), measured.way, rough(median / least), duration(least),
                    number(flow.messages_max), spread_of(alike)),
        "Fewer outstanding messages wait less and give the same bandwidth, as long as link rate times round "
        "trip stays outstanding."};
}

std::optional<Explanation> waits_for_itself(const Measured& measured) {
    const auto own = own_part(measured.flow);
    if (!own) return std::nullopt;
    const std::string program = program_on(measured.subject, measured.flow);
    if (own->verdict == Verdict::posted_not_sent)
        return Explanation{
            own->verdict,
            fmt::format("Of the time from post to completion {}, {} is over before the first packet leaves: "
                        "{} on average (on the wire: {}).",
                        measured.way, percent(own->share), duration(own->mean_ns), measured.spread),
            fmt::format("Work requests of {} wait for others in its send queue, or for the adapter: the "
                        "answer about queue depth says how many. A shorter queue has the same bandwidth, as "
                        "long as it does not run empty.",
                        program)};
    return Explanation{
        own->verdict,
        fmt::format("Of the time from post to completion {}, {} is that of completions which {} has not "
                    "looked at yet: {} on average (on the wire: {}).",
                    measured.way, percent(own->share), program, duration(own->mean_ns), measured.spread),
        "Poll the completion queue more often, or wait for its events in a thread of its own; see what CPU "
        "that thread gets."};
}

std::optional<Explanation> waits_for_nothing(const Measured& measured) {
    return Explanation{Verdict::normal,
                       fmt::format("Latency {}: least {}, {}.", measured.way,
                                   duration(static_cast<double>(*measured.all.ns.min())), measured.spread),
                       fmt::format("Nothing needs to be done. {}", what_was_measured(measured.flow))};
}

/// The first that says something, names the verdict.
constexpr std::array<Rule, 6> rules{waits_for_receives,   waits_for_repairs, waits_for_responder,
                                    waits_for_each_other, waits_for_itself,  waits_for_nothing};

Answer nothing_measured(const Subject& subject) {
    std::vector<Affected> no_flows;
    Answer answer = finding(Question::latency, Verdict::undecidable, no_flows);
    answer.summary = "No message in the capture was answered, so no latency could be measured.";
    answer.advice = "Capture both directions of a reliable service while it runs; UC and UD acknowledge nothing.";
    if (is_partly_read(subject)) {
        answer.summary = "So few messages could be read that their latency is no measure of the others.";
        answer.advice = unread_advice(subject);
    }
    return answer;
}

Answer latency_answer(const Subject& subject) {
    const FlowSnapshot* flow = most_repaired(subject);
    if (flow == nullptr) flow = most_sampled(subject);
    if (flow == nullptr) return nothing_measured(subject);
    const Measured measured = measure(subject, *flow);
    std::optional<Explanation> explanation;
    for (const Rule rule : rules)
        if ((explanation = rule(measured))) break;
    std::vector<Affected> affected{{flow, 0}};
    Answer answer = finding(Question::latency, explanation->verdict, affected);
    answer.summary = std::move(explanation->summary);
    answer.advice = std::move(explanation->advice);
    answer.confidence = flow->confidence * (measured.all.ns.count() >= enough_round_trips ? 1.0 : 0.5);
    if (flow->round_trip_min_ns)
        add_evidence(answer, "least round trip from the capture point", static_cast<double>(*flow->round_trip_min_ns),
                     EvidenceUnit::ns);
    for (std::size_t i = 0; i < operation_count; ++i)
        add_operation(answer, static_cast<Operation>(i), flow->operations[i]);
    add_traced(answer, *flow);
    add_evidence(answer, "packets retransmitted", static_cast<double>(repeated_packets(*flow)), EvidenceUnit::packets,
                 frames_of({flow}, {EventKind::retransmission}));
    add_evidence(answer, "time lost to repairs", static_cast<double>(repair_ns(*flow)), EvidenceUnit::ns);
    if (const auto longest = longest_repair_of(*flow))
        add_evidence(answer, "longest repair", static_cast<double>(*longest), EvidenceUnit::ns);
    return answer;
}

}  // namespace

void ask_latency(const Subject& subject, std::vector<Answer>& out) {
    const std::size_t before = out.size();
    find_distance(subject, out);
    if (out.size() == before) out.push_back(latency_answer(subject));
}

}  // namespace metrics::answers
