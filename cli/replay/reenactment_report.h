#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "replay/endpoints/reenactment.h"
#include "replay/plan/survey.h"

namespace cli::replay {

/// What the ends of a re-enactment did, by their own counts. `payload`: the captured bytes were requested.
std::string text_of(const ::replay::Survey& survey, const ::replay::Reenactment& run, bool payload);
nlohmann::ordered_json json_of(const ::replay::Survey& survey, const ::replay::Reenactment& run, bool payload);

}  // namespace cli::replay
