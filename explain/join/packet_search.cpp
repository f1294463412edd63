#include "explain/join/packet_search.h"

#include <algorithm>
#include <arpa/inet.h>
#include <fmt/core.h>
#include <initializer_list>
#include <string_view>

#include "base/clock.h"
#include "base/moment.h"
#include "base/quantities.h"
#include "metrics/answers/ends.h"
#include "wire/cm_rej.h"

namespace explain::join {

namespace {

using metrics::Address;
using metrics::Answer;
using metrics::ConnectionAttempt;
using metrics::FlowSnapshot;
using metrics::NakCode;
using metrics::Snapshot;
using metrics::Verdict;

/// Clocks of hosts and of the capture differ, and logs have whole seconds.
constexpr std::uint64_t clock_slack_ns = 5'000'000'000;
constexpr std::size_t most_frames = 12;
constexpr std::size_t most_named = 4;

/// Who sent the request that failed.
enum class Requester : std::uint8_t { local, remote, either };

Requester requester_of(const Facts& facts) {
    if (facts.terminate != nullptr) return Requester::local;
    if (facts.status == nullptr) return Requester::either;
    switch (facts.status->number) {
        case 9:
        case 10:
        case 11:
        case 12:
        case 13: return Requester::local;
        case 1:
        case 8: return Requester::remote;
        default: return Requester::either;
    }
}

bool is_one_of(Verdict verdict, std::initializer_list<Verdict> list) {
    return std::ranges::find(list, verdict) != list.end();
}

/// Whether a verdict says how such a status came about.
bool explains(Verdict verdict, unsigned status) {
    switch (status) {
        case 12:
            return is_one_of(verdict, {Verdict::never_answered, Verdict::stopped_answering, Verdict::retries_used_up,
                                       Verdict::path_mtu, Verdict::port_unreachable, Verdict::host_unreachable});
        case 13: return verdict == Verdict::rnr_retries_used_up;
        case 1:
        case 9: return verdict == Verdict::invalid_request;
        case 8:
        case 10: return is_one_of(verdict, {Verdict::remote_access_error, Verdict::terminate});
        case 11: return is_one_of(verdict, {Verdict::remote_operational_error, Verdict::terminate});
        default: return false;
    }
}

/// What the network did, as far as a verdict decides it.
std::optional<bool> is_network(Verdict verdict) {
    if (is_one_of(verdict, {Verdict::loss_before_tap, Verdict::loss_after_tap, Verdict::reordering,
                            Verdict::duplication, Verdict::corruption, Verdict::path_mtu, Verdict::host_unreachable,
                            Verdict::pause, Verdict::congestion_paced, Verdict::network_delay}))
        return true;
    if (is_one_of(verdict,
                  {Verdict::remote_access_error, Verdict::invalid_request, Verdict::remote_operational_error,
                   Verdict::terminate, Verdict::connection_rejected, Verdict::rnr, Verdict::rnr_retries_used_up,
                   Verdict::port_unreachable, Verdict::credit, Verdict::read_depth, Verdict::application_idle,
                   Verdict::peer_wait, Verdict::responder_slow, Verdict::posted_not_sent, Verdict::slow_polling}))
        return false;
    return std::nullopt;
}

class Search {
public:
    Search(const Explanation& explanation, const Evidence& evidence)
        : facts_(explanation.facts),
          window_ns_(window_ns(explanation.give_up)),
          evidence_(evidence),
          local_(address_in(facts_.local)),
          remote_(address_in(facts_.remote)) {}

    SearchResult run() {
        if (!is_in_capture())
            return {{},
                    fmt::format("the capture, from {} to {}, does not contain the time of the line",
                                base::moment(capture().first_ns), base::moment(capture().last_ns))};
        if (facts_.event != nullptr || facts_.reject != nullptr || facts_.error_number != nullptr)
            if (SearchResult result = find_attempt(); result.found || !may_be_flow()) return result;
        return find_flow();
    }

private:
    const metrics::CaptureFigures& capture() const { return evidence_.snapshot.capture; }
    const Snapshot& snapshot() const { return evidence_.snapshot; }
    bool names_peer() const { return local_ || remote_ || facts_.qpn || facts_.remote_qpn; }
    /// Events that end a connection which had worked.
    bool may_be_flow() const { return facts_.event != nullptr && facts_.event->name == "DISCONNECTED"; }

    bool is_in_capture() const { return overlaps(capture().first_ns, capture().last_ns); }

