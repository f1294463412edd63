#pragma once
#include <array>
#include <cstdint>

namespace metrics::inline measure::iwarp {

/// The values that distinguish a segment doubled by the network from one sent again.
struct SegmentPrint {
    std::uint32_t sequence = 0;
    std::uint32_t length = 0;  ///< 0: unused
    std::uint16_t checksum = 0;
    std::uint16_t identification = 0;

    friend bool operator==(const SegmentPrint&, const SegmentPrint&) = default;
};

/// The prints of the latest segments of a direction.
class SegmentPrints {
public:
    void add(const SegmentPrint& print) { prints_[next_++ % prints_.size()] = print; }
    bool contain(const SegmentPrint& print) const {
        for (const SegmentPrint& one : prints_)
            if (one == print) return true;
        return false;
    }

private:
    std::array<SegmentPrint, 4> prints_{};
    std::uint8_t next_ = 0;
};

}  // namespace metrics::measure::iwarp
