#pragma once
#include <cstdint>

/// TCP's sequence numbers, and how far apart they can be.
namespace dissect::tcp {

/// How far sequence number `a` lies after `b`, modulo 2^32: negative where it lies before. RFC 9293 section 3.4.
constexpr std::int32_t distance(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b); }

/// The largest window that TCP can have, in bytes. RFC 7323 section 2.3.
inline constexpr std::int32_t largest_window = 1 << 30;
/// More bytes than any sender has under way, for unknown windows.
inline constexpr std::int32_t most_in_flight = 1 << 24;

}  // namespace dissect::tcp
