#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/measure/account/attribution.h"
#include "upper/assignment.h"

namespace metrics::inline measure::inline account {

class FrameObserver;

struct EngineOptions {
    std::size_t max_flows = 1'000'000;  ///< remembered at the same time by one engine; above that the flow that was
                                        ///< idle longest is forgotten, and counted
    std::optional<std::uint64_t>
        link_bits_per_sec;  ///< of every host; absent: learnt from what hosts send inside messages
    AttributionOptions attribution;
    bool shortcut = true;   ///< plain packets are not taken apart layer by layer, the commonest skip the rules
    bool commands = false;  ///< commands of upper layers, such as NVMe and NFS
    std::vector<upper::Assignment> assignments = {};  ///< connections whose upper layer the user names
    bool reuse = true;                  ///< working sets and reuse distances of QPs, remote keys and pages
    FrameObserver* observer = nullptr;  ///< called for every frame; only with one worker. Disables `shortcut`
};

}  // namespace metrics::measure::account
