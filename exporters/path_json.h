#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "metrics/answers/answer.h"
#include "metrics/answers/path_pairs.h"

/// Entropies and paths between hosts, as `paths --json` has them.
namespace exporters {

/// "path_sick", ...; empty if there is no problem.
std::string_view name_of(metrics::PathProblem problem);

/// The object of one pair. `paths`: numbers of paths that the expectations are for. Of more than `most_rows`, it has
/// the rows with a problem, then those with the most bytes.
nlohmann::ordered_json path_pair_json(const metrics::PathPair& pair, std::span<const std::uint64_t> paths,
                                      const metrics::HostNames* names, std::size_t most_rows = SIZE_MAX);

/// Pairs for a page: those with a problem, then those with the most bytes.
struct PathList {
    std::string text = {};  ///< a JSON array
    std::size_t count = 0;  ///< pairs in it
    std::size_t all = 0;    ///< pairs that there are
};
struct PathListBounds {
    std::size_t pairs = 100;
    std::size_t rows = 16;  ///< of a pair
};
/// `single`: also pairs with one entropy and without a problem.
PathList path_list_json(const metrics::Snapshot& snapshot, std::span<const std::uint64_t> paths,
                        const metrics::HostNames* names, PathListBounds bounds, bool single);

/// The document {"capture": ..., "pairs": [...]}.
std::string path_pairs_json(const metrics::Snapshot& snapshot, std::span<const metrics::PathPair> pairs,
                            std::span<const std::uint64_t> paths, const metrics::HostNames* names, bool crc_verified);

/// One interval on a line: {"interval": {"start_ns": ..., "length_ns": ...}, "pairs": [...]}.
std::string path_interval_json(std::int64_t start_ns, std::uint64_t length_ns, std::span<const metrics::PathPair> pairs,
                               std::span<const std::uint64_t> paths, const metrics::HostNames* names);

}  // namespace exporters
