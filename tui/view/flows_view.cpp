#include "tui/view/screen.h"

namespace tui {

void draw_flows(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "flows", {}, area.width); }

}  // namespace tui
