#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "daemon/http/http_message.h"
#include "daemon/http/listen_address.h"

namespace service::http {

/// What the server asks about each request.
class Handler {
public:
    virtual ~Handler() = default;

    /// How a request is answered.
    enum class Way : std::uint8_t {
        at_once,    ///< by the server's own thread
        by_worker,  ///< by the worker's thread, because it takes long; other clients are served meanwhile
        as_stream,  ///< with events until the client leaves: HttpServer::publish()
    };
    /// Called by the server's thread.
    virtual Way way_of(const Request& request) = 0;
    /// Called by the thread that way_of() chose. Exceptions become status 500.
    virtual Response answer(const Request& request) = 0;
    /// The bytes with which a stream begins. Called by the server's thread.
    virtual std::string stream_head() { return {}; }
};

struct ServerBounds {
    std::size_t connections = 64;  ///< for one more, the client that has been asking for longest is closed
    std::size_t streams = 16;
    std::size_t jobs = 32;  ///< requests that wait for the worker
    std::size_t header_bytes = 16'384;
    std::size_t body_bytes = 4'096;
    std::size_t stream_bytes = 262'144;  ///< that wait for one client
    std::chrono::milliseconds to_ask{5'000};
    std::chrono::milliseconds to_read{30'000};
    std::chrono::milliseconds heartbeat{15'000};  ///< of a stream without events
};

/// An HTTP/1.1 server by libmicrohttpd. One thread serves all clients; a second one, the worker, makes the answers that
/// take long. No client can hold up another one: a client that is slow in sending its request, or in reading the
/// answer, is closed.
class HttpServer {
public:
    /// `address`: "127.0.0.1:14791", "[::1]:14791", ":14791" for all; port 0 is any free port. Errors say what is wrong
    /// and what to do. The handler outlives the server.
    static base::Result<std::unique_ptr<HttpServer>> open(const std::string& address, Handler& handler,
                                                          const ServerBounds& bounds = {});
    /// The same on a socket that listens already.
    static base::Result<std::unique_ptr<HttpServer>> open(ListeningSocket socket, Handler& handler,
                                                          const ServerBounds& bounds = {});
    virtual ~HttpServer() = default;         ///< after it returns no client is answered
    virtual std::uint16_t port() const = 0;  ///< the actual port, if 0 was requested

    /// Sends bytes to every stream. May be called by any thread.
    virtual void publish(std::string bytes) = 0;
    /// Runs `work` in the worker's thread, before requests that come later. May be called by any thread.
    virtual void run_in_worker(std::function<void()> work) = 0;
};

}  // namespace service::http
