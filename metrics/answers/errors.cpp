// What ended a queue pair, and connections that did not come about.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/questions.h"
#include "metrics/answers/subject.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/unreachable.h"
#include "wire/error_text.h"

namespace metrics::inline answers {

namespace {

/// A queue pair in error carries nothing more: half of the severity. The other half is the share of the flows between
/// the two hosts that are affected.
double severity_of_failure(std::size_t affected, std::size_t all) {
    return 0.5 + 0.5 * ratio(static_cast<double>(affected), static_cast<double>(std::max<std::size_t>(all, 1)));
}

Cost cost_of_failure(std::size_t affected, std::size_t all) {
    return {ratio(static_cast<double>(affected), static_cast<double>(std::max<std::size_t>(all, 1))),
            CostBasis::connections};
}

struct Refusal {
    NakCode code;
    Verdict verdict;
    std::string_view sentence;  ///< "{receiver} ... "
    std::string_view advice;
};
constexpr std::array<Refusal, 4> refusals{{
    {NakCode::remote_access_error, Verdict::remote_access_error, "refused access to its memory",
     "Compare the rkey and the address range of the request (the frame shows them in its RETH with `dump -V`) with "
     "what {} registered: the key may be stale or of another region, the range may exceed it, or the region may lack "
     "IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC."},
    {NakCode::invalid_request, Verdict::invalid_request, "found requests that it cannot take",
     "See on {} what the queue pair permits (qp_access_flags, max_dest_rd_atomic) and whether the request fits: "
     "atomics must be aligned to 8 bytes, READs need responder resources, a message must not be longer than "
     "announced."},
    {NakCode::remote_operational_error, Verdict::remote_operational_error, "could not carry out requests",
     "Look into the completion queue and the log of {} for its own error; the usual cause is a SEND longer than the "
     "receive that was posted for it: post larger receives, or split messages."},
    {NakCode::invalid_rd_request, Verdict::invalid_request, "found an invalid RD request",
     "Compare the EE contexts of both ends; RD is rarely implemented."},
}};

/// The request that was refused, where it is known, and only what can be wrong with that.
void name_refused(const Flows& flows, const Refusal& refusal, const std::string& responder, Answer& answer) {
    const auto known = std::ranges::find_if(flows, [](const FlowSnapshot* flow) { return flow->refused.has_value(); });
    if (known == flows.end()) return;
    const RequestFigures& refused = *(*known)->refused;
    answer.summary += fmt::format(" Refused was {}{}.", request_text(refused),
                                  refused.packet_bytes > 0 && refused.packet_bytes < refused.message_bytes
                                      ? fmt::format(", in packets of {} bytes", number(refused.packet_bytes))
                                      : std::string());
    if (refusal.code == NakCode::invalid_request) answer.advice = invalid_request_advice(refused, responder);
    if (refused.frame != 0)
        add_evidence(answer, "the request that was refused", 1, EvidenceUnit::requests, {refused.frame});
}

void find_refusal(const Subject& subject, const Group& group, const Refusal& refusal, bool elsewhere,
                  std::vector<Answer>& out) {
    std::vector<Affected> affected;
    std::uint64_t naks = 0;
    for (const FlowSnapshot* flow : group.flows) {
        const std::uint64_t count = flow->naks[static_cast<std::size_t>(refusal.code)];
        if (count == 0 || shows_its_own(*flow) != elsewhere) continue;
        naks += count;
        affected.push_back({flow, 1.0});
    }
    if (affected.empty()) return;
    Answer answer = finding(Question::bandwidth, refusal.verdict, affected);
    const Flows flows = flows_of(affected);
    answer.severity = severity_of_failure(affected.size(), group.flows.size());
    answer.cost = cost_of_failure(affected.size(), group.flows.size());
    const std::string responder = subject.short_name(responder_of(*flows.front()).address);
    answer.summary = fmt::format("{} {} {} ({}): such a queue pair goes into error and carries nothing more.",
                                 responder, refusal.sentence, subject.requests(flows), counted(naks, "NAK"));
    answer.advice = fmt::format(fmt::runtime(refusal.advice), responder);
    name_refused(flows, refusal, responder, answer);
    add_evidence(answer, "NAKs of this kind", static_cast<double>(naks), EvidenceUnit::naks,
                 frames_of(flows, {EventKind::nak}));
    for (const FlowSnapshot* flow : flows)
        if (flow->connection->end_kind && flow->connection->end_frame != 0) {
            add_evidence(answer, "connection ended by " + flow->connection->end, 1, EvidenceUnit::none,
                         {flow->connection->end_frame});
            break;
        }
    out.push_back(std::move(answer));
}

/// NAKs on a flow without a partner come from another host than NAKs about a flow.
void find_refusals(const Subject& subject, const Group& group, std::vector<Answer>& out) {
    for (const Refusal& refusal : refusals)
        for (const bool elsewhere : {false, true}) find_refusal(subject, group, refusal, elsewhere, out);
}

/// What a Terminate said, as EventKind::terminate has it; the dissector has corrected the byte order of siw.
struct Report {
    std::uint8_t layer;
    std::uint8_t type;
    std::uint8_t code;
};
Report report_of(std::uint64_t value) {
    return {static_cast<std::uint8_t>(value >> 12 & 0xf), static_cast<std::uint8_t>(value >> 8 & 0xf),
            static_cast<std::uint8_t>(value & 0xff)};
}
std::string words_of(const Report& report) {
    std::string words;
    wire::append_terminate_reason(words, report.layer, report.type, report.code);
    return words;
}

/// The verdict on a Terminate, and what helps: "{}" is the host that sent it.
struct Diagnosis {
    Verdict verdict;
    std::string_view advice;
};

constexpr std::string_view own_error = "Look into the log and the completion queues of {}: it met an error of its own.";

/// Codes of RDMAP's protection errors and of DDP's tagged buffer errors mean the same up to "not associated". RFC 5040,
/// 4.8; RFC 5041, 7.2.
std::string_view access_advice(const Report& report) {
    constexpr unsigned invalid_stag = 0;
    constexpr unsigned bounds = 1;
    constexpr unsigned rdmap_rights = 2;
    switch (report.code) {
        case invalid_stag:
            return "The STag that the request names (`dump -V` of the Terminate quotes it) is not one of {}'s: it was "
                   "invalidated or deregistered before, or the two sides exchanged a wrong one.";
        case bounds:
            return "The request goes beyond the region: compare the tagged offset and length that the Terminate quotes "
                   "(`dump -V`) with the address range that {} registered.";
        case rdmap_rights:
            if (report.layer == 0)
                return "The region of {} lacks the right that the request needs: register it with "
                       "IBV_ACCESS_REMOTE_WRITE or IBV_ACCESS_REMOTE_READ.";
            break;
        default: break;
    }
    return "Compare the STag and the tagged offset of the request that the Terminate quotes (`dump -V` shows it) with "
           "what {} registered for this connection: both must belong to the same protection domain.";
}

/// RFC 5041, 7.2.
Diagnosis diagnose_untagged(const Report& report) {
    constexpr unsigned no_buffer = 2;
    constexpr unsigned too_long = 5;
    switch (report.code) {
        case no_buffer:
            return {Verdict::rnr,
                    "On {} post receives earlier and more of them; iWARP does not wait as RoCE does, it ends the "
                    "connection."};
        case too_long:
            return {Verdict::remote_operational_error, "On {} post larger receives, or let the sender split messages."};
        default:
            return {Verdict::invalid_request,
                    "Compare both ends' implementations with {}: queue number, message sequence number or offset is "
                    "wrong."};
    }
}

/// RFC 5044, 8; RFC 6581, 8.
Diagnosis diagnose_mpa(const Report& report) {
    constexpr unsigned connection_lost = 1;
    constexpr unsigned bad_crc = 2;
    constexpr unsigned markers = 3;
    constexpr unsigned bad_start = 4;
    constexpr unsigned few_responses = 6;
    constexpr unsigned no_ready_to_receive = 7;
    switch (report.code) {
        case connection_lost:
            return {Verdict::terminate, "See why TCP gave up: retransmissions and resets in `dump --all` towards {}."};
        case bad_crc:
            return {Verdict::corruption,
                    "Segments are damaged on the way: see the error counters (`ethtool -S`) along the way to {}."};
        case markers:
        case bad_start:
            return {Verdict::terminate,
                    "The two ends do not agree on MPA: compare revision, markers and CRC of both start frames (`dump "
                    "-V`) with what {} is configured for."};
        case few_responses:
            return {Verdict::terminate,
                    "{} cannot serve as many READs at a time as it was asked to: ask for a smaller ORD "
                    "(initiator_depth), or give it a greater IRD (responder_resources)."};
        case no_ready_to_receive:
            return {Verdict::terminate,
                    "Both ends want peer-to-peer set-up, and support no message in common that could begin it: allow "
                    "{} one more of zero-length SEND, WRITE and READ."};
        default: break;
    }
    return {Verdict::terminate, own_error};
}

Diagnosis diagnose(const Report& report) {
    if ((report.layer == 0 || report.layer == 1) && report.type == 1)
        return {Verdict::remote_access_error, access_advice(report)};
    if (report.layer == 0 && report.type == 2)
        return {Verdict::remote_operational_error,
                "Look into the log of {}: it met an opcode, a version or a state that it cannot serve."};
    if (report.layer == 1 && report.type == 2) return diagnose_untagged(report);
    if (report.layer == 2 && report.type == 0) return diagnose_mpa(report);
    if (report.layer < 2 && report.type == 0) return {Verdict::terminate, own_error};
    return {Verdict::terminate,
            "No specification knows this code: compare the implementation and release of {} with its peer's."};
}

/// The responder has broken the set-up: RFC 6581, 9.2 requires A in the reply if the request has it. Empty if it did
/// not.
std::string peer_to_peer_advice(const Subject& subject, const FlowSnapshot& flow, const Report& report) {
    constexpr std::uint8_t no_ready_to_receive = 7;
    const std::uint64_t reply = flow.connection->refused_peer_to_peer_frame;
    if (reply == 0 || report.layer != 2 || report.type != 0 || report.code != no_ready_to_receive) return {};
    return fmt::format(
        "Frame {0}, the MPA reply of {1}, lacks flag A (peer-to-peer), which the request has: RFC 6581, 9.2 wants it "
        "in the reply. {1} must be mended: update its iWARP driver (siw), or switch peer-to-peer set-up off on {2}.",
        reply, subject.short_name(flow.destination.address), subject.short_name(flow.source.address));
}

/// Terminates of one code. An unknown one, whose frame was not kept, is 0: "local catastrophic error".
struct Terminated {
    Report report;
    Flows flows;
};

/// Those of a group of flows, by the code that the Terminate carried.
std::map<std::uint64_t, Terminated> terminates_of(const Group& group) {
    std::map<std::uint64_t, Terminated> by_code;
    for (const FlowSnapshot* flow : group.flows) {
        if (flow->terminates == 0) continue;
        const EventSummary* summary = flow->find_event_summary(EventKind::terminate);
        const std::uint64_t value = summary == nullptr ? 0 : summary->value_max;
        Terminated& terminated = by_code[value];
        terminated.report = report_of(value);
        terminated.flows.push_back(flow);
    }
    return by_code;
}

/// The bytes of the refused FPDU are those that the TCP of its sender summed.
std::string changed_buffer_advice(const std::string& sender) {
    return fmt::format(
        "The segment with the bad CRC has a right TCP checksum, so its bytes changed inside {0}: look there for an "
        "application or file system that writes to a buffer before the completion of its work request (zero copy of "
        "pages that are not stable), or for wrong CRC code.",
        sender);
}

/// Of Terminates with one verdict, those that ended most flows first.
Answer answer_about_terminates(const Subject& subject, const Group& group, Verdict verdict,
                               const std::vector<const Terminated*>& terminates) {
    std::vector<Affected> affected;
    for (const Terminated* terminated : terminates)
        for (const FlowSnapshot* flow : terminated->flows) affected.push_back({flow, 1.0});
    Answer answer = finding(Question::bandwidth, verdict, affected);
    const Terminated& most = *terminates.front();
    const FlowSnapshot& first = *most.flows.front();
    answer.severity = severity_of_failure(affected.size(), group.flows.size());
    answer.cost = cost_of_failure(affected.size(), group.flows.size());
    const std::string words = words_of(most.report);
    const std::string peer = subject.host(first.destination.address);
    if (affected.size() == 1)
        answer.summary = fmt::format("{} ended its connection with {} by a Terminate message: {}.",
                                     subject.end(first.source), subject.end(first.destination), words);
    else
        answer.summary =
            fmt::format("{} ended {} with {} by Terminate messages: {}{}.", subject.host(first.source.address),
                        counted(affected.size(), "connection"), peer,
                        terminates.size() > 1 ? fmt::format("{} of them for ", most.flows.size()) : "", words);
    answer.advice = fmt::format(fmt::runtime(diagnose(most.report).advice), subject.short_name(first.source.address));
    const FlowSnapshot* const refused = subject.reverse(first);
    if (verdict == Verdict::corruption && refused != nullptr && refused->crc_bad_checksum_right > 0 &&
        refused->crc_bad_checksum_right == refused->crc_bad)
        answer.advice = changed_buffer_advice(subject.short_name(refused->source.address));
    if (std::string advice = peer_to_peer_advice(subject, first, most.report); !advice.empty()) {
        answer.advice = std::move(advice);
        add_evidence(answer, "MPA reply without flag A", 1, EvidenceUnit::frames,
                     {first.connection->refused_peer_to_peer_frame});
    }
    for (const Terminated* terminated : terminates)
        add_evidence(answer, "Terminates: " + words_of(terminated->report),
                     static_cast<double>(terminated->flows.size()), EvidenceUnit::messages,
                     frames_of(terminated->flows, {EventKind::terminate}));
    // What it answers ran the other way.
    for (const FlowSnapshot* flow : flows_of(affected))
        if (const FlowSnapshot* other = subject.reverse(*flow)) answer.flows.push_back(other->id);
    return answer;
}

void find_terminates(const Subject& subject, const Group& group, std::vector<Answer>& out) {
    const std::map<std::uint64_t, Terminated> by_code = terminates_of(group);
    std::map<Verdict, std::vector<const Terminated*>> by_verdict;
    for (const auto& [value, terminated] : by_code)
        by_verdict[diagnose(terminated.report).verdict].push_back(&terminated);
    for (auto& [verdict, terminates] : by_verdict) {
        std::ranges::stable_sort(
            terminates, [](const Terminated* a, const Terminated* b) { return a->flows.size() > b->flows.size(); });
        out.push_back(answer_about_terminates(subject, group, verdict, terminates));
    }
}

bool failed(const ConnectionAttempt& attempt, const CaptureFigures& capture) {
    if (attempt.outcome == AttemptOutcome::rejected || attempt.outcome == AttemptOutcome::reset) return true;
    if (unreachable_verdict(attempt)) return false;  // an answer of its own
    // Times of a damaged capture may be anything; a difference of them need not fit.
    return attempt.outcome == AttemptOutcome::unanswered &&
           static_cast<double>(capture.last_ns) - static_cast<double>(attempt.request_ns) >=
               static_cast<double>(unanswered_after_ns);
}

/// Only of what failed().
Verdict verdict_of(AttemptOutcome outcome) {
    if (outcome == AttemptOutcome::rejected) return Verdict::connection_rejected;
    return outcome == AttemptOutcome::reset ? Verdict::connection_reset : Verdict::connection_unanswered;
}

/// `what` is "the connection" or "3 connections"; `reason` begins with a colon where there is one.
std::string failure_of(const ConnectionAttempt& attempt, const std::string& server, const std::string& client,
                       std::string what, const std::string& reason) {
    const AttemptOutcome outcome = attempt.outcome;
    if (attempt.by_client && outcome == AttemptOutcome::rejected)
        return fmt::format("{} gave up {} that it had asked {} for{}.", client, what, server, reason);
    if (outcome == AttemptOutcome::rejected)
        return fmt::format("{} refused {} that {} asked for{}.", server, what, client, reason);
    if (outcome != AttemptOutcome::reset)
        return fmt::format("{} did not answer when {} asked for {}.", server, client, what);
    what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
    return fmt::format("{} that {} asked {} for ended in a TCP reset{}.", what, client, server, reason);
}

/// "{0}" is the server, "{1}" the client.
struct Rejection {
    RejectReason reason;
    bool by_client;
    std::string_view advice;
};
constexpr std::string_view lacks_resources =
    "{0} has no queue pair, or no memory, left for it: see which programs hold how many (`rdma resource show`) and "
    "what "
    "its device allows (`ibv_devinfo -v`).";
constexpr std::array<Rejection, 6> rejections{{
    {RejectReason::no_queue_pair, false, lacks_resources},
    {RejectReason::no_resources, false, lacks_resources},
    {RejectReason::timeout, false,
     "{0} had waited without success for {1} to go on: see whether messages of the set-up get lost on the way (`dump` "
     "shows "
     "those "
     "that came here), and whether the program on {1} takes long to answer."},
    {RejectReason::timeout, true,
     "{1} had waited without success for {0} to answer: see whether {0} can be reached (ping), whether UDP port 4791 "
     "is open "
     "on "
     "the way, whether its RDMA device is up (`rdma link show`), and whether its program takes long to accept."},
    {RejectReason::invalid_service_id, false,
     "No program listens for that service on {0}: start the server, or compare its port and address (`rdma resource "
     "show "
     "cm_id`) with what the client asks for."},
    {RejectReason::stale_connection, false,
     "{0} still has a connection with that queue pair of {1}, whose end it was not told: ask again a moment later, "
     "with "
     "another queue pair. `rdma resource show cm_id` on {0} shows what it holds."},
}};

/// "{0}" is the server, "{1}" the client. An MPA request is sent when TCP is connected: then the host is up and the
/// port open.
std::string_view failure_advice(const ConnectionAttempt& attempt) {
    const bool iwarp = attempt.transport == wire::Transport::iwarp;
    if (attempt.outcome == AttemptOutcome::reset)
        return "On {0} see whether an iWARP server listens there (`rdma resource show cm_id`, `ss -ltnp`), and whether "
               "a firewall on the way resets connections.";
    if (attempt.outcome == AttemptOutcome::unanswered && iwarp)
        return "TCP was connected, so {0} is up and the port open, yet what listens there does not speak MPA: see "
               "which program it is (`ss -ltnp` on {0}), and whether the RDMA server listens on another port.";
    if (attempt.outcome == AttemptOutcome::unanswered)
        return "See whether {0} can be reached (ping), whether UDP port 4791 is open on the way, whether its RDMA "
               "device is up (`rdma link show`) and rdma_ucm is loaded.";
    if (iwarp)
        return "Compare what both ends are configured for: CRC, markers and MPA revision (`dump -V` shows both start "
               "frames), private data; where they agree, the server's own log on {0} says why it refused.";
    for (const Rejection& known : rejections)
        if (attempt.by_client == known.by_client && attempt.reject_reason == known.reason) return known.advice;
    if (attempt.by_client)
        return "See in the log on {1} why it refused what {0} had answered: queue depths, private data, or the state "
               "of "
               "its own queue pair.";
    return "See in the server's log on {0} why it refused, and whether both ends ask for the same: address family, "
           "GID and MTU, private data, queue depths.";
}

/// Attempts between the same hosts that ended alike. `working` flows carry data from the client to the server.
Answer answer_about_attempts(const Subject& subject, const std::vector<const ConnectionAttempt*>& attempts,
                             std::size_t working) {
    const ConnectionAttempt& first = *attempts.front();
    std::vector<Affected> no_flows;
    Answer answer = finding(Question::bandwidth, verdict_of(first.outcome), no_flows);
    answer.confidence = first.outcome == AttemptOutcome::unanswered ? 0.8 : 1.0;
    answer.severity = severity_of_failure(attempts.size(), attempts.size() + working);
    answer.cost = cost_of_failure(attempts.size(), attempts.size() + working);
    std::string reason;
    std::vector<std::uint64_t> requests;
    std::vector<std::uint64_t> ends;
    for (const ConnectionAttempt* attempt : attempts) {
        if (reason.empty() && !attempt->reason.empty()) reason = fmt::format(": {}", attempt->reason);
        if (requests.size() < 4) requests.push_back(attempt->request_frame);
        if (ends.size() < 4 && attempt->end_frame != 0) ends.push_back(attempt->end_frame);
    }
    const std::string what = attempts.size() == 1 ? "the connection" : counted(attempts.size(), "connection");
    answer.summary = failure_of(first, subject.end(first.server), subject.end(first.client), what, reason);
    answer.advice = fmt::format(fmt::runtime(failure_advice(first)), subject.short_name(first.server.address),
                                subject.short_name(first.client.address));
    add_evidence(answer, "requests for a connection", static_cast<double>(attempts.size()), EvidenceUnit::requests,
                 requests);
    if (first.outcome == AttemptOutcome::rejected)
        add_evidence(answer, "answers that refused", static_cast<double>(ends.size()), EvidenceUnit::answers, ends);
    else if (!ends.empty())
        add_evidence(answer, "connections closed instead", static_cast<double>(ends.size()), EvidenceUnit::connections,
                     ends);
    return answer;
}

}  // namespace

void find_errors(const Subject& subject, std::vector<Answer>& out) {
    for (const Group& group : subject.groups()) {
        find_refusals(subject, group, out);
        find_terminates(subject, group, out);
    }
}

void find_failed_connections(const Subject& subject, std::vector<Answer>& out) {
    if (subject.about_one_flow()) return;
    const Snapshot& snapshot = subject.snapshot();
    std::map<std::tuple<Address, Address, AttemptOutcome, bool>, std::vector<const ConnectionAttempt*>> failures;
    for (const ConnectionAttempt& attempt : snapshot.attempts)
        if (failed(attempt, snapshot.capture))
            failures[{attempt.client.address, attempt.server.address, attempt.outcome, attempt.by_client}].push_back(
                &attempt);
    std::map<std::pair<Address, Address>, std::size_t> working;
    if (!failures.empty())
        for (const FlowSnapshot& flow : snapshot.flows)
            if (carries_data(flow)) ++working[{flow.source.address, flow.destination.address}];
    for (const auto& [key, attempts] : failures) {
        const ConnectionAttempt& first = *attempts.front();
        const auto others = working.find({first.client.address, first.server.address});
        out.push_back(answer_about_attempts(subject, attempts, others == working.end() ? 0 : others->second));
    }
}

}  // namespace metrics::answers
