// A list to choose from, over the view.
#include <fmt/core.h>

#include "tui/view/box.h"
#include "tui/view/screen.h"
#include "tui/view/table.h"

namespace tui::inline view {

namespace {

std::string_view title_of(Menu::Purpose purpose) {
    switch (purpose) {
        case Menu::Purpose::sort: return "Sort by";
        case Menu::Purpose::columns: return "Columns";
        case Menu::Purpose::grouping: return "Group by";
        case Menu::Purpose::theme: return "Colours";
    }
    return "";
}

std::string item_text(const Menu& menu, std::size_t index) {
    const bool chosen = index < menu.chosen.size() && menu.chosen[index];
    if (menu.purpose == Menu::Purpose::columns) return fmt::format("[{}] {}", chosen ? 'x' : ' ', menu.items[index]);
    return fmt::format("({}) {}", chosen ? '*' : ' ', menu.items[index]);
}

}  // namespace

void draw_menu(Canvas& canvas, Area area) {
    const Menu& menu = canvas.state.menu;
    const std::string title = menu.typed.empty() ? std::string(title_of(menu.purpose))
                                                 : fmt::format("{}: {}", title_of(menu.purpose), menu.typed);
    int width = std::max(width_of(title) + 4, 40);
    for (std::size_t i = 0; i < menu.items.size(); ++i) width = std::max(width, width_of(item_text(menu, i)));
    // While it is narrowed it stays where it is.
    const auto count = static_cast<int>(std::clamp<std::size_t>(menu.items.size(), 1, 1000));
    const int wanted = menu.typed.empty() ? count : area.height;
    const Area inside = draw_box(canvas, area, width + 4, wanted + 2, title);
    Pane pane(canvas, inside);
    canvas.drawn.overlay_page = static_cast<std::size_t>(std::max(pane.height(), 1));
    canvas.drawn.overlay_rows = menu.items.size();
    if (menu.items.empty()) pane.text(1, 0, "nothing has these letters", {Role::dim});
    const PageOfRows page = page_of(menu.place, menu.items.size(), pane.height());
    draw_scroll(canvas, inside, page.first, menu.items.size());
    for (std::size_t i = page.first; i < page.last; ++i) {
        const int y = static_cast<int>(i - page.first);
        const bool chosen = i < menu.chosen.size() && menu.chosen[i];
        pane.text(1, y, item_text(menu, i), {chosen ? Role::accent : Role::normal}, pane.width() - 2);
        if (i == menu.place.selected) pane.select(0, y, pane.width());
        pane.hit(Hit::Target::item, 0, y, pane.width(), i);
    }
}

}  // namespace tui::view
