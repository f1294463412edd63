#pragma once
#include <cstdint>
#include <deque>

#include "tui/model/timeline.h"
#include "tui/view/pane.h"

namespace tui::inline view {

/// A row of levels over the newest intervals, the latest at the right, scaled to the greatest visible one. Intervals
/// with losses or repairs have the colour of `trouble()`. With more columns than intervals, the left ones stay empty.
using PulseFigure = std::uint64_t Pulse::*;
void draw_sparkline(Pane& pane, int x, int y, int width, const std::deque<Pulse>& pulses, PulseFigure figure,
                    Role role);

/// `usual`, or the colour of the interval's problem: frames that the capture lost, repair, marks.
Role trouble(const Pulse& pulse, Role usual);

}  // namespace tui::view
