#include "wire/crc32c.h"

#include <algorithm>
#include <isa-l/crc.h>

namespace wire {

void Crc32c::update(Bytes bytes) {
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
