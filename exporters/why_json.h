#pragma once
#include <span>
#include <string>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

namespace exporters {

/// The answers of `why` as one JSON object, without a newline at the end: `capture`, `grade`, `notes` and `answers`. An
/// `indent` below zero writes it on one line.
std::string why_json(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers, bool crc_verified,
                     int indent);

}  // namespace exporters
