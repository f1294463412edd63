#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

/// The bytes of one direction of an iWARP connection, cut at MPA's boundaries. RFC 5044.
namespace replay::inline peer {

enum class PieceKind : std::uint8_t {
    start,  ///< a Request or a Reply, with its private data
    fpdu,   ///< including markers, padding and CRC, right or wrong
    rest,   ///< neither: a beginning that is not a start frame, or an end that is not a whole FPDU
};

/// Cuts a stream that arrives in parts. Bytes that it cannot cut are left: see rest().
class PieceCutter {
public:
    /// Whether the sender of this direction was asked for markers: call it before the first FPDU.
    void markers(bool wanted) { markers_ = wanted; }

    struct Piece {
        PieceKind kind = PieceKind::rest;
        std::size_t size = 0;
        std::uint32_t phase = 0;  ///< with markers: of an FPDU's first byte, modulo 512
    };
    /// The piece at the beginning of `octets`, the stream from the end of the last piece on; no value if more bytes are
    /// needed.
    std::optional<Piece> next(base::Bytes octets);
    /// There was no start frame, or it rejected: nothing more is cut.
    void stop_cutting() { state_ = State::nothing; }

private:
    enum class State : std::uint8_t { start, fpdus, nothing };
    State state_ = State::start;
    bool markers_ = false;
    std::uint32_t phase_ = 0;
};

/// An FPDU as its receiver sees it: the ULPDU without markers, up to its length.
std::vector<std::byte> ulpdu_of(base::Bytes fpdu, bool markers, std::uint32_t phase);
/// Overwrites bytes of the ULPDU, which lie among the markers.
void put_into_ulpdu(base::MutableBytes fpdu, bool markers, std::uint32_t phase, std::size_t at, base::Bytes octets);
/// The last four bytes are the CRC of those before.
bool crc_is_right(base::Bytes fpdu);
void put_crc(base::MutableBytes fpdu);

}  // namespace replay::peer
