#pragma once
#include <cstdint>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"

namespace metrics::inline answers {

/// As answer(), with what this machine's devices counted in the same time: a counter is evidence of the answers that it
/// speaks for, by its own name, and where packets show nothing of what it tells, an answer by itself. Of one flow they
/// say nothing: with `flow` they are left aside.
std::vector<Answer> answer(const Snapshot& snapshot, const HostNames& names, const DeviceFigures& devices,
                           const std::uint64_t* flow = nullptr);

/// The part of it that looks at counters; `answers` in any order.
void add_counters(const Snapshot& snapshot, const DeviceFigures& devices, std::vector<Answer>& answers);
/// Findings that alarm first, worst first, then one for every question that has none.
void sort(std::vector<Answer>& answers);

}  // namespace metrics::answers
