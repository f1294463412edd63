#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture/counters/meaning.h"

namespace capture::counters {

struct EthernetCounter {
    std::string name;  ///< "rx_prio3_pause"
    std::uint64_t value = 0;
};

/// All that `ethtool -S INTERFACE` shows. An error if there is no such interface; empty if its driver has no counters.
base::Result<std::vector<EthernetCounter>> read_ethernet_counters(const std::string& interface);

/// An Ethernet interface under a port of an RDMA device.
struct CarryingInterface {
    std::string device;
    std::uint32_t port = 0;
    std::string interface;

    bool operator==(const CarryingInterface&) const = default;
};

/// The interfaces through which RoCE and iWARP devices send (`ports/N/gid_attrs/ndevs/*`), each once for each port,
/// ordered.
std::vector<CarryingInterface> carrying_interfaces(const std::string& root = "/sys/class/infiniband");

}  // namespace capture::counters
