#pragma once
#include <cstdint>
#include <span>

#include "iwarp/mpa/batch.h"
#include "wire/bytes.h"

namespace iwarp::mpa {

/// ULPDUs → FPDUs: length, markers in, padding, CRC. RFC 5044 section 4. Knows the stream's position, so that markers
/// stand where the peer expects them.
class FpduWriter {
public:
    struct Settings {
        bool crc = true;
        bool markers = false;
    };
    explicit FpduWriter(Settings settings) : settings_(settings) {}

    /// Adds one FPDU. The header is copied; the payload (header and payload together at most 64768 octets) is referred
    /// to, its CRC taken now, unless it is short or markers make a copy cheaper.
    void add(wire::Bytes ddp_header, std::span<const wire::Bytes> payload, Batch& batch);
    std::uint64_t fpdus() const;

private:
    // The author of fpdu_writer.cpp completes what is private.
    Settings settings_;
};

}  // namespace iwarp::mpa
