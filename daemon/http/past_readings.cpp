#include "daemon/http/past_readings.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace service::http {

std::optional<PastReading> PastReadings::take(TimeRange range, std::int64_t now_ns) {
    const auto begun = std::ranges::find(readings_, range, &PastReading::range);
    if (begun != readings_.end()) {
        std::optional<PastReading> reading = std::move(*begun);
        readings_.erase(begun);
        return reading;
    }
    if (readings_.size() >= most_readings) {
        // Those that are at their end first, and of these the one that was used last the longest ago.
        const auto least = std::ranges::min_element(
            readings_, {}, [](const PastReading& reading) { return std::tuple(!reading.is_whole, reading.used_ns); });
        if (!least->is_whole && now_ns - least->used_ns < patience_ns) return std::nullopt;
        readings_.erase(least);
    }
    return PastReading{.range = range, .past = Past(interval_ns_)};
}

void PastReadings::keep(PastReading&& reading, std::int64_t now_ns) {
    reading.used_ns = now_ns;
    readings_.push_back(std::move(reading));
}

void PastReadings::forget_unused(std::int64_t now_ns) {
    std::erase_if(readings_,
                  [now_ns](const PastReading& reading) { return now_ns - reading.used_ns > longest_pause_ns; });
}

}  // namespace service::http
