#include "control/packed_snapshot.h"

#include <algorithm>
#include <fmt/core.h>
#include <zstd.h>

#include "metrics/figures/snapshot_codec.h"

namespace control {

namespace {

constexpr std::size_t step_octets = std::size_t{1} << 20;
constexpr int compression_level = 1;  ///< a local socket: time is worth more than bytes
constexpr std::uint64_t max_encoded = std::uint64_t{16} << 30;

}  // namespace

PackedSnapshot::~PackedSnapshot() { ZSTD_freeCCtx(context_); }

void PackedSnapshot::step() {
    if (ready_ || failed_) return;
    if (context_ == nullptr) {
        context_ = ZSTD_createCCtx();
        metrics::encode(*snapshot_, encoded_);
        snapshot_.reset();
        encoded_octets_ = encoded_.size();
        failed_ = context_ == nullptr ||
                  ZSTD_isError(ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, compression_level)) != 0 ||
                  ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context_, encoded_.size())) != 0;
        return;
    }
    const std::size_t part = std::min(step_octets, encoded_.size() - done_);
    const bool last = done_ + part == encoded_.size();
    ZSTD_inBuffer in{encoded_.data() + done_, part, 0};
    for (;;) {
        const std::size_t used = packed_.size();
        packed_.resize(used + ZSTD_CStreamOutSize());
        ZSTD_outBuffer out{packed_.data() + used, packed_.size() - used, 0};
        const std::size_t left = ZSTD_compressStream2(context_, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        packed_.resize(used + out.pos);
        failed_ = ZSTD_isError(left) != 0;
        if (failed_) return;
        if (last ? left == 0 : in.pos == in.size) break;
    }
    done_ += part;
    ready_ = last;
    if (ready_) std::vector<std::byte>().swap(encoded_);
}

base::Result<metrics::Snapshot> unpack_snapshot(base::Bytes packed, std::uint64_t encoded_octets) {
    if (encoded_octets > max_encoded)
        return base::failure(fmt::format("a snapshot of {} bytes; at most {} are taken", encoded_octets, max_encoded));
    // What compression cannot have made of so little is not even tried.
    const unsigned long long declared = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (declared != encoded_octets) return base::failure("the snapshot is not as long as was said");
    std::vector<std::byte> encoded(static_cast<std::size_t>(encoded_octets));
    const std::size_t got = ZSTD_decompress(encoded.data(), encoded.size(), packed.data(), packed.size());
    if (ZSTD_isError(got) != 0)
        return base::failure(fmt::format("the snapshot cannot be unpacked: {}", ZSTD_getErrorName(got)));
    if (got != encoded_octets) return base::failure("the snapshot is not as long as was said");
    auto snapshot = metrics::decode_snapshot(encoded);
    if (!snapshot)
        return base::failure(fmt::format("the snapshot cannot be read, at byte {}: {}", snapshot.error().offset,
                                         snapshot.error().message));
    return std::move(snapshot).value();
}

}  // namespace control
