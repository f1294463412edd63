#pragma once
#include <string>

#include "metrics/figures/snapshot.h"

namespace exporters {

/// How many packets of the InfiniBand transport and FPDUs of iWARP were read. They carry the messages: one message may
/// take many. "1,049 RDMA packets", "5 iWARP FPDUs", or "1,054 RDMA packets and iWARP FPDUs" for flows of both.
std::string carrier_text(const metrics::Snapshot& snapshot);

}  // namespace exporters
