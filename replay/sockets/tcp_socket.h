#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "iwarp/transport/tcp_address.h"

/// TCP for programs that pass bytes on: sockets that do not block, errors in words. tcp(7).
namespace replay::inline sockets {

template <class T>
using SocketResult = base::Result<T, std::string>;

/// A listening socket; port 0 is any free port. Addresses and names in the form of the endpoints.
SocketResult<base::Descriptor> listen_tcp(const std::string& host, std::uint16_t port);
/// Connects to a name, one of its addresses after the other: a process listens on one of them.
class TcpAttempt {
public:
    TcpAttempt(const std::string& host, std::uint16_t port);
    TcpAttempt(std::string what, std::vector<iwarp::transport::TcpAddress> addresses);
    /// Begins a connection to the next address: it has succeeded or failed once it can be written to, see
    /// connect_error(). No value if no address is left.
    base::Descriptor next();
    /// Reports why the last one failed.
    void failed(const std::string& why);
    std::size_t left() const { return addresses_.size() - at_; }
    /// "cannot connect to localhost:7174: Connection refused"; if there are several addresses, each with its reason.
    std::string error() const;

private:
    std::string what_;
    std::vector<iwarp::transport::TcpAddress> addresses_;
    std::size_t at_ = 0;
    std::vector<std::string> reasons_ = {};
};
/// Waits for the connection; an address that does not answer leaves time for the others.
SocketResult<base::Descriptor> connect_tcp(TcpAttempt attempt, std::int64_t timeout_ns);
SocketResult<base::Descriptor> connect_tcp(const std::string& host, std::uint16_t port, std::int64_t timeout_ns);
/// Why a connection could not be made; empty if it was made.
std::string connect_error(const base::Descriptor& socket);
/// The next incoming connection; an empty Descriptor if absent.
SocketResult<base::Descriptor> accept_tcp(const base::Descriptor& listener);

/// "192.0.2.1:7174".
std::string local_address(const base::Descriptor& socket);
std::string peer_address(const base::Descriptor& socket);
std::uint16_t local_port(const base::Descriptor& socket);

struct Transferred {
    std::size_t octets = 0;
    bool ended = false;      ///< received: the peer will send no more
    std::string error = {};  ///< the connection is lost; "Connection reset by peer"
};
/// The bytes that can be transferred at once.
Transferred receive_some(const base::Descriptor& socket, base::MutableBytes into);
Transferred send_some(const base::Descriptor& socket, base::Bytes octets);
/// Ends this direction: the peer sees the end of the stream.
void end_sending(const base::Descriptor& socket);
/// Closes with a reset, as a program that died would.
void reset(base::Descriptor& socket);

}  // namespace replay::sockets
