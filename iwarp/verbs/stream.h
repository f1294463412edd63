#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "iwarp/iwarp.h"

namespace iwarp::verbs {

/// One TCP connection from start frames to the last FIN, without its socket and without a clock: a transport calls it
/// with events and the time, and performs what it requests. Times are nanoseconds since any fixed moment; they never go
/// back.
class Stream : public std::enable_shared_from_this<Stream> {
public:
    virtual ~Stream() = default;

    // Events. Each may change output(), closing() and deadline_ns().

    /// TCP is connected. `emss`: payload bytes a segment of this path carries. `peer`: "192.0.2.1:4791".
    virtual void connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) = 0;
    /// The path's segments carry a different number of bytes from now on.
    virtual void segment_size_changed(std::uint32_t emss, std::int64_t now_ns) {
        static_cast<void>(emss);
        static_cast<void>(now_ns);
    }
    /// TCP failed: refused, unreachable, timed out, in words.
    virtual void connect_failed(Failure kind, const std::string& why, std::int64_t now_ns) = 0;
    virtual void receive(base::Bytes bytes, std::int64_t now_ns) = 0;
    /// The memory into which the transport may receive directly, if at least `minimum` bytes fit; see
    /// mpa::FpduReader::room.
    virtual std::span<const base::MutableBytes> room(std::size_t minimum) = 0;
    virtual void received(std::size_t bytes, std::int64_t now_ns) = 0;
    /// The peer's FIN, after all bytes before it.
    virtual void peer_closed(std::int64_t now_ns) = 0;
    /// Reset, or an error of the network, in words.
    virtual void lost(const std::string& why, std::int64_t now_ns) = 0;
    /// Call this when deadline_ns() has come.
    virtual void tick(std::int64_t now_ns) = 0;

    // What is requested.

    struct Output {
        std::span<const base::Bytes> pieces;
        bool end_of_segment = false;  ///< the next byte must begin a TCP segment (ConnectionOptions::align)
    };
    /// Bytes to send now; the pieces stay valid until sent() consumed them all, whatever else is called. Empty: nothing
    /// (ask again after Transport::attention or an event).
    virtual Output output(std::int64_t now_ns) = 0;
    virtual void sent(std::size_t bytes, std::int64_t now_ns) = 0;
    /// Whether receiving should pause, because answers to received requests must be sent first.
    virtual bool receive_paused() const = 0;
    enum class Closing : std::uint8_t {
        no,
        half,   ///< FIN, when output() is empty; receiving goes on
        full,   ///< close in an orderly way: FIN if there was none, then drop the stream
        reset,  ///< RST, at once
    };
    virtual Closing closing() const = 0;
    virtual std::optional<std::int64_t> deadline_ns() const = 0;

    void* transport_data = nullptr;  ///< the transport's own
};

}  // namespace iwarp::verbs