    /// Whether something that lasted from `first_ns` to `last_ns` may have led to the line.
    bool overlaps(std::int64_t first_ns, std::int64_t last_ns) const {
        if (!facts_.time_ns) return true;
        return base::earlier(first_ns, clock_slack_ns) <= *facts_.time_ns &&
               base::later(last_ns, window_ns_ + clock_slack_ns) >= *facts_.time_ns;
    }

    bool is(const Address& address, const std::optional<Address>& expected) const {
        return !expected || metrics::plain_address(address) == *expected;
    }
    static bool is(const std::optional<std::uint32_t>& number, const std::optional<std::uint32_t>& expected) {
        return !expected || number == expected;
    }

    /// Whether the flow is the one of the requests, between the ends that the line names.
    bool fits(const FlowSnapshot& flow) const {
        const bool forward = is(flow.source.address, local_) && is(flow.destination.address, remote_) &&
                             is(flow.source.qpn, facts_.qpn) && is(flow.destination.qpn, facts_.remote_qpn);
        const bool backward = is(flow.destination.address, local_) && is(flow.source.address, remote_) &&
                              is(flow.destination.qpn, facts_.qpn) && is(flow.source.qpn, facts_.remote_qpn);
        if (!overlaps(flow.first_ns, flow.last_ns)) return false;
        switch (requester_of(facts_)) {
            case Requester::local: return forward;
            case Requester::remote: return backward;
            case Requester::either: return forward || backward;
        }
        return false;
    }

    /// The findings about a flow, those that explain the status first.
    const Answer* alarm_of(const FlowSnapshot& flow, bool exactly) const {
        const Answer* other = nullptr;
        for (const Answer& answer : evidence_.answers) {
            if (!answer.alarm || std::ranges::find(answer.flows, flow.id) == answer.flows.end()) continue;
            if (facts_.status != nullptr && explains(answer.verdict, facts_.status->number)) return &answer;
            if (other == nullptr) other = &answer;
        }
        return exactly ? nullptr : other;
    }

    const FlowSnapshot* reverse(const FlowSnapshot& flow) const {
        return flow.reverse ? snapshot().flow(*flow.reverse) : nullptr;
    }

    std::uint64_t terminates_from_peer(const FlowSnapshot& flow) const {
        const FlowSnapshot* const answers = reverse(flow);
        return answers == nullptr ? 0 : answers->terminates;
    }

    /// iWARP has no retries of its own: when TCP's connection is reset, an adapter reports 12 for the requests that
    /// were on the way, or 5.
    bool lost_connection(const FlowSnapshot& flow) const {
        if (flow.transport != wire::Transport::iwarp || facts_.status == nullptr) return false;
        return (facts_.status->number == 5 || facts_.status->number == 12) &&
               flow.connection->end_kind == metrics::EndKind::tcp_reset;
    }

    /// Whether packets of the flow show what the line is about.
    bool shows(const FlowSnapshot& flow) const {
        if (facts_.terminate != nullptr) return terminates_from_peer(flow) > 0;
        if (may_be_flow()) return flow.connection->end_kind.has_value();
        if (facts_.status == nullptr) return alarm_of(flow, false) != nullptr;
        if (alarm_of(flow, true) != nullptr || lost_connection(flow)) return true;
        const auto naks = [&](NakCode code) { return flow.naks[static_cast<std::size_t>(code)] > 0; };
        switch (facts_.status->number) {
            case 12: return flow.retries && flow.retries->repeats > 0;
            case 13: return flow.rnr_naks > 0;
            case 1:
            case 9: return naks(NakCode::invalid_request) || terminates_from_peer(flow) > 0;
            case 8:
            case 10: return naks(NakCode::remote_access_error) || terminates_from_peer(flow) > 0;
            case 11: return naks(NakCode::remote_operational_error) || terminates_from_peer(flow) > 0;
            default: return alarm_of(flow, false) != nullptr;
        }
    }

    /// Flows that fit; of a connection whose both directions fit, the one that shows it.
    std::vector<const FlowSnapshot*> fitting_flows() const {
        std::vector<const FlowSnapshot*> fitting;
        for (const FlowSnapshot& flow : snapshot().flows) {
            if (!fits(flow)) continue;
            const auto same = std::ranges::find_if(
                fitting, [&](const FlowSnapshot* each) { return flow.reverse && each->id == *flow.reverse; });
            if (same == fitting.end())
                fitting.push_back(&flow);
            else if (shows(flow) && !shows(**same))
                *same = &flow;
        }
        return fitting;
    }

