#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "replay/compare/comparison.h"
#include "replay/compare/traffic_recorder.h"

namespace cli::replay {

/// The captured flows and the re-enacted ones, two lines each, and their differences.
std::string comparison_text(std::span<const ::replay::ComparedFlow> flows, const ::replay::Recording& recording);
/// `{source, lost, equal, flows: [{original, replay, equal, difference, why}]}`.
nlohmann::ordered_json comparison_json(std::span<const ::replay::ComparedFlow> flows,
                                       const ::replay::Recording& recording);

}  // namespace cli::replay
