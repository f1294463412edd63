#include "metrics/figures/device_figures.h"

#include <algorithm>
#include <tuple>

namespace metrics::inline figures {

namespace {

auto key(const DeviceCounter& counter) {
    return std::tie(counter.device, counter.port, counter.name, counter.queue_pairs);
}

}  // namespace

DeviceFigures difference(const DeviceFigures& earlier, const DeviceFigures& later) {
    DeviceFigures out = later;
    out.length_ns -= std::min(earlier.length_ns, out.length_ns);
    std::vector<const DeviceCounter*> before;
    before.reserve(earlier.counters.size());
    for (const DeviceCounter& counter : earlier.counters) before.push_back(&counter);
    const auto comes_first = [](const DeviceCounter* one, const DeviceCounter* other) {
        return key(*one) < key(*other);
    };
    std::sort(before.begin(), before.end(), comes_first);
    for (DeviceCounter& counter : out.counters) {
        const auto at = std::lower_bound(before.begin(), before.end(), &counter, comes_first);
        if (at != before.end() && key(**at) == key(counter) && (*at)->value <= counter.value)
            counter.value -= (*at)->value;
    }
    return out;
}

}  // namespace metrics::figures
