#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline figures {

/// The version written in front of an encoded snapshot. Decoders read this one and all older ones; a member added to
/// snapshot.h needs a line in snapshot_codec.cpp and, at the end of its struct, the next version.
inline constexpr std::uint16_t snapshot_version = 14;

struct CodecError {
    std::string message;       ///< what is wrong: "made by a later version (7; this one reads up to 5)"
    std::uint64_t offset = 0;  ///< in bytes
};

/// A snapshot as bytes, complete: decode(encode(s)) equals s in every member. Little-endian varints; an ordinary flow
/// takes a few hundred bytes before compression. Appends to `out`. An older `version` leaves out what later versions
/// added.
void encode(const Snapshot& snapshot, std::vector<std::byte>& out, std::uint16_t version = snapshot_version);

/// Any bytes give a snapshot or an error. The memory used is at most a small multiple of their number.
base::Result<Snapshot, CodecError> decode_snapshot(base::Bytes octets);

}  // namespace metrics::figures
