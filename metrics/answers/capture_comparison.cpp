#include "metrics/answers/capture_comparison.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <map>
#include <tuple>

#include "base/quantities.h"
#include "metrics/figures/state.h"

namespace metrics::inline answers {

namespace {

/// Linux takes the ports of clients from here on (net.ipv4.ip_local_port_range).
constexpr std::uint16_t first_client_port = 32768;

/// A figure that changes by less is not reported: captures of the same traffic differ by as much.
constexpr double reported_change = 0.15;        ///< of FigureChange::worse: 11 % of a latency or rate
constexpr double reported_share = 0.001;        ///< of packets
constexpr double share_that_is_one = 0.05;      ///< as bad as twice the latency
constexpr double doubled = 1;                   ///< of FigureChange::worse
constexpr std::uint64_t messages_of_p99 = 100;  ///< with fewer, p99 is one message's latency

struct GroupKey {
    Address source;
    Address destination;
    wire::Transport transport{};
    GroupRole role{};
    std::uint16_t port = 0;

    bool operator<(const GroupKey& other) const {
        const auto members = [](const GroupKey& key) {
            return std::tie(key.source, key.destination, key.transport, key.role, key.port);
        };
        return members(*this) < members(other);
    }
};

GroupKey group_key_of(const FlowSnapshot& flow) {
    GroupKey key;
    key.source = flow.source.address;
    key.destination = flow.destination.address;
    key.transport = flow.transport;
    const auto is_server = [](const Endpoint& one) { return one.port && *one.port < first_client_port; };
    if (flow.transport != wire::Transport::iwarp) return key;
    if (is_server(flow.destination)) {
        key.role = GroupRole::client;
        key.port = *flow.destination.port;
    } else if (is_server(flow.source)) {
        key.role = GroupRole::server;
        key.port = *flow.source.port;
    }
    return key;
}

void add_flow(FlowGroup& group, const FlowSnapshot& flow) {
    group.flows.push_back(flow.id);
    for (std::size_t i = 0; i < operation_count; ++i) {
        group.operations[i].count += flow.operations[i].count;
        group.operations[i].bytes += flow.operations[i].bytes;
        group.operations[i].latency_ns.merge(flow.operations[i].latency_ns);
    }
    for (std::size_t i = 0; i < state_count; ++i) group.state_ns[i] += flow.state_ns[i];
    group.wall_ns += flow.wall_ns();
    group.messages += flow.messages_total();
    group.bytes += flow.message_bytes_total();
    group.packets += flow.packets;
    group.retransmitted_packets += flow.retransmitted_packets.value_or(0);
    group.rnr_naks += flow.rnr_naks;
    group.ecn_ce_packets += flow.ecn_ce_packets;
    group.cnp_packets += flow.cnp_packets;
}

using Groups = std::map<GroupKey, FlowGroup>;

Groups groups_of(const Snapshot& snapshot) {
    Groups groups;
    std::map<GroupKey, std::pair<std::int64_t, std::int64_t>> spans;
    for (const FlowSnapshot& flow : snapshot.flows) {
        const GroupKey key = group_key_of(flow);
        add_flow(groups[key], flow);
        auto& span = spans.try_emplace(key, flow.first_ns, flow.last_ns).first->second;
        span.first = std::min(span.first, flow.first_ns);
        span.second = std::max(span.second, flow.last_ns);
    }
    for (auto& [key, group] : groups)
        group.span_ns = static_cast<std::uint64_t>(spans[key].second) - static_cast<std::uint64_t>(spans[key].first);
    return groups;
}

/// Binary logarithm of how many times `larger` is `smaller`.
double log2_ratio(double larger, double smaller) { return larger > 0 && smaller > 0 ? std::log2(larger / smaller) : 0; }

class GroupComparison {
public:
    GroupComparison(const FlowGroup& before, const FlowGroup& after) : before_(before), after_(after) {}

