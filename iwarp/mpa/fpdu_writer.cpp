#include "iwarp/mpa/fpdu_writer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wire/crc32c.h"
#include "wire/mpa.h"

namespace iwarp::mpa {
namespace {

std::byte* copied(std::byte* to, base::Bytes from) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return to + from.size();
}

/// Zeros where CRCs are off: any value will do, RFC 5044 section 4.4.
void store_crc(std::byte* to, std::uint32_t crc, bool used) { copied(to, wire::crc32c_octets(used ? crc : 0)); }

/// Writes what it is given, and a marker wherever one is due. RFC 5044 section 4.3.
class MarkedCopy {
public:
    /// `to` is the stream's position `phase` modulo 512, before the marker that may stand there.
    MarkedCopy(std::byte* to, std::uint32_t phase)
        : to_(to), left_((wire::mpa_marker_interval - phase) % wire::mpa_marker_interval) {
        marker_if_due(0);
        length_ = to_;
    }
    void write(base::Bytes octets) {
        while (!octets.empty()) {
            const std::size_t run = std::min(octets.size(), left_);
            to_ = copied(to_, octets.first(run));
            octets = octets.subspan(run);
            left_ -= run;
            marker_if_due(static_cast<std::uint16_t>(to_ - length_));
        }
    }
    std::byte* end() const { return to_; }

private:
    void marker_if_due(std::uint16_t pointer) {
        if (left_ != 0) return;
        base::store_be16(to_, 0);
        base::store_be16(to_ + 2, pointer);
        to_ += wire::mpa_marker_size;
        left_ = wire::mpa_marker_interval - wire::mpa_marker_size;
    }

    std::byte* to_;
    std::byte* length_ = nullptr;  ///< of the ULPDU length: what the markers point to
    std::size_t left_;             ///< bytes before the next marker
};

constexpr std::byte zeros[3] = {};

}  // namespace

void FpduWriter::add(base::Bytes ddp_header, std::span<const base::Bytes> payload, Batch& batch) {
    std::size_t payload_size = 0;
    for (const base::Bytes piece : payload) payload_size += piece.size();
    assert(ddp_header.size() + payload_size <= wire::mpa_ulpdu_max);
    const auto length = static_cast<std::uint16_t>(ddp_header.size() + payload_size);
    if (settings_.markers)
        add_marked(ddp_header, payload, length, batch);
    else if (payload_size <= copied_payload || payload.size() > Batch::max_payload_pieces)
        add_copied(ddp_header, payload, length, batch);
    else
        add_referred(ddp_header, payload, length, batch);
    batch.end_fpdu();
    ++fpdus_;
}

void FpduWriter::add_copied(base::Bytes ddp_header, std::span<const base::Bytes> payload, std::uint16_t length,
                            Batch& batch) {
    const std::uint32_t size = wire::mpa_fpdu_size(length);
    std::byte* const first = batch.append(size);
    std::byte* const crc = first + size - wire::mpa_crc_size;
    base::store_be16(first, length);
    std::byte* to = copied(first + 2, ddp_header);
    for (const base::Bytes piece : payload) to = copied(to, piece);
    copied(to, base::Bytes{zeros}.first(wire::mpa_pad(length)));
    store_crc(crc, settings_.crc ? wire::crc32c({first, crc}) : 0, settings_.crc);
}

void FpduWriter::add_marked(base::Bytes ddp_header, std::span<const base::Bytes> payload, std::uint16_t length,
                            Batch& batch) {
    // All of it is copied: the markers of a long FPDU would make hundreds of pieces of it.
    const std::uint32_t plain = wire::mpa_fpdu_size(length);
    const std::uint32_t size = plain + wire::mpa_marker_size * wire::mpa_markers(plain, phase_);
    std::byte* const first = batch.append(size);
    std::byte* const crc = first + size - wire::mpa_crc_size;
    MarkedCopy copy{first, phase_};
    std::byte length_field[2];
    base::store_be16(length_field, length);
    copy.write(length_field);
    copy.write(ddp_header);
    for (const base::Bytes piece : payload) copy.write(piece);
    copy.write(base::Bytes{zeros}.first(wire::mpa_pad(length)));
    assert(copy.end() == crc);
    store_crc(crc, settings_.crc ? wire::crc32c({first, crc}) : 0, settings_.crc);
    phase_ = (phase_ + size) % wire::mpa_marker_interval;
}

void FpduWriter::add_referred(base::Bytes ddp_header, std::span<const base::Bytes> payload, std::uint16_t length,
                              Batch& batch) {
    const std::size_t head_size = 2 + ddp_header.size();
    std::byte* const head = batch.append(head_size);
    base::store_be16(head, length);
    copied(head + 2, ddp_header);
    for (const base::Bytes piece : payload) batch.append(piece);
    const std::uint32_t pad = wire::mpa_pad(length);
    std::byte* const tail = batch.append(pad + wire::mpa_crc_size);
    copied(tail, base::Bytes{zeros}.first(pad));
    wire::Crc32c crc;
    if (settings_.crc) {
        crc.update({head, head_size});
        for (const base::Bytes piece : payload) crc.update(piece);
        crc.update({tail, pad});
    }
    store_crc(tail + pad, crc.value(), settings_.crc);
}

}  // namespace iwarp::mpa
