// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "plugins/wireshark/analysis.h"
#include "plugins/wireshark/compat.h"

namespace plugins::wireshark {

/// The analysis of the file that is open; nullptr where there is none.
using CurrentAnalysis = Analysis* (*)();

/// `tshark -z rdma,flows` and its like, each with a display filter after it optionally: then the report is about the
/// flows of the frames that pass.
void register_statistics_commands(CurrentAnalysis current);
/// Wireshark's menu Statistics: the same reports in a window of text.
void register_statistics_menu(CurrentAnalysis current);

/// Tells the taps which flows a frame belongs to.
void offer_to_taps(const Analysis& analysis, int tap, packet_info* pinfo);

}  // namespace plugins::wireshark
