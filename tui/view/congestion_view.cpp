#include "tui/view/screen.h"

namespace tui {

void draw_congestion(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "congestion", {}, area.width); }

}  // namespace tui
