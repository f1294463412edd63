#pragma once
#include "tui/model/event_list.h"
#include "tui/view/pane.h"

namespace tui::inline view {

/// When its first frame came, "02:14:21.115"; where that is not known, the interval: "02:14:20 - 21".
std::string time_text(const EventLine& event);
/// Frames as the user types them: "frame 17", "frames 17 18 ...".
std::string frames_text(const EventLine& event);
/// An event of one flow in a row: when, what, how often, and its frames. `opposite`: of the other direction.
void draw_event(Pane& pane, int y, const EventLine& event, bool opposite);

}  // namespace tui::view
