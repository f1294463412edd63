#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/result.h"

namespace exporters::prometheus {

/// The pages that are served over HTTP. Called from the listener's thread, one at a time.
struct Pages {
    std::function<std::string()> metrics;  ///< text format 0.0.4
    struct Health {
        bool ok = true;
        std::string text;  ///< "capturing on eth2, 0 dropped"
    };
    std::function<Health()> health;      ///< /healthz: 200 or 503
    std::function<std::string()> front;  ///< /: an HTML page for a person (front_page.h)
};

/// An HTTP listener, in a thread of its own, for `GET` and `HEAD` of /metrics (gzip if requested), /healthz and /.
/// Anything else is 404 or 405. One request for each connection, and at most 64 connections: then the client that has
/// been asking for longest is closed. A client that is slow in sending its request, or in reading the answer, is
/// closed.
class Listener {
public:
    /// `address`: "127.0.0.1:9879", "[::1]:9879", ":9879" for all; port 0 is any free port. Errors say what is wrong
    /// and what to do.
    static base::Result<std::unique_ptr<Listener>> open(const std::string& address, Pages pages);
    virtual ~Listener() = default;           ///< after it returns no client is answered
    virtual std::uint16_t port() const = 0;  ///< the actual port, if 0 was requested
};

}  // namespace exporters::prometheus
