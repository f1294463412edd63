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

/// The source of an event of epoll.
struct TcpSource {
    enum class Kind : std::uint8_t { connection, listener, timer, alarm };
    explicit TcpSource(Kind what) : kind(what) {}
    Kind kind;
};

/// A connection that is not made yet: addresses are tried in order.
struct TcpConnecting {
    std::vector<TcpAddress> addresses;
    std::size_t next = 0;
    std::string name;  ///< as the caller wrote it, for messages
    std::string congestion_control;
    std::vector<TcpAddress> sources;  ///< one for each family; empty: the system's choice
    std::uint8_t traffic_class = 0;
    std::int64_t give_up_ns = 0;
    std::int64_t refused_until_ns = 0;  ///< before this time a refusal is not final
    std::string why;                    ///< why the last address failed
    Failure failure = Failure::unreachable;
};

/// One socket and its stream. epoll reports edges; `readable` and `writable` keep the state of the socket since.
struct TcpConnection : TcpSource, Timer {
    TcpConnection() : TcpSource(Kind::connection) {}

    std::shared_ptr<verbs::Stream> stream;
    base::Descriptor socket;
    std::string peer;
    std::unique_ptr<TcpConnecting> connecting;
    std::size_t index = 0;  ///< among the transport's connections
    std::uint64_t octets_sent = 0;
    std::uint64_t segment_size_asked_at = 0;  ///< the sent bytes after which it is read again
    std::uint32_t segment_size = 0;
    int failure = 0;    ///< errno that ended the connection
    bool bulk = false;  ///< the last read was so large that more is probably there
    bool attention = false;
    bool queued = false;
    bool readable = false;
    bool writable = false;
    bool hang_up = false;  ///< the peer has hung up: read until the end
    bool error = false;    ///< epoll reported an error
    bool blocked = false;  ///< the stream has bytes that the socket did not accept
    bool drained = false;  ///< the stream had nothing to send at the last call
    bool fin_sent = false;
    bool fin_received = false;
    bool gone = false;

    bool wants_to_receive() const { return readable && !fin_received && !stream->receive_paused(); }
    /// Both continue until the socket or the stream cannot, or the turn is over. Returns whether anything happened.
    bool send(TcpShared& shared);
    bool receive(TcpShared& shared);
    /// Finds an error that no read or write will show.
    void look_for_error();
    /// Payload bytes that a segment of the path carries; 0 if the system does not report it.
    std::uint32_t current_segment_size() const;
    /// Orderly: sends FIN, and discards unread data, because TCP would otherwise send a reset. Else a reset.
    void close(bool orderly, TcpShared& shared);
};

/// Non-blocking, closed on exec, without Nagle's algorithm; on failure an empty Descriptor and errno.
base::Descriptor tcp_socket(int family);
/// Nagle's algorithm off, keepalive on; `congestion_control` if it is not empty. 0 or errno.
int prepare_tcp_socket(int socket, const std::string& congestion_control);
/// False if this kernel has neither this congestion control nor a module of it.
bool has_congestion_control(const std::string& name);
/// IPv4's type of service or IPv6's traffic class; 0 keeps the system's. Returns 0 or errno.
int set_traffic_class(int socket, int family, std::uint8_t traffic_class);
/// The meaning of an errno of connect(2) or of a socket for the connection that is being made.
Failure failure_of(int error);
/// "Address already in use"
std::string message_of(int error);
/// "Connection reset by 192.0.2.1:4791"
std::string describe_tcp_error(int error, const std::string& peer);

}  // namespace iwarp::transport
