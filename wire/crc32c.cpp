#include "wire/crc32c.h"

#include <algorithm>
#include <isa-l/crc.h>

#include "wire/crc32c_wide.h"

namespace wire {

void Crc32c::update(Bytes bytes) {
    static const bool wide = detail::wide_crc32c_is_faster();
    if (bytes.size() >= detail::wide_crc32c_least && wide)
        bytes = bytes.subspan(detail::wide_crc32c(state_, bytes.data(), bytes.size()));
    constexpr std::size_t longest_piece = std::size_t{1} << 30;  // the library counts in int
    while (!bytes.empty()) {
        const Bytes piece = bytes.first(std::min(bytes.size(), longest_piece));
        // The library takes a pointer to non-const but only reads.
        auto* first = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
        state_ = crc32_iscsi(first, static_cast<int>(piece.size()), state_);
        bytes = bytes.subspan(piece.size());
    }
}

std::uint32_t crc32c(Bytes bytes) {
    Crc32c crc;
    crc.update(bytes);
    return crc.value();
}

}  // namespace wire
