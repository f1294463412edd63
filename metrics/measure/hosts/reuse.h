#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "metrics/figures/address.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline measure::inline hosts {

/// Reuse of queue pairs, remote keys and pages at responders, against how long the responder took: the access pattern
/// that an adapter's caches have to handle. Keys are counted per pair of hosts, so that the figures do not depend on
/// the assignment of hosts to workers; the distance is derived from the time between uses, counted in requests to the
/// host (average footprint; Xiang et al., HOTL, ASPLOS 2013), because a stack cannot be kept across workers.
///
/// - A queue pair, remote key or page (4 KiB) is one of its pair of hosts: two clients that use the same number use two
///   keys.
/// - Of a message that covers more than four pages, four count: the first, the last, and two between them.
/// - A message's turnaround goes to the row of the page that was not used for longest; it goes to none where a key was
///   used for the first time.
/// - At most `max_keys` are remembered. Above that, a key that was not used for long is forgotten and counted as
///   evicted; when it is used again, it counts as new.
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
        std::uint32_t length = 0;  ///< bytes from virtual_address
    };
    /// A request message began at `source` for `destination`. Returns a handle (the three bins that the turnaround of
    /// this message belongs to) for `turnaround`.
    std::uint32_t access(const Address& source, const Address& destination, const Access& access) {
        return this->access(responder(destination), source, access);
    }
    void turnaround(const Address& destination, std::uint32_t handle, std::uint64_t responder_ns) {
        turnaround(responder(destination), handle, responder_ns);
    }

    /// The same without looking the destination up each time: its number stays valid. `no_responder`: no room for it.
    static constexpr std::uint32_t no_responder = 0xffffffff;
    std::uint32_t responder(const Address& destination);
    std::uint32_t access(std::uint32_t responder, const Address& source, const Access& access);
    void turnaround(std::uint32_t responder, std::uint32_t handle, std::uint64_t responder_ns);

    /// Fills in queue_pairs, remote_keys, pages of the hosts that are listed already, and adds those that are not.
    /// Where several trackers share the traffic of a host, ReuseTotals is exact; this adds rows up.
    void describe(std::vector<HostSnapshot>& hosts) const;
    std::uint64_t evicted() const;  ///< keys and hosts forgotten, or never stored, for lack of room
    std::size_t octets() const;

private:
    friend class ReuseTotals;
    struct State;
    std::unique_ptr<State> state_;
};

/// The sum of several trackers that each saw other pairs of hosts at the same time. The result equals that of one
/// tracker for all pairs: distances depend on all keys of a host, so they are computed from the sums.
///
/// Windows: exact for 1024 windows (10.24 s from the first to the last access to a host). Of a longer capture, groups
/// of 2, 4, 8 and so on neighbouring windows share one figure, the greatest.
class ReuseTotals {
public:
    ReuseTotals();
    ~ReuseTotals();
    ReuseTotals(const ReuseTotals&) = delete;
    ReuseTotals& operator=(const ReuseTotals&) = delete;

    void add(const ReuseTracker& tracker);
    /// As ReuseTracker::describe; figures that are there already are added to.
    void describe(std::vector<HostSnapshot>& hosts) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::hosts
