#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "metrics/figures/post_figures.h"

namespace metrics::inline measure::posts {

/// How many there are of something, over time. A time before the last one counts as the last one: records of two
/// threads may be a little out of order.
class Level {
public:
    void set_capacity(std::uint32_t capacity) {
        if (capacity > 0) capacity_ = capacity;
    }
    void set(std::int64_t now_ns, std::uint64_t value) {
        pass(now_ns);
        value_ = value;
        max_ = std::max(max_, value);
    }
    /// Nothing changes, but time went by. Has no effect before the first set().
    void pass(std::int64_t now_ns) {
        if (!begun_) {
            since_ns_ = now_ns;
            return;
        }
        if (now_ns <= since_ns_) return;
        const auto passed = static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(since_ns_);
        observed_ns_ += passed;
        integral_ += static_cast<double>(value_) * static_cast<double>(passed);
        if (value_ == 0) empty_ns_ += passed;
        if (capacity_ && value_ >= *capacity_) full_ns_ += passed;
        since_ns_ = now_ns;
    }
    void begin(std::int64_t now_ns) {
        if (!begun_) since_ns_ = now_ns;
        begun_ = true;
    }
    bool begun() const { return begun_; }
    std::uint64_t value() const { return value_; }
    std::optional<std::uint32_t> capacity() const { return capacity_; }

    LevelFigures figures() const {
        const double mean = observed_ns_ == 0 ? 0 : integral_ / static_cast<double>(observed_ns_);
        return {capacity_, mean, max_, observed_ns_, empty_ns_, full_ns_};
    }

private:
    std::optional<std::uint32_t> capacity_;
    std::uint64_t value_ = 0;
    std::uint64_t max_ = 0;
    std::int64_t since_ns_ = 0;
    std::uint64_t observed_ns_ = 0;
    double integral_ = 0;
    std::uint64_t empty_ns_ = 0;
    std::uint64_t full_ns_ = 0;
    bool begun_ = false;
};

}  // namespace metrics::measure::posts
