#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/error.h"

/// What the kernel reports about RDMA devices and the owners of their objects, over netlink: rdma_netlink.h of the
/// kernel's interface, clients RDMA_NL_NLDEV. rdma(8) shows the same.
namespace capture::counters {

struct RdmaDevice {
    std::uint32_t index = 0;
    std::string name;
    std::uint32_t ports = 0;
    std::string firmware = {};
    std::string protocol = {};  ///< "ib", "iw", "roce"

    bool operator==(const RdmaDevice&) const = default;
};

struct RdmaPort {
    std::uint32_t device_index = 0;
    std::string device;
    std::uint32_t port = 0;
    std::uint8_t state = 0;      ///< ib_port_state: 4 is active
    std::string interface = {};  ///< the Ethernet interface; empty for InfiniBand

    bool operator==(const RdmaPort&) const = default;
};

struct QueuePairResource {
    std::string device;
    std::uint32_t port = 0;  ///< 0: not yet bound to a port
    std::uint32_t number = 0;
    std::uint32_t peer_number = 0;  ///< of RC and UC
    std::uint32_t send_psn = 0;
    std::uint32_t receive_psn = 0;
    std::uint8_t type = 0;   ///< ib_qp_type
    std::uint8_t state = 0;  ///< ib_qp_state
    std::uint32_t process = 0;
    std::string kernel_name = {};  ///< the owner in the kernel, if process is 0: "nvme_rdma"

    bool operator==(const QueuePairResource&) const = default;
};

/// Counters of some queue pairs together, or of a port (no queue pairs, identifier 0).
struct QueuePairCounters {
    std::string device;
    std::uint32_t port = 0;
    std::uint32_t identifier = 0;  ///< the kernel's number of the set
    std::uint32_t process = 0;     ///< the owner of the queue pairs, if the set is by process
    std::vector<std::uint32_t> queue_pairs = {};
    std::vector<std::pair<std::string, std::uint64_t>> values = {};

    bool operator==(const QueuePairCounters&) const = default;
};

// Answers as they come from the socket: any number of messages; at most one level of them is cut short. Unknown
// attributes are skipped; these functions never fail.
std::vector<RdmaDevice> parse_devices(base::Bytes messages);
std::vector<RdmaPort> parse_ports(base::Bytes messages);
std::vector<QueuePairResource> parse_queue_pairs(base::Bytes messages);
std::vector<QueuePairCounters> parse_counters(base::Bytes messages);

/// A socket for these questions. Not for several threads at once.
class RdmaNetlink {
public:
    /// An error says that the kernel has no RDMA, and what loads it.
    static base::Result<RdmaNetlink> open();

    base::Result<std::vector<RdmaDevice>> devices();
    base::Result<std::vector<RdmaPort>> ports(const RdmaDevice& device);
    /// Those of this network namespace; other users' processes only with CAP_NET_ADMIN.
    base::Result<std::vector<QueuePairResource>> queue_pairs(const RdmaDevice& device);
    /// Sets that are bound to queue pairs (`rdma statistic qp set link DEVICE auto type on`). The list is empty if no
    /// user has asked for them, or if the driver has no such sets.
    base::Result<std::vector<QueuePairCounters>> queue_pair_counters(const RdmaDevice& device);
    /// Empty if the driver has none: siw.
    base::Result<std::vector<QueuePairCounters>> port_counters(const RdmaDevice& device, std::uint32_t port);

private:
    explicit RdmaNetlink(base::Descriptor socket) : socket_(std::move(socket)) {}
    base::Result<std::vector<std::byte>> ask(std::uint16_t command, bool all,
                                             const std::vector<std::pair<std::uint16_t, std::uint32_t>>& attributes,
                                             std::initializer_list<int> means_none = {});

    base::Descriptor socket_;
    std::uint32_t sequence_ = 0;
};

}  // namespace capture::counters
