#include "tui/view/screen.h"

namespace tui {

void draw_packets(Canvas&, Area) {}

}  // namespace tui
