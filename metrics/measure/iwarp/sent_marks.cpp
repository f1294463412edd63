#include "metrics/measure/iwarp/sent_marks.h"

#include <algorithm>

#include "base/clock.h"

namespace metrics::inline measure::iwarp {

namespace {
constexpr std::uint64_t furthest_ns = 0xffffffff;
constexpr std::uint8_t most_shift = 6;
}  // namespace

/// Lets times count from the oldest mark. False where even that is too long ago.
bool SentMarks::rebase(std::int64_t now_ns) {
    if (count_ == 0) {
        base_ns_ = now_ns;
        return true;
    }
    const std::uint32_t oldest = at(0).after_ns;
    for (std::uint8_t i = 0; i < count_; ++i) at(i).after_ns -= std::min(oldest, at(i).after_ns);
    base_ns_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(base_ns_) + oldest);
    return base::elapsed(base_ns_, now_ns) <= furthest_ns;
}

void SentMarks::thin_out() {
    for (std::uint8_t i = 0; i < capacity / 2; ++i) at(i) = at(static_cast<std::uint8_t>(2 * i + 1));
    count_ = capacity / 2;
}

void SentMarks::sent(std::uint64_t end, std::int64_t now_ns) {
    if (count_ == 0 && shift_ != 0) --shift_;
    if (++skipped_ < 1u << shift_) return;
    skipped_ = 0;
    if (count_ == capacity) {
        if (shift_ == most_shift) return;
        ++shift_;
        thin_out();
    }
    if ((count_ == 0 || base::elapsed(base_ns_, now_ns) > furthest_ns) && !rebase(now_ns)) return;
    at(count_++) = {static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(base::elapsed(base_ns_, now_ns))};
}

std::optional<std::uint64_t> SentMarks::acknowledged(std::uint64_t position, std::int64_t now_ns) {
    const auto low = static_cast<std::uint32_t>(position);
    Mark youngest;
    bool any = false;
    while (count_ != 0 && static_cast<std::int32_t>(at(0).end - low) <= 0) {
        youngest = at(0);
        any = true;
        head_ = static_cast<std::uint8_t>((head_ + 1) % capacity);
        --count_;
    }
    if (!any || youngest.end != low) return std::nullopt;
    const std::uint64_t now = base::elapsed(base_ns_, now_ns);
    if (now_ns < base_ns_ || now < youngest.after_ns) return std::nullopt;
    return now - youngest.after_ns;
}

}  // namespace metrics::measure::iwarp
