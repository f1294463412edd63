#include "tui/view/screen.h"

namespace tui {

void draw_answers(Canvas&, Area) {}

}  // namespace tui
