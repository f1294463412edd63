// What only the program's own posts and completions show.
#include "metrics/answers/trace_evidence.h"

#include <algorithm>
#include <fmt/core.h>

#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/subject.h"

namespace metrics::inline answers {

std::uint64_t held_ns(const FlowSnapshot& flow) {
    if (!flow.verbs) return 0;
    std::uint64_t sum = 0;
    for (const std::uint64_t part : flow.verbs->held_ns) sum += part;
    return std::min(sum, flow.state_ns[index_of(State::nic_stall)]);
}

std::uint64_t unpolled_ns(const FlowSnapshot& flow, State application) {
    if (!flow.verbs || group_of(application) != StateGroup::application) return 0;
    const std::size_t place = index_of(application) - index_of(State::application_in_flight);
    return std::min(flow.verbs->unpolled_ns[place], flow.state_ns[index_of(application)]);
}

std::uint64_t unpolled_ns(const FlowSnapshot& flow) {
    return unpolled_ns(flow, State::application_in_flight) + unpolled_ns(flow, State::peer_wait) +
           unpolled_ns(flow, State::application_idle);
}

std::string program_on(const Subject& subject, const FlowSnapshot& flow) {
    const std::string host = subject.short_name(flow.source.address);
    if (!flow.verbs || flow.verbs->process.command.empty()) return host;
    std::string_view name = flow.verbs->process.command;
    name = name.substr(0, name.find(' '));
    name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
    return fmt::format("{} (pid {}) on {}", name, flow.verbs->process.pid, host);
}

namespace {

void add_median(Answer& answer, std::string what, const Histogram& values) {
    if (const auto median = values.quantile(0.5))
        add_evidence(answer, std::move(what), static_cast<double>(*median), EvidenceUnit::ns, {}, true);
}

void add_queue(Answer& answer, const std::string& what, const LevelFigures& queue) {
    if (queue.max == 0) return;
    add_evidence(answer, what + ", mean", queue.mean, EvidenceUnit::messages);
    add_evidence(answer, what + ", most", static_cast<double>(queue.max), EvidenceUnit::messages);
    if (queue.capacity)
        add_evidence(answer, what + ", as many as fit", static_cast<double>(*queue.capacity), EvidenceUnit::messages);
    const auto observed = static_cast<double>(queue.observed_ns);
    add_evidence(answer, "time without any " + what, ratio(static_cast<double>(queue.empty_ns), observed),
                 EvidenceUnit::share);
    if (queue.capacity)
        add_evidence(answer, "time with as many " + what + " as fit",
                     ratio(static_cast<double>(queue.full_ns), observed), EvidenceUnit::share);
}

}  // namespace

void add_traced(Answer& answer, const FlowSnapshot& flow) {
    if (!flow.verbs) return;
    const VerbsFigures& verbs = *flow.verbs;
    add_queue(answer, "work requests in the send queue", verbs.send_queue);
    const DelayFigures delays = verbs.delays();
    add_median(answer, "median, post to first packet", delays.post_to_wire_ns);
    add_median(answer, "median, last packet to acknowledgement", delays.wire_to_ack_ns);
    add_median(answer, "median, acknowledgement to polled completion", delays.ack_to_poll_ns);
    add_median(answer, "median, post to polled completion", delays.whole_ns);
    const auto wall = static_cast<double>(flow.wall_ns());
    add_evidence(answer, "time with work posted and not sent", ratio(static_cast<double>(held_ns(flow)), wall),
                 EvidenceUnit::share);
    add_evidence(answer, "time with nothing posted and a completion not taken",
                 ratio(static_cast<double>(unpolled_ns(flow)), wall), EvidenceUnit::share);
    add_evidence(answer, "completions with an error", static_cast<double>(verbs.completion_errors), EvidenceUnit::none);
    add_evidence(answer, "records of the trace that were lost", static_cast<double>(verbs.records_lost),
                 EvidenceUnit::none);
}

}  // namespace metrics::answers
