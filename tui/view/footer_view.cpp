#include "tui/view/screen.h"

namespace tui {

void draw_footer(Canvas& canvas, Area area) { canvas.grid.text(area.x, area.y, "footer", {}, area.width); }

}  // namespace tui
