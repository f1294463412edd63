#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/filter/rdma_filter.h"
#include "capture/kernel/kernel_tap.h"
#include "capture/source.h"

namespace capture::inline live {

/// automatic: the adapter's clock, where it is kept with the system's; see adapter_clock.h.
enum class TimestampSource : std::uint8_t { automatic, hardware, software };

/// A ring of a group: each ring gets the frames of some pairs of hosts. See filter/pair_fanout.h.
struct FanoutOptions {
    std::optional<std::uint16_t> group = {};  ///< no value: a new group, with a number that no other process has
};

struct PacketRingOptions {
    std::string interface = {};
    std::uint32_t snaplen = 192;                                   ///< in bytes; 0 is no limit (max_snaplen)
    std::uint32_t management_octets = capture::management_octets;  ///< kept of RoCE's management, if that is more
    std::uint64_t buffer_octets = std::uint64_t{64} << 20;  ///< of the ring, rounded up to whole blocks of up to 1 MiB
    std::uint32_t block_timeout_ms = 20;                    ///< how long the kernel holds back a block that is not full
    bool promiscuous = true;
    std::string filter = {};                       ///< pcap-filter(7), run by the kernel
    std::optional<RdmaFilter> rdma = {};           ///< in place of `filter`
    std::shared_ptr<const KernelTap> kernel = {};  ///< runs in place of `rdma`, with lengths and ports of its own
    std::uint32_t iwarp_snaplen = 0;               ///< of segments of known iWARP connections; 0: they are kept whole
    bool other_carriers = false;                   ///< `kernel` passes what is neither RDMA nor TCP, too
    TimestampSource timestamps = TimestampSource::automatic;
    std::optional<FanoutOptions> fanout = {};  ///< share the interface's frames with other rings
};

/// Frames of one Linux interface, by AF_PACKET and TPACKET_V3: whole blocks are handed over in place, with direction,
/// VLAN tags as they were on the wire, and hardware timestamps where the interface has them. On a loopback interface
/// every frame comes once. packet(7).
class PacketRing final : public Source {
public:
    static base::Result<std::unique_ptr<PacketRing>> open(const PacketRingOptions& options);
    ~PacketRing() override;

    ReadStatus next(wire::Frame& frame) override;
    /// Does not wait: `timeout` where no block is ready; then poll descriptor(). Frames of one call lie in one block,
    /// which goes back to the kernel at the next call. ReadStatus::end where the interface was removed.
    Batch next_batch(std::span<wire::Frame> frames) override;
    const std::vector<InterfaceInfo>& interfaces() const override;
    using Source::statistics;
    /// received: passed the filter, dropped ones among them, as tcpdump counts. kernel_dropped: the ring was full.
    /// interface_dropped: the driver's and the adapter's rx_missed and rx_fifo errors since the capture
    /// began.
    Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override;

    int descriptor() const;
    /// Whether next_batch has frames to deliver or a block to give back: a look into memory, which costs nothing.
    bool ready() const;
    /// The interface was removed: what is left of it still comes, then ReadStatus::end, soon and without a sign at the
    /// descriptor.
    bool ending() const;
    /// The kernel's number of the interface, which another of the same name does not get.
    int interface_index() const;
    /// Takes effect for frames that come from now on, without a gap: the kernel swaps filters atomically.
    base::Result<void> set_filter(const std::string& expression);
    base::Result<void> set_filter(const RdmaFilter& filter);
    /// The same for the snap length; no longer than at open() where blocks would be too small.
    base::Result<void> set_snaplen(std::uint32_t snaplen);
    /// With `fanout`: the number of the group, and how many of its rings, in the order of open(), get frames. A new
    /// group deals all frames to its first ring; a ring that joins later gets none before.
    std::optional<std::uint16_t> fanout_group() const;
    base::Result<void> deal_to(unsigned rings);
    /// Whether more than half of the ring waits to be read.
    bool half_full() const;
    /// Frames that arrive have the adapter's time, where it stamped them.
    bool hardware_timestamps() const;
    /// Problems that did not stop the capture but have to be reported.
    const std::vector<std::string>& warnings() const;

private:
    struct Ring;
    explicit PacketRing(std::unique_ptr<Ring> ring);
    std::unique_ptr<Ring> ring_;
};

}  // namespace capture::live
