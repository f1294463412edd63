#include "tui/view/screen.h"

namespace tui {

void draw_menu(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "menu", {}, area.width); }

}  // namespace tui
