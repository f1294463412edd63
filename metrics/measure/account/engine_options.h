#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "metrics/measure/account/attribution.h"

namespace metrics::inline measure::inline account {

class FrameObserver;

struct EngineOptions {
    std::size_t max_flows = 1'000'000;  ///< remembered at once, of one engine; the idlest goes first and is counted
    std::optional<std::uint64_t>
        link_bits_per_sec;  ///< of every host; absent: learnt from what hosts send inside messages
    AttributionOptions attribution;
    bool shortcut = true;  ///< plain packets are not taken apart layer by layer, the commonest skip the rules
    bool commands = false;  ///< commands of upper layers, such as NVMe and NFS
    bool reuse = true;     ///< working sets and reuse distances of QPs, remote keys and pages
    FrameObserver* observer =
        nullptr;  ///< gets every single frame; for one worker alone. Takes the place of `shortcut`
};

}  // namespace metrics::measure::account
