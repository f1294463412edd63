#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "metrics/answers/answer.h"
#include "metrics/answers/path_pairs.h"

namespace cli::paths {

/// For each pair a heading with its figures, a row for each entropy, and what random hashing would give.
void append_table(std::string& out, std::span<const metrics::PathPair> pairs, std::span<const std::uint64_t> paths,
                  const metrics::HostNames& names);
std::string csv_header();
/// One row for each entropy. Each row begins with `before`.
void append_csv(std::string& out, std::span<const metrics::PathPair> pairs, const metrics::HostNames& names,
                std::string_view before);

}  // namespace cli::paths
