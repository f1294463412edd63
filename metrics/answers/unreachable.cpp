// What hosts and routers said themselves of packets that they could not deliver: ICMP and ICMPv6 errors.
#include "metrics/answers/unreachable.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <tuple>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"
#include "metrics/answers/flow_measures.h"

namespace metrics::inline answers {

namespace {

using wire::IcmpErrorKind;

std::optional<Verdict> icmp_verdict(IcmpErrorKind kind) {
    switch (kind) {
        case IcmpErrorKind::port_unreachable: return Verdict::port_unreachable;
        case IcmpErrorKind::host_unreachable:
        case IcmpErrorKind::prohibited:
        case IcmpErrorKind::time_exceeded: return Verdict::host_unreachable;
        case IcmpErrorKind::fragmentation_needed: return Verdict::path_mtu;
        case IcmpErrorKind::other: break;
    }
    return std::nullopt;
}

/// The kind of most errors, among those that have a verdict.
std::optional<IcmpErrorKind> leading_kind(const IcmpFigures& icmp) {
    std::optional<IcmpErrorKind> leading;
    for (std::size_t i = 0; i < icmp.kinds.size(); ++i) {
        const auto kind = static_cast<IcmpErrorKind>(i);
        if (icmp.of(kind).count == 0 || !icmp_verdict(kind)) continue;
        if (!leading || icmp.of(kind).count > icmp.of(*leading).count) leading = kind;
    }
    return leading;
}

bool repeats_nothing(const FlowSnapshot& flow) { return flow.service != Service::rc && flow.service != Service::xrc; }

bool was_answered(const FlowSnapshot& flow) {
    return std::ranges::any_of(flow.operations, [](const OperationFigures& figures) {
        return !figures.latency_ns.empty() || !figures.first_response_ns.empty();
    });
}

/// If a flow continued after an error, the route changed, or TCP was finding the path's MTU (RFC 1191): TCP then sends
/// the segment again at once, in smaller pieces.
bool suffers_from_errors(const FlowSnapshot& flow) {
    if (flow.tcp) return flow.timeouts > 0;
    return repeats_nothing(flow) || repeated_packets(flow) > 0 || !was_answered(flow);
}

/// Hosts send few errors a second: of many queue pairs between two hosts most get none. RFC 1812, 4.3.2.8.
bool shares_the_fate(const FlowSnapshot& flow) {
    return !flow.icmp && !flow.tcp && !repeats_nothing(flow) && repeated_packets(flow) > 0 && !was_answered(flow);
}

std::optional<IcmpErrorKind> icmp_kind_of(const Group& group, const FlowSnapshot& flow) {
    if (flow.icmp) return suffers_from_errors(flow) ? leading_kind(*flow.icmp) : std::nullopt;
    if (!shares_the_fate(flow)) return std::nullopt;
    for (const FlowSnapshot* other : group.flows) {
        if (!other->icmp || !suffers_from_errors(*other)) continue;
        const auto kind = leading_kind(*other->icmp);
        // Of two queue pairs one may send long packets alone.
        if (kind && *kind != IcmpErrorKind::fragmentation_needed) return kind;
    }
    return std::nullopt;
}

double icmp_severity(const FlowSnapshot& flow) {
    if (!flow.tcp && !repeats_nothing(flow) && !was_answered(flow)) return 1;
    const double time = ratio(static_cast<double>(repair_ns(flow)), static_cast<double>(active_ns(flow)));
    std::uint64_t errors = 0;
    if (flow.icmp)
        for (const IcmpFigures::Errors& each : flow.icmp->kinds) errors += each.count;
    return std::max(time, ratio(static_cast<double>(errors), static_cast<double>(flow.packets)));
}

/// Errors of one kind about flows, or requests, from one host to another.
struct IcmpReport {
    IcmpErrorKind kind{};
    std::uint64_t count = 0;
    Address sender;
    std::optional<std::uint32_t> mtu;
    Address source;
    Address destination;
    wire::Transport transport{};

