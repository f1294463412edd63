#include "tui/view/screen.h"

namespace tui {

void draw_counters(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "counters", {}, area.width); }

}  // namespace tui
