#pragma once
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

/// The object of one pair. `paths`: numbers of paths that the expectations are for.
nlohmann::ordered_json path_pair_json(const metrics::PathPair& pair, std::span<const std::uint64_t> paths,
                                      const metrics::HostNames* names);

/// The document {"capture": ..., "pairs": [...]}.
std::string path_pairs_json(const metrics::Snapshot& snapshot, std::span<const metrics::PathPair> pairs,
                            std::span<const std::uint64_t> paths, const metrics::HostNames* names, bool crc_verified);

/// One interval on a line: {"interval": {"start_ns": ..., "length_ns": ...}, "pairs": [...]}.
std::string path_interval_json(std::int64_t start_ns, std::uint64_t length_ns, std::span<const metrics::PathPair> pairs,
                               std::span<const std::uint64_t> paths, const metrics::HostNames* names);

}  // namespace exporters
