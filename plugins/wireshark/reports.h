// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "plugins/wireshark/analysis.h"

namespace plugins::wireshark {

enum class Report : std::uint8_t { flows, why, srt, commands };

/// Ids of the flows that a report is about.
using FlowIds = std::set<std::uint64_t>;

/// The text of a report, of all flows or of those in `chosen`.
std::string text_of(Report report, const Analysis& analysis, const FlowIds* chosen);

}  // namespace plugins::wireshark
