#pragma once
#include <algorithm>
#include <cstdint>

#include "metrics/measure/flow/flow.h"

namespace metrics::inline measure::inline packet {

/// After this number of packets in a row with growing identifications, the sender is known to count them.
constexpr std::uint8_t orderly_enough = 4;
constexpr std::uint8_t orderly_most = 16;

/// IPv4's identification says in which order a sender made its packets, if the sender counts them. RFC 6864 does not
/// ask for that; adapters and Linux do it.
enum class Made : std::uint8_t { unknown, earlier, same, later };

inline Made made(const RequestState& request, std::uint16_t identification, std::uint16_t reference) {
    if (request.orderly < orderly_enough) return Made::unknown;
    const auto difference = static_cast<std::int16_t>(static_cast<std::uint16_t>(identification - reference));
    return difference < 0 ? Made::earlier : difference == 0 ? Made::same : Made::later;
}

inline std::uint32_t print_of(std::uint64_t position, std::uint16_t identification) {
    return static_cast<std::uint32_t>(identification) << 16 | static_cast<std::uint16_t>(position);
}

/// One of the last few data packets had this position and identification.
inline bool is_recent(const RequestState& request, std::uint64_t position, std::uint16_t identification) {
    const std::uint32_t print = print_of(position, identification);
    return std::find(request.recent.begin(), request.recent.end(), print) != request.recent.end();
}

inline void note_identification(RequestState& request, std::uint64_t position, std::uint16_t identification) {
    request.recent[position % request.recent.size()] = print_of(position, identification);
    const auto grown = static_cast<std::int16_t>(static_cast<std::uint16_t>(identification - request.identification));
    request.identification = identification;
    if (grown > 0)
        request.orderly = static_cast<std::uint8_t>(std::min<unsigned>(request.orderly + 1u, orderly_most));
    else
        request.orderly = static_cast<std::uint8_t>(request.orderly / 2);
}

}  // namespace metrics::measure::packet
