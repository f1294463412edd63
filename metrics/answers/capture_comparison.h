#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

/// Two captures of the same hosts, set side by side: `why --diff`.
namespace metrics::inline answers {

/// How two flows differ in what took their time, as one sentence about two states: the one whose share grew most and
/// the one whose share fell most. Empty if no share differs by 5 % of the time.
std::string describe_state_change(const StateTimes& before, std::uint64_t before_wall_ns, const StateTimes& after,
                                  std::uint64_t after_wall_ns);

/// All flows of one capture from one host to another in one role. Queue pair numbers and clients' ports differ from run
/// to run. Flows are therefore matched by addresses, transport and the server's port.
struct FlowGroup {
    std::vector<std::uint64_t> flows;  ///< ids
    std::array<OperationFigures, operation_count> operations{};
    StateTimes state_ns{};
    std::uint64_t wall_ns = 0;  ///< of all flows, added up
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;  ///< of messages
    std::uint64_t packets = 0;
    std::uint64_t retransmitted_packets = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t ecn_ce_packets = 0;
    std::uint64_t cnp_packets = 0;
    std::uint64_t span_ns = 0;  ///< first packet of any flow to the last of any
    std::optional<double> goodput_bytes_per_sec() const;
};

enum class ComparedFigure : std::uint8_t { latency_p50, latency_p99, goodput, retransmitted, rnr_naks, ecn_ce, cnps };
std::string_view name_of(ComparedFigure figure);  ///< "latency_p50", ...

/// A figure of a group, before and after.
struct FigureChange {
    ComparedFigure figure{};
    std::optional<Operation> operation;  ///< of latencies
    double before = 0;                   ///< ns, bytes per second, or a share of the packets
    double after = 0;
    /// How much worse: 1 is twice the latency or half the rate, 2 is four times; of shares, 1 is 5 % of the packets
    /// more. Below 0: better.
    double worse = 0;
};

/// Where the server is, seen from a group's sender.
enum class GroupRole : std::uint8_t { unknown, client, server };
std::string_view name_of(GroupRole role);

struct ComparedGroup {
    wire::Transport transport{};
    Address source;
    Address destination;
    GroupRole role{};
    std::optional<std::uint16_t> server_port;  ///< iWARP, if one of the two ports is a server's
    std::optional<FlowGroup> before;           ///< absent: only the other capture has such flows
    std::optional<FlowGroup> after;
    std::vector<FigureChange> changes;  ///< those worth reporting, the worst first
    std::string states;                 ///< describe_state_change()
    double worse() const { return changes.empty() ? 0 : changes.front().worse; }
};

/// How a finding differs between the two captures.
enum class FindingChange : std::uint8_t { appeared, worse, same, better, gone };
std::string_view name_of(FindingChange change);  ///< "appeared", "worse", ...

struct ComparedFinding {
    Question question{};
    Verdict verdict{};
    FindingChange change{};
    std::optional<Answer> before;
    std::optional<Answer> after;
};

struct CaptureComparison {
    std::vector<ComparedFinding> findings;  ///< what got worse first, the most costly first
    std::vector<ComparedGroup> groups;      ///< the same
    /// The worst grade of a finding that appeared or costs more; `suspected` if only a latency doubled or a rate
    /// halved; else `ok`.
    Grade grade{};
};

CaptureComparison compare_captures(const Snapshot& before, std::span<const Answer> before_answers,
                                   const Snapshot& after, std::span<const Answer> after_answers);

}  // namespace metrics::answers
