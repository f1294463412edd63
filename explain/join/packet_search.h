#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "explain/explanation.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

namespace explain::join {

/// The packets of a line.
struct Found {
    std::optional<std::uint64_t> flow = {};      ///< the one that the line is about; absent if several may be
    std::vector<std::uint64_t> candidates = {};  ///< flows that the line may be about, if they are several
    std::vector<std::uint64_t> frames = {};      ///< ascending
    std::optional<std::string> verdict = {};     ///< of `why`
    std::optional<bool> network = {};            ///< whether the network is the cause; absent if unknown
    std::string summary = {};
    std::optional<std::uint64_t> repeated_for_ns = {};  ///< first to last sending of the request without an answer
    std::uint64_t sendings = 0;                         ///< of this request
    RetrySettings settings = {};                        ///< what the set-up of the flow says
    ReceiverSettings receiver = {};
};

struct SearchResult {
    std::optional<Found> found = {};
    std::string reason = {};  ///< why nothing was found
};

/// Figures of a capture, and their answers.
struct Evidence {
    const metrics::Snapshot& snapshot;
    std::span<const metrics::Answer> answers;
    const metrics::HostNames& names;
};

/// The flow, or the attempt to connect, that a line is about: by addresses, queue pairs, time, and an end that fits. A
/// line that names no peer is about a flow only if one flow alone ended in such a way.
SearchResult find_packets(const Explanation& explanation, const Evidence& evidence);

/// "192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", with a port or without. No value if the text is no address.
std::optional<metrics::Address> address_in(std::string_view text);

}  // namespace explain::join
