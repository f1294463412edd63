#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "capture/counters/counter_reading.h"
#include "capture/counters/rdma_netlink.h"
#include "metrics/figures/device_figures.h"

namespace observe {

/// What the kernel reports over netlink about all devices; tests replace it.
struct DeviceResources {
    std::vector<capture::counters::RdmaDevice> devices = {};
    std::vector<capture::counters::RdmaPort> ports = {};
    std::vector<capture::counters::QueuePairResource> queue_pairs = {};
    std::vector<capture::counters::QueuePairCounters> sets = {};  ///< bound to queue pairs
};
/// Empty if the kernel has no RDMA; attributes that a device does not report are left out.
DeviceResources read_resources();

/// Counters of this machine's devices, added up from reading to reading: a counter that wraps continues, one that was
/// reset begins again. Not for several threads at once.
class CounterWatch {
public:
    struct Sources {
        std::function<std::vector<capture::counters::CounterReading>()> counters = [] {
            return capture::counters::read_counters();
        };
        std::function<DeviceResources()> resources = read_resources;
    };
    explicit CounterWatch(Sources sources) : sources_(std::move(sources)) {}
    CounterWatch() : CounterWatch(Sources{}) {}

    /// Counting begins at the first look. `now_ns`: of a clock that is never set.
    void look(std::int64_t now_ns);
    /// As of the last look. Counters of devices that have gone stay.
    const metrics::DeviceFigures& figures() const { return figures_; }

private:
    using Key = std::tuple<std::string, std::uint32_t, std::uint32_t, std::string>;  ///< device, port, set, name
    struct Counted {
        std::uint64_t last = 0;
        metrics::DeviceCounter counter;
    };
    void count(const capture::counters::CounterReading& reading, std::uint32_t set,
               const std::vector<std::uint32_t>& queue_pairs);

    Sources sources_;
    std::map<Key, Counted> counted_ = {};
    std::optional<std::int64_t> began_ns_ = {};
    metrics::DeviceFigures figures_ = {};
};

}  // namespace observe
