#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/bytes.h"

namespace iwarp::mpa {

/// FPDUs made ready for one system call: headers, padding and CRCs in memory of the batch, payload where the user has
/// it. Filled by FpduWriter, drained by the transport, then used again.
class Batch {
public:
    static constexpr std::size_t max_fpdus = 64;
    static constexpr std::size_t max_octets = 256 * 1024;  ///< reached with whole FPDUs: may be passed by one
    static constexpr std::size_t max_pieces = 512;

    bool empty() const;      ///< nothing left to send
    bool full() const;
    /// What is left to send, in order; valid until consume() or clear().
    std::span<const wire::Bytes> pieces() const;
    std::size_t octets() const;  ///< left to send
    /// Pieces up to and including the next FPDU's last: for transports that keep FPDUs and segments aligned.
    std::span<const wire::Bytes> next_fpdu() const;
    void consume(std::size_t octets);
    void clear();
    /// Gives memory back where the batch is empty: an idle stream keeps less than 1 KiB.
    void shrink();

private:
    friend class FpduWriter;
    // The author of batch.cpp completes what is private.
};

}  // namespace iwarp::mpa