    SearchResult find_flow() const {
        const std::vector<const FlowSnapshot*> fitting = fitting_flows();
        std::vector<const FlowSnapshot*> ended;
        std::ranges::copy_if(fitting, std::back_inserter(ended),
                             [&](const FlowSnapshot* flow) { return shows(*flow); });
        keep_exact(ended);
        if (ended.size() == 1) return {about(*ended.front()), {}};
        if (ended.size() > 1) return {several(ended), {}};
        if (!names_peer()) return {{}, "the line names no peer, and no flow of the capture ended in such a way"};
        if (fitting.empty()) return {{}, "the capture has no flow between the ends that the line names"};
        if (fitting.size() == 1) return {about(*fitting.front()), {}};
        return {several(fitting), {}};
    }

    /// A flow whose end is known for sure is a better candidate than one that has only repeats.
    void keep_exact(std::vector<const FlowSnapshot*>& flows) const {
        const auto is_exact = [&](const FlowSnapshot* flow) { return alarm_of(*flow, true) != nullptr; };
        if (std::ranges::none_of(flows, is_exact)) return;
        std::erase_if(flows, [&](const FlowSnapshot* flow) { return !is_exact(flow); });
    }

    std::string end_text(const metrics::Endpoint& end) const {
        std::string text = evidence_.names.text(end.address);
        if (end.qpn) text += fmt::format(" qp {:#08x}", *end.qpn);
        if (end.port) text += fmt::format(" port {}", *end.port);
        return text;
    }

    std::string flow_text(const FlowSnapshot& flow) const {
        return fmt::format("flow {} ({} > {})", flow.id, end_text(flow.source), end_text(flow.destination));
    }

    Found several(const std::vector<const FlowSnapshot*>& flows) const {
        Found found;
        std::string names;
        for (const FlowSnapshot* flow : flows) {
            found.candidates.push_back(flow->id);
            if (found.candidates.size() > most_named) continue;
            names += names.empty() ? "" : ", ";
            names += flow_text(*flow);
        }
        if (flows.size() > most_named) names += fmt::format(" and {} more", flows.size() - most_named);
        found.summary = fmt::format("{} flows fit the line, and nothing in the line decides: {}", flows.size(), names);
        return found;
    }

    Found about(const FlowSnapshot& flow) const {
        Found found;
        found.flow = flow.id;
        take_settings(flow, found);
        // A flush has its cause in whatever else went wrong; for 12 the reset itself is the cause.
        const bool only_exact = lost_connection(flow) && facts_.status->number == 12;
        if (const Answer* const answer = alarm_of(flow, only_exact)) {
            found.verdict = std::string(metrics::name_of(answer->verdict));
            found.network = is_network(answer->verdict);
            found.frames = frames_of(*answer, flow);
            found.summary = answer->summary;
        } else if (lost_connection(flow)) {
            found.verdict = "connection_reset";
            found.frames = sorted({flow.connection->end_frame});
            found.summary = fmt::format(
                "{}: TCP's connection was reset in frame {}. A host resets it when its process or the host itself "
                "ended; a "
                "firewall on the path may reset it, too.",
                flow_text(flow), flow.connection->end_frame);
        } else {
            found.frames = last_frames(flow);
            describe_quiet(flow, found);
        }
        if (!names_peer())
            found.summary += " The line names no peer; this is the only flow of the capture that ended in such a way.";
        return found;
    }

    void take_settings(const FlowSnapshot& flow, Found& found) const {
        const metrics::ConnectionFigures& setup = *flow.connection;
        if (setup.ack_timeout_ns) {
            unsigned exponent = 1;
            while (exponent < 31 && ack_timeout_ns(exponent) < setup.ack_timeout_ns) ++exponent;
            found.settings.timeout = exponent;
            found.settings.origin = "the settings of the set-up in the capture";
        }
        found.settings.retries = setup.retry_count;
        found.receiver.retries = setup.rnr_retry_count;
        if (flow.retries && flow.retries->repeats > 0) {
            found.repeated_for_ns = base::elapsed(flow.retries->first_ns, flow.retries->last_ns);
            found.sendings = flow.retries->repeats + 1;
        }
        if (flow.retries && flow.retries->rnr_timer_ns > 0)
            found.receiver.timer_ns = flow.retries->rnr_timer_ns;
        else if (!flow.rnr_timer_ns.empty())
            found.receiver.timer_ns = *flow.rnr_timer_ns.max();
    }

    static std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> frames) {
        std::erase(frames, std::uint64_t{0});
        std::ranges::sort(frames);
        frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
        if (frames.size() > most_frames) frames.resize(most_frames);
        return frames;
    }

