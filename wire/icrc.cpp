#include "wire/icrc.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/bth.h"
#include "wire/crc_library.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace wire {
namespace {

constexpr std::byte ones{0xff};
constexpr std::size_t ipv4_octets = 20;  // without options
constexpr std::size_t udp_octets = 8;

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
