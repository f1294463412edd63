#include "tui/view/screen.h"

namespace tui {

void draw_flow(Canvas&, Area) {}

}  // namespace tui
