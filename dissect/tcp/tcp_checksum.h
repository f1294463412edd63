#pragma once
#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect::tcp {

enum class ChecksumVerdict : std::uint8_t { unknown, right, wrong };

/// Verifies a TCP segment's checksum, pseudo header included; unknown if not all of it was captured. RFC 9293 section
/// 3.1, RFC 8200 section 8.1.
ChecksumVerdict verify_tcp_checksum(const Dissection& dissection, base::Bytes bytes);

}  // namespace dissect::tcp
