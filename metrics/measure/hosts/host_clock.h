#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/frame_context.h"
#include "metrics/measure/hosts/frame_copies.h"
#include "metrics/measure/hosts/mirror_cuts.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline hosts {

/// Reads every frame of a capture once, in order, before a worker gets it, and counts for each host what its flows must
/// know about each other. It reads addresses, the BTH where it lies in its usual place, and lengths; what it cannot
/// read directly (tunnels, extension headers, fragments) goes through dissect::dissect_frame. Budget: 15 ns a frame.
///
/// - A frame that was seen before on another interface within a second (same addresses, IP identification and BTH or
///   TCP header) sets FrameContext::seen_twice and is counted nowhere else. So does one that was seen before on the
///   same interface, if the capture holds each packet several times: see FrameCopies.
/// - FrameContext::destination_requests counts request packets, and TCP segments with payload, for a TCP stream does
///   not show its requests in its headers; HostSnapshot::received_requests has the former alone.
/// - FrameContext::source_pauses counts the pauses seen on the frame's own interface, whichever way they went.
class HostClock {
public:
    /// `link_bits_per_sec`: of every host; absent = learnt. Hosts beyond `max_hosts` share one entry without a learnt
    /// rate, and their frames are counted.
    explicit HostClock(std::optional<std::uint64_t> link_bits_per_sec, std::size_t max_hosts = 65536);
    ~HostClock();
    HostClock(const HostClock&) = delete;
    HostClock& operator=(const HostClock&) = delete;

    /// How many interfaces the capture is known to have so far. With several, more is kept of what crossed the first
    /// one, for a copy may come after many other frames.
    void expect_interfaces(std::size_t count);

    /// The frames with which the capture begins, before any is observed: they show whether it holds each packet several
    /// times. Not needed; without it, that shows after some thousand frames.
    void learn_copies(std::span<const wire::Frame> frames);

    FrameContext observe(const wire::Frame& frame) {
        FrameContext context;
        observe(frame, context);
        return context;
    }
    /// The same for a context that is kept: its former content is replaced.
    void observe(const wire::Frame& frame, FrameContext& context);
    /// Addresses, bytes, link rates, incast and pauses, as far as the frames alone show them. Reuse figures and senders
    /// come from the engines. Hosts that are listed already are filled in.
    void describe(std::vector<HostSnapshot>& hosts, std::vector<PauseSnapshot>& pauses) const;
    /// Pauses alone.
    void describe(std::vector<PauseSnapshot>& pauses) const;
    /// Hosts that no frame came from or went to since `before_ns`, by the clock of `now_ns`, are no longer described.
    /// One that comes back is described by what it did since. Call it regularly: it looks at what has changed in
    /// between.
    void forget_idle(std::int64_t before_ns, std::int64_t now_ns);
    /// Whether forget_idle() has left the host out; false for one that was never met.
    bool is_forgotten(const Address& address) const;
    std::uint64_t unsorted() const;             ///< frames whose time lies before their predecessor's
    std::uint64_t seen_twice() const;           ///< frames met before, on another interface or on the same
    const FrameCopies& copies() const;          ///< those on the same
    std::uint64_t beyond_hosts() const;         ///< frames of hosts beyond the bound
    const MirrorCuts& cuts() const;             ///< frames shorter than their IP headers say
    const wire::CarrierCounts& unread() const;  ///< frames that were not read, although RDMA may be in them
    std::size_t octets() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::hosts
