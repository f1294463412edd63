#include "replay/compare/comparison.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "metrics/answers/capture_comparison.h"

namespace replay::inline compare {

namespace {

using metrics::FlowSnapshot;

std::uint16_t port_of(const std::string& address) {
    std::uint16_t port = 0;
    const std::size_t colon = address.rfind(':');
    if (colon != std::string::npos) std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    return port;
}

/// Flows of the recording by their ports.
using ByPorts = std::map<std::pair<std::uint16_t, std::uint16_t>, const FlowSnapshot*>;

ByPorts by_ports(const metrics::Snapshot& recorded) {
    ByPorts out;
    for (const FlowSnapshot& flow : recorded.flows)
        if (flow.source.port && flow.destination.port) out[{*flow.source.port, *flow.destination.port}] = &flow;
    return out;
}

std::vector<ComparedFlow::Why> why_of(const Survey& survey, const metrics::Snapshot& recorded, const ComparedFlow& flow,
                                      const metrics::HostNames& names) {
    const auto verdicts = [&](const metrics::Snapshot& snapshot, std::uint64_t id) {
        std::map<metrics::Question, metrics::Verdict> first;
        for (const metrics::Answer& answer : metrics::answer(snapshot, names, &id))
            first.try_emplace(answer.question, answer.verdict);
        return first;
    };
    const auto before = verdicts(survey.snapshot, flow.original->id);
    const auto after = verdicts(recorded, flow.replayed->id);
    std::vector<ComparedFlow::Why> out;
    for (const auto& [question, verdict] : before)
        if (const metrics::Verdict now = after.at(question); now != verdict) out.push_back({question, verdict, now});
    return out;
}

bool same(const metrics::OperationTable& one, const metrics::OperationTable& other) {
    for (std::size_t i = 0; i < metrics::operation_count; ++i)
        if (one[i].count != other[i].count || one[i].bytes != other[i].bytes) return false;
    return true;
}

}  // namespace

Figures figures_of(const FlowSnapshot& flow) {
    Figures out;
    out.operations = flow.operations;
    out.messages = flow.messages_total();
    out.bytes = flow.message_bytes_total();
    for (const metrics::OperationFigures& operation : flow.operations) out.latency_ns.merge(operation.latency_ns);
    return out;
}

metrics::OperationTable over_iwarp(const FlowSnapshot& original) {
    auto out = original.operations;
    if (original.transport == wire::Transport::iwarp) return out;
    metrics::OperationFigures& immediate = out[metrics::index_of(metrics::Operation::send_immediate)];
    metrics::OperationFigures& send = out[metrics::index_of(metrics::Operation::send)];
    send.count += immediate.count;
    send.bytes += immediate.bytes;
    immediate.bytes = 0;
    return out;
}

std::vector<ComparedFlow> compare_runs(const Survey& survey, const Reenactment& run, const metrics::Snapshot& recorded,
                                       const metrics::HostNames& names) {
    const ByPorts flows = by_ports(recorded);
    std::vector<ComparedFlow> out;
    const auto add = [&](std::uint32_t connection, std::size_t side, std::uint16_t from, std::uint16_t to) {
        const FlowSnapshot* original = survey.connections[connection].flows[side];
        if (original == nullptr || original->messages_total() == 0) return;
        ComparedFlow& flow = out.emplace_back();
        flow.original = original;
        const auto found = flows.find({from, to});
        if (found == flows.end()) return;
        flow.replayed = found->second;
        flow.equal = same(over_iwarp(*original), flow.replayed->operations);
        flow.difference = metrics::describe_state_change(original->state_ns, original->wall_ns(),
                                                         flow.replayed->state_ns, flow.replayed->wall_ns());
        flow.why = why_of(survey, recorded, flow, names);
    };
    // One end knows both ports of each connection.
    for (const EndpointResult::Side& side : run.endpoints.front().sides) {
        if (side.copy != 0) continue;
        const std::uint16_t local = port_of(side.local);
        const std::uint16_t peer = port_of(side.peer);
        add(side.connection, side.side, local, peer);
        add(side.connection, 1U - side.side, peer, local);
    }
    std::ranges::sort(out, {}, [](const ComparedFlow& flow) { return flow.original->id; });
    return out;
}

}  // namespace replay::compare
