#include "tui/view/screen.h"

namespace tui {

void draw_events(Canvas&, Area) {}

}  // namespace tui
