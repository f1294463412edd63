#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"

namespace service {

/// The time by the clocks that stamp frames, for each interface by its own: an adapter's clock may be hours from the
/// machine's, and a flow is idle by the clock that stamped it. Steady times are those of a clock that never steps.
class CaptureTime {
public:
    /// Frames of this interface came; `frame_ns` is the time of the last one.
    void passed(std::uint32_t interface, std::int64_t frame_ns, std::int64_t steady_ns) {
        if (interface >= clocks_.size()) clocks_.resize(interface + 1);
        clocks_[interface] = {frame_ns, steady_ns, true};
    }
    /// Frames with an earlier time than this came before the last `idle_ns`, on any interface. If one interface's clock
    /// is late, flows of the other interfaces are kept for longer; interfaces that were silent for all of that time
    /// have no flows left. Before the first frame, `wall_ns` counts.
    std::int64_t idle_since(std::int64_t steady_ns, std::int64_t wall_ns, std::uint64_t idle_ns) const {
        std::int64_t first = base::end_of_time;
        std::int64_t last = base::beginning_of_time;
        bool any = false;
        for (const Clock& clock : clocks_) {
            if (!clock.known) continue;
            const auto silent_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(steady_ns - clock.steady_ns, 0));
            const std::int64_t now_ns = base::later(clock.frame_ns, silent_ns);
            last = std::max(last, now_ns);
            any = true;
            if (silent_ns <= idle_ns) first = std::min(first, now_ns);
        }
        if (!any) return base::earlier(wall_ns, idle_ns);
        return base::earlier(first == base::end_of_time ? last : first, idle_ns);
    }

private:
    struct Clock {
        std::int64_t frame_ns = 0;
        std::int64_t steady_ns = 0;
        bool known = false;
    };
    std::vector<Clock> clocks_ = {};
};

}  // namespace service
