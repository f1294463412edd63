#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture/filter/kernel_filter.h"
#include "wire/frame.h"

namespace capture::inline filter {

/// The traffic that the kernel passes so that a machine's RDMA is seen:
/// - RoCEv2: UDP from or to port 4791, over IPv4 and IPv6; the first piece of a fragmented datagram (RoCE must not be
///   fragmented; that piece shows the mistake). RoCEv1: EtherType 0x8915. Pause frames: EtherType 0x8808, where the
///   adapter passes them on.
/// - iWARP: TCP from or to `tcp_ports`. From other TCP connections the SYN, because it states windows and segment
///   sizes, and segments that begin with an MPA start frame.
/// - ICMP and ICMPv6 errors about either: those that quote UDP from or to port 4791, or TCP. Where a connection is
///   refused, the filter cannot know which errors are about iWARP; hosts send few errors.
/// Each may have up to two VLAN tags in its bytes, and one more next to them. The filter skips one IPv6 extension
/// header. RoCE within VXLAN, GRE or other tunnels does not pass; a user's expression has to ask for it.
struct RdmaFilter {
    std::vector<std::uint16_t> tcp_ports = {};
    bool all_tcp = false;

    bool operator==(const RdmaFilter&) const = default;
};

/// With more ports than this, all TCP passes.
constexpr std::size_t max_filtered_ports = 64;

/// For Ethernet and raw IP. libpcap's compiler cannot skip tags, and would repeat everything for each tag.
BpfProgram compile(const RdmaFilter& filter, wire::LinkType link_type, std::uint32_t snaplen);

/// The number of bytes that are kept of a RoCE packet to queue pair 1, whatever the snap length. Its payload is a
/// management datagram of 256 bytes, which says who connects to whom, with which limits and timeouts; a headers-only
/// capture would cut it. 512 bytes have room for all headers before the datagram and for the ICRC after it.
constexpr std::uint32_t management_octets = 512;

/// The same program, but it keeps at least `least` bytes of RoCE's management packets, v1's and v2's. Skips what
/// RdmaFilter skips, except IPv6 extension headers; drops no frame that `program` keeps.
BpfProgram keep_management(BpfProgram program, wire::LinkType link_type, std::uint32_t snaplen,
                           std::uint32_t least = management_octets);

/// In the words of pcap-filter(7), for people: the filter for frames without tags.
std::string text_of(const RdmaFilter& filter);

}  // namespace capture::filter
