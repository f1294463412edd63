#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/result.h"
#include "metrics/figures/snapshot.h"

struct ZSTD_CCtx_s;

namespace control {

/// A snapshot on its way to clients: encoded and compressed one part at each step, so that other clients are served in
/// between. Clients that ask for the same figures share one.
class PackedSnapshot {
public:
    explicit PackedSnapshot(std::shared_ptr<const metrics::Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}
    ~PackedSnapshot();
    PackedSnapshot(const PackedSnapshot&) = delete;
    PackedSnapshot& operator=(const PackedSnapshot&) = delete;

    bool ready() const { return ready_; }
    bool failed() const { return failed_; }
    void step();
    base::Bytes octets() const { return packed_; }
    std::uint64_t encoded_octets() const { return encoded_octets_; }

private:
    std::shared_ptr<const metrics::Snapshot> snapshot_;  ///< until it is encoded
    std::vector<std::byte> encoded_ = {};                ///< until it is compressed
    std::vector<std::byte> packed_ = {};
    std::uint64_t encoded_octets_ = 0;
    std::size_t done_ = 0;
    ZSTD_CCtx_s* context_ = nullptr;
    bool ready_ = false;
    bool failed_ = false;
};

/// The reverse. Accepts any bytes; `encoded_octets` is the size that the sender announced, and bounds the memory.
base::Result<metrics::Snapshot> unpack_snapshot(base::Bytes packed, std::uint64_t encoded_octets);

}  // namespace control
