#include "capture/live/packet_socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/own_path.h"
#include "base/quantities.h"
#include "capture/filter/pair_fanout.h"
#include "capture/live/adapter_clock.h"

namespace capture::inline live {
namespace {

constexpr std::uint32_t usual_block = 1U << 20;

base::Failure<base::Error> socket_failure(const std::string& interface, std::string message) {
    return base::Failure{base::Error{.message = std::move(message), .path = interface}};
}
base::Failure<base::Error> socket_failure(const std::string& interface, std::string_view what, int number) {
    return socket_failure(interface, fmt::format("{}: {}", what, std::strerror(number)));
}

bool set(int socket, int option, int value) {
    return ::setsockopt(socket, SOL_PACKET, option, &value, sizeof value) == 0;
}

/// Interfaces whose frames begin with the IP header have no header of their own to show.
std::optional<wire::LinkType> link_type_of_hardware(unsigned hardware) {
    switch (hardware) {
        case ARPHRD_ETHER:
        case ARPHRD_LOOPBACK: return wire::LinkType::ethernet;
        case ARPHRD_NONE:
        case ARPHRD_RAWIP:
        case ARPHRD_TUNNEL:
        case ARPHRD_TUNNEL6:
        case ARPHRD_SIT: return wire::LinkType::raw;
        default: return std::nullopt;
    }
}

std::string not_supported(unsigned hardware) {
    if (hardware == ARPHRD_INFINIBAND)
        return "IP over InfiniBand is not captured here: RDMA does not pass through this interface, but through its "
               "adapter; `rdmascope dump` shows the IP traffic";
    return fmt::format("interfaces of hardware type {} are not captured here, only Ethernet and raw IP", hardware);
}

bool ask_ring(int socket, const RingShape& shape, std::uint32_t block_timeout_ms) {
    tpacket_req3 request = {};
    request.tp_block_size = shape.block_octets;
    request.tp_block_nr = shape.blocks;
    request.tp_frame_size = shape.block_octets;  // version 3 packs frames as they are
    request.tp_frame_nr = shape.blocks;
    request.tp_retire_blk_tov = block_timeout_ms;
    return ::setsockopt(socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) == 0;
}

/// linux/filter.h's sock_fprog; that header has the same macros as libpcap's.
struct FanoutProgram {
    unsigned short length;
    const BpfInstruction* instructions;
};

bool load_fanout(int socket, const BpfProgram& program) {
    const FanoutProgram code{static_cast<unsigned short>(program.size()), program.data()};
    return ::setsockopt(socket, SOL_PACKET, PACKET_FANOUT_DATA, &code, sizeof code) == 0;
}

/// Without a protocol yet: nothing comes in that the filter has not seen.
base::Result<base::Descriptor> unbound_socket() {
    base::Descriptor made(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made) return made;
    if (errno == EPERM || errno == EACCES)
        return socket_failure(
            {}, "no permission to capture; run as root, or once as root: setcap cap_net_raw,cap_net_admin+eip " +
                    base::own_path());
    return socket_failure({}, "cannot open a packet socket", errno);
}

}  // namespace

std::string names_of_interfaces() {
    std::string names;
    struct if_nameindex* const all = ::if_nameindex();
    for (const struct if_nameindex* each = all; each != nullptr && each->if_index != 0; ++each)
        names += (names.empty() ? "" : ", ") + std::string(each->if_name);
    ::if_freenameindex(all);
    return names.empty() ? "none can be seen" : names;
}

RingShape ring_shape(std::uint64_t buffer_octets, std::uint32_t snaplen) {
    const auto page = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    const std::uint32_t smallest = std::max(page, std::bit_ceil(snaplen + frame_overhead));
    std::uint32_t block = std::max(usual_block, smallest);
    while (block > smallest && std::uint64_t{block} * 4 > buffer_octets) block /= 2;
    constexpr std::uint64_t most = 0x7fff'ffff;
    const std::uint64_t blocks = std::clamp<std::uint64_t>((buffer_octets + block - 1) / block, 2, most);
    return {block, static_cast<std::uint32_t>(blocks)};
}

PacketSocket::PacketSocket(PacketSocket&& other) noexcept
    : descriptor(std::move(other.descriptor)),
      interface_index(other.interface_index),
      link_type(other.link_type),
      loopback(other.loopback),
      hardware_timestamps(other.hardware_timestamps),
      memory(std::exchange(other.memory, nullptr)),
      shape(other.shape),
      warnings(std::move(other.warnings)) {}

PacketSocket::~PacketSocket() {
    if (memory != nullptr) ::munmap(memory, shape.octets());
}

base::Result<PacketSocket> PacketSocket::open(const PacketRingOptions& options, std::uint32_t snaplen) {
    auto fresh = unbound_socket();
    if (!fresh) return socket_failure(options.interface, fresh.error().message);
    PacketSocket packet;
    packet.descriptor = std::move(*fresh);
    if (auto known = packet.learn_interface(options.interface); !known) return base::Failure{known.error()};
    packet.stamp(options);
    if (auto made = packet.make_ring(options, snaplen); !made) return base::Failure{made.error()};
    return packet;
}

base::Result<void> PacketSocket::permitted() {
    const auto made = unbound_socket();
    if (!made) return base::Failure{made.error()};
    return {};
}

base::Result<void> PacketSocket::learn_interface(const std::string& name) {
    interface_index = static_cast<int>(::if_nametoindex(name.c_str()));
    if (interface_index == 0) return socket_failure(name, "no such interface; there are: " + names_of_interfaces());
    ifreq ask = {};
    std::memcpy(ask.ifr_name, name.data(), std::min(name.size(), sizeof ask.ifr_name - 1));
    if (::ioctl(descriptor.number(), SIOCGIFHWADDR, &ask) != 0)
        return socket_failure(name, "cannot tell its hardware type", errno);
    const unsigned hardware = ask.ifr_hwaddr.sa_family;
    const auto type = link_type_of_hardware(hardware);
    if (!type) return socket_failure(name, not_supported(hardware));
    link_type = *type;
    loopback = hardware == ARPHRD_LOOPBACK;
    if (::ioctl(descriptor.number(), SIOCGIFFLAGS, &ask) == 0 && (ask.ifr_flags & IFF_UP) == 0)
        warnings.push_back(
            fmt::format("the interface is down; its frames come once it is up: ip link set {} up", name));
    return {};
}

void PacketSocket::stamp(const PacketRingOptions& options) {
    if (options.timestamps == TimestampSource::software) return;
    const bool insist = options.timestamps == TimestampSource::hardware;
    const auto clock = use_adapter_clock(descriptor.number(), options.interface, insist);
    hardware_timestamps = clock.ok();
    if (!clock && insist) warnings.push_back("frames are stamped by the system: " + clock.error().message);
    if (clock && !clock->warning.empty()) warnings.push_back(clock->warning);
}

base::Result<void> PacketSocket::make_ring(const PacketRingOptions& options, std::uint32_t snaplen) {
    const int version = TPACKET_V3;
    if (!set(descriptor.number(), PACKET_VERSION, version))
        return socket_failure(options.interface, "this kernel has no TPACKET_V3 (Linux 3.2)", errno);
    if (!set(descriptor.number(), PACKET_RESERVE, static_cast<int>(vlan_tag_octets)))
        return socket_failure(options.interface, "cannot reserve room for VLAN tags", errno);
    const RingShape wanted = ring_shape(options.buffer_octets, snaplen);
    int why = ENOMEM;
    for (shape = wanted;; shape = ring_shape(shape.octets() / 2, snaplen)) {
        if (ask_ring(descriptor.number(), shape, std::max(options.block_timeout_ms, 1U))) {
            void* const mapped =
                ::mmap(nullptr, shape.octets(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number(), 0);
            if (mapped != MAP_FAILED) {
                memory = static_cast<std::byte*>(mapped);
                break;
            }
            why = errno;
            ask_ring(descriptor.number(), {}, 0);
        } else {
            why = errno;
        }
        const bool smallest = ring_shape(shape.octets() / 2, snaplen) == shape;
        if (smallest || (why != ENOMEM && why != EINVAL && why != EAGAIN))
            return socket_failure(options.interface, fmt::format("cannot get a ring of {} bytes", shape.octets()), why);
    }
    if (shape != wanted)
        warnings.push_back(fmt::format("no memory for a ring of {} ({}); it has {}",
                                       base::format_exact_size(wanted.octets()), std::strerror(why),
                                       base::format_exact_size(shape.octets())));
    return {};
}

base::Result<void> PacketSocket::bind(const PacketRingOptions& options) {
    sockaddr_ll where = {};
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(ETH_P_ALL);
    where.sll_ifindex = interface_index;
    if (::bind(descriptor.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
        return socket_failure(options.interface, "cannot capture", errno);
    if (options.promiscuous && !loopback) {
        packet_mreq wish = {};
        wish.mr_ifindex = interface_index;
        wish.mr_type = PACKET_MR_PROMISC;
        if (::setsockopt(descriptor.number(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wish, sizeof wish) != 0)
            warnings.push_back(fmt::format("not promiscuous: {}", std::strerror(errno)));
    }
    return {};
}

base::Result<std::uint16_t> PacketSocket::join_fanout(const PacketRingOptions& options) {
    unsigned type = PACKET_FANOUT_CBPF;
    std::uint16_t group = 0;
    if (options.fanout->group)
        group = *options.fanout->group;
    else
        type |= PACKET_FANOUT_FLAG_UNIQUEID;
    if (!set(descriptor.number(), PACKET_FANOUT, static_cast<int>(group | type << 16)))
        return socket_failure(options.interface, "cannot share its frames among several rings", errno);
    int joined = 0;
    socklen_t length = sizeof joined;
    if (::getsockopt(descriptor.number(), SOL_PACKET, PACKET_FANOUT, &joined, &length) != 0)
        return socket_failure(options.interface, "cannot tell its group of rings", errno);
    return static_cast<std::uint16_t>(joined);
}

base::Result<void> PacketSocket::deal_to(unsigned rings) const {
    const BpfProgram program = pair_fanout(link_type, rings);
    if (load_fanout(descriptor.number(), program)) return {};
    return base::Failure{base::Error{
        .message = fmt::format("the kernel refused to deal frames to {} rings: {}", rings, std::strerror(errno))}};
}

bool PacketSocket::interface_removed() const {
    sockaddr_ll bound = {};
    socklen_t length = sizeof bound;
    return ::getsockname(descriptor.number(), reinterpret_cast<sockaddr*>(&bound), &length) == 0 &&
           bound.sll_ifindex != interface_index;
}

}  // namespace capture::live
