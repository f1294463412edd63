#pragma once
#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/uio.h>
#include <vector>

#include "base/descriptor.h"
#include "iwarp/transport/tcp_address.h"
#include "iwarp/transport/tcp_transport.h"
#include "iwarp/transport/timer_heap.h"
#include "iwarp/verbs/stream.h"

namespace iwarp::transport {

/// What the connections of a transport have in common; one thread uses it.
struct TcpShared {
    explicit TcpShared(const TcpOptions& wanted)
        : options(wanted),
          staging(std::make_unique_for_overwrite<std::byte[]>(std::max(wanted.staging_octets, wanted.bulk_octets))) {}

    TcpOptions options;
    TcpCounters counters;
    std::int64_t now_ns = 0;
    std::size_t turn_octets = 0;  ///< sent and received since progress() began
    std::unique_ptr<std::byte[]> staging;
    std::array<iovec, IOV_MAX> pieces{};
};

/// What an event of epoll is about.
struct TcpSource {
    enum class Kind : std::uint8_t { connection, listener, timer, alarm };
    explicit TcpSource(Kind what) : kind(what) {}
    Kind kind;
};

/// A connection that is not yet there: addresses are tried in order.
struct TcpConnecting {
    std::vector<TcpAddress> addresses;
    std::size_t next = 0;
    std::string name;  ///< as the caller put it, for messages
    std::string congestion_control;
    std::vector<TcpAddress> sources;  ///< of each family one; empty: as the system routes
    std::uint8_t traffic_class = 0;
    std::int64_t give_up_ns = 0;
    std::int64_t refused_until_ns = 0;  ///< before then a refusal is not the end
    std::string why;                    ///< the last address failed
    Failure failure = Failure::unreachable;
};

/// One socket and its stream. epoll reports edges; what is known of the socket since is kept in `readable`, `writable`.
struct TcpConnection : TcpSource, Timer {
    TcpConnection() : TcpSource(Kind::connection) {}

    std::shared_ptr<verbs::Stream> stream;
    base::Descriptor socket;
    std::string peer;
    std::unique_ptr<TcpConnecting> connecting;
    std::size_t index = 0;  ///< among the transport's connections
    std::uint64_t octets_sent = 0;
    std::uint64_t segment_size_asked_at = 0;  ///< bytes sent from which on it is looked up again
    std::uint32_t segment_size = 0;
    int failure = 0;    ///< errno that ended the connection
    bool bulk = false;  ///< the last read took enough that more is likely to be there
    bool attention = false;
    bool queued = false;
    bool readable = false;
    bool writable = false;
    bool hang_up = false;  ///< the end is in sight: read until it comes
    bool error = false;    ///< epoll saw an error
    bool blocked = false;  ///< the stream has bytes that the socket did not take
    bool drained = false;  ///< the stream had nothing to send when last asked
    bool fin_sent = false;
    bool fin_received = false;
    bool gone = false;

    bool wants_to_receive() const { return readable && !fin_received && !stream->receive_paused(); }
    /// Both until the socket will not, the stream will not, or the turn is over. Whether anything happened.
    bool send(TcpShared& shared);
    bool receive(TcpShared& shared);
    /// An error that no read or write will tell.
    void look_for_error();
    /// Payload bytes that a segment of the path carries; 0 where the system does not say.
    std::uint32_t current_segment_size() const;
    /// Orderly: FIN, and what has arrived unread is thrown away, lest TCP should make a reset of it. Else a reset.
    void close(bool orderly, TcpShared& shared);
};

/// Non-blocking, closed on exec, without Nagle's algorithm; an empty Descriptor and errno where there is none.
base::Descriptor tcp_socket(int family);
/// Nagle's algorithm off, keepalive on; `congestion_control` if it is not empty. 0 or errno.
int prepare_tcp_socket(int socket, const std::string& congestion_control);
/// False where this kernel has no such congestion control, nor a module of it.
bool has_congestion_control(const std::string& name);
/// IPv4's type of service or IPv6's traffic class; 0 leaves the system's. 0 or errno.
int set_traffic_class(int socket, int family, std::uint8_t traffic_class);
/// What an errno of connect(2) or of a socket means for the connection to be.
Failure failure_of(int error);
/// "Address already in use"
std::string message_of(int error);
/// "Connection reset by 192.0.2.1:4791"
std::string describe_tcp_error(int error, const std::string& peer);

}  // namespace iwarp::transport
