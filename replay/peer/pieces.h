#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

/// The bytes of one direction of an iWARP connection, cut where MPA cuts them. RFC 5044.
namespace replay::inline peer {

enum class PieceKind : std::uint8_t {
    start,  ///< a Request or a Reply, with its private data
    fpdu,   ///< markers, padding and CRC with it, right or wrong
    rest,   ///< what is neither: a beginning that is no start frame, or an end that is no whole FPDU
};

/// Cuts a stream that comes bit by bit. What it cannot cut is left: see rest().
class PieceCutter {
public:
    /// Whether the sender of this direction was asked for markers: to be said before the first FPDU.
    void markers(bool wanted) { markers_ = wanted; }

    struct Piece {
        PieceKind kind = PieceKind::rest;
        std::size_t size = 0;
        std::uint32_t phase = 0;  ///< with markers: of an FPDU's first byte, modulo 512
    };
    /// The piece that `octets`, the stream from where the last one ended, begin with; nothing where more is needed.
    std::optional<Piece> next(base::Bytes octets);
    /// There was no start frame, or it rejected: nothing is cut any more.
    void stop_cutting() { state_ = State::nothing; }

private:
    enum class State : std::uint8_t { start, fpdus, nothing };
    State state_ = State::start;
    bool markers_ = false;
    std::uint32_t phase_ = 0;
};

/// An FPDU as its receiver takes it: the ULPDU without markers, as much of it as the length says.
std::vector<std::byte> ulpdu_of(base::Bytes fpdu, bool markers, std::uint32_t phase);
/// Writes over bytes of the ULPDU where they lie among the markers.
void put_into_ulpdu(base::MutableBytes fpdu, bool markers, std::uint32_t phase, std::size_t at, base::Bytes octets);
/// The last four bytes are the CRC of those before.
bool crc_is_right(base::Bytes fpdu);
void put_crc(base::MutableBytes fpdu);

}  // namespace replay::peer
