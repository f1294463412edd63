#include "upper/connection_repairs.h"

#include <algorithm>
#include <utility>

namespace upper {

Repair& Repairs::begin(std::int64_t begin_ns) {
    ++serial_;
    if (serial_ == 0) ++serial_;
    if (repairs_.empty()) repairs_.resize(kept);
    Repair& repair = repairs_[serial_ % kept];
    repair = {serial_, begin_ns, begin_ns, false};
    return repair;
}

const Repair* Repairs::find(std::uint32_t serial) const {
    if (repairs_.empty()) return nullptr;
    const Repair& repair = repairs_[serial % kept];
    return serial != 0 && repair.serial == serial ? &repair : nullptr;
}

Repair* Repairs::find(std::uint32_t serial) { return const_cast<Repair*>(std::as_const(*this).find(serial)); }

std::uint64_t Repairs::within(std::int64_t begin_ns, std::int64_t end_ns) const {
    std::array<std::pair<std::int64_t, std::int64_t>, kept> spans;
    std::size_t count = 0;
    for (const Repair& repair : repairs_) {
        if (repair.serial == 0 || !repair.is_sure) continue;
        const std::int64_t from = std::max(begin_ns, repair.begin_ns);
        const std::int64_t to = std::min(end_ns, repair.end_ns);
        if (from < to) spans[count++] = {from, to};
    }
    if (count == 0) return 0;
    std::sort(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(count));
    std::uint64_t sum = 0;
    std::int64_t reached = begin_ns;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t from = std::max(reached, spans[i].first);
        if (spans[i].second <= from) continue;
        sum += static_cast<std::uint64_t>(spans[i].second - from);
        reached = spans[i].second;
    }
    return sum;
}

}  // namespace upper
