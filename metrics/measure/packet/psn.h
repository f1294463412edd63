#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/clock.h"
#include "metrics/measure/flow/flow.h"

/// Packet sequence numbers as positions that only grow, and the times between packets. IBTA vol. 1, 9.7.2.
namespace metrics::inline measure::inline packet::psn {

constexpr std::uint32_t mask = 0xffffff;
constexpr std::uint64_t first_position = RequestState::first_position;
/// No window is this wide: a message that begins farther back or ahead belongs to a later connection with the same QPN.
constexpr std::int32_t successor_behind = -(1 << 17);
constexpr std::int32_t successor_ahead = 1 << 20;
/// With nothing outstanding no sender goes back, and skips no more PSNs than the capture may have lost.
constexpr std::int32_t idle_successor_behind = -2048;
constexpr std::int32_t idle_successor_ahead = 1 << 16;
/// A network that doubles or overtakes packets does so within this, where no round trip is known; timers are longer.
constexpr std::uint64_t network_disorder_ns = 1'000'000;
/// Timers of adapters are not shorter.
constexpr std::uint64_t least_timer_ns = 500'000;

inline std::int32_t difference(std::uint32_t psn, std::uint64_t reference) {
    const std::uint32_t raw = (psn - static_cast<std::uint32_t>(reference)) & mask;
    return static_cast<std::int32_t>(raw ^ 0x800000u) - 0x800000;
}

inline std::uint64_t position_of(std::uint32_t psn, std::uint64_t reference) {
    return reference + static_cast<std::uint64_t>(static_cast<std::int64_t>(difference(psn, reference)));
}

/// How many packets a message of that size (not 0) takes: all but the last are as long as the path's MTU allows.
/// IBTA vol. 1, 9.4.1.
inline std::uint64_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
    return (std::uint64_t{bytes} + mtu - 1) / mtu;
}

/// An MTU is 256, 512, 1024, 2048 or 4096 bytes: the exponent of the least that leaves room for such a payload.
inline std::uint8_t mtu_exponent_of(std::uint32_t payload) {
    const int exponent = payload == 0 ? 0 : static_cast<int>(std::bit_width(payload - 1));
    return static_cast<std::uint8_t>(std::clamp(exponent, 8, 12));
}

/// The number of positions by which a READ of that length may be longer than one, if that is the least possible MTU.
/// IBTA vol. 1, 9.7.3.1.
inline std::uint16_t slack_of(std::uint32_t read_length, std::uint8_t mtu_exponent) {
    const std::uint32_t most = read_length == 0 ? 0 : (read_length - 1) >> mtu_exponent;
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(most, 0xffff));
}

/// The same where the length is not known.
constexpr std::uint16_t most_slack = 0xffff;

inline std::int64_t later(std::int64_t one, std::int64_t other) { return std::max(one, other); }

using base::elapsed;

inline void keep_least(std::uint32_t& least, std::uint64_t value) {
    if (value < least) least = static_cast<std::uint32_t>(std::max<std::uint64_t>(value, 1));
}

}  // namespace metrics::measure::packet::psn