    static std::vector<std::uint64_t> last_frames(const FlowSnapshot& flow) {
        std::vector<std::uint64_t> frames{flow.last_answer_frame, flow.connection->end_frame};
        if (flow.retries)
            frames.insert(frames.end(),
                          {flow.retries->request.frame, flow.retries->repeat_frame, flow.retries->last_frame});
        return sorted(std::move(frames));
    }

    /// Of a finding about several flows, the frames of this one: its own end, and what the finding names in its life.
    static std::vector<std::uint64_t> frames_of(const Answer& answer, const FlowSnapshot& flow) {
        std::vector<std::uint64_t> frames = last_frames(flow);
        if (answer.flows.size() == 1)
            for (const metrics::Evidence& each : answer.evidence)
                frames.insert(frames.end(), each.frames.begin(), each.frames.end());
        else
            for (const metrics::EventSummary& event : flow.event_summaries)
                if (event.kind == metrics::EventKind::nak || event.kind == metrics::EventKind::rnr_nak ||
                    event.kind == metrics::EventKind::retransmission)
                    frames.insert(frames.end(), event.frames.begin(), event.frames.end());
        return sorted(std::move(frames));
    }

    static std::uint64_t answered(const FlowSnapshot& flow) {
        std::uint64_t count = flow.merged_messages;
        for (const metrics::OperationFigures& operation : flow.operations) count += operation.latency_ns.count();
        return count;
    }

    bool was_paused() const {
        return std::ranges::any_of(snapshot().pauses, [](const metrics::PauseSnapshot& pause) {
            return pause.pause_frames != 0 || pause.pfc_frames != 0;
        });
    }

    /// Whether the capture saw all packets, and both directions of the flow.
    bool is_whole(const FlowSnapshot& flow) const {
        return flow.reverse && !metrics::lacks_answers(flow) && !metrics::partly_read(flow) &&
               flow.unseen_acknowledged_packets == 0 && capture().kernel_dropped.value_or(0) == 0;
    }

    bool is_undisturbed(const FlowSnapshot& flow) const {
        const FlowSnapshot* const answers = reverse(flow);
        const auto calm = [](const FlowSnapshot& each) {
            const std::uint64_t tcp = each.tcp ? each.tcp->retransmitted_segments : 0;
            return each.retransmitted_packets.value_or(0) + each.missing_packets.value_or(0) + each.timeouts +
                           each.ecn_ce_packets + each.cnp_packets + each.icrc_bad + each.crc_bad + each.rnr_naks +
                           each.terminates + tcp ==
                       0 &&
                   !each.retries;
        };
        return calm(flow) && (answers == nullptr || calm(*answers)) && !was_paused();
    }

    void describe_quiet(const FlowSnapshot& flow, Found& found) const {
        const FlowSnapshot* const answers = reverse(flow);
        const std::uint64_t requests = flow.messages_total();
        if (!is_whole(flow) || !is_undisturbed(flow) || answers == nullptr) {
            found.summary = fmt::format("{}: the packets do not show such an end, and no finding of why is about it.",
                                        flow_text(flow));
            return;
        }
        if (answered(flow) < requests) {
            found.summary = fmt::format(
                "{}: {} of {} were answered when the capture ended; nothing was lost, marked or paused until then.",
                flow_text(flow), answered(flow), base::format_counted(requests, "request"));
            return;
        }
        found.network = contradicts(flow) ? std::nullopt : std::optional(false);
        found.summary =
            fmt::format("{}: {} answered everything of flow {} until {}; nothing was lost, marked or paused.",
                        found.network ? "Not the network" : "The packets do not show such an end",
                        end_text(flow.destination), flow.id, base::moment(std::max(flow.last_ns, answers->last_ns)));
    }

    /// A line that says that answers were missing, of a flow in which none is: the fault is where the capture is not.
    bool contradicts(const FlowSnapshot& flow) const {
        if (facts_.status != nullptr && facts_.status->wait != Wait::none) return true;
        // The capture may end before the trouble begins.
        return facts_.time_ns && base::elapsed(flow.last_ns, *facts_.time_ns) > clock_slack_ns &&
               base::elapsed(capture().last_ns, *facts_.time_ns) > clock_slack_ns;
    }

    bool fits(const ConnectionAttempt& attempt) const {
        if (!is(attempt.client.address, local_) || !is(attempt.server.address, remote_)) return false;
        if (!overlaps(attempt.request_ns, attempt.request_ns)) return false;
        const auto outcome = attempt.outcome;
        if (facts_.reject != nullptr) return outcome == metrics::AttemptOutcome::rejected && has_reason(attempt);
        if (facts_.event != nullptr && facts_.event->name == "UNREACHABLE")
            return outcome == metrics::AttemptOutcome::unanswered;
        if (facts_.error_number == nullptr) return outcome != metrics::AttemptOutcome::established;
        switch (facts_.error_number->number) {
            case 110:
            case 113: return outcome == metrics::AttemptOutcome::unanswered;
            case 104:
            case 111: return outcome == metrics::AttemptOutcome::rejected || outcome == metrics::AttemptOutcome::reset;
            default: return outcome != metrics::AttemptOutcome::established;
        }
    }

