#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/counters/ethernet_counters.h"
#include "capture/counters/meaning.h"

namespace capture::counters {

/// One counter of this machine at one moment.
struct CounterReading {
    std::string device;      ///< "mlx5_0", or the Ethernet interface under it: "eth2"
    std::uint32_t port = 0;  ///< from 1; 0: of the device as a whole, or of an interface
    std::string name;
    std::uint64_t value = 0;
    Meaning meaning = {};
};

using EthernetReader = std::function<base::Result<std::vector<EthernetCounter>>(const std::string& interface)>;

/// Counters of the RDMA devices (capture/counters/device_counters.h), and those of the Ethernet interfaces that carry
/// their traffic as far as they are about pauses, drops and corruption; ordered by device, port and name. An interface
/// that cannot be read is left out. Reading wakes no adapter up: the kernel keeps hw_counters for `lifespan`, 10 ms.
std::vector<CounterReading> read_counters(const std::string& root = "/sys/class/infiniband",
                                          const EthernetReader& ethernet = read_ethernet_counters);

/// What was counted between two readings, for each of `now`; both as read_counters() orders them. Without value where a
/// counter is new, or was set back.
std::vector<std::optional<std::uint64_t>> growth(const std::vector<CounterReading>& before,
                                                 const std::vector<CounterReading>& now);

}  // namespace capture::counters
