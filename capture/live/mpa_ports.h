#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/frame.h"

namespace capture::inline live {

/// The TCP ports whose connections speak MPA: configured ports, and ports that frames give away.
///
/// A start frame gives its port away at once: a Request goes to the server's port, a Reply comes from it. A connection
/// that is older than the capture is recognised by its FPDUs: a few in a row stand where they should (RFC 5044 section
/// 4, DDP and RDMAP of version 1, no markers), or one has the right CRC. The server's end is then unknown; the end with
/// the lower port is taken. FPDUs that do not begin where segments do are followed as far as the snap length shows
/// them; such a connection may be found only when it is set up again.
class MpaPorts {
public:
    /// Room for `capacity` ports; what was not seen for `idle_ns` makes room for others.
    MpaPorts(std::size_t capacity, std::int64_t idle_ns);

    /// In place of those that were configured before.
    void configure(std::span<const std::uint16_t> ports);

    /// Whether this frame gave away a port that was not known. `now_ns` may be any clock that does not go back;
    /// `streams`: look for FPDUs, too. Cheap for what is no TCP or is known; allocates only for a new port.
    std::optional<std::uint16_t> look(const wire::Frame& frame, std::int64_t now_ns, bool streams);

    /// A port takes the place of one that was idle for `idle_ns`, else the place of the oldest one that only a start
    /// frame gave away: any host can send start frames. False if there is no such place.
    bool add(std::uint16_t port, std::int64_t now_ns);

    /// Whether a frame belongs to a connection that was recognised: by a start frame or FPDUs of its own, or because
    /// its port was configured. SYNs of ports that were found count, all other TCP does not, and what is no TCP does.
    bool recognises(const wire::Frame& frame, std::int64_t now_ns);

    /// Ascending.
    std::vector<std::uint16_t> all() const;

private:
    struct Found {
        std::uint16_t port;
        std::int64_t seen_ns;
        std::int64_t added_ns;
        bool confirmed = false;  // by a Reply or FPDUs
    };
    /// One direction of a connection that may speak MPA.
    struct Candidate {
        std::uint64_t flow = 0;
        std::uint32_t next = 0;  // sequence number where the next FPDU begins
        bool predicted = false;
        int evidence = 0;
    };
    using Candidates = std::vector<Candidate>;
    /// Address and port of both ends, the lesser first.
    using Ends = std::array<std::byte, 36>;
    struct Connection {
        Ends ends = {};
        std::int64_t seen_ns = 0;
        bool used = false;
    };
    static constexpr std::uint8_t unknown = 0;
    static constexpr std::uint8_t configured = 0xff;

    bool known(std::uint16_t port, std::int64_t now_ns);
    struct Segment;
    static std::optional<Segment> segment_of(const wire::Frame& frame);
    static Ends ends_of(const Segment& segment);
    static bool speaks_mpa(const Segment& segment, Candidates& candidates);
    void confirm(const Segment& segment, bool streams);
    bool is_recognised(const Ends& ends, std::int64_t now_ns);
    void recognise(const Ends& ends, std::int64_t now_ns);

    std::size_t capacity_;
    std::int64_t idle_ns_;
    std::vector<std::uint8_t> place_;  // by port: unknown, configured, or 1 + its place in found_
    std::vector<Found> found_ = {};
    std::size_t configured_ = 0;
    Candidates candidates_;
    Candidates connection_candidates_ = {};     // for recognises()
    std::vector<Connection> connections_ = {};  // sets of a few places each; made at the first connection
};

/// Whether the frame's packet is TCP, without tunnels; not for later pieces of a datagram.
bool is_tcp(const wire::Frame& frame);

}  // namespace capture::live
