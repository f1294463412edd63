#pragma once
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/live/fpdu_chains.h"
#include "capture/live/segment_view.h"

namespace capture::inline live {

/// The TCP connections that speak MPA, each recognised by its own segments.
///
/// Any host can send one frame that looks like MPA, with the addresses and ports of a connection that carries something
/// else. So a connection counts only once its segments fit together:
/// - a Request of one end and the Reply of the other, which acknowledge each other, or
/// - two FPDUs or more in a row, each where the one before ends, with enough evidence (FpduChains).
/// What follows must then continue with FPDUs. Something else where an FPDU should begin shows that the first frames
/// were forged: the connection is forgotten. Of a connection that was recognised by FPDUs alone, only segments that
/// continue with FPDUs belong to it. After a few FPDUs in their places the connection is not examined further.
/// Segments far from the sequence numbers seen so far belong to another connection.
class MpaConnections {
public:
    /// Whether the segment belongs to such a connection, is a start frame, or is a SYN to or from a port whose earlier
    /// connection continued with FPDUs. `now_ns` may be any clock that does not go back.
    bool recognises(const SegmentView& segment, std::int64_t now_ns);

private:
    /// Address and port of both ends, the lesser first.
    struct Ends {
        std::array<std::byte, 36> octets = {};
        bool operator==(const Ends&) const = default;
    };
    /// The start frame of one end.
    struct Start {
        std::size_t way = 0;
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        std::uint32_t acknowledged = 0;
        bool has_markers = false;
        bool is_set = false;
    };
    /// The start frames of a connection that may speak MPA.
    struct Handshake {
        Ends ends = {};
        Start request = {};
        Start reply = {};
    };
    /// One direction of a connection.
    struct Way {
        std::uint32_t begin = 0;  // of the start frame
        std::uint32_t next = 0;   // where the next FPDU begins
        std::uint32_t end = 0;    // one past the newest segment
        bool has_begin = false;
        bool has_next = false;
        bool is_sure = false;  // `next` follows from an FPDU that stood in its place
        bool has_end = false;
    };
    struct Connection {
        Ends ends = {};
        std::int64_t seen_ns = 0;
        std::array<Way, 2> ways = {};  // from the lesser end, from the greater
        std::uint16_t server_port = 0;
        std::uint8_t proofs = 0;  // FPDUs in their places
        bool is_proven = false;
        bool has_markers = false;
        bool is_closed = false;
        bool is_used = false;
    };

    static Ends ends_of(const SegmentView& segment, std::size_t& way);
    Connection* find(const Ends& ends);
    Connection& make(const Ends& ends, std::int64_t now_ns);
    void note_start(const SegmentView& segment, const Ends& ends, std::size_t way, std::int64_t now_ns);
    bool starts_by_fpdus(const SegmentView& segment, const Ends& ends, std::size_t way, std::int64_t now_ns);
    enum class Fit : std::uint8_t { belongs, unclear, foreign };
    bool is_continued(const SegmentView& segment, Connection& connection, Way& way);
    Fit fit_of(const SegmentView& segment, Connection& connection, Way& way);
    Fit follow_fpdus(const SegmentView& segment, Connection& connection, Way& way, bool is_old);

    FpduChains chains_ = {};
    std::bitset<65536> served_ports_ = {};
    std::vector<Handshake> handshakes_ = {};    // made at the first start frame
    std::vector<Connection> connections_ = {};  // sets of a few places each; made at the first connection
};

}  // namespace capture::live
