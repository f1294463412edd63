#include "tui/view/sparkline.h"

#include <algorithm>
#include <cmath>

namespace tui::inline view {

namespace {

/// By the interval's length, since not all of history's are alike.
double per_second(const Pulse& pulse, PulseFigure figure) {
    return pulse.length_ns == 0 ? 0 : static_cast<double>(pulse.*figure) * 1e9 / static_cast<double>(pulse.length_ns);
}

}  // namespace

Role trouble(const Pulse& pulse, Role usual) {
    if (pulse.dropped > 0 || pulse.naks > 0) return Role::bad;
    return pulse.resent + pulse.ce + pulse.cnps + pulse.pauses > 0 ? Role::warning : usual;
}

void draw_sparkline(Pane& pane, int x, int y, int width, const std::deque<Pulse>& pulses, PulseFigure figure,
                    Role role) {
    const std::size_t count = std::min(pulses.size(), static_cast<std::size_t>(std::max(width, 0)));
    const auto begin = pulses.end() - static_cast<std::ptrdiff_t>(count);
    double most = 0;
    for (auto pulse = begin; pulse != pulses.end(); ++pulse) most = std::max(most, per_second(*pulse, figure));
    int column = x + width - static_cast<int>(count);
    for (auto pulse = begin; pulse != pulses.end(); ++pulse) {
        const double value = per_second(*pulse, figure);
        // What is not nothing is seen.
        const auto level = value <= 0 ? std::size_t{0} : static_cast<std::size_t>(std::ceil(value / most * 8));
        pane.put(column, y, pane.letters.levels[std::min(level, std::size_t{8})], {trouble(*pulse, role)});
        ++column;
    }
}

}  // namespace tui::view
