#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/iwarp.h"
#include "replay/endpoints/replay_endpoint.h"
#include "replay/plan/survey.h"

namespace replay::inline endpoints {

struct ReenactmentOptions {
    enum class Place : std::uint8_t { loopback, serve, to };
    Place place = Place::loopback;
    std::string host = "127.0.0.1";  ///< of serve and to
    std::uint16_t port = 0;
    std::uint64_t loops = 1;
    std::uint32_t copies = 1;
    std::optional<double> speed = 1;  ///< no value: as fast as possible
    std::optional<bool> crc = {};     ///< absent: as captured
    bool payload = false;             ///< Sends and Writes have their captured bytes, if those are complete
    std::uint64_t timeout_ns = 10'000'000'000;
    std::function<bool()> stopped = {};  ///< called from the working threads, at the same time
    /// The accepting end waits there; called before anything else happens. May return another port of this machine that
    /// leads there; the other end of a loopback connects to that.
    std::function<std::uint16_t(const std::string& address, std::uint16_t port)> listening = {};
    /// For the end that connects, and the one that accepts.
    std::function<std::shared_ptr<iwarp::Device>(bool initiator)> device = {};
};

/// The results of the ends on this machine: one, or both.
struct Reenactment {
    std::vector<EndpointResult> endpoints;  ///< the one that connects first
    std::string error() const;              ///< of the first that failed; empty: all succeeded
    bool stopped() const;
    std::uint64_t duration_ns() const;  ///< from the start to the last event; 0 without a start
};

/// Posts the survey's operations again. Throws iwarp::Error if it cannot begin; later errors are in the result.
Reenactment re_enact(const Survey& survey, const ReenactmentOptions& options);

}  // namespace replay::endpoints
