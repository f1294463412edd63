#include "wire/crc32c.h"

#include <algorithm>

#include "wire/crc32c_wide.h"
#include "wire/crc_library.h"

namespace wire {

void Crc32c::update(base::Bytes bytes) {
    static const bool wide = detail::wide_crc32c_is_faster();
    if (bytes.size() >= detail::wide_crc32c_least && wide)
        bytes = bytes.subspan(detail::wide_crc32c(state_, bytes.data(), bytes.size()));
    constexpr std::size_t longest_piece = std::size_t{1} << 30;  // the library counts in int
    while (!bytes.empty()) {
        const base::Bytes piece = bytes.first(std::min(bytes.size(), longest_piece));
        state_ = detail::library_crc32c(state_, piece);
        bytes = bytes.subspan(piece.size());
    }
}

std::uint32_t crc32c(base::Bytes bytes) {
    Crc32c crc;
    crc.update(bytes);
    return crc.value();
}

}  // namespace wire
