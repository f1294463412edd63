#include "wire/icrc.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <initializer_list>
#include <span>

#include "wire/bth.h"
#include "wire/crc32_masked.h"
#include "wire/crc_library.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace wire {
namespace {

/// The library's registers are wider, which pays for longer packets.
constexpr std::size_t wide_from = 1280;

/// The register after the LRH of a packet that has a network header: eight octets of ones.
constexpr std::uint32_t after_ones = [] {
    std::uint32_t state = 0xffffffff;
    for (unsigned bit = 0; bit < 8 * size_of<Lrh>; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0 : 0xedb88320);
    return state;
}();

/// Bits of one octet of a header that count as ones: switches and routers may change them.
struct Variant {
    std::uint8_t octet;
    std::uint8_t bits = 0xff;
};
struct Header {
    std::size_t octets;
    std::span<const Variant> variants;
};
constexpr Variant lrh_variants[] = {{0, 0xf0}};                       // virtual lane
constexpr Variant ipv4_variants[] = {{1}, {8}, {10}, {11}};           // TOS, TTL, checksum
constexpr Variant ipv6_variants[] = {{0, 0x0f}, {1}, {2}, {3}, {7}};  // traffic class and flow label, hop limit
constexpr Variant udp_variants[] = {{6}, {7}};                        // checksum
constexpr Variant bth_variants[] = {{4}};                             // FECN, BECN, reserved
constexpr Header lrh{size_of<Lrh>, lrh_variants};
constexpr Header ipv4{20, ipv4_variants};            // without options
constexpr Header ipv6{size_of<Grh>, ipv6_variants};  // and the GRH, which has the same fields
constexpr Header udp{8, udp_variants};
constexpr Header bth{size_of<Bth>, bth_variants};

constexpr detail::FrontMask mask_of(std::initializer_list<Header> headers) {
    detail::FrontMask mask;
    std::size_t at = 0;
    for (const Header& header : headers) {
        for (const Variant& variant : header.variants) mask.set(at + variant.octet, variant.bits);
        at += header.octets;
    }
    return mask;
}
constexpr detail::FrontMask local_packet = mask_of({lrh, bth});
constexpr detail::FrontMask global_packet = mask_of({ipv6, bth});
constexpr detail::FrontMask over_ipv4 = mask_of({ipv4, udp, bth});
constexpr detail::FrontMask over_ipv6 = mask_of({ipv6, udp, bth});

bool is_ipv4(base::Bytes network) { return std::to_integer<unsigned>(network[0]) >> 4 == 4; }

const Header& network_header(base::Bytes network) { return is_ipv4(network) ? ipv4 : ipv6; }

bool adjoin(base::Bytes front, base::Bytes back) { return front.data() + front.size() == back.data(); }

/// What has its headers in one of the four usual ways, one after the other: the octets, and which of their bits vary.
struct Whole {
    base::Bytes octets;
    const detail::FrontMask* ones = nullptr;
    std::uint32_t state = after_ones;
};
Whole whole(const IcrcPieces& pieces) {
    const base::Bytes& front = pieces.network.empty() ? pieces.lrh : pieces.network;
    const base::Bytes& middle = pieces.udp.empty() ? front : pieces.udp;
    if (front.empty() || !adjoin(middle, pieces.transport)) return {};
    Whole found;
    found.octets = {front.data(), pieces.transport.data() + pieces.transport.size()};
    if (pieces.network.empty()) {
        if (front.size() != lrh.octets || !pieces.udp.empty()) return {};
        found.ones = &local_packet;
        found.state = 0xffffffff;
        return found;
    }
    if (front.size() != network_header(front).octets) return {};
    if (pieces.udp.empty()) {
        if (is_ipv4(front)) return {};
        found.ones = &global_packet;
    } else {
        if (pieces.udp.size() != udp.octets || !adjoin(front, pieces.udp)) return {};
        found.ones = is_ipv4(front) ? &over_ipv4 : &over_ipv6;
    }
    return found;
}

/// The headers with their variant fields masked. A long payload is read where it lies; a short one is copied after the
/// headers, because a second call of the CRC costs more than that.
class MaskedHeaders {
public:
    void append(base::Bytes octets) {
        std::copy(octets.begin(), octets.end(), octets_.data() + size_);
        size_ += octets.size();
    }
    void append(base::Bytes piece, const Header& header) {
        std::byte* const first = octets_.data() + size_;
        append(piece.first(header.octets));
        for (const Variant& variant : header.variants) first[variant.octet] |= std::byte{variant.bits};
    }
    std::size_t room() const { return octets_.size() - size_; }
    void append_ones(std::size_t count) {
        std::fill_n(octets_.data() + size_, count, std::byte{0xff});
        size_ += count;
    }
    /// Feeds what has been gathered to the CRC and starts again.
    void flush(std::uint32_t& crc) {
        crc = detail::library_crc32(crc, base::Bytes{octets_}.first(size_));
        size_ = 0;
    }

private:
    std::array<std::byte, 256> octets_;  // the headers take 68 at most: 8 of the LRH, 40 of the network, 8 of UDP, 12 of the BTH
    std::size_t size_ = 0;
};

void add(std::uint32_t& crc, base::Bytes octets) {
    if (!octets.empty()) crc = detail::library_crc32(crc, octets);
}

void mask_network(MaskedHeaders& headers, base::Bytes network, std::uint32_t& crc) {
    const Header& header = network_header(network);
    headers.append(network, header);
    network = network.subspan(header.octets);
    if (network.empty()) return;
    headers.flush(crc);  // options and extension headers do not vary
    add(crc, network);
}

[[maybe_unused]] bool whole_header(base::Bytes network) {
    return network.empty() || network.size() >= network_header(network).octets;
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
        headers.append(pieces.lrh, lrh);
    else
        headers.append_ones(lrh.octets);
    if (!pieces.network.empty()) mask_network(headers, pieces.network, crc);
    if (!pieces.udp.empty()) headers.append(pieces.udp, udp);
    headers.append(pieces.transport, bth);
    const base::Bytes rest = pieces.transport.subspan(bth.octets);
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
