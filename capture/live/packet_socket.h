#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "capture/live/packet_ring.h"
#include "wire/frame.h"

/// The setting up of a packet socket and of its ring, apart from the path that frames take. packet(7).
namespace capture::inline live {

/// A VLAN tag, which the kernel takes out and we put back in: there is room for it before every frame of the ring.
constexpr std::size_t vlan_tag_octets = 4;

/// Bytes of a block and of a frame in it that are headers, with room to spare.
constexpr std::uint32_t frame_overhead = 256;

/// A ring of TPACKET_V3 blocks.
struct RingShape {
    std::uint32_t block_octets = 0;
    std::uint32_t blocks = 0;

    std::uint64_t octets() const { return std::uint64_t{block_octets} * blocks; }
    bool operator==(const RingShape&) const = default;
};

/// Blocks of 1 MiB, smaller where the buffer would hold fewer than four, but large enough for a frame of `snaplen`.
RingShape ring_shape(std::uint64_t buffer_octets, std::uint32_t snaplen);

/// The names of the interfaces with commas between them, or a note that none can be seen. For the error about an
/// unknown name.
std::string names_of_interfaces();

/// The socket with its ring; what is open is closed when it goes.
class PacketSocket {
public:
    PacketSocket() = default;
    PacketSocket(PacketSocket&& other) noexcept;
    PacketSocket& operator=(PacketSocket&&) = delete;
    ~PacketSocket();

    /// Whether this process may capture at all; if not, what to do.
    static base::Result<void> permitted();
    /// Everything but the filter. Frames do not come before bind().
    static base::Result<PacketSocket> open(const PacketRingOptions& options, std::uint32_t snaplen);
    /// From now on frames come.
    base::Result<void> bind(const PacketRingOptions& options);
    /// Shares the frames of the interface with the other sockets of a fanout group; without a number, of a new one.
    /// Only after bind(): until then each frame comes to this socket, too. Returns the number of the group.
    base::Result<std::uint16_t> join_fanout(const PacketRingOptions& options);
    /// The first `rings` sockets of the group get the frames from now on.
    base::Result<void> deal_to(unsigned rings) const;

    /// Whether it was taken from under us: the interface is gone, or in another network namespace.
    bool interface_removed() const;

    base::Descriptor descriptor = {};
    int interface_index = 0;
    wire::LinkType link_type = wire::LinkType::ethernet;
    bool loopback = false;
    bool hardware_timestamps = false;
    std::byte* memory = nullptr;
    RingShape shape = {};
    std::vector<std::string> warnings = {};

private:
    base::Result<void> learn_interface(const std::string& name);
    base::Result<void> make_ring(const PacketRingOptions& options, std::uint32_t snaplen);
    void stamp(const PacketRingOptions& options);
};

}  // namespace capture::live
