#pragma once
#include <vector>

#include "metrics/figures/state.h"
#include "tui/view/pane.h"

namespace tui::inline view {

/// Where the time went, as a row of letters (letters.h), in the order of metrics::State; each state has its share of
/// the width by largest remainder. Draws nothing if no time passed. `dim`: letters only, without the states' colours.
void draw_state_bar(Pane& pane, int x, int y, int width, const metrics::StateTimes& times, bool dim);

/// Counts in `letters` those that draw_state_bar draws.
void add_state_letters(metrics::StateTimes& letters, int width, const metrics::StateTimes& times);

/// The states that have letters: "K recover nak T transmit new", as many as fit; problems first, then by share. Returns
/// the columns taken.
int draw_state_legend(Pane& pane, int x, int y, int width, const metrics::StateTimes& letters);

}  // namespace tui::view