    void add(const IcmpFigures& icmp) {
        const IcmpFigures::Errors& errors = icmp.of(kind);
        if (errors.count == 0) return;
        if (count == 0) sender = errors.sender;
        count += errors.count;
        if (icmp.mtu && (!mtu || *icmp.mtu < *mtu)) mtu = icmp.mtu;
    }
    bool from_destination() const { return sender == destination; }
    bool iwarp() const { return transport == wire::Transport::iwarp; }
};

std::string_view icmp_words(IcmpErrorKind kind) {
    switch (kind) {
        case IcmpErrorKind::port_unreachable: return "port unreachable";
        case IcmpErrorKind::host_unreachable: return "host unreachable";
        case IcmpErrorKind::prohibited: return "administratively prohibited";
        case IcmpErrorKind::fragmentation_needed: return "packet too long";
        case IcmpErrorKind::time_exceeded: return "time exceeded";
        case IcmpErrorKind::other: break;
    }
    return "other errors";
}

/// Linux' bound for the MTU of a RoCEv2 port: the longest headers, with GRH for IPv6, fit in addition to the payload.
std::optional<std::uint32_t> fitting_path_mtu(std::uint32_t mtu) {
    constexpr std::uint32_t headers = 40 + 8 + 12 + 4 + 28 + 4;
    for (std::uint32_t payload = 4096; payload >= 256; payload /= 2)
        if (payload + headers <= mtu) return payload;
    return std::nullopt;
}

std::string port_of(const IcmpReport& report) { return report.iwarp() ? "that TCP port" : "UDP port 4791"; }

/// What the error means, after "192.0.2.2 answered ... by ICMP errors: ".
std::string icmp_meaning_of(const Subject& subject, const IcmpReport& report) {
    const std::string destination = subject.short_name(report.destination);
    switch (report.kind) {
        case IcmpErrorKind::port_unreachable:
            if (!report.from_destination())
                return fmt::format("something on the way, and not {}, refuses {}", destination, port_of(report));
            return report.iwarp() ? "no process listens on that TCP port there"
                                  : "no RDMA device receives on UDP port 4791 at that address";
        case IcmpErrorKind::host_unreachable: return fmt::format("it has no way to {}", destination);
        case IcmpErrorKind::prohibited: return fmt::format("a filter there refuses packets to {}", destination);
        case IcmpErrorKind::time_exceeded:
            return fmt::format("the packets had made too many hops before they came to {}", destination);
        case IcmpErrorKind::fragmentation_needed:
            return report.mtu ? fmt::format("the next hop takes IP packets of {} bytes at most", *report.mtu)
                              : std::string("the packets are too long for the next hop");
        case IcmpErrorKind::other: break;
    }
    return {};
}

std::string port_advice(const Subject& subject, const IcmpReport& report) {
    const std::string destination = subject.short_name(report.destination);
    if (!report.from_destination())
        return fmt::format("See which firewall rule of {} refuses (REJECT) {} towards {}, and permit it.",
                           subject.short_name(report.sender), port_of(report), destination);
    if (report.iwarp())
        return fmt::format(
            "On {} see whether the server listens (`ss -ltnp`), and whether a firewall rule refuses "
            "(REJECT) the port.",
            destination);
    return fmt::format(
        "On {0} see whether the interface with that address has an RDMA device (`rdma link show`): none was added "
        "(`rdma link add`), or the device is in another network namespace (`rdma system show`, `ip netns`). See also "
        "whether {0} is the address that was meant, and whether a firewall rule there refuses (REJECT) UDP port 4791.",
        destination);
}

std::string host_advice(const Subject& subject, const IcmpReport& report) {
    const std::string sender = subject.short_name(report.sender);
    const std::string destination = subject.short_name(report.destination);
    if (report.kind == IcmpErrorKind::prohibited)
        return fmt::format("Permit {} towards {} in the packet filter of {}, and in the other direction too.",
                           port_of(report), destination, sender);
    if (report.kind == IcmpErrorKind::time_exceeded)
        return fmt::format(
            "Look for a routing loop between {} and {} (`traceroute {}`), and see the hop limit that "
            "the queue pair sends with.",
            sender, destination, destination);
    return fmt::format(
        "See whether {0} is up and is the address that was meant, and on {1} the route and the neighbor "
        "entry (`ip route get {0}`, `ip neigh show {0}`).",
        destination, sender);
}

std::string mtu_advice(const Subject& subject, const IcmpReport& report) {
    const std::string way =
        fmt::format("the way from {} to {}", subject.short_name(report.source), subject.short_name(report.destination));
    if (report.iwarp())
        return fmt::format(
            "Let the ICMP errors reach the sender's TCP (no filter may drop them), or lower the MTU of "
            "the interface; see the MTU of every hop on {} (`tracepath`).",
            way);
    const auto fitting = report.mtu ? fitting_path_mtu(*report.mtu) : std::nullopt;
    const std::string lower =
        fitting ? fmt::format("a path MTU of {} is the greatest that fits", *fitting) : "with a smaller path MTU";
    return fmt::format(
        "RoCE never sends shorter packets by itself. Give every hop on {} the MTU of the two hosts "
        "(`tracepath`, `ip link`), or connect the queue pairs again with less: {} (path_mtu of "
        "ibv_modify_qp; it follows the MTU of the interface).",
        way, lower);
}

std::string advice_for(const Subject& subject, const IcmpReport& report) {
    switch (report.kind) {
        case IcmpErrorKind::port_unreachable: return port_advice(subject, report);
        case IcmpErrorKind::fragmentation_needed: return mtu_advice(subject, report);
        default: return host_advice(subject, report);
    }
}

/// `what` is "packets from A to B (qp 0x12)" or "the request of A for a connection".
void explain_icmp(const Subject& subject, const IcmpReport& report, const std::string& what, Answer& answer) {
    answer.summary = fmt::format("{} answered {} by {} ({}): {}.", subject.host(report.sender), what,
                                 report.count == 1 ? "an ICMP error" : "ICMP errors", icmp_words(report.kind),
                                 icmp_meaning_of(subject, report));
    answer.advice = advice_for(subject, report);
}

void add_icmp_figures(const IcmpReport& report, const Flows& flows, Answer& answer) {
    add_evidence(answer, fmt::format("ICMP errors: {}", icmp_words(report.kind)), static_cast<double>(report.count),
                 EvidenceUnit::frames, frames_of(flows, {EventKind::icmp_error}));
    if (report.mtu) add_evidence(answer, "longest IP packet that the next hop takes", *report.mtu, EvidenceUnit::bytes);
    std::uint64_t packets = 0;
    std::uint64_t again = 0;
    for (const FlowSnapshot* flow : flows) {
        packets += flow->packets;
        again += repeated_packets(*flow);
    }
    add_evidence(answer, "packets seen", static_cast<double>(packets), EvidenceUnit::packets);
    add_evidence(answer, "packets retransmitted", static_cast<double>(again), EvidenceUnit::packets,
                 again == 0 ? std::vector<std::uint64_t>{} : frames_of(flows, {EventKind::retransmission}));
}

void find_in_group(const Subject& subject, const Group& group, std::vector<Answer>& out) {
    std::map<IcmpErrorKind, std::vector<Affected>> by_kind;
    for (const FlowSnapshot* flow : group.flows)
        if (const auto kind = icmp_kind_of(group, *flow)) by_kind[*kind].push_back({flow, icmp_severity(*flow)});
    for (auto& [kind, affected] : by_kind) {
        Answer answer = finding(Question::bandwidth, *icmp_verdict(kind), affected);
        const Flows flows = flows_of(affected);
        IcmpReport report;
        report.kind = kind;
        report.source = group.source;
        report.destination = group.destination;
        report.transport = flows.front()->transport;
        for (const FlowSnapshot* flow : flows)
            if (flow->icmp) report.add(*flow->icmp);
        // The other direction may be seen or not: the error says enough.
        answer.confidence = 0.95;
        explain_icmp(subject, report, fmt::format("packets {}", subject.from_to(flows)), answer);
        add_icmp_figures(report, flows, answer);
        out.push_back(std::move(answer));
    }
}

void find_attempts(const Subject& subject, std::vector<Answer>& out) {
    if (subject.about_one_flow()) return;
    std::map<std::tuple<Address, Address, IcmpErrorKind>, std::vector<const ConnectionAttempt*>> refused;
    for (const ConnectionAttempt& attempt : subject.snapshot().attempts)
        if (unreachable_verdict(attempt))
            refused[{attempt.client.address, attempt.server.address, *leading_kind(*attempt.icmp)}].push_back(&attempt);
    for (const auto& [key, attempts] : refused) {
        std::vector<Affected> no_flows;
        IcmpReport report;
        std::tie(report.source, report.destination, report.kind) = key;
        report.transport = attempts.front()->transport;
        std::vector<std::uint64_t> requests;
        for (const ConnectionAttempt* attempt : attempts) {
            report.add(*attempt->icmp);
            if (requests.size() < 4) requests.push_back(attempt->request_frame);
        }
        Answer answer = finding(Question::bandwidth, *icmp_verdict(report.kind), no_flows);
        answer.confidence = 0.95;
        answer.severity = 1;
        answer.cost = {1, CostBasis::connections};
        const std::string client = subject.end(attempts.front()->client);
        explain_icmp(subject, report,
                     attempts.size() == 1 ? fmt::format("the request of {} for a connection", client)
                                          : fmt::format("{} of {} for connections", counted(attempts.size(), "request"),
                                                        subject.host(report.source)),
                     answer);
        add_evidence(answer, fmt::format("ICMP errors: {}", icmp_words(report.kind)), static_cast<double>(report.count),
                     EvidenceUnit::frames);
        add_evidence(answer, "requests for a connection", static_cast<double>(attempts.size()), EvidenceUnit::requests,
                     requests);
        out.push_back(std::move(answer));
    }
}

}  // namespace

std::optional<Verdict> unreachable_verdict(const Group& group, const FlowSnapshot& flow) {
    const auto kind = icmp_kind_of(group, flow);
    return kind ? icmp_verdict(*kind) : std::nullopt;
}

std::optional<Verdict> unreachable_verdict(const ConnectionAttempt& attempt) {
    if (!attempt.icmp || attempt.outcome != AttemptOutcome::unanswered) return std::nullopt;
    const auto kind = leading_kind(*attempt.icmp);
    return kind ? icmp_verdict(*kind) : std::nullopt;
}

void find_unreachable(const Subject& subject, std::vector<Answer>& out) {
    find_attempts(subject, out);
    for (const Group& group : subject.groups()) find_in_group(subject, group, out);
}

}  // namespace metrics::answers
