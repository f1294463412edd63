#include "metrics/measure/hosts/frame_print.h"

#include <algorithm>

#include "metrics/measure/hosts/address_table.h"
#include "wire/linux_cooked.h"

namespace metrics::inline measure::inline hosts {

namespace {

/// Hop limit and MAC addresses, as far as they lie where they usually do. A copy that differs in them was taken at
/// another place of the packet's path (RFC 791, 3.2: each router lowers the TTL).
std::uint16_t place_of(const PacketSummary& seen, const wire::Frame& frame) {
    constexpr std::uint32_t ipv4_octets = 20;
    constexpr std::uint32_t ipv6_octets = 40;
    constexpr std::uint32_t udp_octets = 8;
    constexpr std::size_t mac_octets = 6;
    std::uint64_t hash = 0;
    const std::byte* const first = frame.bytes.data();
    if (frame.link_type == wire::LinkType::ethernet && frame.bytes.size() >= 2 * mac_octets)
        hash = base::mix(base::load_be64(first), base::load_be32(first + 8));
    const std::uint32_t transport = seen.kind == PacketSummary::Kind::bth ? udp_octets : 0;
    const std::uint32_t end = seen.offset - std::min(seen.offset, transport);
    if (end >= ipv4_octets && base::load_u8(first + end - ipv4_octets) == 0x45)
        hash = base::mix(hash, base::load_u8(first + end - ipv4_octets + 8));
    else if (end >= ipv6_octets && base::load_u8(first + end - ipv6_octets) >> 4 == 6)
        hash = base::mix(hash, base::load_u8(first + end - ipv6_octets + 7));
    return static_cast<std::uint16_t>(hash >> 20);
}

}  // namespace

std::uint64_t interface_of(const wire::Frame& frame) {
    constexpr std::size_t index_offset = 4;
    if (frame.link_type != wire::LinkType::linux_sll2 || frame.bytes.size() < wire::size_of<wire::LinuxCooked2>)
        return frame.interface;
    return std::uint64_t{base::load_be32(frame.bytes.data() + index_offset)} << 32 | frame.interface;
}

FramePrint print_of(const PacketSummary& seen, const wire::Frame& frame) {
    // FECN and BECN are set on the way, and adapters fill in TCP's checksum after the capture.
    constexpr std::uint64_t congestion = 0xff000000;
    const std::byte* const p = frame.bytes.data() + seen.offset;
    const bool bth = seen.kind == PacketSummary::Kind::bth;
    const std::uint64_t source = hash_of(seen.source);
    const std::uint64_t destination = hash_of(seen.destination);
    std::uint64_t packet = base::mix(interface_of(frame) + 1, source);
    packet = base::mix(packet, destination);
    packet = base::mix(packet, bth ? base::load_be64(p) & ~congestion : base::load_be64(p));
    packet = base::mix(packet, marks_of(p, seen.identification));
    packet = base::mix(packet, seen.payload);
    // Of an answer the syndrome, of TCP flags and window.
    constexpr std::size_t more_offset = 12;
    if (frame.bytes.size() >= seen.offset + more_offset + 4)
        packet = base::mix(packet, base::load_be32(p + more_offset));
    FramePrint print;
    print.packet = packet;
    print.time_ns = frame.time_ns;
    print.pair = pair_hash(source, destination);
    print.identification = static_cast<std::uint16_t>(seen.identification);
    print.place = place_of(seen, frame);
    print.forward = seen.source < seen.destination;
    return print;
}

}  // namespace metrics::measure::hosts
