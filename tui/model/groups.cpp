#include "tui/model/groups.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "exporters/flow_fields.h"
#include "metrics/figures/flow_merge.h"
#include "metrics/figures/merging.h"
#include "metrics/figures/snapshot_fields.h"

namespace tui::inline model {

namespace {

using metrics::FlowSnapshot;
using metrics::fields::add;

std::string kind_title(const FlowSnapshot& flow) {
    if (flow.transport == wire::Transport::iwarp) return "iwarp";
    return fmt::format("{} {}", metrics::name_of(flow.transport), name_of(flow.service));
}

/// Of the sender, where it was traced.
std::string process_title(const FlowSnapshot& flow) {
    if (!flow.verbs) return "(not traced)";
    return exporters::program_text(flow.verbs->process);
}

/// `key` tells the groups apart, `title` is asked once a group.
template <class Key, class Title>
Groups group_by(const std::vector<const FlowSnapshot*>& flows, Key key, Title title) {
    Groups groups;
    groups.of.reserve(flows.size());
    std::map<decltype(key(*flows.front())), std::size_t> known;
    for (const FlowSnapshot* flow : flows) {
        const auto [at, fresh] = known.try_emplace(key(*flow), groups.titles.size());
        if (fresh) groups.titles.push_back(title(*flow));
        groups.of.push_back(at->second);
    }
    return groups;
}

template <class T>
void keep_same(T& sum, const T& other) {
    if (sum != other) sum = T{};
}

void add_identity(FlowSnapshot& sum, const FlowSnapshot& flow) {
    sum.id = std::min(sum.id, flow.id);
    keep_same(sum.source.address, flow.source.address);
    keep_same(sum.destination.address, flow.destination.address);
    for (metrics::Endpoint* end : {&sum.source, &sum.destination}) {
        end->qpn.reset();
        end->port.reset();
    }
    sum.reverse.reset();
    sum.pairing = {};
    keep_same(sum.vantage, flow.vantage);
    sum.confidence = std::min(sum.confidence, flow.confidence);
    sum.finished = sum.finished && flow.finished;
    sum.credits_last.reset();

    const auto permitted = sum.connection->initiator_depth;
    sum.connection = {};
    if (permitted && flow.connection->initiator_depth)
        sum.connection->initiator_depth = *permitted + *flow.connection->initiator_depth;
}

/// In an interval a flow's time begins with what it did last, however long ago: there is no common one.
void add_outstanding(FlowSnapshot& sum, const FlowSnapshot& flow, Window window) {
    const auto over_time = [](double mean, const FlowSnapshot& of) {
        return metrics::fields::total(mean, of.wall_ns());
    };
    const double messages = over_time(sum.messages_mean, sum) + over_time(flow.messages_mean, flow);
    const double bytes = over_time(sum.bytes_mean, sum) + over_time(flow.bytes_mean, flow);
    sum.first_ns = std::min(sum.first_ns, flow.first_ns);
    sum.last_ns = std::max(sum.last_ns, flow.last_ns);
    const auto wall = static_cast<double>(sum.wall_ns());
    const bool over_all = window == Window::total && wall > 0;
    sum.messages_mean = over_all ? messages / wall : sum.messages_mean + flow.messages_mean;
    sum.bytes_mean = over_all ? bytes / wall : sum.bytes_mean + flow.bytes_mean;
    sum.messages_max = add(sum.messages_max, flow.messages_max);
    sum.bytes_max = add(sum.bytes_max, flow.bytes_max);
    sum.responses_max = add(sum.responses_max, flow.responses_max);
    sum.at_max_ns = 0;
    sum.reaction_tolerance_ns = std::max(sum.reaction_tolerance_ns, flow.reaction_tolerance_ns);
    metrics::keep_greatest(sum.link_bits_per_sec, flow.link_bits_per_sec);
    metrics::keep_least(sum.round_trip_min_ns, flow.round_trip_min_ns);
    metrics::keep_least(sum.reaction_min_ns, flow.reaction_min_ns);
}

void add_tcp(base::CompactOptional<metrics::TcpFigures>& sum, const base::CompactOptional<metrics::TcpFigures>& other) {
    const bool several = sum && other;
    merge_tcp(sum, other);
    if (several) sum->handshake_ns.reset();
}

/// Queues of several queue pairs are as deep as all together; what one process did stays its own.
void add_level(metrics::LevelFigures& sum, const metrics::LevelFigures& other) {
    sum.mean += other.mean;
    sum.max = add(sum.max, other.max);
    if (other.capacity) sum.capacity = sum.capacity.value_or(0) + *other.capacity;
    sum.observed_ns = add(sum.observed_ns, other.observed_ns);
    sum.empty_ns = add(sum.empty_ns, other.empty_ns);
    sum.full_ns = add(sum.full_ns, other.full_ns);
}

void add_verbs(base::CompactOptional<metrics::VerbsFigures>& sum,
               const base::CompactOptional<metrics::VerbsFigures>& other) {
    if (!other) return;
    if (!sum) {
        sum = other;
        return;
    }
    metrics::LevelFigures sends = sum->send_queue;
    metrics::LevelFigures receives = sum->receive_queue;
    const metrics::Process process = sum->process;
    add_level(sends, other->send_queue);
    add_level(receives, other->receive_queue);
    merge(*sum, *other);
    sum->send_queue = sends;
    sum->receive_queue = receives;
    sum->process = process == other->process ? process : metrics::Process{};
}

}  // namespace

Groups groups_of(const std::vector<const FlowSnapshot*>& flows, Grouping grouping, const metrics::HostNames* names) {
    switch (grouping) {
        case Grouping::source:
            return group_by(
                flows, [](const FlowSnapshot& flow) { return flow.source.address; },
                [&](const FlowSnapshot& flow) { return metrics::address_text(flow.source.address, names); });
        case Grouping::destination:
            return group_by(
                flows, [](const FlowSnapshot& flow) { return flow.destination.address; },
                [&](const FlowSnapshot& flow) { return metrics::address_text(flow.destination.address, names); });
        case Grouping::transport:
            return group_by(
                flows, [](const FlowSnapshot& flow) { return std::pair(flow.transport, flow.service); }, kind_title);
        case Grouping::traffic_class:
            return group_by(
                flows, [](const FlowSnapshot& flow) { return flow.traffic_class; },
                [](const FlowSnapshot& flow) { return fmt::format("class {:#04x}", flow.traffic_class); });
        case Grouping::process:
            return group_by(
                flows,
                [](const FlowSnapshot& flow) {
                    return flow.verbs ? std::pair(true, flow.verbs->process.pid) : std::pair(false, 0U);
                },
                process_title);
        case Grouping::none: break;
    }
    return {};
}

void add_up(FlowSnapshot& sum, const FlowSnapshot& flow, Window window) {
    add_outstanding(sum, flow, window);
    merge_rate_drop(sum, flow);
    merge_counters(sum, flow);
    for (std::size_t i = 0; i < sum.state_ns.size(); ++i) sum.state_ns[i] = add(sum.state_ns[i], flow.state_ns[i]);
    merge_recovery(sum.recovery, flow.recovery);
    add_tcp(sum.tcp, flow.tcp);
    add_verbs(sum.verbs, flow.verbs);
    merge_event_summaries(sum.event_summaries, flow.event_summaries);
    add_identity(sum, flow);
}

}  // namespace tui::model
