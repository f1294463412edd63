#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/live/fpdu_chains.h"
#include "capture/live/mpa_connections.h"
#include "capture/live/segment_view.h"
#include "wire/frame.h"

namespace capture::inline live {

/// The TCP ports whose connections speak MPA: configured ports, and ports that frames show.
///
/// A start frame shows its port: a Request goes to the server's port, a Reply comes from it. A connection
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

    /// A new port that this frame shows. `now_ns` may be any clock that does not go back. `streams`: look for FPDUs
    /// too. Cheap for frames without TCP and for known ports. Allocates for a new port, and once for the chains of
    /// FPDUs.
    std::optional<std::uint16_t> look(const wire::Frame& frame, std::int64_t now_ns, bool streams);

    /// A port takes the place of one that was idle for `idle_ns`, else the place of the oldest one that only a start
    /// frame has shown, because any host can send start frames. False if there is no such place.
    bool add(std::uint16_t port, std::int64_t now_ns);

    /// Whether a frame belongs to a connection that was recognised by its own segments (MpaConnections), or whose port
    /// was configured. Single start frames count, and so do SYNs of a port after a connection of the port has continued
    /// with FPDUs. All other TCP does not count; frames without TCP do.
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
    static constexpr std::uint8_t unknown = 0;
    static constexpr std::uint8_t configured = 0xff;

    bool known(std::uint16_t port, std::int64_t now_ns);
    bool speaks_mpa(const SegmentView& segment);
    void confirm(const SegmentView& segment, bool streams);

    std::size_t capacity_;
    std::int64_t idle_ns_;
    std::vector<std::uint8_t> place_;  // by port: unknown, configured, or 1 + its place in found_
    std::vector<Found> found_ = {};
    std::size_t configured_ = 0;
    FpduChains chains_ = {};
    MpaConnections connections_ = {};
};

}  // namespace capture::live
