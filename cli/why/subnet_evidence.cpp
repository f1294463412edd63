#include "cli/why/subnet_evidence.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/findings/subnet_finding.h"
#include "fabric/node_names.h"

namespace cli::why {

namespace {

using ::fabric::Lid;
using ::fabric::PortId;
using ::fabric::Subnet;
using ::fabric::findings::Finding;
using ::fabric::findings::FindingKind;
using metrics::Answer;
using metrics::Evidence;
using metrics::EvidenceUnit;
using metrics::Verdict;

/// Packets are lost or damaged where a link has errors or a port drops them.
constexpr std::array loss_verdicts{
    Verdict::loss_before_tap,  Verdict::loss_after_tap,  Verdict::corruption,
    Verdict::timeout_recovery, Verdict::retries_used_up, Verdict::stopped_answering,
    Verdict::never_answered,   Verdict::retransmission,  Verdict::loss,
};
constexpr std::array loss_findings{
    FindingKind::symbol_errors,    FindingKind::link_recoveries, FindingKind::link_downed, FindingKind::receive_errors,
    FindingKind::integrity_errors, FindingKind::buffer_overruns, FindingKind::discards,
};
/// Packets wait where a port has no credits, or a link is slower than it could be.
constexpr std::array wait_verdicts{
    Verdict::congestion_paced, Verdict::window_queueing, Verdict::network_delay, Verdict::queueing,    Verdict::marked,
    Verdict::throttled,        Verdict::incast,          Verdict::link_full,     Verdict::link_shared,
};
constexpr std::array wait_findings{
    FindingKind::congestion,
    FindingKind::discards,
    FindingKind::width_degraded,
    FindingKind::speed_degraded,
};
/// A connection cannot begin where its partition or its link is not configured.
constexpr std::array silent_verdicts{Verdict::never_answered, Verdict::connection_unanswered};
constexpr std::array silent_findings{FindingKind::p_key_violations, FindingKind::link_inactive};

struct Cause {
    std::span<const Verdict> verdicts;
    std::span<const FindingKind> findings;
};
constexpr std::array causes{
    Cause{loss_verdicts, loss_findings},
    Cause{wait_verdicts, wait_findings},
    Cause{silent_verdicts, silent_findings},
};

bool can_cause(FindingKind kind, Verdict verdict) {
    return std::ranges::any_of(causes, [&](const Cause& cause) {
        return std::ranges::find(cause.verdicts, verdict) != cause.verdicts.end() &&
               std::ranges::find(cause.findings, kind) != cause.findings.end();
    });
}

std::optional<Lid> lid_of(const metrics::Address& address) {
    if (address.family != wire::AddressFamily::lid) return {};
    return static_cast<Lid>(address.octets[0] << 8 | address.octets[1]);
}

/// The port of each LID.
class LidTable {
public:
    explicit LidTable(const Subnet& subnet) {
        for (const ::fabric::Node& node : subnet.nodes)
            for (const ::fabric::Port& port : node.ports)
                if (port.lid) ports_.emplace(*port.lid, Place{{node.guid, port.number}, port.lmc});
    }
    std::optional<PortId> find(Lid lid) const {
        auto place = ports_.upper_bound(lid);
        if (place == ports_.begin()) return {};
        --place;
        const bool is_its = lid - place->first < 1 << place->second.lmc;
        return is_its ? std::optional(place->second.port) : std::nullopt;
    }

private:
    struct Place {
        PortId port;
        std::uint8_t lmc;
    };
    std::map<Lid, Place> ports_ = {};
};

/// Where the packets of an answer come from and go to. Requests for a connection belong to no flow: the frames of the
/// evidence say which they are.
std::vector<metrics::Address> ends_of(const Answer& answer, const metrics::Snapshot& snapshot) {
    std::vector<metrics::Address> ends;
    for (const std::uint64_t id : answer.flows)
        if (const metrics::FlowSnapshot* const flow = snapshot.flow(id))
            ends.insert(ends.end(), {flow->source.address, flow->destination.address});
    if (answer.verdict != Verdict::connection_unanswered) return ends;
    for (const Evidence& one : answer.evidence)
        for (const std::uint64_t frame : one.frames) {
            const auto attempt =
                std::ranges::lower_bound(snapshot.attempts, frame, {}, &metrics::ConnectionAttempt::request_frame);
            if (attempt != snapshot.attempts.end() && attempt->request_frame == frame)
                ends.insert(ends.end(), {attempt->client.address, attempt->server.address});
        }
    return ends;
}

/// The ports of the links by which the packets of an answer enter and leave the subnet.
std::set<PortId> ports_of(const Answer& answer, const metrics::Snapshot& snapshot, const Subnet& subnet,
                          const LidTable& lids) {
    std::set<PortId> ports;
    for (const metrics::Address& address : ends_of(answer, snapshot)) {
        const auto lid = lid_of(address);
        const auto port = lid ? lids.find(*lid) : std::nullopt;
        if (!port) continue;
        ports.insert(*port);
        const ::fabric::Port* const entry = subnet.find(*port);
        if (entry != nullptr && entry->peer) ports.insert(*entry->peer);
    }
    return ports;
}

bool concerns(const Finding& finding, const std::set<PortId>& ports) {
    return (finding.at && ports.contains(*finding.at)) || (finding.peer && ports.contains(*finding.peer));
}

std::string end_text(const Subnet& subnet, PortId id, const ::fabric::NodeLabels& labels) {
    const ::fabric::Node* const node = subnet.find(id.node);
    if (node == nullptr) return ::fabric::text_of(id.node);
    const auto lid = node->lid(id.number);
    return labels.of(*node, id.number) + (lid ? fmt::format(" (lid {})", *lid) : std::string());
}

void append(const Finding& finding, const Subnet& subnet, std::vector<Evidence>& evidence) {
    const ::fabric::NodeLabels labels;
    std::string where = finding.at ? end_text(subnet, *finding.at, labels) : std::string("the subnet");
    if (finding.peer) where += " - " + end_text(subnet, *finding.peer, labels);
    if (finding.evidence.empty()) {
        evidence.push_back({fmt::format("link {}: {}", where, finding.observed), 1, EvidenceUnit::times, {}});
        return;
    }
    for (const ::fabric::findings::CounterEvidence& one : finding.evidence) {
        const bool is_wait = one.counter == ::fabric::Counter::transmit_wait;
        const std::string_view when = one.grown ? "between the two readings" : "since the last reset";
        evidence.push_back({fmt::format("{} of {}, {}", row_of(one.counter).label, where, when),
                            static_cast<double>(one.grown.value_or(one.value)),
                            is_wait ? EvidenceUnit::ticks : EvidenceUnit::none,
                            {}});
    }
}

}  // namespace

std::size_t add_subnet_evidence(const Subnet& subnet, const metrics::Snapshot& snapshot, std::vector<Answer>& answers) {
    constexpr std::size_t most_of_an_answer = 8;
    const LidTable lids(subnet);
    const std::vector<Finding> findings = ::fabric::findings::find_problems(subnet);
    for (Answer& answer : answers) {
        const std::set<PortId> ports = ports_of(answer, snapshot, subnet, lids);
        if (ports.empty()) continue;
        std::size_t shown = 0;
        std::set<PortId> elsewhere;
        for (const Finding& finding : findings) {
            if (!can_cause(finding.kind, answer.verdict)) continue;
            if (!concerns(finding, ports)) {
                if (finding.at) elsewhere.insert(*finding.at);
            } else if (shown++ < most_of_an_answer) {
                append(finding, subnet, answer.evidence);
            }
        }
        if (!elsewhere.empty())
            answer.evidence.push_back({"ports elsewhere in the subnet with findings of these kinds",
                                       static_cast<double>(elsewhere.size()),
                                       EvidenceUnit::none,
                                       {}});
    }
    return static_cast<std::size_t>(std::ranges::count_if(snapshot.flows, [&](const metrics::FlowSnapshot& flow) {
        const auto source = lid_of(flow.source.address);
        const auto destination = lid_of(flow.destination.address);
        return (source && lids.find(*source)) || (destination && lids.find(*destination));
    }));
}

}  // namespace cli::why
