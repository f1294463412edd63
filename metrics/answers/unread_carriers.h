#pragma once
#include <string>

#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// "12 frames of EtherType 0x8999 were not looked into"; empty if every frame was looked into as far as RDMA may be in
/// it. If the text is not empty, RDMA may be in the capture although none was found.
std::string describe_unread_carriers(const CaptureFigures& capture);

}  // namespace metrics::answers
