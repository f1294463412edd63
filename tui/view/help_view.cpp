#include "tui/view/screen.h"

namespace tui {

void draw_help(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "help", {}, area.width); }

}  // namespace tui
