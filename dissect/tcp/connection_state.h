#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/prefetch.h"
#include "dissect/ipv4_ends.h"
#include "dissect/tcp/elsewhere.h"
#include "dissect/tcp/hunter.h"
#include "dissect/tcp/segment_history.h"
#include "dissect/tcp/segment_store.h"
#include "dissect/tcp/tcp_checksum.h"

namespace dissect::tcp {

/// One end of a TCP connection. IPv4 addresses lie in `low`, with a mark that keeps them apart from IPv6.
struct Endpoint {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::uint32_t port = 0;

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

enum class CrcMode : std::uint8_t {
    unknown,  ///< the start frames were not seen: CRCs count only after one has been right
    on,
    off,
};
enum class Expect : std::uint8_t { start_frame, fpdu };

/// The state of one direction of a connection that carries RDMA, or may do so.
struct Flow {
    BufferPool::Buffer home;          ///< the memory of this object
    std::uint32_t next_sequence = 0;  ///< of the next byte in order; valid while in step
    Expect expect = Expect::fpdu;
    CrcMode crc = CrcMode::unknown;
    bool markers = false;
    bool markers_known = false;  ///< if false, while in step: there seem to be none from `marker_origin` on
    bool markers_likely = false;
    std::uint8_t heads_without_markers = 0;  ///< heads beyond where a marker would have been; while `markers_known` is
                                             ///< not set
    bool first_fpdu = false;                 ///< the next FPDU is the stream's first: marker positions count from there
    bool was_in_step = false;
    std::uint8_t crc_misses = 0;
    std::uint8_t suspicious = 0;  ///< invalid heads in a row
    std::uint32_t marker_origin = 0;
    KeptHead last_head;

    // The unit whose bytes have not all come.
    bool partial = false;
    bool holed = false;        ///< bytes after `kept` are missing
    bool lost_octets = false;  ///< missing because they were never captured, not because of the snap length
    std::uint32_t unit_sequence = 0;
    std::uint32_t have = 0;   ///< bytes of the stream, captured or not
    std::uint32_t kept = 0;   ///< the number of these in `head` or `buffer`
    std::uint32_t total = 0;  ///< 0 while unknown
    std::uint64_t first_frame = 0;
    std::int64_t passed_ns = 0;  ///< the latest of its bytes so far
    std::array<std::byte, 24> head{};
    BufferPool::Buffer buffer;

    SegmentStore store;
    std::uint32_t hunt_start = 0;
    std::uint32_t hunt_lost = 0;  ///< bytes since `hunt_start` that were never captured
    union {
        SegmentHistory history;  ///< while in step
        Hunter hunter;           ///< while hunting
    };

    Flow() : history() {}
    Hunter& begin_hunt() { return *std::construct_at(&hunter); }
    void end_hunt() { std::construct_at(&history); }
    /// Prefetches the memory that a segment in step needs: first everything in a fixed place, then the rest.
    void prefetch(bool first) const {
        if (!first) return history.prefetch();
        base::prefetch(this, 0, offsetof(Flow, history) + SegmentHistory::fixed_octets);
    }
};
static_assert(std::is_trivially_destructible_v<SegmentHistory> && std::is_trivially_destructible_v<Hunter>);
constexpr std::size_t flow_size = BufferPool::piece_octets(sizeof(Flow));  ///< in the pool

enum class SideState : std::uint8_t {
    unseen,
    start,    ///< the stream's first byte is known; a start frame is expected there
    in_step,  ///< FPDU boundaries are known
    hunting,  ///< FPDU boundaries are searched for
    ignored,  ///< not RDMA, as far as is known
};

/// One direction of a connection.
struct Side {
    SideState state = SideState::unseen;
    bool syn_seen = false;
    bool fin_seen = false;
    bool ack_seen = false;
    ChecksumVerdict checksums = ChecksumVerdict::unknown;  ///< whether this sender's checksums are real in this capture
    std::uint8_t wrong_checksums = 0;
    std::uint16_t mss = 0;            ///< requested by this side's SYN; 0 = unknown
    std::uint8_t markers_wanted = 0;  ///< in this direction's stream: 0 unknown, 1 no, 2 yes
    std::uint32_t initial_sequence = 0;
    std::uint32_t first_sequence = 0;  ///< of the stream's first byte; in state `start`
    std::uint32_t fin_end = 0;         ///< one more than the FIN's sequence number; if a FIN was seen
    std::uint32_t acknowledged = 0;    ///< the highest sequence number that this side has acknowledged
    Elsewhere elsewhere;
    Flow* flow = nullptr;

    /// Whether it has memory in addition to the flow itself.
    bool holds_octets() const { return flow != nullptr && (!flow->store.empty() || flow->buffer.data != nullptr); }
    bool had_fpdu() const { return flow != nullptr && flow->was_in_step && !flow->first_fpdu; }
};

/// The value of a connection when memory or places are short. Each standing has its own order of use.
enum class Standing : std::uint8_t {
    ended,    ///< over: remembered for late segments
    plain,    ///< holds no memory: not RDMA, or not yet
    hunting,  ///< holds memory to find out whether it is RDMA
    asked,    ///< an MPA start frame was seen, and no more
    proven,   ///< carries RDMA
};
constexpr std::size_t standings = 5;

struct Connection {
    std::array<Endpoint, 2> ends;
    Ipv4Ends ipv4_ends;  ///< the first to the second, if the table knows them
    std::array<Side, 2> sides;
    std::uint64_t last_use = 0;  ///< counts the table's lookups
    std::int64_t active_ns = 0;  ///< time of its last segment, not counting the next bytes in step
    std::uint32_t number = 0;
    std::uint32_t index = 0;  ///< in the table
    std::uint32_t newer = 0;  ///< neighbours in the order of use among those of its standing
    std::uint32_t older = 0;
    std::uint32_t hash = 0;
    Standing standing = Standing::plain;
    std::int8_t client = -1;  ///< the side that opened the connection; -1 unknown
    bool reset = false;
    bool mpa = false;  ///< a start frame was seen, or FPDUs were found
    bool request_seen = false;
    bool reply_seen = false;
    bool crc_wanted = false;  ///< C in one of the start frames

    /// Nothing can follow except another connection on the same ports.
    bool over() const { return reset || (sides[0].fin_seen && sides[1].fin_seen); }
    /// The same, as far as is known: of many connections only one direction is captured.
    bool ended() const { return over() || finished_alone(0) || finished_alone(1); }
    bool holds_memory() const { return sides[0].flow != nullptr || sides[1].flow != nullptr; }
    bool holds_octets() const { return sides[0].holds_octets() || sides[1].holds_octets(); }
    Standing worth() const {
        if (!holds_memory()) return Standing::plain;
        if (ended()) return Standing::ended;
        if (!mpa) return Standing::hunting;
        return reply_seen || sides[0].had_fpdu() || sides[1].had_fpdu() ? Standing::proven : Standing::asked;
    }
    CrcMode crc_mode() const {
        if (crc_wanted) return CrcMode::on;
        return request_seen && reply_seen ? CrcMode::off : CrcMode::unknown;
    }

private:
    bool finished_alone(unsigned side) const {
        const Side& other = sides[1 - side];
        return sides[side].fin_seen && !other.syn_seen && !other.ack_seen && other.flow == nullptr;
    }
};

}  // namespace dissect::tcp
