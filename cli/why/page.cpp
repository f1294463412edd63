#include "cli/why/page.h"

#include "cli/console.h"

namespace cli::why {

PageStyle style_for_terminal(int descriptor) {
    PageStyle style;
    style.columns = terminal_columns(descriptor);
    style.color = wants_color(descriptor);
    style.utf8 = writes_utf8();
    return style;
}

}  // namespace cli::why
