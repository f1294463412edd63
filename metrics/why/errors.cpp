// What ended a queue pair, and connections that did not come about.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "metrics/why/scene.h"
#include "metrics/why/thresholds.h"
#include "metrics/why/words.h"

namespace metrics::why {

namespace {

/// A queue pair that is in error carries nothing more, however little it carried before. How many of a pair of hosts'
/// flows are hurt makes the rest.
double fatal(std::size_t sick, std::size_t all) {
    return 0.5 + 0.5 * ratio(static_cast<double>(sick), static_cast<double>(std::max<std::size_t>(all, 1)));
}

struct Refusal {
    NakCode code;
    std::string_view verdict;
    std::string_view sentence;  ///< "{receiver} ... "
    std::string_view advice;
};
constexpr std::array<Refusal, 4> refusals{{
    {NakCode::remote_access_error, "remote_access_error", "refused access to its memory",
     "Compare the rkey and the address range of the request (the frame shows them in its RETH with `dump -V`) with "
     "what {} registered: the key may be stale or of another region, the range may exceed it, or the region may lack "
     "IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC."},
    {NakCode::invalid_request, "invalid_request", "found requests that it cannot take",
     "See on {} what the queue pair permits (qp_access_flags, max_dest_rd_atomic) and whether the request fits: "
     "atomics must be aligned to 8 octets, READs need responder resources, a message must not be longer than "
     "announced."},
    {NakCode::remote_operational_error, "remote_operational_error", "could not carry out requests",
     "Look into the completion queue and the log of {} for its own error; the usual cause is a SEND longer than the "
     "receive that was posted for it: post larger receives, or split messages."},
    {NakCode::invalid_rd_request, "invalid_request", "found an invalid RD request",
     "Compare the EE contexts of both ends; RD is rarely implemented."},
}};

void find_refusals(const Scene& scene, const Group& group, std::vector<Answer>& out) {
    for (const Refusal& refusal : refusals) {
        std::vector<Sick> sick;
        std::uint64_t naks = 0;
        for (const FlowSnapshot* flow : group.flows) {
            const std::uint64_t count = flow->naks[static_cast<std::size_t>(refusal.code)];
            naks += count;
            if (count > 0) sick.push_back({flow, 1.0});
        }
        if (sick.empty()) continue;
        Answer answer = finding(Question::bandwidth, refusal.verdict, sick);
        const Flows flows = flows_of(sick);
        answer.severity = fatal(sick.size(), group.flows.size());
        const std::string responder = scene.short_name(responder_of(*flows.front()).address);
        answer.summary = fmt::format("{} {} {} ({}): such a queue pair goes into error and carries nothing more.",
                                     responder, refusal.sentence, scene.requests(flows), counted(naks, "NAK"));
        answer.advice = fmt::format(fmt::runtime(refusal.advice), responder);
        add_evidence(answer, "NAKs of this kind", static_cast<double>(naks), "NAKs",
                     frames_of(flows, {EventKind::nak}));
        for (const FlowSnapshot* flow : flows)
            if (!flow->connection.end.empty() && flow->connection.end_frame != 0) {
                add_evidence(answer, "connection ended by " + flow->connection.end, 1, "",
                             {flow->connection.end_frame});
                break;
            }
        out.push_back(std::move(answer));
    }
}

/// RFC 5040, 4.8 and RFC 5041, 6.2: what a Terminate's layer, type and code blame.
struct Blame {
    std::string_view verdict;
    std::string_view words;
    std::string_view advice;
};

constexpr std::string_view access_advice =
    "Compare the STag and the tagged offset of the request that the Terminate quotes (`dump -V` shows it) with what {} "
    "registered: the STag may be stale or invalidated, the range may exceed the region, or the region may lack the "
    "right to be read or written.";

struct Report {
    unsigned layer;
    unsigned type;
    unsigned code;
};

/// Whether the RFCs know it. RFC 5040, 4.8; RFC 5041, 6.2; RFC 5044, 8.
bool exists(const Report& report) {
    if (report.type == 0) return report.layer == 2 ? report.code >= 1 && report.code <= 4 : report.code == 0;
    if (report.layer == 0 && report.type == 1) return report.code <= 4 || report.code == 9 || report.code == 0xff;
    if (report.layer == 0 && report.type == 2) return (report.code >= 5 && report.code <= 9) || report.code == 0xff;
    if (report.layer == 1 && report.type == 1) return report.code <= 4;
    if (report.layer == 1 && report.type == 2) return report.code >= 1 && report.code <= 6;
    return false;
}

/// Linux' siw writes layer and type in each other's place. Where that makes sense of what else would be none, and for
/// the one case that could be both, "DDP local catastrophic" against "invalid STag", in a dialogue with READs, they are
/// put back.
Report report_of(std::uint64_t value, bool reads) {
    const Report given{static_cast<unsigned>(value >> 12 & 0xf), static_cast<unsigned>(value >> 8 & 0xf),
                       static_cast<unsigned>(value & 0xff)};
    const Report exchanged{given.type, given.layer, given.code};
    const bool ambiguous = given.layer == 1 && given.type == 0 && given.code == 0;
    return exists(exchanged) && (!exists(given) || (ambiguous && reads)) ? exchanged : given;
}

Blame blame_of(const Report& report) {
    const auto [layer, type, code] = report;
    if (layer == 0 && type == 1) return {"remote_access_error", "remote protection error", access_advice};
    if (layer == 0 && type == 2)
        return {"remote_operational_error", "remote operation error",
                "Look into the log of {}: it met an opcode, a version or a state that it cannot serve."};
    if (layer == 1 && type == 1) return {"remote_access_error", "tagged buffer error", access_advice};
    if (layer == 1 && type == 2 && code == 2)
        return {
            "rnr", "no buffer available: no receive was posted",
            "On {} post receives earlier and more of them; iWARP does not wait as RoCE does, it ends the connection."};
    if (layer == 1 && type == 2 && code == 5)
        return {"remote_operational_error", "a message longer than the receive",
                "On {} post larger receives, or let the sender split messages."};
    if (layer == 1 && type == 2)
        return {
            "invalid_request", "untagged buffer error",
            "Compare both ends' implementations with {}: queue number, message sequence number or offset is wrong."};
    if (layer == 2 && code == 2)
        return {"corruption", "MPA CRC error",
                "Segments are damaged on the way: see the CRC counters along the way to {}."};
    return {"terminate", "local catastrophic error",
            "Look into the log and the completion queues of {}: it met an error of its own and names no other cause."};
}

bool reads_run_towards(const Scene& scene, const FlowSnapshot& flow) {
    const FlowSnapshot* other = scene.reverse(flow);
    return other != nullptr && other->operations[index_of(Operation::read)].count + other->responses_max > 0;
}

void find_terminates(const Scene& scene, const Group& group, std::vector<Answer>& out) {
    std::map<std::string_view, std::vector<Sick>> by_verdict;
    std::map<std::string_view, Blame> blames;
    for (const FlowSnapshot* flow : group.flows) {
        if (flow->terminates == 0) continue;
        const Exhibit* exhibit = flow->exhibit(EventKind::terminate);
        const Blame blame =
            blame_of(report_of(exhibit == nullptr ? 0 : exhibit->value_max, reads_run_towards(scene, *flow)));
        by_verdict[blame.verdict].push_back({flow, 1.0});
        blames.emplace(blame.verdict, blame);
    }
    for (auto& [verdict, sick] : by_verdict) {
        Answer answer = finding(Question::bandwidth, verdict, sick);
        const Flows flows = flows_of(sick);
        const FlowSnapshot& first = *flows.front();
        const Blame& blame = blames.at(verdict);
        answer.severity = fatal(sick.size(), group.flows.size());
        answer.summary =
            sick.size() == 1
                ? fmt::format("{} ended its connection with {} by a Terminate message: {}.", scene.end(first.source),
                              scene.end(first.destination), blame.words)
                : fmt::format("{} ended {} with {} by Terminate messages: {}.", scene.host(first.source.address),
                              counted(sick.size(), "connection"), scene.host(first.destination.address), blame.words);
        answer.advice = fmt::format(fmt::runtime(blame.advice), scene.short_name(first.source.address));
        add_evidence(answer, "Terminate messages", static_cast<double>(sick.size()), "messages",
                     frames_of(flows, {EventKind::terminate}));
        // What it answers ran the other way.
        for (const FlowSnapshot* flow : flows)
            if (const FlowSnapshot* other = scene.reverse(*flow)) answer.flows.push_back(other->id);
        out.push_back(std::move(answer));
    }
}

bool failed(const ConnectionAttempt& attempt, const CaptureFigures& capture) {
    if (attempt.outcome == "rejected" || attempt.outcome == "reset") return true;
    // Times of a damaged capture may be anything; a difference of them need not fit.
    return attempt.outcome == "unanswered" &&
           static_cast<double>(capture.last_ns) - static_cast<double>(attempt.request_ns) >=
               static_cast<double>(unanswered_after_ns);
}

}  // namespace

void find_errors(const Scene& scene, std::vector<Answer>& out) {
    for (const Group& group : scene.groups()) {
        find_refusals(scene, group, out);
        find_terminates(scene, group, out);
    }
}

void find_failed_connections(const Scene& scene, std::vector<Answer>& out) {
    if (scene.about_one_flow()) return;
    const Snapshot& snapshot = scene.snapshot();
    std::map<std::tuple<Address, Address, std::string>, std::vector<const ConnectionAttempt*>> failures;
    for (const ConnectionAttempt& attempt : snapshot.attempts)
        if (failed(attempt, snapshot.capture))
            failures[{attempt.client.address, attempt.server.address, attempt.outcome}].push_back(&attempt);
    std::map<std::pair<Address, Address>, std::size_t> working;
    if (!failures.empty())
        for (const FlowSnapshot& flow : snapshot.flows)
            if (carries_data(flow)) ++working[{flow.source.address, flow.destination.address}];
    for (const auto& [key, attempts] : failures) {
        const ConnectionAttempt& first = *attempts.front();
        std::vector<Sick> nobody;
        Answer answer = finding(Question::bandwidth, "connection_" + first.outcome, nobody);
        answer.confidence = first.outcome == "unanswered" ? 0.8 : 1.0;
        const auto others = working.find({first.client.address, first.server.address});
        answer.severity = fatal(attempts.size(), attempts.size() + (others == working.end() ? 0 : others->second));
        std::string reason;
        std::vector<std::uint64_t> requests;
        std::vector<std::uint64_t> ends;
        for (const ConnectionAttempt* attempt : attempts) {
            if (reason.empty() && !attempt->reason.empty()) reason = fmt::format(": {}", attempt->reason);
            if (requests.size() < 4) requests.push_back(attempt->request_frame);
            if (ends.size() < 4 && attempt->end_frame != 0) ends.push_back(attempt->end_frame);
        }
        const std::string what = attempts.size() == 1 ? "the connection" : counted(attempts.size(), "connection");
        const std::string client = scene.end(first.client);
        const std::string server = scene.end(first.server);
        const std::string server_name = scene.short_name(first.server.address);
        if (first.outcome == "rejected") {
            answer.summary = fmt::format("{} refused {} that {} asked for{}.", server, what, client, reason);
            answer.advice = fmt::format(
                "On {0} see whether a server listens on that port and service (`rdma resource show cm_id`), and "
                "whether both ends ask for the same: address family, private data, CRC and markers (iWARP), queue "
                "depths.",
                server_name);
        } else if (first.outcome == "reset") {
            answer.summary =
                fmt::format("{} that {} asked {} for ended in a TCP reset{}.",
                            attempts.size() == 1 ? "The connection" : counted(attempts.size(), "connection"), client,
                            server, reason);
            answer.advice = fmt::format(
                "On {0} see whether an iWARP server listens there (`rdma resource show cm_id`, `ss -ltn`), and whether "
                "a firewall on the way resets connections.",
                server_name);
        } else {
            answer.summary = fmt::format("{} did not answer when {} asked for {}.", server, client, what);
            answer.advice = fmt::format(
                "See whether {0} can be reached (ping), whether UDP port 4791 (RoCE) or the TCP port (iWARP) is open "
                "on the way, whether its RDMA device is up (`rdma link show`) and rdma_ucm is loaded.",
                server_name);
        }
        add_evidence(answer, "requests for a connection", static_cast<double>(attempts.size()), "requests", requests);
        if (first.outcome == "rejected")
            add_evidence(answer, "answers that refused", static_cast<double>(ends.size()), "answers", ends);
        else if (!ends.empty())
            add_evidence(answer, "connections closed instead", static_cast<double>(ends.size()), "connections", ends);
        out.push_back(std::move(answer));
    }
}

}  // namespace metrics::why