    std::vector<FigureChange> changes() {
        for (std::size_t i = 0; i < operation_count; ++i) latencies(static_cast<Operation>(i));
        goodput();
        share(ComparedFigure::retransmitted, &FlowGroup::retransmitted_packets);
        share(ComparedFigure::rnr_naks, &FlowGroup::rnr_naks);
        share(ComparedFigure::ecn_ce, &FlowGroup::ecn_ce_packets);
        share(ComparedFigure::cnps, &FlowGroup::cnp_packets);
        std::ranges::stable_sort(changes_, std::ranges::greater{}, &FigureChange::worse);
        return std::move(changes_);
    }

private:
    void latencies(Operation operation) {
        const Histogram& before = before_.operations[index_of(operation)].latency_ns;
        const Histogram& after = after_.operations[index_of(operation)].latency_ns;
        if (before.empty() || after.empty()) return;
        latency(ComparedFigure::latency_p50, operation, *before.quantile(0.5), *after.quantile(0.5));
        if (std::min(before.count(), after.count()) < messages_of_p99) return;
        latency(ComparedFigure::latency_p99, operation, *before.quantile(0.99), *after.quantile(0.99));
    }
    void latency(ComparedFigure figure, Operation operation, std::uint64_t before, std::uint64_t after) {
        const auto was = static_cast<double>(before);
        const auto is = static_cast<double>(after);
        add({figure, operation, was, is, log2_ratio(is, was)});
    }
    void goodput() {
        const auto before = before_.goodput_bytes_per_sec();
        const auto after = after_.goodput_bytes_per_sec();
        if (before && after) add({ComparedFigure::goodput, {}, *before, *after, log2_ratio(*before, *after)});
    }
    void share(ComparedFigure figure, std::uint64_t FlowGroup::*counter) {
        const auto of_packets = [counter](const FlowGroup& group) {
            return group.packets == 0 ? 0 : static_cast<double>(group.*counter) / static_cast<double>(group.packets);
        };
        const double before = of_packets(before_);
        const double after = of_packets(after_);
        if (std::abs(after - before) < reported_share) return;
        changes_.push_back({figure, {}, before, after, (after - before) / share_that_is_one});
    }
    void add(const FigureChange& change) {
        if (std::abs(change.worse) >= reported_change) changes_.push_back(change);
    }

