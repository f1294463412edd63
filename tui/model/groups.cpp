#include "tui/model/groups.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "exporters/flow_fields.h"
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
template <class T>
void keep_least(std::optional<T>& sum, const std::optional<T>& other) {
    if (other) sum = sum ? std::min(*sum, *other) : *other;
}
void add_optional(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& other) {
    if (other) sum = add(sum.value_or(0), *other);
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
    if (flow.link_bits_per_sec) sum.link_bits_per_sec = std::max(sum.link_bits_per_sec, flow.link_bits_per_sec);
    keep_least(sum.round_trip_min_ns, flow.round_trip_min_ns);
    keep_least(sum.reaction_min_ns, flow.reaction_min_ns);
}

/// Before the counters: it is weighed by how many CNPs each had.
void add_rate_drop(FlowSnapshot& sum, const FlowSnapshot& flow) {
    if (!flow.rate_drop_after_cnp) return;
    const auto mine = sum.rate_drop_after_cnp ? static_cast<double>(std::max<std::uint64_t>(sum.cnp_packets, 1)) : 0.0;
    const auto theirs = static_cast<double>(std::max<std::uint64_t>(flow.cnp_packets, 1));
    sum.rate_drop_after_cnp =
        (sum.rate_drop_after_cnp.value_or(0) * mine + *flow.rate_drop_after_cnp * theirs) / (mine + theirs);
}

void add_counters(FlowSnapshot& sum, const FlowSnapshot& flow) {
    namespace fields = metrics::fields;
    for (const auto member : fields::flow_counters) sum.*member = add(sum.*member, flow.*member);
    for (const auto member : fields::flow_optional_counters) add_optional(sum.*member, flow.*member);
    for (const auto member : fields::flow_histograms) (sum.*member).merge(flow.*member);
    for (std::size_t i = 0; i < sum.naks.size(); ++i) sum.naks[i] = add(sum.naks[i], flow.naks[i]);
    for (std::size_t i = 0; i < sum.state_ns.size(); ++i) sum.state_ns[i] = add(sum.state_ns[i], flow.state_ns[i]);
    for (std::size_t i = 0; i < sum.operations.size(); ++i) {
        const metrics::OperationFigures& theirs = flow.operations[i];
        if (theirs.count == 0 && theirs.latency_ns.empty() && theirs.first_response_ns.empty()) continue;
        metrics::OperationFigures& mine = sum.operations[i];
        mine.count = add(mine.count, theirs.count);
        mine.bytes = add(mine.bytes, theirs.bytes);
        mine.latency_ns.merge(theirs.latency_ns);
        mine.first_response_ns.merge(theirs.first_response_ns);
    }
    sum.recovery.count = add(sum.recovery.count, flow.recovery.count);
    for (const auto member : fields::recovery_histograms) (sum.recovery.*member).merge(flow.recovery.*member);
}

void add_tcp(base::CompactOptional<metrics::TcpFigures>& sum, const base::CompactOptional<metrics::TcpFigures>& other) {
    if (!other) return;
    if (!sum) {
        sum = other;
        return;
    }
    for (const auto member : metrics::fields::tcp_counters) (*sum).*member = add((*sum).*member, (*other).*member);
    sum->round_trip_ns.merge(other->round_trip_ns);
    sum->handshake_ns.reset();
    keep_least(sum->mss, other->mss);
    keep_least(sum->receive_window_min, other->receive_window_min);
    if (other->receive_window_max)
        sum->receive_window_max = std::max(sum->receive_window_max, other->receive_window_max);
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

void add_event_summaries(std::vector<metrics::EventSummary>& sum, const std::vector<metrics::EventSummary>& other) {
    for (const metrics::EventSummary& theirs : other) {
        const auto place = std::lower_bound(
            sum.begin(), sum.end(), theirs.kind,
            [](const metrics::EventSummary& mine, metrics::EventKind kind) { return mine.kind < kind; });
        if (place == sum.end() || place->kind != theirs.kind) {
            sum.insert(place, theirs);
            continue;
        }
        place->count = add(place->count, theirs.count);
        place->value_max = std::max(place->value_max, theirs.value_max);
        place->value_sum = add(place->value_sum, theirs.value_sum);
    }
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
    add_rate_drop(sum, flow);
    add_counters(sum, flow);
    add_tcp(sum.tcp, flow.tcp);
    add_verbs(sum.verbs, flow.verbs);
    add_event_summaries(sum.event_summaries, flow.event_summaries);
    add_identity(sum, flow);
}

}  // namespace tui::model
