#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace replay::inline impair {

enum class Marking : std::uint8_t {
    marked,       ///< now Congestion Experienced; the header checksum fits as before
    already,      ///< was so before
    not_capable,  ///< its sender does not support ECN (RFC 3168 section 5): a router would drop it instead
    no_ip,        ///< no IPv4 or IPv6 header
};

/// Marks a packet that begins with its IPv4 or IPv6 header as congestion experienced. RFC 3168 section 5; the checksum
/// by RFC 1624, so that a wrong one stays wrong. An ICRC does not cover the field.
Marking mark_congestion(base::MutableBytes packet);

}  // namespace replay::impair
