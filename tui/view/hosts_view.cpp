#include "tui/view/screen.h"

namespace tui {

void draw_hosts(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "hosts", {}, area.width); }

}  // namespace tui
