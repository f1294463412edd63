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
    std::uint32_t port = 0;  ///< from 1; 0: the counter is of the whole device, or of an interface
    std::string name;
    std::uint64_t value = 0;
    Meaning meaning = {};
};

using EthernetReader = std::function<base::Result<std::vector<EthernetCounter>>(const std::string& interface)>;

/// Counters of the RDMA devices (capture/counters/device_counters.h), and counters about pauses, drops and corruption
/// of the Ethernet interfaces that carry their traffic. They are ordered by device, port and name. An interface that
/// cannot be read is left out. Reading does not wake an adapter: the kernel caches hw_counters for `lifespan`, 10 ms.
std::vector<CounterReading> read_counters(const std::string& root = "/sys/class/infiniband",
                                          const EthernetReader& ethernet = read_ethernet_counters);

/// What was counted between two readings, for each counter of `now`; both as read_counters() orders them. No value if a
/// counter is new, or was reset.
std::vector<std::optional<std::uint64_t>> growth(const std::vector<CounterReading>& before,
                                                 const std::vector<CounterReading>& now);

}  // namespace capture::counters
