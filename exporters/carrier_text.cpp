#include "exporters/carrier_text.h"

#include <algorithm>

#include "base/quantities.h"

namespace exporters {

std::string carrier_text(const metrics::Snapshot& snapshot) {
    const auto iwarp =
        std::ranges::count(snapshot.flows, wire::Transport::iwarp, [](const auto& flow) { return flow.transport; });
    const std::uint64_t units = snapshot.capture.rdma_units;
    if (iwarp == 0) return base::format_counted(units, "RDMA packet");
    if (static_cast<std::size_t>(iwarp) == snapshot.flows.size()) return base::format_counted(units, "iWARP FPDU");
    return base::format_counted(units, "RDMA packet or iWARP FPDU", "RDMA packets and iWARP FPDUs");
}

}  // namespace exporters
