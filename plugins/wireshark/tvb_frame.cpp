// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/tvb_frame.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace plugins::wireshark {

namespace {

/// What no reader of ours knows is given a number that no link type has: it is dissected as unknown.
constexpr auto unknown_link = static_cast<wire::LinkType>(0xffff);

wire::LinkType link_type_of(int encapsulation) {
    switch (encapsulation) {
        case WTAP_ENCAP_ETHERNET: return wire::LinkType::ethernet;
        case WTAP_ENCAP_NULL: return wire::LinkType::null;
        case WTAP_ENCAP_LOOP: return wire::LinkType::loop;
        case WTAP_ENCAP_RAW_IP: return wire::LinkType::raw;
        case WTAP_ENCAP_RAW_IP4: return wire::LinkType::ipv4;
        case WTAP_ENCAP_RAW_IP6: return wire::LinkType::ipv6;
        case WTAP_ENCAP_SLL: return wire::LinkType::linux_sll;
        case WTAP_ENCAP_SLL2: return wire::LinkType::linux_sll2;
        case WTAP_ENCAP_PPI: return wire::LinkType::ppi;
        case WTAP_ENCAP_ERF: return wire::LinkType::erf;
        case WTAP_ENCAP_NFLOG: return wire::LinkType::nflog;
        case WTAP_ENCAP_IP_OVER_IB_PCAP: return wire::LinkType::ipoib;
        case WTAP_ENCAP_INFINIBAND: return wire::LinkType::infiniband;
        default: return unknown_link;
    }
}

std::int64_t nanoseconds_of(const nstime_t& time) {
    constexpr std::int64_t second = 1'000'000'000;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / second - 1;
    return std::clamp<std::int64_t>(time.secs, -most, most) * second + time.nsecs;
}

void append_big_endian(std::vector<std::byte>& out, std::uint64_t value, unsigned octets) {
    for (unsigned i = octets; i-- > 0;) out.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
}

/// The record's header, its extension headers and, for Ethernet, the two bytes of offset and padding. ERF 20-09-2010.
void append_erf_header(std::vector<std::byte>& out, const erf_mc_phdr& header) {
    constexpr std::uint8_t more = 0x80;  // another extension header follows
    for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(header.phdr.ts >> 8 * i & 0xff));
    append_big_endian(out, header.phdr.type, 1);
    append_big_endian(out, header.phdr.flags, 1);
    append_big_endian(out, header.phdr.rlen, 2);
    append_big_endian(out, header.phdr.lctr, 2);
    append_big_endian(out, header.phdr.wlen, 2);
    bool extended = (header.phdr.type & more) != 0;
    for (unsigned i = 0; extended && i < std::size(header.ehdr_list); ++i) {
        append_big_endian(out, header.ehdr_list[i].ehdr, 8);
        extended = (header.ehdr_list[i].ehdr >> 56 & more) != 0;
    }
    constexpr std::uint8_t ethernet[] = {2, 11, 16, 20};  // TYPE_ETH, and with colour, DSM colour, colour and hash
    const std::uint8_t type = header.phdr.type & 0x7f;
    if (std::find(std::begin(ethernet), std::end(ethernet), type) == std::end(ethernet)) return;
    append_big_endian(out, header.subhdr.eth_hdr.offset, 1);
    append_big_endian(out, header.subhdr.eth_hdr.pad, 1);
}

}  // namespace

bool has_protocol(const packet_info& pinfo, int protocol) {
    for (wmem_list_frame_t* at = wmem_list_head(pinfo.layers); at != nullptr; at = wmem_list_frame_next(at))
        if (reinterpret_cast<std::intptr_t>(wmem_list_frame_data(at)) == protocol) return true;
    return false;
}

wire::Frame frame_of(tvbuff_t* tvb, const packet_info& pinfo, std::vector<std::byte>& rebuilt) {
    wire::Frame frame;
    const std::size_t size = captured_octets(tvb);
    const auto* first = reinterpret_cast<const std::byte*>(size == 0 ? nullptr : tvb_get_ptr(tvb, 0, -1));
    frame.bytes = {first, size};
    frame.wire_length = tvb_reported_length(tvb);
    frame.number = pinfo.num;
    frame.time_ns = nanoseconds_of(pinfo.rec->ts);
    const wtap_packet_header& header = pinfo.rec->rec_header.packet_header;
    frame.link_type = link_type_of(header.pkt_encap);
    // Wireshark's PPI dissector leaves the inner encapsulation there; the frame still begins with PPI's header.
    static const int ppi = proto_get_id_by_filter_name("ppi");
    if (has_protocol(pinfo, ppi)) frame.link_type = wire::LinkType::ppi;
    if ((pinfo.rec->presence_flags & WTAP_HAS_INTERFACE_ID) != 0) frame.interface = header.interface_id;
    if (frame.link_type == wire::LinkType::erf && pinfo.pseudo_header != nullptr) {
        rebuilt.clear();
        append_erf_header(rebuilt, pinfo.pseudo_header->erf);
        frame.wire_length += static_cast<std::uint32_t>(rebuilt.size());
        rebuilt.insert(rebuilt.end(), frame.bytes.begin(), frame.bytes.end());
        frame.bytes = rebuilt;
    }
    return frame;
}

}  // namespace plugins::wireshark
