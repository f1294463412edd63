#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/result.h"

namespace exporters::prometheus {

/// What is answered over HTTP. Called from the listener's thread, one at a time.
struct Pages {
    std::function<std::string()> metrics;  ///< text format 0.0.4
    struct Health {
        bool ok = true;
        std::string text;  ///< "capturing on eth2, 0 dropped"
    };
    std::function<Health()> health;      ///< /healthz: 200 or 503
    std::function<std::string()> front;  ///< /: an HTML page for a person who came by (front_page.h)
};

/// An HTTP listener, in a thread of its own, for `GET` and `HEAD` of /metrics (gzip where asked for), /healthz and /.
/// Anything else is 404 or 405. One request a connection, and 64 connections: when they are taken, the client that
/// takes longest to ask gives way. A client that is slow in asking, or in taking the answer, is cut off.
class Listener {
public:
    /// `address`: "127.0.0.1:9879", "[::1]:9879", ":9879" for all; port 0 is any that is free. Errors say what is wrong
    /// and what to do.
    static base::Result<std::unique_ptr<Listener>> open(const std::string& address, Pages pages);
    virtual ~Listener() = default;           ///< no client is answered after it returns
    virtual std::uint16_t port() const = 0;  ///< that it got, where 0 was asked for
};

}  // namespace exporters::prometheus
