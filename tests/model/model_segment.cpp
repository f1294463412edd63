#include "tests/model/model_segment.h"

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
    base::store_be32(address.data() + 2, host);
    return address;
}
wire::Ipv4Address ipv4(std::uint32_t host) {
    wire::Ipv4Address address{};
    base::store_be32(address.data(), 0x0a000001u + host);
    return address;
}

/// RFC 9293, 3.1: over a pseudo header and the segment.
std::uint16_t tcp_checksum(const std::vector<std::byte>& frame, std::size_t length) {
    std::array<std::byte, 12> pseudo{};
    std::copy_n(frame.begin() + ip_at + 12, 8, pseudo.begin());
    pseudo[9] = std::byte{wire::ip_protocol::tcp};
    base::store_be16(pseudo.data() + 10, static_cast<std::uint16_t>(length));
    const std::uint32_t first = static_cast<std::uint16_t>(~wire::internet_checksum(pseudo));
    const std::uint32_t second = static_cast<std::uint16_t>(~wire::internet_checksum({frame.data() + tcp_at, length}));
    const std::uint32_t sum = first + second;
    return static_cast<std::uint16_t>(~((sum & 0xffff) + (sum >> 16)));
}

/// In whole words.
std::vector<std::byte> options_of(const Segment& segment) {
    std::vector<std::byte> out;
    const auto add = [&out](std::uint32_t word) {
        out.resize(out.size() + 4);
        base::store_be32(out.data() + out.size() - 4, word);
    };
    constexpr std::uint32_t two_fillers = 0x01010000;
    if (segment.syn) add(2u << 24 | 4u << 16 | 1460);  // RFC 9293, 3.7.1
    if (segment.syn && segment.window_scale) add(1u << 24 | 3u << 16 | 3u << 8 | *segment.window_scale);
    if (segment.timestamp) {
        add(two_fillers | 8u << 8 | 10);
        add(*segment.timestamp);
        add(0);
    }
    if (segment.sacked) {
        add(two_fillers | 5u << 8 | 10);
        add(segment.sacked->first);
        add(segment.sacked->second);
    }
    return out;
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
    return fpdu({.opcode = tagged ? wire::RdmapOpcode::write : wire::RdmapOpcode::send,
                 .msn = msn,
                 .offset = offset,
                 .message_offset = message_offset,
                 .last = last,
                 .content = std::vector<std::byte>(bytes)});
}

std::vector<std::byte> fpdu(const Fpdu& wanted) {
    const auto opcode = static_cast<std::uint8_t>(wanted.opcode);
    const bool tagged = wire::rdmap_tagged(opcode);
    const std::size_t header = tagged ? wire::ddp_tagged_size : wire::ddp_untagged_size;
    const auto length = static_cast<std::uint32_t>(header + wanted.content.size());
    std::vector<std::byte> out(wire::mpa_fpdu_size(length));
    put(out, 0, wire::MpaFpdu{static_cast<std::uint16_t>(length)});
    constexpr std::uint8_t rdmap_version_1 = 0x40;  // RFC 5040, 4.1: the two high bits
    wire::DdpControl control;
    control.tagged = tagged;
    control.last = wanted.last;
    if (tagged) {
        wire::emit_ddp(std::span<std::byte, wire::ddp_tagged_size>{out.data() + 2, wire::ddp_tagged_size},
                       wire::DdpTagged{control, static_cast<std::uint8_t>(rdmap_version_1 | opcode), wanted.stag,
                                       wanted.offset + wanted.message_offset});
    } else {
        wire::emit_ddp(std::span<std::byte, wire::ddp_untagged_size>{out.data() + 2, wire::ddp_untagged_size},
                       wire::DdpUntagged{control, static_cast<std::uint64_t>(rdmap_version_1 | opcode) << 32,
                                         wire::rdmap_queue(opcode), wanted.msn, wanted.message_offset});
    }
    std::copy(wanted.content.begin(), wanted.content.end(), out.begin() + 2 + static_cast<std::ptrdiff_t>(header));
    const auto crc = wire::crc32c_octets(wire::crc32c({out.data(), out.size() - wire::mpa_crc_size}));
    std::copy(crc.begin(), crc.end(), out.end() - wire::mpa_crc_size);
    return out;
}

support::KeptFrame emit(const Segment& segment, std::int64_t time_ns) {
    const std::vector<std::byte> written = options_of(segment);
    const std::size_t options = written.size();
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
    ip.identification = segment.identification;
    ip.dont_fragment = true;
    ip.ttl = 64;
    ip.protocol = wire::ip_protocol::tcp;
    ip.source = ipv4(segment.source_host);
    ip.destination = ipv4(segment.destination_host);
    put(kept.octets, ip_at, ip);
    base::store_be16(kept.octets.data() + ip_at + 10, wire::internet_checksum({kept.octets.data() + ip_at, 20}));
    wire::Tcp tcp;
    tcp.source_port = segment.source_port;
    tcp.destination_port = segment.destination_port;
    tcp.sequence = segment.sequence;
    tcp.acknowledgment = segment.acknowledgment;
    tcp.header_words = static_cast<std::uint8_t>(5 + options / 4);
    tcp.ack = segment.ack;
    tcp.ece = segment.ece;
    tcp.syn = segment.syn;
    tcp.fin = segment.fin;
    tcp.rst = segment.rst;
    tcp.cwr = segment.cwr;
    tcp.psh = !segment.octets.empty();
    tcp.window = segment.window;
    put(kept.octets, tcp_at, tcp);
    std::copy(written.begin(), written.end(), kept.octets.begin() + static_cast<std::ptrdiff_t>(tcp_at + 20));
    std::copy(segment.octets.begin(), segment.octets.end(),
              kept.octets.begin() + static_cast<std::ptrdiff_t>(tcp_at + 20 + options));
    const std::uint16_t checksum = tcp_checksum(kept.octets, length);
    base::store_be16(kept.octets.data() + tcp_at + 16,
                     static_cast<std::uint16_t>(checksum ^ (segment.damaged ? 1 : 0)));
    return kept;
}

std::uint32_t segment_link_octets(std::size_t octets) {
    constexpr std::uint32_t preamble_fcs_gap = 24;
    return static_cast<std::uint32_t>(std::max<std::size_t>(tcp_at + 20 + octets, wire::ethernet_minimum)) +
           preamble_fcs_gap;
}

}  // namespace model
