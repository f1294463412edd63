#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "metrics/figures/histogram.h"

namespace exporters::prometheus {

/// Power-of-two seconds, 2^-20 (1 us) to 2^4 (16 s), from nanoseconds in steps of 1/64 to each power of two. The bounds
/// do not coincide: a step goes where its midpoint is, so a bound is kept to half a step, that is to 0.8 %.
struct LatencyBuckets {
    static constexpr int first_power = -20;
    static constexpr int last_power = 4;
    static constexpr std::size_t bounds = last_power - first_power + 1;

    static double bound_seconds(std::size_t i) { return std::ldexp(1.0, first_power + static_cast<int>(i)); }

    std::array<std::uint64_t, bounds + 1> counts{};  ///< not cumulative; the last is beyond all bounds
    std::uint64_t count = 0;
    std::uint64_t sum_ns = 0;

    void add(const metrics::Histogram& histogram_ns) {
        for (const auto& bucket : histogram_ns.buckets()) {
            counts[place_of(bucket.index)] += bucket.count;
            count += bucket.count;
        }
        sum_ns += histogram_ns.sum();
    }

    static std::size_t place_of(unsigned index) {
        const double seconds = static_cast<double>(metrics::HistogramBuckets::representative(index)) * 1e-9;
        std::size_t i = 0;
        while (i < bounds && seconds > bound_seconds(i)) ++i;
        return i;
    }
};

}  // namespace exporters::prometheus
