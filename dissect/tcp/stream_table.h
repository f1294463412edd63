#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "dissect/dissector.h"
#include "dissect/tcp/buffer_pool.h"
#include "dissect/tcp/connection_table.h"
#include "dissect/tcp/framer.h"

namespace dissect::tcp {

/// Follows TCP connections and finds the RDMA in them. A connection counts as iWARP because of its MPA start frame, on
/// any port, or, if its beginning was not captured, because of its FPDUs; any other costs one lookup for each segment.
///
/// Bytes are put in order, repeats are removed, and the rest is cut into FPDUs. An FPDU that lies wholly in a segment
/// is passed on in place; others are assembled. A gap is waited for until the receiver has acknowledged it or the
/// buffer is full; then it is reported, and the next FPDU boundary is searched for.
///
/// A direction that is followed takes memory from the pool. Connections that are over return it soon. When memory is
/// short, it is taken first from those, then from hunts for FPDUs, the idlest first, then from the idlest connection
/// that carries RDMA, which is counted.
class StreamTable {
public:
    StreamTable(const DissectorOptions& options, DissectorCounters& counters);
    ~StreamTable();
    StreamTable(const StreamTable&) = delete;
    StreamTable& operator=(const StreamTable&) = delete;

    /// Handles a segment: `dissection` describes `bytes` and has LayerId::tcp, `ends` are its own.
    void segment(const wire::Frame& frame, const Dissection& dissection, base::Bytes bytes, const Ipv4Ends& ends,
                 Sink& sink);
    /// Whether the receiver of such a segment, a RST that has not been handled yet, drops it.
    bool drops_reset(const Dissection& dissection, base::Bytes bytes);
    /// The number of the RDMA connection to which the packet quoted by an ICMP error belongs.
    std::optional<std::uint32_t> quoted_stream(const Dissection& dissection, base::Bytes bytes);
    /// Announces segments between these ends: prefetches the memory of their connections, by pass as in
    /// Dissector::fetch.
    void fetch(std::span<const Ipv4Ends> ends, unsigned pass);
    /// Nothing more will come: delivers what still waits for missing bytes. Its frame has the number and time of the
    /// last one, and no bytes except the addresses that its dissection refers to.
    void finish(Sink& sink);

private:
    /// A connection, a direction, and the arrival that caused the work.
    struct Work {
        const Arrival& arrival;
        Connection& connection;
        unsigned index;

        Side& side() const { return connection.sides[index]; }
        Side& other() const { return connection.sides[1 - index]; }
        Flow& flow() const { return *side().flow; }
        const TcpSummary& tcp() const { return arrival.dissection.tcp; }
        Work turned() const { return {arrival, connection, 1 - index}; }
    };
    struct Opposite;

    ConnectionTable::Lookup find_or_add(const Arrival& arrival, const Ipv4Ends& ends);
    void slow_segment(Work& work, const Piece& payload);
    void open(Work& work);
    void take_payload(Work& work, Piece piece);
    void first_payload(Work& work, const Piece& piece);
    void in_step(Work& work, base::Bytes octets);
    void in_order(Work& work, const Piece& piece, bool live);
    void feed(Work& work, const Piece& piece, bool live);
    void ahead(Work& work, const Piece& piece);
    bool drop_known(Work& work, Piece& piece);

    void begin_flow(Work& work, std::uint32_t sequence, Expect expect);
    void settle(Work& work, bool forced);
    bool settle_in_step(Work& work, bool forced);
    bool gap_is_lost(const Work& work, std::uint32_t gap_end) const;
    std::size_t short_wait_bytes() const { return std::min<std::size_t>(options_.max_stream_bytes, 1 << 18); }
    void keep(Work& work, const Piece& piece);
    void give_up(Work& work);
    void release_flow(Side& side);
    void flush(Work& work);
    void restart(Work& work);

    // The search for an FPDU boundary: stream_hunt.cpp
    void begin_hunt(Work& work, std::uint32_t sequence);
    bool moves(Work& work, const Piece& piece) const;
    void move(Work& work, const Piece& piece);
    void hunt_in(Work& work, const Piece& piece);
    void hunt_behind_gap(Work& work, std::uint32_t from, const SegmentStore::Segment* to);
    bool settle_hunt(Work& work, bool forced);
    void lock(Work& work, const Hunter::Found& found);
    void leave_unread(Work& work);

    // Shortage of memory and places: stream_bounds.cpp
    bool reconsider(Connection& connection);
    void tidy();
    void retire(Connection& connection);
    void make_place();
    bool displace();
    bool reclaim();
    Connection* spare(Standing standing, bool with_octets);
    void let_go(Connection& connection);
    void forget(Connection& connection);
    void remove(Connection& connection);
    void notice(const Work& work, Notice::Kind kind, std::uint64_t octets, std::uint64_t related = 0) const;
    void learn_checksums(Work& work) const;

    const DissectorOptions options_;
    DissectorCounters& counters_;
    BufferPool pool_;
    std::size_t flows_ = 0;
    const std::size_t most_flows_;
    const std::size_t most_ended_;
    ConnectionTable table_;
    UnitDelivery delivery_;
    Framer framer_;
    std::uint32_t next_number_ = 0;
    wire::Frame last_frame_;
    const Arrival* arrival_ = nullptr;      ///< for notices about connections other than the present one
    const Connection* retiring_ = nullptr;  ///< examined in addition to the present one, which is the table's newest
};

}  // namespace dissect::tcp
