/// Fuzz target `snapshot`: any octets as an encoded snapshot. What decodes must be sound: written again it reads the
/// same, and it can be merged and subtracted.
#include <cstdlib>
#include <vector>

#include "metrics/figures/snapshot_codec.h"
#include "tests/fuzz/target.h"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

std::vector<std::byte> octets_of(const metrics::Snapshot& snapshot) {
    std::vector<std::byte> octets;
    metrics::encode(snapshot, octets);
    return octets;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::Bytes octets(reinterpret_cast<const std::byte*>(data), size);
    const auto decoded = metrics::decode_snapshot(octets);
    if (!decoded) {
        require(!decoded.error().message.empty() && decoded.error().offset <= size);
        return 0;
    }
    const metrics::Snapshot& snapshot = *decoded;
    const std::vector<std::byte> again = octets_of(snapshot);
    const auto reread = metrics::decode_snapshot(again);
    require(reread.ok() && octets_of(*reread) == again);

    metrics::Snapshot sum = snapshot;
    metrics::merge(sum, snapshot);
    require(sum.flows.size() <= 2 * snapshot.flows.size());
    require(metrics::decode_snapshot(octets_of(sum)).ok());
    require(metrics::decode_snapshot(octets_of(metrics::difference(snapshot, sum))).ok());
    for (const metrics::FlowSnapshot& flow : sum.flows)
        for (const metrics::OperationFigures& operation : flow.operations) {
            operation.latency_ns.quantile(0.5);
            operation.latency_ns.quantile(0.999);
        }
    return 0;
}
