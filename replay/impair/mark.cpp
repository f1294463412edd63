#include "replay/impair/mark.h"

#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace replay::inline impair {
namespace {

constexpr std::byte congestion_v4{0x03};
constexpr std::byte congestion_v6{0x30};

Marking judge(std::byte field, std::byte congestion) {
    if ((field & congestion) == congestion) return Marking::already;
    return (field & congestion) == std::byte{} ? Marking::not_capable : Marking::marked;
}

/// RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
std::uint16_t adjusted(std::uint16_t checksum, std::uint16_t before, std::uint16_t after) {
    std::uint32_t sum =
        static_cast<std::uint16_t>(~checksum) + std::uint32_t{static_cast<std::uint16_t>(~before)} + after;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

}  // namespace

Marking mark_congestion(base::MutableBytes packet) {
    if (packet.empty()) return Marking::no_ip;
    const unsigned version = std::to_integer<unsigned>(packet[0]) >> 4;
    if (version == 6 && packet.size() >= wire::size_of<wire::Ipv6>) {
        const Marking verdict = judge(packet[1], congestion_v6);
        if (verdict == Marking::marked) packet[1] |= congestion_v6;
        return verdict;
    }
    if (version != 4 || packet.size() < wire::size_of<wire::Ipv4>) return Marking::no_ip;
    const Marking verdict = judge(packet[1], congestion_v4);
    if (verdict != Marking::marked) return verdict;
    const std::uint16_t before = base::load_be16(packet.data());
    packet[1] |= congestion_v4;
    std::byte* const checksum = packet.data() + 10;
    base::store_be16(checksum, adjusted(base::load_be16(checksum), before, base::load_be16(packet.data())));
    return verdict;
}

}  // namespace replay::impair
