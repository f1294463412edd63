#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "iwarp/mpa/stream_memory.h"

namespace iwarp::mpa {

/// FPDUs that are ready for one system call: headers, padding and CRCs in memory of the batch, payload in the user's
/// memory. Filled by FpduWriter, drained by the transport, then used again.
class Batch {
public:
    static constexpr std::size_t max_fpdus = 64;
    static constexpr std::size_t max_octets =
        std::size_t{512} * 1024;  ///< counts whole FPDUs: the last one may exceed it
    static constexpr std::size_t max_pieces = 512;

    /// `memory`, if any, counts what the batch keeps beyond the first 4 KiB.
    explicit Batch(StreamMemory* memory = nullptr) : memory_(memory), part_(memory) {}
    /// Sets the bytes after which it is full, if max_octets are too many; one FPDU always has room.
    void limit(std::size_t octets) { most_octets_ = octets < max_octets ? octets : max_octets; }
    bool empty() const { return consumed_ == added_; }  ///< nothing left to send
    /// The next FPDU waits until the batch is empty again: counts what was added since then, sent or not.
    bool full() const;
    /// The unsent rest, in order; valid until consume() or clear(), also while FPDUs are added.
    std::span<const base::Bytes> pieces() const { return std::span{pieces_}.subspan(first_); }
    std::size_t octets() const { return added_ - consumed_; }  ///< left to send
    /// Pieces up to and including the last one of the next FPDU: for transports that keep FPDUs and segments aligned.
    /// Valid until any next call.
    std::span<const base::Bytes> next_fpdu() const;
    void consume(std::size_t octets);
    void clear();
    /// Copies the rest into memory of the batch: for payload that may change or vanish before it is sent (a peer writes
    /// to what another reads, a region is deregistered) although its CRC was computed already. Invalidates pieces().
    void detach();
    /// Frees memory if the batch is empty: an idle stream keeps less than 1 KiB.
    void shrink();

private:
    friend class FpduWriter;
    static constexpr std::size_t max_payload_pieces = 32;  ///< of one FPDU; payload in more pieces is copied
    struct Chunk {
        std::unique_ptr<std::byte[]> memory;
        std::size_t size = 0;
    };

    void add_chunk(std::size_t octets);
    /// Room for this number of bytes of the batch's own memory, appended to what is sent.
    std::byte* append(std::size_t octets);
    /// Bytes of the user's memory.
    void append(base::Bytes octets);
    void end_fpdu() { ends_.push_back(added_); }

    std::vector<base::Bytes> pieces_;
    std::vector<std::size_t> ends_;  ///< bytes added up to each FPDU's end
    mutable std::vector<base::Bytes> next_;
    std::vector<Chunk> chunks_;
    StreamMemory* memory_;
    StreamMemory::Part part_;
    std::size_t chunk_octets_ = 0;  ///< of all chunks
    std::size_t most_octets_ = max_octets;
    std::size_t chunk_ = 0;       ///< the present chunk
    std::size_t chunk_used_ = 0;  ///< bytes of it
    bool own_last_ = false;       ///< the last piece is of that chunk and may grow
    std::size_t first_ = 0;       ///< of the pieces: those before it have been consumed
    std::size_t first_end_ = 0;
    std::size_t added_ = 0;
    std::size_t consumed_ = 0;
};

}  // namespace iwarp::mpa
