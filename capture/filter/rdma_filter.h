#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "capture/filter/kernel_filter.h"
#include "wire/frame.h"

namespace capture::inline filter {

/// What the kernel lets through of a machine's traffic for its RDMA to be seen:
/// - RoCEv2: UDP from or to port 4791, over IPv4 and IPv6; of a fragmented datagram the first piece (RoCE must not be
///   fragmented: that one shows it). RoCEv1: EtherType 0x8915. Pause frames: EtherType 0x8808, where the adapter passes
///   them on.
/// - iWARP: TCP from or to `tcp_ports`; of other TCP the SYN, for what it says of windows and segments, and segments
///   that begin with an MPA start frame.
/// - ICMP and ICMPv6 errors about either: those that quote UDP from or to port 4791, or TCP. Which of the latter are
/// about
///   iWARP is not known where a connection is refused; hosts send few errors.
/// Each with up to two VLAN tags in the octets, and one more beside them. One IPv6 extension header is looked past.
/// RoCE within VXLAN, GRE or other tunnels does not pass; an expression of one's own has to ask for it.
struct RdmaFilter {
    std::vector<std::uint16_t> tcp_ports = {};
    bool all_tcp = false;

    bool operator==(const RdmaFilter&) const = default;
};

/// More ports than this are not told apart: all TCP passes.
constexpr std::size_t max_filtered_ports = 64;

/// For Ethernet and raw IP. libpcap's compiler has no way to step over tags, and would repeat everything for each.
BpfProgram compile(const RdmaFilter& filter, wire::LinkType link_type, std::uint32_t snaplen);

/// So much of a RoCE packet to queue pair 1 is kept, however short the snap length: its payload is a management
/// datagram of 256 octets, which tells who connects to whom, with which limits and timeouts, and what a headers-only
/// capture would cut. 512 have room for all headers before it and the ICRC behind it.
constexpr std::uint32_t management_octets = 512;

/// The same program, but what it keeps of RoCE's management, v1's and v2's, is `least` octets or more. Looks past what
/// RdmaFilter looks past, but for IPv6 extension headers; drops no frame that `program` keeps.
BpfProgram keep_management(BpfProgram program, wire::LinkType link_type, std::uint32_t snaplen,
                           std::uint32_t least = management_octets);

/// In the words of pcap-filter(7), for people: what it says for frames without tags.
std::string text_of(const RdmaFilter& filter);

}  // namespace capture::filter
