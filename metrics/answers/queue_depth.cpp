// How full are the queues? What is outstanding on the wire, against the most that was and the limits that are known.
#include <algorithm>
#include <fmt/core.h>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"

namespace metrics::inline answers {

namespace {

const FlowSnapshot* busiest(const Flows& flows) {
    const FlowSnapshot* best = nullptr;
    for (const FlowSnapshot* flow : flows) {
        if (flow->messages_total() == 0 || flow->messages_max == 0 || !knows_depth(*flow)) continue;
        if (best == nullptr || flow->message_bytes_total() > best->message_bytes_total()) best = flow;
    }
    return best;
}

/// The send queue itself, where the sender was traced: what is posted, and not only what is on its way.
const LevelFigures* traced_queue(const FlowSnapshot& flow) {
    const bool known = flow.verbs && flow.verbs->posts >= few_messages && flow.verbs->send_queue.observed_ns > 0;
    return known ? &flow.verbs->send_queue : nullptr;
}

struct Depth {
    std::uint64_t limit = 0;  ///< as far as known: ORD, else the most that was outstanding
    bool reads = false;       ///< the limit is ORD
};

Depth depth_of(const FlowSnapshot& flow) {
    if (only_requests_responses(flow) && flow.connection->initiator_depth && *flow.connection->initiator_depth > 0)
        return {std::max<std::uint64_t>(*flow.connection->initiator_depth, flow.responses_max), true};
    return {flow.messages_max, false};
}

Verdict verdict_of(const FlowSnapshot& flow, const Depth& depth) {
    const std::uint64_t wall = flow.wall_ns();
    if (flow.messages_total() < few_messages || wall == 0) return Verdict::undecidable;
    if (flow.service == Service::uc || flow.service == Service::ud) return Verdict::undecidable;
    const double at_limit = ratio(static_cast<double>(time_in(flow, {State::ack_window, State::read_window})),
                                  static_cast<double>(active_ns(flow)));
    const double at_max = ratio(static_cast<double>(flow.at_max_ns), static_cast<double>(wall));
    const bool reached = depth.reads ? flow.responses_max >= depth.limit : true;
    if (flow.messages_max > 1 && reached && (at_limit >= at_limit_share || at_max >= at_limit_share))
        return Verdict::at_limit;
    if (flow.messages_mean < underused_share * static_cast<double>(depth.limit)) return Verdict::underused;
    return Verdict::ok;
}

Verdict verdict_of(const LevelFigures& queue) {
    if (ratio(static_cast<double>(queue.full_ns), static_cast<double>(queue.observed_ns)) >= at_limit_share)
        return Verdict::at_limit;
    const auto limit = static_cast<double>(queue.capacity ? *queue.capacity : queue.max);
    return queue.max > 1 && queue.mean < underused_share * limit ? Verdict::underused : Verdict::ok;
}

void describe(Answer& answer, const Subject& subject, const FlowSnapshot& flow, const LevelFigures& queue) {
    const std::string way = subject.from_to({&flow});
    const std::string program = program_on(subject, flow);
    const std::string figures = fmt::format(
        "{} work requests posted and not complete on average, {} at most{}", rough(queue.mean), number(queue.max),
        queue.capacity ? fmt::format(", {} fit", number(*queue.capacity)) : std::string());
    const auto observed = static_cast<double>(queue.observed_ns);
    if (answer.verdict == Verdict::at_limit) {
        answer.summary = fmt::format("The send queue of {} {} is full {} of the time: {}.", program, way,
                                     percent(ratio(static_cast<double>(queue.full_ns), observed)), figures);
        answer.advice =
            "Raise max_send_wr (perftest's --tx-depth), if the answer about bandwidth says that the window limits; "
            "where it does not, a deeper queue only waits longer.";
    } else if (answer.verdict == Verdict::underused) {
        answer.summary = fmt::format("The send queue of {} {} is mostly empty: {}.", program, way, figures);
        answer.advice = fmt::format(
            "Nothing needs to be done, unless more bandwidth is needed: then post earlier. It was empty {} of the "
            "time.",
            percent(ratio(static_cast<double>(queue.empty_ns), observed)));
    } else {
        answer.summary = fmt::format("The send queue of {} {} is used without being full: {}.", program, way, figures);
        answer.advice = "Nothing needs to be done.";
    }
    if (!flow.verbs->exact()) {
        answer.confidence *= 0.8;
        answer.summary += " Records are missing, so these may be off by a few.";
    }
}

/// Receives at the other end, where its program was traced: without one, a Send has to wait.
void add_receives(Answer& answer, const Subject& subject, const FlowSnapshot& flow) {
    const FlowSnapshot* const other = subject.reverse(flow);
    if (other == nullptr || !other->verbs || other->verbs->receive_queue.observed_ns == 0) return;
    const LevelFigures& receives = other->verbs->receive_queue;
    add_evidence(answer, "receives posted and not used, mean", receives.mean, EvidenceUnit::messages);
    add_evidence(answer, "time without a receive posted",
                 ratio(static_cast<double>(receives.empty_ns), static_cast<double>(receives.observed_ns)),
                 EvidenceUnit::share, {}, true);
}

Answer nothing_outstanding(const Subject& subject) {
    std::vector<Affected> no_flows;
    Answer answer = finding(Question::queue_depth, Verdict::undecidable, no_flows);
    answer.summary = "No message was seen between its first packet and its acknowledgement, so no depth is known.";
    answer.advice = "Capture both directions of a reliable service; UC and UD acknowledge nothing on the wire.";
    if (is_partly_read(subject)) {
        answer.summary = "Too many messages could not be read to know how many were outstanding.";
        answer.advice = unread_advice(subject);
    }
    return answer;
}

void describe_undecidable(Answer& answer, const FlowSnapshot& flow, const std::string& way,
                          const std::string& figures) {
    answer.confidence = 0;
    const bool silent = flow.service == Service::uc || flow.service == Service::ud;
    answer.summary = silent
                         ? fmt::format("Nothing acknowledges messages {}, so the wire does not tell their depth.", way)
                         : fmt::format("Too little was sent {} to judge the depth of its queue ({}).", way, figures);
    answer.advice = silent ? "Trace the program itself to see its queues: `rdmascope run --trace FILE`."
                           : "Capture while the load runs.";
}

/// By what the packets show alone.
void describe(Answer& answer, const Subject& subject, const FlowSnapshot& flow, const Depth& depth) {
    const std::string way = subject.from_to({&flow});
    const std::string sender = subject.short_name(flow.source.address);
    const std::string figures =
        fmt::format("{} outstanding on average, {} at most{}", rough(flow.messages_mean), number(flow.messages_max),
                    depth.reads ? fmt::format(", {} permitted (ORD)", *flow.connection->initiator_depth) : "");
    switch (answer.verdict) {
        case Verdict::undecidable: return describe_undecidable(answer, flow, way, figures);
        case Verdict::at_limit:
            answer.summary = fmt::format("The queue {} is full most of the time: {}.", way, figures);
            answer.advice =
                depth.reads
                    ? fmt::format(
                          "Raise initiator_depth on {} and responder_resources at its peer, if the answer about "
                          "bandwidth says that it limits.",
                          sender)
                    : fmt::format(
                          "Raise max_send_wr on {}, if the answer about bandwidth says that the window limits; the "
                          "wire shows what is outstanding, not what is posted after it.",
                          sender);
            answer.confidence *= depth.reads ? 1.0 : 0.8;
            return;
        case Verdict::underused:
            answer.summary = fmt::format("The queue {} is mostly empty: {}.", way, figures);
            answer.advice = "Nothing needs to be done, unless more bandwidth is needed: then post earlier.";
            answer.confidence *= 0.8;
            return;
        default:
            answer.summary = flow.messages_max == 1
                                 ? fmt::format("One message at a time is outstanding {}, {} of the time.", way,
                                               percent(ratio(flow.messages_mean, 1)))
                                 : fmt::format("The queue {} is used without being full: {}.", way, figures);
            answer.advice = "Nothing needs to be done.";
    }
}

void add_figures(Answer& answer, const FlowSnapshot& flow) {
    add_evidence(answer, "outstanding, mean", flow.messages_mean, EvidenceUnit::messages);
    add_evidence(answer, "outstanding, most", static_cast<double>(flow.messages_max), EvidenceUnit::messages);
    add_evidence(answer, "outstanding bytes, mean", flow.bytes_mean, EvidenceUnit::bytes);
    add_evidence(answer, "outstanding bytes, most", static_cast<double>(flow.bytes_max), EvidenceUnit::bytes);
    add_evidence(answer, "READs and atomics outstanding, most", static_cast<double>(flow.responses_max),
                 EvidenceUnit::messages);
    if (flow.connection->initiator_depth)
        add_evidence(answer, "READs and atomics permitted (ORD)",
                     static_cast<double>(*flow.connection->initiator_depth), EvidenceUnit::messages);
    add_evidence(answer, "time at the most",
                 ratio(static_cast<double>(flow.at_max_ns), static_cast<double>(flow.wall_ns())), EvidenceUnit::share);
}

}  // namespace

void ask_queue_depth(const Subject& subject, std::vector<Answer>& out) {
    const FlowSnapshot* flow = busiest(subject.flows());
    if (flow == nullptr) return out.push_back(nothing_outstanding(subject));
    const Depth depth = depth_of(*flow);
    const LevelFigures* const queue = traced_queue(*flow);
    std::vector<Affected> one{{flow, 0}};
    Answer answer =
        finding(Question::queue_depth, queue != nullptr ? verdict_of(*queue) : verdict_of(*flow, depth), one);
    if (queue != nullptr)
        describe(answer, subject, *flow, *queue);
    else
        describe(answer, subject, *flow, depth);
    add_traced(answer, *flow);
    add_receives(answer, subject, *flow);
    add_figures(answer, *flow);
    out.push_back(std::move(answer));
}

}  // namespace metrics::answers
