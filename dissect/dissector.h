#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dissect/context.h"
#include "dissect/dissection.h"
#include "dissect/ipv4_ends.h"
#include "wire/frame.h"
#include "wire/transport.h"

namespace dissect {

using wire::Transport;

struct RmppSegment;  // rmpp_transfers.h

/// One RDMA packet: an InfiniBand transport packet, an FPDU, or an MPA start frame. Everything it refers to is invalid
/// after the callback returns.
struct Unit {
    const wire::Frame& frame;            ///< the frame that completed the unit
    const Dissection& frame_dissection;  ///< the frame's own layers
    const Dissection& dissection;        ///< the unit's layers: the frame's own if `in_frame`
    base::Bytes bytes;                   ///< what `dissection` describes; markers already taken out of an FPDU
    bool in_frame;                       ///< the unit's layers are among the frame's: do not describe both
    Transport transport;

    std::uint64_t first_frame;        ///< the frame that held the unit's first byte; `frame.number` for most
    std::uint64_t repeats_frame = 0;  ///< the frame that carried the same PSN before (iWARP: see Notice); 0: unknown

    /// Of a management datagram that is a segment with data: its place in the transfer; else null.
    const RmppSegment* rmpp = nullptr;

    // iWARP alone
    std::uint32_t stream = 0;         ///< number of the TCP connection, from 0 in the order of appearance
    bool from_client = false;         ///< sent by the side that opened the connection, as far as is known
    std::uint32_t sequence = 0;       ///< TCP sequence number of the unit's first byte
    std::uint32_t stream_length = 0;  ///< bytes of the TCP stream that the unit takes, markers included
    std::uint32_t markers = 0;        ///< the number of markers in it
    std::uint32_t mss = 0;            ///< requested by the receiver's SYN; 0 if that was not captured
    std::int64_t passed_ns = 0;       ///< when its last byte passed: earlier than the frame's time if the unit waited
                                      ///< for other bytes, or for its boundary to be found
    bool holed = false;               ///< bytes of it were never captured: when its last byte passed is unknown
};

/// Something about the traffic that is not a unit but that a reader must know.
struct Notice {
    enum class Kind : std::uint8_t {
        tcp_retransmission,  ///< bytes seen before: `related_frame` carried them first
        tcp_out_of_order,    ///< a segment ahead of a gap; it is kept until the gap is filled
        stream_gap,          ///< bytes of an RDMA stream that were never captured
        stream_skipped,      ///< bytes skipped until an FPDU boundary was found again
        stream_unread,       ///< the last bytes of an RDMA stream: no FPDU boundary was found in them
        stream_not_rdma,     ///< an MPA connection whose bytes turned out not to be RDMA
        stream_evicted,      ///< a connection forgotten to stay within the configured bounds
        fragments_evicted,   ///< an IP datagram given up with fragments missing
        icmp_error,          ///< an ICMP error that quotes RoCEv2, or a connection of iWARP
        tcp_checksum_wrong,  ///< a segment that its receiver dropped: its checksum is wrong, and its sender's checksums
                             ///< are otherwise right
    };
    Kind kind;
    const wire::Frame& frame;
    const Dissection& frame_dissection;
    std::uint32_t stream = 0;
    std::uint64_t octets = 0;         ///< the number of bytes that the notice is about
    std::uint64_t related_frame = 0;  ///< 0 if none is known
};

struct UpperMessage;  // upper_message.h

/// Receives the content of a frame, in this order: the frame, then its notices and units as they are found.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void on_frame(const wire::Frame&, const Dissection&) {}
    virtual void on_unit(const Unit& unit) = 0;
    virtual void on_notice(const Notice&) {}
    /// An upper layer's message, after the unit that completed it. Made by upper::Reader, not by a Dissector.
    virtual void on_message(const UpperMessage&) {}
};

struct DissectorOptions {
    ParseOptions parse;
    bool follow_streams = true;               ///< reassemble TCP for iWARP
    bool find_repeats = true;                 ///< fill in Unit::repeats_frame
    std::size_t max_streams = 65536;          ///< TCP connections remembered; the idlest goes first
    std::size_t max_stream_bytes = 8u << 20;  ///< bytes buffered for one direction of a connection: a window's
    std::size_t max_total_bytes = 64u << 20;  ///< for all of them, 768 for each direction that is followed
    std::size_t max_datagrams = 256;          ///< IP datagrams under reassembly
    std::size_t repeat_packets = 1 << 18;     ///< packets whose PSN is remembered, to recognise a retransmission
};

struct DissectorCounters {
    std::uint64_t frames = 0;
    std::uint64_t units = 0;
    std::uint64_t truncated = 0;
    std::uint64_t malformed = 0;
    std::uint64_t odd = 0;
    std::uint64_t unsupported = 0;
    std::uint64_t streams_evicted = 0;
    std::uint64_t stream_octets_lost = 0;
    std::uint64_t stream_octets_skipped = 0;
    std::uint64_t datagrams_evicted = 0;
    std::uint64_t headers_cut = 0;         ///< the truncated frames whose RDMA headers are not complete
    std::uint64_t headers_cut_before = 0;  ///< of headers_cut, in frames that came to the capture so
};

/// Parses one frame without memory of others: all layers down to the InfiniBand transport's, or to TCP's payload.
/// Allocates nothing. `out` is valid for as long as `frame.bytes` is.
void dissect_frame(const wire::Frame& frame, const ParseOptions& options, Dissection& out);

/// The first layer of a link type; LayerId::none if rdmascope cannot read it.
LayerId first_layer(wire::LinkType link_type);

/// Parses one FPDU or MPA start frame from its first byte, after the markers were taken out. `wire_length` is its
/// length on the wire.
void dissect_unit(LayerId first, base::Bytes bytes, std::uint32_t wire_length, const ParseOptions& options,
                  Dissection& out);

/// Takes frames and delivers RDMA packets. Remembers TCP streams, IP fragments and recent PSNs within the bounds of
/// its options. After warm-up, a frame causes no allocation. Not thread-safe; use one for each worker.
class Dissector {
public:
    explicit Dissector(const DissectorOptions& options = {});
    ~Dissector();
    Dissector(const Dissector&) = delete;
    Dissector& operator=(const Dissector&) = delete;

    void dissect(const wire::Frame& frame, Sink& sink);
    /// The same for a frame that is_plain_segment(), at a fraction of the cost.
    void dissect_plain(const wire::Frame& frame, Sink& sink);
    /// Announces segments between these ends, so that the memory of their connections is in the cache when they come.
    /// Call it with the passes from 0 on, in order: each pass needs what the pass before has requested.
    void fetch(std::span<const Ipv4Ends> ends, unsigned pass);
    static constexpr unsigned fetch_passes = 4;
    /// No more frames will come: delivers the units that still waited for bytes of their TCP stream, and notices of
    /// what is given up. There is no `on_frame` for them; their frame has the number and time of the last one, and no
    /// bytes except the addresses.
    void finish(Sink& sink);
    const DissectorCounters& counters() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace dissect
