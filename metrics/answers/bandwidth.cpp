// Why is there not more bandwidth? First what is wrong; where nothing is, what binds the flow that moved most.
#include <algorithm>
#include <fmt/core.h>

#include "metrics/answers/bandwidth_measures.h"
#include "metrics/answers/bandwidth_verdict.h"
#include "metrics/answers/bandwidth_words.h"
#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/repairs.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"
#include "metrics/answers/unreachable.h"

namespace metrics::inline answers {

namespace {

void add_rates(const FlowSnapshot& flow, Answer& answer) {
    if (const auto rate = rate_of(flow))
        add_evidence(answer, flow.messages_total() > 0 ? "goodput" : "payload that passed", *rate,
                     EvidenceUnit::bytes_per_second);
    if (!flow.link_bits_per_sec) return;
    const double link = static_cast<double>(*flow.link_bits_per_sec) / 8;
    add_evidence(answer, "link rate", link, EvidenceUnit::bytes_per_second);
    const auto on_wire = static_cast<double>(bytes_on_link(flow.wire_bytes, flow.packets));
    if (flow.payload_bytes > 0 && !only_requests_responses(flow))
        add_evidence(answer, "possible with these headers",
                     link * ratio(static_cast<double>(flow.payload_bytes), on_wire), EvidenceUnit::bytes_per_second);
}

void add_window(const FlowSnapshot& flow, Answer& answer) {
    if (knows_depth(flow)) {
        add_evidence(answer, "messages outstanding, mean", flow.messages_mean, EvidenceUnit::messages);
        add_evidence(answer, "messages outstanding, most", static_cast<double>(flow.messages_max),
                     EvidenceUnit::messages);
    }
    if (flow.round_trip_min_ns)
        add_evidence(answer, "least round trip", static_cast<double>(*flow.round_trip_min_ns), EvidenceUnit::ns);
    const bool of_receiver = answer.verdict == Verdict::receive_window;
    const bool hidden = answer.verdict == Verdict::paced_or_window;
    // Where TCP's window decides, what was outstanding is no bound of the sender's own.
    if (const auto bound = window_bound(flow); bound && knows_depth(flow) && !of_receiver && !hidden)
        add_evidence(answer, "possible with this window", *bound, EvidenceUnit::bytes_per_second);
    if (of_receiver && flow.tcp && flow.tcp->receive_window_min) {
        add_evidence(answer, "receive window, least", static_cast<double>(*flow.tcp->receive_window_min),
                     EvidenceUnit::bytes);
        add_evidence(answer, "receive window, most", static_cast<double>(flow.tcp->receive_window_max.value_or(0)),
                     EvidenceUnit::bytes);
    }
}

void add_times(const FlowSnapshot& flow, Answer& answer) {
    const auto wall = static_cast<double>(flow.wall_ns());
    if (!knows_depth(flow))
        add_evidence(answer, "time between messages", ratio(static_cast<double>(between_messages_ns(flow)), wall),
                     EvidenceUnit::share);
    for (std::size_t state = 0; state < state_count; ++state) {
        if (!knows_depth(flow) && rests_on_depth(static_cast<State>(state))) continue;
        const double share = ratio(static_cast<double>(flow.state_ns[state]), wall);
        if (share < 0.005) continue;
        std::vector<std::uint64_t> frames;
        if (state == index_of(State::nic_stall)) frames = frames_of({&flow}, {EventKind::long_gap});
        if (state == index_of(State::credit))
            frames = frames_of({&flow}, {EventKind::zero_window, EventKind::credit_exhausted});
        add_evidence(answer, "time in " + std::string(state_names[state]), share, EvidenceUnit::share,
                     std::move(frames));
    }
}

void add_figures(const Subject& subject, const FlowSnapshot& flow, Answer& answer) {
    add_rates(flow, answer);
    add_evidence(answer, "mean message", mean_message(flow), EvidenceUnit::bytes);
    add_window(flow, answer);
    add_times(flow, answer);
    add_traced(answer, flow);
    if (const FlowSnapshot* other = subject.reverse(flow); other != nullptr && only_requests_responses(flow))
        add_evidence(answer, "responder sending", sending_share(subject, flow), EvidenceUnit::share);
}

std::uint64_t moved(const FlowSnapshot& flow) { return std::max(flow.message_bytes_total(), flow.payload_bytes); }

/// The flow that moved most. Flows with messages come first: what they wait for is known.
const FlowSnapshot* busiest_sender(const Flows& flows) {
    const FlowSnapshot* best = nullptr;
    for (const FlowSnapshot* flow : flows) {
        if (!carries_data(*flow)) continue;
        const auto rank = [](const FlowSnapshot& f) { return std::make_pair(f.messages_total() > 0, moved(f)); };
        if (best == nullptr || rank(*flow) > rank(*best)) best = flow;
    }
    return best;
}

/// MPA's Reply was accepted, and no FPDU came from either side.
bool holds_silent_streams(const Subject& subject) {
    const auto is_silent = [](const FlowSnapshot& flow) { return !carries_data(flow) && flow.terminates == 0; };
    return std::any_of(subject.flows().begin(), subject.flows().end(), [&](const FlowSnapshot* flow) {
        const bool rejected = flow->connection->end_kind == EndKind::mpa_rejected;
        const FlowSnapshot* const reverse = subject.reverse(*flow);
        return flow->transport == wire::Transport::iwarp && flow->connection->setup_ns && !rejected &&
               is_silent(*flow) && (reverse == nullptr || is_silent(*reverse));
    });
}

/// No RFC says how a start frame of another revision continues.
std::string unknown_revision(const Subject& subject) {
    constexpr std::uint32_t newest = 2;
    for (const FlowSnapshot* flow : subject.flows()) {
        const auto revision = flow->connection->mpa_revision;
        if (revision && (*revision == 0 || *revision > newest))
            return fmt::format(
                " iWARP connections were set up with MPA revision {}, which is not that of RFC 5044 (1) or RFC 6581 "
                "(2): "
                "what follows is not read.",
                *revision);
    }
    return {};
}

Answer nothing_moved(const Subject& subject) {
    std::vector<Affected> no_flows;
    Answer answer = finding(Question::bandwidth, Verdict::undecidable, no_flows);
    answer.summary = "No RDMA message was seen whose bandwidth could be judged.";
    answer.advice = "Capture while the load runs, both directions: `rdmascope dump -i IFACE -s 128 -w FILE`.";
    if (const std::string words = unknown_revision(subject); !words.empty()) {
        answer.summary += words;
        answer.advice =
            "See which driver set these connections up: an adapter may carry the data by a protocol of its own, past "
            "the kernel.";
        return answer;
    }
    if (!holds_silent_streams(subject)) return answer;
    answer.summary +=
        " iWARP connections were set up, and neither side sent anything on them: the accepting side may not be the "
        "first, unless both have agreed on peer-to-peer set-up (RFC 5044, 7.1.2).";
    answer.advice +=
        " For peer-to-peer set-up Linux siw has the parameter peer_to_peer, `rdmascope run` --peer-to-peer=on.";
    return answer;
}

/// This flow, and those between the same hosts with the same verdict.
std::vector<Affected> alike_flows(const Subject& subject, const FlowSnapshot& flow, Verdict verdict) {
    std::vector<Affected> alike;
    const auto most = static_cast<double>(std::max<std::uint64_t>(moved(flow), 1));
    for (const Group& group : subject.groups()) {
        if (std::ranges::find(group.flows, &flow) == group.flows.end()) continue;
        for (const FlowSnapshot* each : group.flows)
            if (each == &flow ||
                (carries_data(*each) && each->messages_total() > 0 && bandwidth_verdict(subject, *each) == verdict))
                alike.push_back({each, ratio(static_cast<double>(moved(*each)), most)});
    }
    return alike;
}

Answer bandwidth_answer(const Subject& subject) {
    const FlowSnapshot* flow = busiest_sender(subject.flows());
    if (flow == nullptr) return nothing_moved(subject);
    const Verdict verdict = bandwidth_verdict(subject, *flow);
    std::vector<Affected> alike = alike_flows(subject, *flow, verdict);
    Answer answer = finding(Question::bandwidth, verdict, alike);
    BandwidthWords words = bandwidth_words(subject, verdict, *flow);
    answer.summary = std::move(words.summary);
    answer.advice = std::move(words.advice);
    answer.severity = 0;
    answer.alarm = false;
    answer.confidence *= 1 - ratio(static_cast<double>(flow->state_unsure_ns),
                                   static_cast<double>(std::max<std::uint64_t>(flow->wall_ns(), 1)));
    if (verdict == Verdict::undecidable) answer.confidence = 0;
    if (verdict == Verdict::receive_window && flow->tcp && was_shut(*flow->tcp)) {
        answer.alarm = true;
        answer.severity = share_of(*flow, {State::credit}, flow->wall_ns());
        answer.cost = {answer.severity, CostBasis::busy_time};
    }
    add_figures(subject, *flow, answer);
    return answer;
}

}  // namespace

void ask_bandwidth(const Subject& subject, std::vector<Answer>& out) {
    const std::size_t before = out.size();
    find_failed_connections(subject, out);
    find_errors(subject, out);
    find_unreachable(subject, out);
    find_ends(subject, out);
    find_repairs(subject, out);
    if (out.size() == before) out.push_back(bandwidth_answer(subject));
}

}  // namespace metrics::answers
