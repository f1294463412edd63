#pragma once
#include <vector>

#include "metrics/state.h"
#include "tui/view/pane.h"

namespace tui {

/// Where the time went, as a row of letters (letters.h), in the order of metrics::State; each state has its share of
/// the width by largest remainder. Nothing where no time passed. `dim`: letters alone, without the states' colours.
void draw_state_bar(Pane& pane, int x, int y, int width, const metrics::StateTimes& times, bool dim);

/// The states that have time in `times`, the longest first: "T transmit_new  W ack_window", as many as there is room
/// for. Returns the columns taken.
int draw_state_legend(Pane& pane, int x, int y, int width, const metrics::StateTimes& times);

}  // namespace tui