    const FlowGroup& before_;
    const FlowGroup& after_;
    std::vector<FigureChange> changes_;
};

ComparedGroup compare_groups(const GroupKey& key, const FlowGroup* before, const FlowGroup* after) {
    ComparedGroup out;
    out.transport = key.transport;
    out.source = key.source;
    out.destination = key.destination;
    out.role = key.role;
    if (key.port != 0) out.server_port = key.port;
    if (before != nullptr) out.before = *before;
    if (after != nullptr) out.after = *after;
    if (before == nullptr || after == nullptr) return out;
    out.changes = GroupComparison(*before, *after).changes();
    out.states = describe_state_change(before->state_ns, before->wall_ns, after->state_ns, after->wall_ns);
    return out;
}

std::vector<ComparedGroup> compare_all_groups(const Snapshot& before, const Snapshot& after) {
    const Groups old_groups = groups_of(before);
    const Groups new_groups = groups_of(after);
    std::vector<ComparedGroup> out;
    for (const auto& [key, group] : old_groups) {
        const auto found = new_groups.find(key);
        out.push_back(compare_groups(key, &group, found == new_groups.end() ? nullptr : &found->second));
    }
    for (const auto& [key, group] : new_groups)
        if (!old_groups.contains(key)) out.push_back(compare_groups(key, nullptr, &group));
    std::ranges::stable_sort(out, std::ranges::greater{}, &ComparedGroup::worse);
    return out;
}

const Answer* find_alarm(std::span<const Answer> answers, const Answer& like) {
    const auto found = std::ranges::find_if(answers, [&](const Answer& one) {
        return one.alarm && one.question == like.question && one.verdict == like.verdict;
    });
    return found == answers.end() ? nullptr : &*found;
}

/// A smaller difference does not count: captures of the same traffic differ by as much.
FindingChange change_of(const Answer& before, const Answer& after) {
    constexpr double least_share = 0.005;
    constexpr double least_factor = 1.2;
    const double was = before.cost.share;
    const double is = after.cost.share;
    if (grade_of(after) != grade_of(before))
        return grade_of(after) > grade_of(before) ? FindingChange::worse : FindingChange::better;
    if (is - was > least_share && is > was * least_factor) return FindingChange::worse;
    if (was - is > least_share && was > is * least_factor) return FindingChange::better;
    return FindingChange::same;
}

std::vector<ComparedFinding> compare_findings(std::span<const Answer> before, std::span<const Answer> after) {
    std::vector<ComparedFinding> out;
    for (const Answer& answer : after) {
        if (!answer.alarm || find_alarm(after, answer) != &answer) continue;  // the first of a kind is the worst
        const Answer* const earlier = find_alarm(before, answer);
        ComparedFinding& finding =
            out.emplace_back(ComparedFinding{answer.question, answer.verdict, FindingChange::appeared, {}, answer});
        if (earlier == nullptr) continue;
        finding.before = *earlier;
        finding.change = change_of(*earlier, answer);
    }
    for (const Answer& answer : before) {
        if (!answer.alarm || find_alarm(before, answer) != &answer || find_alarm(after, answer) != nullptr) continue;
        out.push_back({answer.question, answer.verdict, FindingChange::gone, answer, {}});
    }
    std::ranges::stable_sort(out, [](const ComparedFinding& one, const ComparedFinding& other) {
        const auto rank = [](const ComparedFinding& finding) { return finding.change; };
        const auto cost = [](const ComparedFinding& finding) { return finding.after ? finding.after->severity : 0; };
        const bool worse_first = rank(one) != rank(other);
        return worse_first ? rank(one) < rank(other) : cost(one) > cost(other);
    });
    return out;
}

Grade grade_of_changes(const CaptureComparison& comparison) {
    Grade grade = Grade::ok;
    for (const ComparedFinding& finding : comparison.findings)
        if (finding.change <= FindingChange::worse) grade = std::max(grade, grade_of(*finding.after));
    const bool is_doubled =
        std::ranges::any_of(comparison.groups, [](const ComparedGroup& group) { return group.worse() >= doubled; });
    return is_doubled ? std::max(grade, Grade::suspected) : grade;
}

/// As the tables of `flows` have it.
std::string_view table_name_of(State state) {
    constexpr std::string_view prefix = "application_";
    std::string_view name = name_of(state);
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    return name;
}

}  // namespace

std::string describe_state_change(const StateTimes& before, std::uint64_t before_wall_ns, const StateTimes& after,
                                  std::uint64_t after_wall_ns) {
    constexpr double worth_reporting = 0.05;
    const auto share = [](const StateTimes& times, std::uint64_t wall_ns, std::size_t state) {
        return wall_ns == 0 ? 0 : static_cast<double>(times[state]) / static_cast<double>(wall_ns);
    };
    const auto was = [&](std::size_t state) { return share(before, before_wall_ns, state); };
    const auto is = [&](std::size_t state) { return share(after, after_wall_ns, state); };
    const auto change = [&](std::size_t state) { return is(state) - was(state); };
    std::size_t gained = 0;
    std::size_t lost = 0;
    for (std::size_t state = 1; state < state_count; ++state) {
        if (change(state) > change(gained)) gained = state;
        if (change(state) < change(lost)) lost = state;
    }
    const auto reported = [&](std::size_t state) {
        return fmt::format("{} instead of {} of the time in {}", base::format_percent(is(state)),
                           base::format_percent(was(state)), table_name_of(static_cast<State>(state)));
    };
    std::string out;
    if (change(gained) > worth_reporting) out = reported(gained);
    if (change(lost) < -worth_reporting) out += (out.empty() ? "" : ", ") + reported(lost);
    return out;
}

std::optional<double> FlowGroup::goodput_bytes_per_sec() const {
    if (span_ns == 0 || bytes == 0) return std::nullopt;
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(span_ns);
}

std::string_view name_of(ComparedFigure figure) {
    constexpr std::array<std::string_view, 7> names{"latency_p50", "latency_p99", "goodput", "retransmitted",
                                                    "rnr_naks",    "ecn_ce",      "cnps"};
    return names[static_cast<std::size_t>(figure)];
}

std::string_view name_of(GroupRole role) {
    constexpr std::array<std::string_view, 3> names{"unknown", "client", "server"};
    return names[static_cast<std::size_t>(role)];
}

std::string_view name_of(FindingChange change) {
    constexpr std::array<std::string_view, 5> names{"appeared", "worse", "same", "better", "gone"};
    return names[static_cast<std::size_t>(change)];
}

CaptureComparison compare_captures(const Snapshot& before, std::span<const Answer> before_answers,
                                   const Snapshot& after, std::span<const Answer> after_answers) {
    CaptureComparison out;
    out.findings = compare_findings(before_answers, after_answers);
    out.groups = compare_all_groups(before, after);
    out.grade = grade_of_changes(out);
    return out;
}

}  // namespace metrics::answers
