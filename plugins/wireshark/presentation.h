// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <vector>

#include "plugins/wireshark/analysis.h"
#include "plugins/wireshark/events.h"
#include "plugins/wireshark/fields.h"
#include "plugins/wireshark/house_fields.h"

namespace plugins::wireshark {

/// What was registered with Wireshark: set once, at its start.
struct Registrations {
    int protocol = -1;
    int tap = -1;
    int mpa = -1;                            ///< Wireshark's
    int fold = -1;                           ///< subtree type of all our headings
    std::vector<int> filled_protocols = {};  ///< Wireshark's, that layers are added to
    Fields fields;
    Events events;
    CommandExperts command_experts;
    HouseFields house_fields;
};

struct ShowOptions {
    bool units = true;        ///< what `rdmascope dump` says of each message
    bool info_column = true;  ///< events in the Info column
};

/// Adds the analysis' present knowledge of the frame to Wireshark's tree, columns and expert items. `tvb` holds the
/// frame's bytes except those at the beginning that Wireshark has removed.
void show(const Analysis& analysis, const Registrations& registered, const ShowOptions& options,
          const wire::Frame& frame, tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree);

}  // namespace plugins::wireshark
