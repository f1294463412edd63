// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "plugins/wireshark/analysis.h"
#include "plugins/wireshark/compat.h"

namespace plugins::wireshark {

/// The analysis of the open file; nullptr if absent.
using CurrentAnalysis = Analysis* (*)();

/// `tshark -z rdma,flows` and the like, each with an optional display filter: then the report is about the flows of the
/// frames that pass.
void register_statistics_commands(CurrentAnalysis current);
/// Wireshark's menu Statistics: the same reports in a window of text.
void register_statistics_menu(CurrentAnalysis current);

/// Passes the flows of a frame to the taps.
void offer_to_taps(const Analysis& analysis, int tap, packet_info* pinfo);

}  // namespace plugins::wireshark
