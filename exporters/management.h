#pragma once
#include <string>

#include "metrics/figures/snapshot.h"

namespace exporters {

/// "management only: 8 MADs (3 of subnet management, 2 of performance management), no data", of a capture whose RDMA is
/// management datagrams, and none sets up a connection; else empty.
std::string management_text(const metrics::CaptureFigures& capture);

}  // namespace exporters
