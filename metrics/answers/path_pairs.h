#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/answers/path_statistics.h"
#include "metrics/answers/receiver_class.h"
#include "metrics/figures/path_figures.h"
#include "metrics/figures/snapshot.h"

/// The traffic from one host to another in one class, by entropy: what `paths` shows and the question about paths
/// compares. Entropies of other pairs are never added up: their addresses are hashed, too.
namespace metrics::inline answers {

/// What is wrong with the path of an entropy, compared with the others of the same pair.
enum class PathProblem : std::uint8_t {
    none,
    sick,
    slow,
    marked,
    recovered,  ///< lost more than the others, and no longer does
};

/// One entropy of a pair.
struct PathRow {
    EntropyFigures figures;
    std::vector<std::uint64_t> flows;  ///< ids, ascending
    std::optional<std::uint64_t> round_trip_min_ns;
    Histogram round_trip_ns;       ///< of requests whose packets have no other entropy
    EntropyWindows windows;        ///< against the others at the same times
    LossCount losses;              ///< that were compared: since the routes changed last
    std::optional<double> p_loss;  ///< adjusted; absent if the entropy was not compared
    PathProblem problem = PathProblem::none;
    bool loses_more = false;     ///< than the others, by its losses since the routes changed; or did so
    bool left_by_route = false;  ///< if it has recovered: until its route changed; else the losses stopped
};

struct PathPair {
    Address source;
    Address destination;
    wire::Transport transport{};
    std::uint8_t dscp = 0;
    std::uint64_t entropies = 0;        ///< different ones; an estimate where flows have more than are kept
    std::uint64_t entropy_changes = 0;  ///< inside queue pairs
    std::uint64_t late_packets = 0;
    std::optional<double> median_max_over_mean;  ///< over intervals: entropies that alternate look even in total
    std::vector<std::uint8_t> hop_limits;        ///< more than one: paths of different lengths
    ReceiverClass receiver = ReceiverClass::unknown;
    std::vector<PathRow> rows;         ///< by entropy
    std::uint64_t packets_needed = 0;  ///< more, before a loss could be blamed on a path; 0 if there are enough

    std::vector<std::uint64_t> bytes() const;  ///< of the rows
    std::uint64_t wire_bytes() const;
    std::uint64_t packets() const;
    std::uint64_t loss_episodes() const;
    LossCount losses() const;  ///< of the rows
    /// When the routes changed last, as hop limits show it.
    std::optional<std::int64_t> rerouted_ns() const;
    /// Several rows have packets enough to be compared.
    bool is_compared() const;
};

/// By how much its median round trip is longer than the others' at the same times; 0 if it is not.
std::uint64_t longer_by_ns(const EntropyWindows& windows);
/// The median round trip of all other entropies of the pair.
std::optional<std::uint64_t> others_round_trip_ns(const PathPair& pair, const PathRow& row);
/// Whether losses have stopped, while packets went on for longer than they ever did between two of them.
bool are_over(const LossTimes& losses);
/// Whether a longer round trip is that of a queue, and not of a longer way.
bool is_queue(const PathPair& pair, const PathRow& row);

/// Adds the flow's times from a request to its answer: to the acknowledgement, to the first response of a READ, to
/// TCP's ACK.
void add_round_trips(PathRow& row, const FlowSnapshot& flow);
/// Finds the problems of the pair's entropies from their figures and windows.
void compare_paths(PathPair& pair);

/// All pairs whose flows have a known entropy, those with the most bytes first.
std::vector<PathPair> path_pairs(const Snapshot& snapshot);

}  // namespace metrics::answers
