#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "dissect/dissector.h"
#include "dissect/output/tcp_sequences.h"
#include "dissect/output/text_options.h"

/// The parts of lines of text. Each function appends to `out`; a part that is one word among others begins with the
/// blank that separates it.
namespace dissect::output::text {

inline constexpr unsigned transport_width = 6;   ///< `RoCEv2`
inline constexpr unsigned operation_width = 28;  ///< `RC RDMA READ response Middle`

/// Blanks up to a column counted from `start`.
void pad(std::string& out, std::size_t start, std::size_t width);
/// ` word value`
void word(std::string& out, std::string_view name, std::uint64_t decimal);
void word_hex(std::string& out, std::string_view name, std::uint64_t value, unsigned digits);

/// The address at `offset` of the network layer's bytes, or the name of its host.
void address(std::string& out, const Network& network, base::Bytes bytes, std::uint32_t offset,
             const TextOptions& options);
/// `192.0.2.1 > 192.0.2.2`, with ports after the addresses if requested; the MAC addresses if there is no network
/// layer. `bytes` is what the dissection describes.
void endpoints(std::string& out, const Dissection& dissection, base::Bytes bytes, bool with_ports,
               const TextOptions& options);
/// `52:54:00:00:00:02 > 52:54:00:00:00:01, ethertype IPv4 (0x0800), length 322: `, in tcpdump's form for each link
/// type.
void link_header(std::string& out, const wire::Frame& frame, const Dissection& dissection, const TextOptions& options);
/// ` (tos 0x0, ttl 64, id 53642, flags [DF])` and what else -v adds of the layers below the transport.
void network_details(std::string& out, const Dissection& dissection, base::Bytes bytes, const TextOptions& options);

/// `RC RDMA WRITE First`, and what follows: ` qp 0x000011 psn 671625 len 1024 ...`. For InfiniBand, RoCE.
void packet_operation(std::string& out, const Unit& unit);
void packet_details(std::string& out, const Unit& unit, const TextOptions& options);
/// ` id 0xc645f9f3 qpn 0x000011 psn 6579024 port 7174 ...`: the important values of a message of the Communication
/// Manager.
void management_details(std::string& out, const Unit& unit);
/// ` (no records)`, ` switch ports 36 guid 0x0002c90200405bc0`: why a request of another class failed, and the
/// important values of its attribute.
void attribute_details(std::string& out, const Unit& unit);
/// `, segment 3 of 3, in all 5 records`, ` ACK segment 3, window to 67`: what the Reliable Multi-Packet Protocol adds.
void transfer_details(std::string& out, const Unit& unit);
/// Lines of the records that the unit's segment completes.
void joined_record_lines(std::string& out, const Unit& unit);
/// The same for iWARP.
void segment_operation(std::string& out, const Unit& unit);
void segment_details(std::string& out, const Unit& unit, const TextOptions& options);

/// `192.0.2.2 udp port 4791 unreachable`, `echo request, id 1, seq 1`: a message of ICMP or ICMPv6 in tcpdump's words.
/// Returns false and writes nothing if the frame has none.
bool icmp_words(std::string& out, const Dissection& dissection, base::Bytes bytes, const TextOptions& options);
/// The line of an error that quotes a packet of RDMA, from the transport on.
void icmp_error(std::string& out, const Dissection& dissection, base::Bytes bytes, const TextOptions& options);

/// A frame without RDMA, in tcpdump's words: `IP 192.0.2.2.34491 > 192.0.2.1.7174: Flags [P.], seq ...`. The caller
/// passes the sequence numbers of a TCP segment, absolute or relative.
void other_frame(std::string& out, const wire::Frame& frame, const Dissection& dissection,
                 TcpSequences::Numbers numbers, const TextOptions& options);
/// ` PFC class 3 quanta 65535`, ` pause quanta 65535`
void mac_control(std::string& out, const wire::Frame& frame, const Dissection& dissection);
bool is_mac_control(const Dissection& dissection);

/// ` [truncated: RETH needs 16 bytes at 54, 4 captured]`. If only the data after the headers is cut, this appears from
/// -v on.
void diagnostics(std::string& out, const Dissection& dissection, const TextOptions& options);
/// `iWARP stream 3: 1448 bytes missing from the capture`
void notice(std::string& out, const Notice& notice);

}  // namespace dissect::output::text
