#include "replay/peer/pieces.h"

#include <algorithm>

#include "wire/crc32c.h"
#include "wire/mpa.h"

namespace replay::inline peer {
namespace {

constexpr std::size_t length_octets = 2;

/// Where the byte `at` of an FPDU without its markers lies in the FPDU with them.
std::size_t place_of(std::size_t at, bool markers, std::uint32_t phase) {
    if (!markers) return at;
    const std::size_t before_first = phase == 0 ? 0 : wire::mpa_marker_interval - phase;
    if (at < before_first) return at;
    constexpr std::size_t between = wire::mpa_marker_interval - wire::mpa_marker_size;
    return at + ((at - before_first) / between + 1) * wire::mpa_marker_size;
}

}  // namespace

std::optional<PieceCutter::Piece> PieceCutter::next(base::Bytes octets) {
    if (octets.empty() || state_ == State::nothing) return std::nullopt;
    if (state_ == State::start) {
        if (!wire::mpa_start_possible(octets)) {
            state_ = State::nothing;
            return std::nullopt;
        }
        const auto start = wire::parse<wire::MpaRequest>(octets);
        if (!start) return std::nullopt;
        const std::size_t size = wire::size_of<wire::MpaRequest> + start->private_length;
        if (octets.size() < size) return std::nullopt;
        state_ = State::fpdus;
        return Piece{PieceKind::start, size, 0};
    }
    const std::size_t length_at = place_of(0, markers_, phase_);
    if (octets.size() < length_at + length_octets) return std::nullopt;
    const std::uint32_t plain = wire::mpa_fpdu_size(base::load_be16(octets.data() + length_at));
    const std::size_t size = plain + (markers_ ? wire::mpa_markers(plain, phase_) * wire::mpa_marker_size : 0);
    if (octets.size() < size) return std::nullopt;
    const Piece piece{PieceKind::fpdu, size, phase_};
    phase_ = static_cast<std::uint32_t>((phase_ + size) % wire::mpa_marker_interval);
    return piece;
}

std::vector<std::byte> ulpdu_of(base::Bytes fpdu, bool markers, std::uint32_t phase) {
    std::vector<std::byte> ulpdu;
    const std::size_t length_at = place_of(0, markers, phase);
    if (fpdu.size() < length_at + length_octets) return ulpdu;
    const std::size_t length = base::load_be16(fpdu.data() + length_at);
    ulpdu.reserve(length);
    for (std::size_t i = 0; i < length; ++i) {
        const std::size_t place = place_of(length_octets + i, markers, phase);
        if (place >= fpdu.size()) break;
        ulpdu.push_back(fpdu[place]);
    }
    return ulpdu;
}

void put_into_ulpdu(base::MutableBytes fpdu, bool markers, std::uint32_t phase, std::size_t at, base::Bytes octets) {
    for (std::size_t i = 0; i < octets.size(); ++i) {
        const std::size_t place = place_of(length_octets + at + i, markers, phase);
        if (place < fpdu.size()) fpdu[place] = octets[i];
    }
}

bool crc_is_right(base::Bytes fpdu) {
    if (fpdu.size() < wire::mpa_crc_size) return false;
    const std::size_t covered = fpdu.size() - wire::mpa_crc_size;
    return wire::load_crc32c(fpdu.data() + covered) == wire::crc32c(fpdu.first(covered));
}

void put_crc(base::MutableBytes fpdu) {
    const std::size_t covered = fpdu.size() - wire::mpa_crc_size;
    const auto crc = wire::crc32c_octets(wire::crc32c(fpdu.first(covered)));
    std::copy(crc.begin(), crc.end(), fpdu.begin() + static_cast<std::ptrdiff_t>(covered));
}

}  // namespace replay::peer
