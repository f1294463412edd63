#pragma once
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "iwarp/mpa/batch.h"

namespace iwarp::mpa {

/// Turns ULPDUs into FPDUs: length, markers, padding, CRC. RFC 5044 section 4. Knows the stream's position, so that
/// markers stand where the peer expects them.
class FpduWriter {
public:
    struct Settings {
        bool crc = true;
        bool markers = false;
    };
    explicit FpduWriter(Settings settings) : settings_(settings) {}

    /// Adds one FPDU. The header is copied. The payload (header and payload together at most 64768 bytes) is referred
    /// to, and its CRC is computed now; a short payload is copied, and so is any if markers make a copy cheaper.
    void add(base::Bytes ddp_header, std::span<const base::Bytes> payload, Batch& batch);
    std::uint64_t fpdus() const { return fpdus_; }

    /// Payloads up to this size are copied: next to their headers they cost less than as pieces of their own.
    static constexpr std::size_t copied_payload = 1024;

private:
    void add_copied(base::Bytes ddp_header, std::span<const base::Bytes> payload, std::uint16_t length, Batch& batch);
    void add_marked(base::Bytes ddp_header, std::span<const base::Bytes> payload, std::uint16_t length, Batch& batch);
    void add_referred(base::Bytes ddp_header, std::span<const base::Bytes> payload, std::uint16_t length, Batch& batch);

    Settings settings_;
    std::uint32_t phase_ = 0;  ///< with markers: the stream's position, modulo 512
    std::uint64_t fpdus_ = 0;
};

}  // namespace iwarp::mpa
