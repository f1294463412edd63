#pragma once
#include "tui/model/event_list.h"
#include "tui/view/pane.h"

namespace tui::inline view {

/// The time of its first frame, "02:14:21.115"; if that is unknown, the interval: "02:14:20 - 21".
std::string time_text(const EventLine& event);
/// Frames in the form that a user types: "frame 17", "frames 17 18 ...".
std::string frames_text(const EventLine& event);
/// An event of one flow as a row: time, kind, count, and frames. `opposite`: of the other direction.
void draw_event(Pane& pane, int y, const EventLine& event, bool opposite);

}  // namespace tui::view
