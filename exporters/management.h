#pragma once
#include <string>

#include "metrics/figures/snapshot.h"

namespace exporters {

/// "management only: 8 MADs (3 of subnet management, 2 of performance management), no data", for a capture whose RDMA
/// is only management datagrams that set up no connection; else empty.
std::string management_text(const metrics::CaptureFigures& capture);
/// Whether the packets show connections that are set up or end.
bool shows_connections(const metrics::Snapshot& snapshot);

}  // namespace exporters
