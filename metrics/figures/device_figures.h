#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/counter_fact.h"

namespace metrics::inline figures {

enum class CounterUnit : std::uint8_t {
    unknown,
    times,  ///< packets, frames, events
    octets,
    ns,
    ticks,  ///< of a length that is the device's own
};
inline constexpr std::array<std::string_view, 5> counter_unit_names{"", "times", "octets", "ns", "ticks"};
constexpr std::string_view name_of(CounterUnit unit) { return counter_unit_names[static_cast<std::size_t>(unit)]; }
/// `unknown` if no unit has this name.
constexpr CounterUnit counter_unit_named(std::string_view name) {
    for (std::size_t i = 0; i < counter_unit_names.size(); ++i)
        if (counter_unit_names[i] == name) return static_cast<CounterUnit>(i);
    return CounterUnit::unknown;
}

/// The count of one counter of a device of this machine during the measurement.
struct DeviceCounter {
    std::string device;      ///< "mlx5_0", or the Ethernet interface under it: "eth2"
    std::uint32_t port = 0;  ///< from 1; 0: of the device as a whole, or of an interface
    std::string name;        ///< as its driver calls it: "rnr_naks_rcvd"
    wire::CounterFact fact = wire::CounterFact::other;
    CounterUnit unit = CounterUnit::unknown;
    int priority = -1;  ///< of PFC, 0 to 7; -1: all priorities, or a counter without a priority
    std::vector<std::uint32_t> queue_pairs =
        {};  ///< the queue pairs that the counter is about (rdma statistic qp); empty: the whole port
    std::uint64_t value =
        0;  ///< in `unit`, since the first look; wraps are corrected, counts before a reset are missing

    bool operator==(const DeviceCounter&) const = default;
};

struct DevicePort {
    std::string device;
    std::uint32_t port = 0;
    std::string protocol = {};   ///< "roce", "iw", "ib"; empty: the kernel does not say
    std::string interface = {};  ///< the Ethernet interface; empty of InfiniBand
    bool active = false;

    bool operator==(const DevicePort&) const = default;
};

/// A queue pair that the kernel has now.
struct DeviceQueuePair {
    std::string device;
    std::uint32_t port = 0;  ///< 0: not yet bound to one
    std::uint32_t number = 0;
    std::uint32_t peer_number = 0;  ///< of RC and UC; 0: none
    std::string type = {};          ///< "RC", "UC", "UD", "GSI", ...
    std::string state = {};         ///< "INIT", "RTS", ...
    std::uint32_t process = 0;      ///< 0: the kernel's own, or unknown
    std::string owner = {};         ///< the kernel module that owns it: "nvme_rdma"

    bool operator==(const DeviceQueuePair&) const = default;
};

/// The figures that this machine's RDMA devices report. Empty if there are no devices.
struct DeviceFigures {
    std::uint64_t length_ns = 0;               ///< from the first look to the last
    std::vector<DeviceCounter> counters = {};  ///< by device, port, name
    std::vector<DevicePort> ports = {};
    std::vector<DeviceQueuePair> queue_pairs = {};  ///< at the last look; at most `most_queue_pairs`
    std::uint64_t queue_pairs_left_out = 0;

    static constexpr std::size_t most_queue_pairs = 65'536;
    bool empty() const { return counters.empty() && ports.empty(); }
    bool operator==(const DeviceFigures&) const = default;
};

/// The counts between two looks; ports and queue pairs are those of the later one. If a counter is less than before,
/// its device has restarted it: its whole value counts.
DeviceFigures difference(const DeviceFigures& earlier, const DeviceFigures& later);

}  // namespace metrics::figures
