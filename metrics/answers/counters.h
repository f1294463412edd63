#pragma once
#include <cstdint>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"

namespace metrics::inline answers {

/// As answer(), with the counters of this machine's devices for the same time. A counter is evidence for the answers
/// that it supports, under its own name; if packets do not show what it counts, it is an answer by itself. Counters say
/// nothing about a single flow: with `flow` they are ignored.
std::vector<Answer> answer(const Snapshot& snapshot, const HostNames& names, const DeviceFigures& devices,
                           const std::uint64_t* flow = nullptr);

/// Adds to `answers`, which may be in any order, what counters show.
void add_counters(const Snapshot& snapshot, const DeviceFigures& devices, std::vector<Answer>& answers);
/// Findings that alarm first, worst first, then one for every question that has none.
void sort(std::vector<Answer>& answers);

}  // namespace metrics::answers
