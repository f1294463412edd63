#include "tui/view/screen.h"

namespace tui {

void draw_header(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "header", {}, area.width); }

}  // namespace tui
