#include "metrics/why/scene.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>
#include <tuple>
#include <utility>

#include "metrics/why/words.h"

namespace metrics::why {

Scene::Scene(const Snapshot& snapshot, const metrics::HostNames& names, const std::uint64_t* flow)
    : snapshot_(snapshot), names_(names), one_flow_(flow != nullptr) {
    for (const FlowSnapshot& each : snapshot.flows) by_id_.emplace(each.id, &each);
    std::optional<std::uint64_t> other;
    if (flow != nullptr)
        if (const auto at = by_id_.find(*flow); at != by_id_.end()) other = at->second->reverse;
    std::map<std::tuple<Address, Address, dissect::Transport>, std::size_t> known;
    for (const FlowSnapshot& each : snapshot.flows) {
        if (flow != nullptr && each.id != *flow && (!other || each.id != *other)) continue;
        flows_.push_back(&each);
        const auto [at, fresh] =
            known.try_emplace({each.source.address, each.destination.address, each.transport}, groups_.size());
        if (fresh) groups_.push_back({each.source.address, each.destination.address, {}});
        groups_[at->second].flows.push_back(&each);
    }
}

const FlowSnapshot* Scene::reverse(const FlowSnapshot& flow) const {
    if (!flow.reverse) return nullptr;
    const auto at = by_id_.find(*flow.reverse);
    return at == by_id_.end() ? nullptr : at->second;
}

bool Scene::concerns(const Address& host) const {
    return !one_flow_ || std::any_of(flows_.begin(), flows_.end(), [&host](const FlowSnapshot* flow) {
        return flow->source.address == host || flow->destination.address == host;
    });
}

std::string Scene::short_name(const Address& address) const {
    const std::string name = names_.name(address);
    return name.empty() ? to_text(address) : name;
}

std::string Scene::host(const Address& address) const {
    const std::string name = names_.name(address);
    return name.empty() ? to_text(address) : fmt::format("{} ({})", name, to_text(address));
}

std::string Scene::end(const Endpoint& endpoint) const {
    std::string selector;
    if (endpoint.qpn)
        selector = fmt::format("qp {:#08x}", *endpoint.qpn);
    else if (endpoint.port)
        selector = fmt::format("port {}", *endpoint.port);
    if (selector.empty()) return host(endpoint.address);
    const std::string name = names_.name(endpoint.address);
    if (name.empty()) return fmt::format("{} ({})", to_text(endpoint.address), selector);
    return fmt::format("{} ({}, {})", name, to_text(endpoint.address), selector);
}

std::string Scene::from_to(const Flows& flows) const {
    if (flows.empty()) return {};
    const FlowSnapshot& first = *flows.front();
    if (flows.size() == 1) return fmt::format("from {} to {}", end(first.source), end(first.destination));
    return fmt::format("from {} to {} ({})", host(first.source.address), host(first.destination.address),
                       counted(flows.size(), "flow"));
}

std::string Scene::requests(const Flows& flows) const {
    if (flows.empty() || !shows_its_own(*flows.front())) return from_to(flows);
    const FlowSnapshot& first = *flows.front();
    return fmt::format("from {} to {}", host(first.destination.address), host(first.source.address));
}

bool shows_its_own(const FlowSnapshot& flow) { return !flow.reverse && flow.transport != dissect::Transport::iwarp; }

const Endpoint& responder_of(const FlowSnapshot& flow) { return shows_its_own(flow) ? flow.source : flow.destination; }

const Endpoint& requester_of(const FlowSnapshot& flow) { return shows_its_own(flow) ? flow.destination : flow.source; }

Flows flows_of(const std::vector<Sick>& sick) {
    Flows out;
    out.reserve(sick.size());
    for (const Sick& each : sick) out.push_back(each.flow);
    return out;
}

Answer finding(Question question, Verdict verdict, std::vector<Sick>& sick) {
    std::stable_sort(sick.begin(), sick.end(), [](const Sick& a, const Sick& b) {
        return a.hurt != b.hurt ? a.hurt > b.hurt : a.flow->id < b.flow->id;
    });
    Answer answer;
    answer.question = question;
    answer.verdict = verdict;
    double weight = 0;
    double confidence = 0;
    for (const Sick& each : sick) {
        answer.flows.push_back(each.flow->id);
        const double share = std::max(each.hurt, 1e-9);
        weight += share;
        confidence += share * each.flow->confidence;
    }
    if (!sick.empty()) {
        answer.vantage = sick.front().flow->vantage;
        answer.severity = std::clamp(sick.front().hurt, 0.0, 1.0);
        answer.confidence = std::clamp(confidence / weight, 0.0, 1.0);
    }
    const VerdictMeaning* const meaning = meaning_of(question, verdict);
    answer.alarm = meaning != nullptr && meaning->alarm;
    return answer;
}

std::vector<std::uint64_t> frames_of(const Flows& flows, std::initializer_list<EventKind> kinds) {
    constexpr std::size_t most = 8;
    std::vector<std::uint64_t> frames;
    for (const FlowSnapshot* flow : flows)
        for (const EventKind kind : kinds)
            if (const Exhibit* exhibit = flow->exhibit(kind))
                frames.insert(frames.end(), exhibit->frames.begin(), exhibit->frames.end());
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    if (frames.size() > most) frames.resize(most);
    return frames;
}

void add_evidence(Answer& answer, std::string what, double value, EvidenceUnit unit, std::vector<std::uint64_t> frames,
                  bool always) {
    if (value == 0 && !always && frames.empty()) return;
    answer.evidence.push_back({std::move(what), value, unit, std::move(frames)});
}

std::uint64_t time_in(const FlowSnapshot& flow, std::initializer_list<State> states) {
    std::uint64_t sum = 0;
    for (const State state : states) sum += flow.state_ns[index_of(state)];
    return sum;
}

std::uint64_t active_ns(const FlowSnapshot& flow) {
    std::uint64_t sum = 0;
    for (std::size_t state = 0; state < state_count; ++state) {
        if (state == index_of(State::application_idle) || state == index_of(State::unobserved)) continue;
        sum += flow.state_ns[state];
    }
    return sum;
}

std::uint64_t repair_ns(const FlowSnapshot& flow) {
    return time_in(flow, {State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout});
}

double ratio(double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0.0; }

bool carries_data(const FlowSnapshot& flow) { return flow.messages_total() > 0 || flow.payload_bytes > 0; }

bool requests_responses(const FlowSnapshot& flow) {
    for (std::size_t i = 0; i < operation_count; ++i)
        if (flow.operations[i].count != 0 && wants_response(static_cast<Operation>(i))) return true;
    return false;
}

bool only_requests_responses(const FlowSnapshot& flow) {
    bool any = false;
    for (std::size_t i = 0; i < operation_count; ++i) {
        if (flow.operations[i].count == 0) continue;
        if (!wants_response(static_cast<Operation>(i))) return false;
        any = true;
    }
    return any;
}

bool is_partly_read(const Scene& scene) {
    return std::any_of(scene.flows().begin(), scene.flows().end(),
                       [](const FlowSnapshot* flow) { return partly_read(*flow); });
}

AlikeLatencies alike_latencies(const FlowSnapshot& flow) {
    std::array<AlikeLatencies, 3> kinds{{{{}, "Messages that are acknowledged"}, {{}, "READs"}, {{}, "Atomics"}}};
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < operation_count; ++i) {
        const auto operation = static_cast<Operation>(i);
        const std::size_t kind = !wants_response(operation) ? 0 : operation == Operation::read ? 1 : 2;
        kinds[kind].ns.merge(flow.operations[i].latency_ns);
        all += flow.operations[i].latency_ns.count();
    }
    AlikeLatencies& most = *std::max_element(kinds.begin(), kinds.end(), [](const auto& one, const auto& other) {
        return one.ns.count() < other.ns.count();
    });
    if (most.ns.count() == all) most.of = AlikeLatencies{}.of;
    return std::move(most);
}

std::string unread_advice(const Scene& scene) {
    if (scene.snapshot().capture.truncated == 0)
        return "Capture these connections from their set-up on; `rdmascope dump -v` tells what is found in them.";
    return "Capture whole segments (`-s 0`), or keep kernel and adapter from joining them: `ethtool -K IFACE gro off "
           "lro off tso off gso off`.";
}

std::uint64_t exhibit_count(const FlowSnapshot& flow, EventKind kind) {
    const Exhibit* exhibit = flow.exhibit(kind);
    return exhibit == nullptr ? 0 : exhibit->count;
}

std::uint64_t repeated_packets(const FlowSnapshot& flow) {
    const std::uint64_t packets = flow.retransmitted_packets.value_or(0);
    if (!flow.tcp) return packets;
    const std::uint64_t again = std::max(packets, flow.tcp->retransmitted_segments);
    return again - std::min(again, tail_probes(flow));
}

std::uint64_t tail_probes(const FlowSnapshot& flow) {
    const Exhibit* exhibit = flow.tcp ? flow.exhibit(EventKind::retransmission) : nullptr;
    return exhibit == nullptr ? 0 : exhibit->count - std::min(exhibit->count, exhibit->value_sum);
}

}  // namespace metrics::why
