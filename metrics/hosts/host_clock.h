#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metrics/frame_context.h"
#include "metrics/snapshot.h"
#include "wire/frame.h"

namespace metrics {

/// Looks at every frame of a capture once, in order, before it is dealt to a worker, and counts per host what flows
/// must know of each other. It reads addresses, the BTH where it lies in its usual place, and lengths; what it cannot
/// read at a glance (tunnels, extension headers, fragments) goes through dissect::dissect_frame. Budget: 15 ns a frame.
class HostClock {
public:
    /// `link_bits_per_sec`: of every host; absent = learnt. Hosts beyond `max_hosts` share one entry and are counted.
    explicit HostClock(std::optional<std::uint64_t> link_bits_per_sec, std::size_t max_hosts = 65536);
    ~HostClock();
    HostClock(const HostClock&) = delete;
    HostClock& operator=(const HostClock&) = delete;

    FrameContext observe(const wire::Frame& frame);
    /// Addresses, octets, link rates, incast and pauses, as far as the frames alone tell; reuse figures are the
    /// engines'.
    void describe(std::vector<HostSnapshot>& hosts, std::vector<PauseSnapshot>& pauses) const;
    std::uint64_t unsorted() const;    ///< frames whose time lies before their predecessor's
    std::uint64_t seen_twice() const;  ///< frames met before on another interface
    std::size_t octets() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics
