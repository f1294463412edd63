#include "wire/icrc.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/bth.h"
#include "wire/crc32_masked.h"
#include "wire/crc_library.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace wire {
namespace {

constexpr std::byte ones{0xff};
constexpr std::size_t ipv4_octets = 20;  // without options
constexpr std::size_t udp_octets = 8;
/// The library's registers are wider, which pays for longer packets.
constexpr std::size_t wide_from = 1280;

/// The register after the LRH of a packet that has a network header: eight octets of ones.
constexpr std::uint32_t after_ones = [] {
    std::uint32_t state = 0xffffffff;
    for (unsigned bit = 0; bit < 8 * size_of<Lrh>; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0 : 0xedb88320);
    return state;
}();

constexpr detail::FrontMask variant_of_lrh(detail::FrontMask bits = {}) {
    return bits.set(0, 0xf0);  // virtual lane
}
constexpr detail::FrontMask variant_of_ipv4(detail::FrontMask bits = {}) {
    return bits.set(1).set(8).set(10).set(11);  // TOS, TTL, checksum
}
constexpr detail::FrontMask variant_of_ipv6(detail::FrontMask bits = {}) {
    return bits.set(0, 0x0f).set(1).set(2).set(3).set(7);  // traffic class, flow label, hop limit
}
constexpr detail::FrontMask variant_of_udp(std::size_t at, detail::FrontMask bits) {
    return bits.set(at + 6).set(at + 7);  // checksum
}
constexpr detail::FrontMask variant_of_bth(std::size_t at, detail::FrontMask bits) {
    return bits.set(at + 4);  // FECN, BECN, reserved
}
constexpr detail::FrontMask local_packet = variant_of_bth(size_of<Lrh>, variant_of_lrh());
constexpr detail::FrontMask over_ipv4 =
    variant_of_bth(ipv4_octets + udp_octets, variant_of_udp(ipv4_octets, variant_of_ipv4()));
constexpr detail::FrontMask over_ipv6 =
    variant_of_bth(size_of<Grh> + udp_octets, variant_of_udp(size_of<Grh>, variant_of_ipv6()));
constexpr detail::FrontMask global_packet = variant_of_bth(size_of<Grh>, variant_of_ipv6());

bool adjoin(Bytes front, Bytes back) { return front.data() + front.size() == back.data(); }

bool is_ipv4(Bytes network) { return std::to_integer<unsigned>(network[0]) >> 4 == 4; }

/// What has its headers in one of the four usual ways, one behind the other: the octets, and which of their bits vary.
struct Whole {
    Bytes octets;
    const detail::FrontMask* ones = nullptr;
    std::uint32_t state = after_ones;
};
Whole whole(const IcrcPieces& pieces) {
    const Bytes& front = pieces.network.empty() ? pieces.lrh : pieces.network;
    const Bytes& middle = pieces.udp.empty() ? front : pieces.udp;
    if (front.empty() || !adjoin(middle, pieces.transport)) return {};
    Whole found;
    found.octets = {front.data(), pieces.transport.data() + pieces.transport.size()};
    if (pieces.network.empty()) {
        if (!pieces.udp.empty() || front.size() != size_of<Lrh>) return {};
        found.ones = &local_packet;
        found.state = 0xffffffff;
    } else if (pieces.udp.empty()) {
        if (is_ipv4(front) || front.size() != size_of<Grh>) return {};
        found.ones = &global_packet;
    } else {
        const bool four = is_ipv4(front);
        if (front.size() != (four ? ipv4_octets : size_of<Grh>) || pieces.udp.size() != udp_octets) return {};
        if (!adjoin(front, pieces.udp)) return {};
        found.ones = four ? &over_ipv4 : &over_ipv6;
    }
    return found;
}

/// The headers with their variant fields masked. A long payload is read where it lies; a short one is copied behind the
/// headers, because a second call of the CRC costs more than that.
class MaskedHeaders {
public:
    std::byte* append(Bytes octets) {
        std::byte* const first = octets_.data() + size_;
        std::copy(octets.begin(), octets.end(), first);
        size_ += octets.size();
        return first;
    }
    std::size_t room() const { return octets_.size() - size_; }
    void append_ones(std::size_t count) {
        std::fill_n(octets_.data() + size_, count, ones);
        size_ += count;
    }
    /// Feeds what has been gathered to the CRC and starts anew.
    void flush(std::uint32_t& crc) {
        crc = detail::library_crc32(crc, Bytes{octets_}.first(size_));
        size_ = 0;
    }

private:
    std::array<std::byte, 256> octets_;  // the headers take 68 at most: 8 of the LRH, 40 of the network, 8 of UDP, 12 of the BTH
    std::size_t size_ = 0;
};

void add(std::uint32_t& crc, Bytes octets) {
    if (!octets.empty()) crc = detail::library_crc32(crc, octets);
}

void mask_network(MaskedHeaders& headers, Bytes network, std::uint32_t& crc) {
    if (std::to_integer<unsigned>(network[0]) >> 4 == 4) {
        std::byte* const ip = headers.append(network.first(ipv4_octets));
        ip[1] = ip[8] = ip[10] = ip[11] = ones;  // TOS, TTL, checksum
        network = network.subspan(ipv4_octets);
    } else {
        std::byte* const ip = headers.append(network.first(size_of<Grh>));
        ip[0] |= std::byte{0x0f};              // traffic class and flow label, from here ...
        ip[1] = ip[2] = ip[3] = ip[7] = ones;  // ... to here; hop limit
        network = network.subspan(size_of<Grh>);
    }
    if (network.empty()) return;
    headers.flush(crc);  // options and extension headers do not vary
    add(crc, network);
}

[[maybe_unused]] bool whole_header(Bytes network) {
    if (network.empty()) return true;
    return network.size() >= (std::to_integer<unsigned>(network[0]) >> 4 == 4 ? ipv4_octets : size_of<Grh>);
}

}  // namespace

std::uint32_t icrc(const IcrcPieces& pieces) {
    assert(pieces.transport.size() >= size_of<Bth>);
    assert(whole_header(pieces.network));
    if (detail::masked_crc32_there()) {
        const Whole packet = whole(pieces);
        if (packet.ones != nullptr && packet.octets.size() < wide_from)
            return __builtin_bswap32(~detail::masked_crc32(packet.state, packet.octets, *packet.ones));
    }
    MaskedHeaders headers;
    std::uint32_t crc = 0;
    if (pieces.network.empty() && !pieces.lrh.empty())
        headers.append(pieces.lrh.first(size_of<Lrh>))[0] |= std::byte{0xf0};  // virtual lane
    else
        headers.append_ones(size_of<Lrh>);
    if (!pieces.network.empty()) mask_network(headers, pieces.network, crc);
    if (!pieces.udp.empty()) {
        std::byte* const udp = headers.append(pieces.udp.first(udp_octets));
        udp[6] = udp[7] = ones;  // checksum
    }
    headers.append(pieces.transport.first(size_of<Bth>))[4] = ones;  // FECN, BECN, reserved
    const Bytes rest = pieces.transport.subspan(size_of<Bth>);
    if (rest.size() <= headers.room()) {
        headers.append(rest);
        headers.flush(crc);
    } else {
        headers.flush(crc);
        add(crc, rest);
    }
    return __builtin_bswap32(crc);
}

}  // namespace wire