    /// A reason that the capture has, and that is another one, belongs to another attempt.
    bool has_reason(const ConnectionAttempt& attempt) const {
        if (attempt.transport == wire::Transport::iwarp || attempt.reason.empty()) return true;
        const std::string_view expected =
            wire::name_of(wire::cm_reject_reason_names, static_cast<std::uint64_t>(facts_.reject->number));
        return std::ranges::equal(attempt.reason, expected, [](char a, char b) {
            const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
            return lower(a) == lower(b);
        });
    }

    SearchResult find_attempt() const {
        std::vector<const ConnectionAttempt*> fitting;
        for (const ConnectionAttempt& attempt : snapshot().attempts)
            if (fits(attempt)) fitting.push_back(&attempt);
        if (fitting.empty()) return {{}, "the capture has no attempt to connect that failed in such a way"};
        const ConnectionAttempt& last = *fitting.back();
        const bool same = std::ranges::all_of(fitting, [&](const ConnectionAttempt* each) {
            return each->client.address == last.client.address && each->server.address == last.server.address &&
                   each->server.port == last.server.port && each->outcome == last.outcome &&
                   each->reason == last.reason;
        });
        return {same ? about(last, fitting.size()) : several(fitting), {}};
    }

    std::string attempt_text(const ConnectionAttempt& attempt) const {
        return fmt::format("{} to {} (frame {}): {}{}", end_text(attempt.client), end_text(attempt.server),
                           attempt.request_frame, name_of(attempt.outcome),
                           attempt.reason.empty() ? std::string() : ", " + attempt.reason);
    }

    Found about(const ConnectionAttempt& attempt, std::size_t count) const {
        Found found;
        found.frames = sorted({attempt.request_frame, attempt.end_frame});
        const bool unanswered = attempt.outcome == metrics::AttemptOutcome::unanswered;
        found.verdict = unanswered                                          ? "connection_unanswered"
                        : attempt.outcome == metrics::AttemptOutcome::reset ? "connection_reset"
                                                                            : "connection_rejected";
        if (!unanswered) found.network = false;
        found.summary = "Attempt to connect, " + attempt_text(attempt) + ".";
        if (count > 1) found.summary += fmt::format(" It is the last of {} that failed so.", count);
        if (!local_ && !remote_) found.summary += " The line names no peer; no other attempt of the capture fits.";
        return found;
    }

    Found several(const std::vector<const ConnectionAttempt*>& attempts) const {
        Found found;
        std::string names;
        for (std::size_t i = 0; i < std::min(attempts.size(), most_named); ++i) {
            names += names.empty() ? "" : "; ";
            names += attempt_text(*attempts[i]);
            found.frames.push_back(attempts[i]->request_frame);
        }
        if (attempts.size() > most_named) names += fmt::format("; and {} more", attempts.size() - most_named);
        found.frames = sorted(std::move(found.frames));
        found.summary = fmt::format("{} attempts to connect fit the line, and nothing in the line decides: {}",
                                    attempts.size(), names);
        return found;
    }

    const Facts& facts_;
    std::uint64_t window_ns_;
    const Evidence& evidence_;
    std::optional<Address> local_;
    std::optional<Address> remote_;
};

}  // namespace

SearchResult find_packets(const Explanation& explanation, const Evidence& evidence) {
    return Search(explanation, evidence).run();
}

std::optional<Address> address_in(std::string_view text) {
    constexpr std::size_t longest = 64;
    if (text.empty() || text.size() > longest) return std::nullopt;
    Address address;
    std::string plain(text);
    if (plain.front() == '[') plain = plain.substr(1, plain.find(']') - 1);
    // One colon stands before a port; an IPv6 address has two at least.
    if (std::ranges::count(plain, ':') == 1) plain.resize(plain.find(':'));
    if (::inet_pton(AF_INET, plain.c_str(), address.octets.data()) == 1) {
        address.family = wire::AddressFamily::ipv4;
        return address;
    }
    address = {};
    if (::inet_pton(AF_INET6, plain.c_str(), address.octets.data()) != 1) return std::nullopt;
    address.family = wire::AddressFamily::ipv6;
    return metrics::plain_address(address);
}

}  // namespace explain::join
