#include "tests/model/segment.h"

#include <algorithm>
#include <span>

#include "wire/checksum.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/ethernet.h"
#include "wire/ipv4.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"
#include "wire/tcp.h"

namespace model {
namespace {

constexpr std::size_t ip_at = 14;
constexpr std::size_t tcp_at = 34;

template <class H>
void put(std::vector<std::byte>& out, std::size_t at, const H& header) {
    wire::emit<H>(std::span<std::byte, wire::size_of<H>>{out.data() + at, wire::size_of<H>}, header);
}

wire::MacAddress mac(std::uint32_t host) {
    wire::MacAddress address{std::byte{2}};
    wire::store_be32(address.data() + 2, host);
    return address;
}
wire::Ipv4Address ipv4(std::uint32_t host) {
    wire::Ipv4Address address{};
    wire::store_be32(address.data(), 0x0a000001u + host);
    return address;
}

/// RFC 9293, 3.1: over a pseudo header and the segment.
std::uint16_t tcp_checksum(const std::vector<std::byte>& frame, std::size_t length) {
    std::array<std::byte, 12> pseudo{};
    std::copy_n(frame.begin() + ip_at + 12, 8, pseudo.begin());
    pseudo[9] = std::byte{wire::ip_protocol::tcp};
    wire::store_be16(pseudo.data() + 10, static_cast<std::uint16_t>(length));
    const std::uint32_t first = static_cast<std::uint16_t>(~wire::internet_checksum(pseudo));
    const std::uint32_t second = static_cast<std::uint16_t>(~wire::internet_checksum({frame.data() + tcp_at, length}));
    const std::uint32_t sum = first + second;
    return static_cast<std::uint16_t>(~((sum & 0xffff) + (sum >> 16)));
}

}  // namespace

std::vector<std::byte> mpa_start(bool reply) {
    std::vector<std::byte> out(20);
    if (reply) {
        wire::MpaReply start;
        start.key = wire::mpa_reply_key;
        start.crc = true;
        put(out, 0, start);
    } else {
        wire::MpaRequest start;
        start.key = wire::mpa_request_key;
        start.crc = true;
        put(out, 0, start);
    }
    return out;
}

std::vector<std::byte> fpdu(metrics::Operation operation, std::uint32_t bytes, std::uint32_t msn, std::uint64_t offset,
                            std::uint32_t message_offset, bool last) {
    const bool tagged = operation == metrics::Operation::write;
    const auto header = static_cast<std::uint32_t>(tagged ? wire::ddp_tagged_size : wire::ddp_untagged_size);
    std::vector<std::byte> out(wire::mpa_fpdu_size(header + bytes));
    put(out, 0, wire::MpaFpdu{static_cast<std::uint16_t>(header + bytes)});
    const auto opcode = static_cast<std::uint8_t>(tagged ? wire::RdmapOpcode::write : wire::RdmapOpcode::send);
    constexpr std::uint8_t rdmap_version_1 = 0x40;  // RFC 5040, 4.1: the two high bits
    wire::DdpControl control;
    control.tagged = tagged;
    control.last = last;
    if (tagged) {
        wire::emit_ddp(std::span<std::byte, wire::ddp_tagged_size>{out.data() + 2, wire::ddp_tagged_size},
                       wire::DdpTagged{control, static_cast<std::uint8_t>(rdmap_version_1 | opcode), 0x1234,
                                       offset + message_offset});
    } else {
        wire::emit_ddp(std::span<std::byte, wire::ddp_untagged_size>{out.data() + 2, wire::ddp_untagged_size},
                       wire::DdpUntagged{control, static_cast<std::uint64_t>(rdmap_version_1 | opcode) << 32,
                                         wire::queue_send, msn, message_offset});
    }
    const auto crc = wire::crc32c_octets(wire::crc32c({out.data(), out.size() - wire::mpa_crc_size}));
    std::copy(crc.begin(), crc.end(), out.end() - wire::mpa_crc_size);
    return out;
}

support::KeptFrame emit(const Segment& segment, std::int64_t time_ns) {
    const std::size_t options = segment.syn ? 4 : 0;
    const std::size_t length = 20 + options + segment.octets.size();
    support::KeptFrame kept;
    kept.octets.resize(std::max<std::size_t>(tcp_at + length, wire::ethernet_minimum));
    kept.wire_length = static_cast<std::uint32_t>(kept.octets.size());
    kept.time_ns = time_ns;
    put(kept.octets, 0,
        wire::Ethernet{mac(segment.destination_host), mac(segment.source_host), wire::ether_type::ipv4});
    wire::Ipv4 ip;
    ip.ecn = segment.ecn;
    ip.total_length = static_cast<std::uint16_t>(20 + length);
    ip.dont_fragment = true;
    ip.ttl = 64;
    ip.protocol = wire::ip_protocol::tcp;
    ip.source = ipv4(segment.source_host);
    ip.destination = ipv4(segment.destination_host);
    put(kept.octets, ip_at, ip);
    wire::store_be16(kept.octets.data() + ip_at + 10, wire::internet_checksum({kept.octets.data() + ip_at, 20}));
    wire::Tcp tcp;
    tcp.source_port = segment.source_port;
    tcp.destination_port = segment.destination_port;
    tcp.sequence = segment.sequence;
    tcp.acknowledgment = segment.acknowledgment;
    tcp.header_words = static_cast<std::uint8_t>(5 + options / 4);
    tcp.ack = segment.ack;
    tcp.ece = segment.ece;
    tcp.syn = segment.syn;
    tcp.psh = !segment.octets.empty();
    tcp.window = segment.window;
    put(kept.octets, tcp_at, tcp);
    if (segment.syn) wire::store_be32(kept.octets.data() + tcp_at + 20, 2u << 24 | 4u << 16 | 1460);  // RFC 9293, 3.7.1
    std::copy(segment.octets.begin(), segment.octets.end(),
              kept.octets.begin() + static_cast<std::ptrdiff_t>(tcp_at + 20 + options));
    wire::store_be16(kept.octets.data() + tcp_at + 16, tcp_checksum(kept.octets, length));
    return kept;
}

std::uint32_t segment_link_octets(std::size_t octets) {
    constexpr std::uint32_t preamble_fcs_gap = 24;
    return static_cast<std::uint32_t>(std::max<std::size_t>(tcp_at + 20 + octets, wire::ethernet_minimum)) +
           preamble_fcs_gap;
}

}  // namespace model
