#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/endpoint/endpoint_address.h"
#include "cli/endpoint/endpoint_protocol.h"
#include "iwarp/iwarp.h"
#include "metrics/figures/histogram.h"

namespace cli::endpoint {

/// The user has ended the program before there was a result.
class Interrupted : public std::exception {};

/// Why a connection to `to` was not made, or ended, and what to do; for events that report it.
std::string explain(const Address& to, const iwarp::Event& event);

/// The time within which a connection must be made: by TCP, and again by MPA.
void set_patience(iwarp::ConnectionOptions& options, std::uint64_t timeout_ns);

/// Drives `device` until `queue_pair` is connected to `to`; returns the private data of the Reply. Throws iwarp::Error
/// with an explanation, or Interrupted, unless `stubborn`.
std::vector<std::byte> connect(iwarp::Device& device, iwarp::QueuePair& queue_pair, const Address& to,
                               const iwarp::ConnectionOptions& options, bool stubborn = false);
/// Drives `device` until `queue_pair` is closed, or `within` has passed.
void disconnect(iwarp::Device& device, iwarp::QueuePair& queue_pair, std::chrono::nanoseconds within);

/// What a server has used so far; no value if the server is not ours.
std::optional<Usage> ask_usage(const Address& of, const iwarp::ConnectionOptions& options);

/// "MPA revision 2, CRC on, markers off".
std::string text_of(const iwarp::Agreement& agreement);

/// `{count min mean p50 p90 p99 p999 max}`, null if there are no values.
nlohmann::ordered_json json_of(const metrics::Histogram& histogram);
/// `{revision, enhanced, crc, markers_sent, markers_received, peer_to_peer, ird, ord, max_ulpdu}`.
nlohmann::ordered_json json_of(const iwarp::Agreement& agreement);

}  // namespace cli::endpoint
