#pragma once
#include "metrics/answers/answer.h"
#include "metrics/answers/repair_sums.h"

namespace metrics::inline answers {

/// Writes what happened to these flows (all from one host to another, with one cause), and what can be done.
void explain_repairs(const Subject& subject, RepairCause cause, const Flows& flows, const RepairSums& sums,
                     Answer& answer);

}  // namespace metrics::answers
