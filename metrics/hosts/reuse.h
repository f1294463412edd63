#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "metrics/address.h"
#include "metrics/snapshot.h"

namespace metrics {

/// Reuse of queue pairs, remote keys and pages at responders, against how long the responder took: what an adapter's
/// caches would feel. Keys are counted per pair of hosts, so that the figures do not depend on who works on what; the
/// distance is derived from the time between uses, counted in requests to the host (average footprint; Xiang et al.,
/// HOTL, ASPLOS 2013), because a stack cannot be kept across workers.
class ReuseTracker {
public:
    explicit ReuseTracker(std::size_t max_keys);
    ~ReuseTracker();
    ReuseTracker(const ReuseTracker&) = delete;
    ReuseTracker& operator=(const ReuseTracker&) = delete;

    struct Access {
        std::int64_t now_ns = 0;
        std::uint64_t clock = 0;           ///< FrameContext::destination_requests
        std::uint64_t previous_clock = 0;  ///< of the same queue pair; ~0 = first use
        std::uint32_t remote_key = 0;      ///< 0 = none
        std::uint64_t virtual_address = 0;
        std::uint32_t length = 0;  ///< octets from virtual_address
    };
    /// A request message began at `source` for `destination`. Returns a handle (the three bins that the turnaround of
    /// this message belongs to) for `turnaround`.
    std::uint32_t access(const Address& source, const Address& destination, const Access& access);
    void turnaround(const Address& destination, std::uint32_t handle, std::uint64_t responder_ns);

    /// Fills in queue_pairs, remote_keys, pages of the hosts that are listed already, and adds those that are not.
    void describe(std::vector<HostSnapshot>& hosts) const;
    std::size_t octets() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics
