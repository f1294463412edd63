#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/kernel/learning.h"
#include "capture/live/packet_ring.h"
#include "capture/source.h"

namespace capture::inline live {

struct TapOptions {
    /// Names and patterns (fnmatch); `any`: all but loopback, and but bridges, bonds and the like, whose frames pass
    /// the interfaces that they lie on, and would count twice. Those, and what no ring can be had of, have to be named.
    std::vector<std::string> interfaces = {"any"};
    PacketRingOptions ring = {};  ///< its interface, filter and fanout are not looked at
    /// Rings of each interface, with a thread each if there are several; no value: one, and more as the load demands.
    /// What is delivered does not depend on it.
    std::optional<unsigned> threads = 1;
    bool rdma_only = true;
    std::string filter = {};  ///< in place of the narrowing to RDMA
    std::vector<std::uint16_t> iwarp_ports = {};
    bool iwarp_discovery = true;              ///< of connections older than the capture; new ones are always found
    std::uint32_t iwarp_connections = 65536;  ///< that the kernel remembers: KernelTapOptions
    bool other_carriers = false;  ///< what is neither RDMA nor TCP passes too, such as tunnels; if the kernel learns
    // Where the kernel permits no eBPF, this process learns ports, and the next two say when it looks for them.
    std::int64_t discovery_ns = 2'000'000'000;          ///< for so long all TCP passes, at the beginning ...
    std::int64_t discovery_period_ns = 60'000'000'000;  ///< ... and again after so long; 0: only at the beginning
    /// An interface that has been gone for this time gives its number to an interface with another name. Otherwise a
    /// host that makes one interface for each container would fill memory with numbers. By then no frame of the old
    /// interface should be in use.
    std::int64_t number_rest_ns = 600'000'000'000;
};

/// What each of several rings of an interface gets of a buffer for all of them.
constexpr std::uint64_t share_of_buffer(std::uint64_t octets, unsigned threads) {
    constexpr std::uint64_t least = std::uint64_t{4} << 20;
    return threads <= 1 ? octets : std::max(octets / threads, std::min(octets, least));
}

/// What happened since it was asked last.
struct TapEvent {
    enum class Kind : std::uint8_t {
        opened,    ///< or up, where it was down, or with more threads than before
        lost,      ///< it was removed, or is no longer requested
        failed,    ///< to open, to stay up, or to do what was asked; told once, and tried again
        narrowed,  ///< the kernel's filter changed: ports were found, or are too many
        learning,  ///< where iWARP connections are found, and what may be missed: reported by open()
        flooded,   ///< more ports look like iWARP than are learnt: some traffic is not captured
    } kind{};
    std::string interface;  ///< empty where it concerns all
    std::string message;    ///< a sentence for the log, which names the interface
};

/// Every RDMA frame of this machine's interfaces. Interfaces are opened when they appear and closed when they vanish; a
/// name that comes back soon keeps its number. The kernel passes RoCE, pause frames, and the TCP connections that speak
/// MPA, which an eBPF program finds: kernel_tap.h. If eBPF is not permitted, this process finds the MPA ports, and
/// misses the frames before that: rdma_filter.h, mpa_ports.h. Interfaces take turns, one block each, so that none has
/// to wait for a busy one. For use by one thread, except wake().
class Tap final : public Source {
public:
    /// Fails where a filter does not compile or capturing is not permitted; no interface at all is no failure.
    static base::Result<std::unique_ptr<Tap>> open(const TapOptions& options);
    ~Tap() override;

    ReadStatus next(wire::Frame& frame) override;
    /// Waits up to wait_ms for any interface. Frames of one call come from one interface. Never ReadStatus::end.
    Batch next_batch(std::span<wire::Frame> frames) override;
    void set_wait_ms(int wait_ms);
    /// Ends the wait of another thread, or the next one.
    void wake();
    /// Those that are open, and those that were not long ago. next_batch may add to it and change what it says of
    /// filters, and give a number to another one.
    const std::vector<InterfaceInfo>& interfaces() const override;
    bool is_open(std::size_t interface) const;
    bool hardware_timestamps(std::size_t interface) const;  ///< of what it has open now
    std::size_t threads(std::size_t interface) const;       ///< rings that it has now; 0 where it is not open
    /// Processor time of the threads of all rings, those of interfaces that went excluded.
    std::int64_t threads_cpu_ns() const;
    /// Of all that there ever were.
    Statistics statistics() const override;
    /// Counts of an interface that went stay for as long as its number is its own.
    Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override;

    /// Whether a frame is to be kept as RDMA. While the kernel passes other TCP as well, for ports to be found,
    /// connections count that were recognised. With a filter of the user, or without narrowing, each frame counts.
    /// `now_ns`: base::steady_ns().
    bool is_recognised(const wire::Frame& frame, std::int64_t now_ns);

    std::vector<TapEvent> events();
    /// Opens interfaces that are new and closes those that are no longer requested. The others continue without a gap,
    /// with the new filter and snap length, but with the ring, timestamps and promiscuity that they were opened with
    /// (an event says so).
    base::Result<void> reconfigure(const TapOptions& options);
    /// The next frame gets number `last + 1`.
    void number_from(std::uint64_t last);
    /// Configured, and found by this process, ascending; the kernel finds connections, not ports.
    std::vector<std::uint16_t> iwarp_ports() const;
    Learning learning() const;

private:
    struct State;
    explicit Tap(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace capture::live
