#pragma once
#include <string>

#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// "12 frames of EtherType 0x8999 were not looked into"; empty if every frame was read as far as RDMA may be in it. If
/// the text is not empty, RDMA may be in the capture although none was found.
std::string describe_unread_carriers(const CaptureFigures& capture);

/// "1,204 packets are cut by the snapshot length, and of no known flow: ...", with what helps; empty if there are no
/// such packets. A connection of iWARP whose set-up was not captured is recognised by whole segments alone, so the
/// busiest flow may be among them.
std::string describe_cut_packets(const Snapshot& snapshot);

}  // namespace metrics::answers
