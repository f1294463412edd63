#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace capture::counters {

/// A counter of an RDMA device, as its driver names it.
struct DeviceCounterValue {
    std::string device;      ///< "mlx5_0"
    std::uint32_t port = 0;  ///< from 1; 0: of the whole device
    std::string name;        ///< "port_xmit_data", "out_of_buffer"
    std::uint64_t value = 0;
};

/// Every counter that the kernel shows of this machine's RDMA devices, by device, port and name: files of one number
/// each in `ports/N/counters`, `ports/N/hw_counters` and `hw_counters` of each folder of `root` (Linux,
/// Documentation/ABI/stable/sysfs-class-infiniband). Empty if there are no devices. If both folders of a port have a
/// name, the one in `hw_counters` is taken. Files without a number, or without permission to read, are left out;
/// `lifespan` is a setting, not a counter.
std::vector<DeviceCounterValue> read_device_counters(const std::string& root = "/sys/class/infiniband");

}  // namespace capture::counters
