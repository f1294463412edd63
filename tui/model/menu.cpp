// Menus: sorting, columns, groups, themes. Letters narrow what is listed.
#include <algorithm>
#include <array>

#include "tui/model/key_row.h"

namespace tui::inline model {

namespace {

constexpr std::array groupings{Grouping::none,      Grouping::source,        Grouping::destination,
                               Grouping::transport, Grouping::traffic_class, Grouping::process};

std::vector<std::string> names_of(const std::vector<Column>& columns) {
    std::vector<std::string> names;
    for (const Column& column : columns) names.push_back(column.name);
    return names;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Those on the screen, then the usual ones, then every other that there is.
std::vector<std::string> all_columns(const Controller& controller) {
    std::vector<std::string> names = names_of(controller.state.columns);
    const auto add = [&names](const std::string& name) {
        if (!is_among(names, name)) names.push_back(name);
    };
    for (const Column& column : usual_columns()) add(column.name);
    for (const auto* fields : {&exporters::brief_fields(), &exporters::flow_fields()})
        for (const exporters::FlowField& field : *fields) add(field.path);
    return names;
}

std::vector<std::string> items_of(const Controller& controller, Menu::Purpose purpose) {
    std::vector<std::string> items;
    switch (purpose) {
        case Menu::Purpose::sort:
        case Menu::Purpose::columns: return all_columns(controller);
        case Menu::Purpose::grouping:
            for (const Grouping grouping : groupings) items.emplace_back(name_of(grouping));
            break;
        case Menu::Purpose::theme:
            for (const std::string_view name : theme_names) items.emplace_back(name);
            break;
    }
    return items;
}

bool is_chosen(const Controller& controller, const std::string& item) {
    switch (controller.state.menu.purpose) {
        case Menu::Purpose::sort: return item == controller.sort_column();
        case Menu::Purpose::columns: return is_among(names_of(controller.state.columns), item);
        case Menu::Purpose::grouping: return item == name_of(controller.state.choice.grouping);
        case Menu::Purpose::theme: return item == controller.state.settings.theme;
    }
    return false;
}

void mark_chosen(Controller& controller) {
    Menu& menu = controller.state.menu;
    menu.chosen.clear();
    for (const std::string& item : menu.items) menu.chosen.push_back(is_chosen(controller, item));
}

/// Removes a column, or appends it to the others. At least one column stays.
void turn_column(Controller& controller, const std::string& name) {
    std::vector<std::string> names = names_of(controller.state.columns);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
        names.push_back(name);
    else if (names.size() > 1)
        names.erase(at);
    else
        return controller.say("a table has a column");
    controller.show_columns(std::move(names));
    mark_chosen(controller);
}

}  // namespace

void Controller::open_menu(Menu::Purpose purpose) {
    settings_before = state.settings;
    menu_items = items_of(*this, purpose);
    state.menu = {};
    state.menu.purpose = purpose;
    state.overlay = Overlay::menu;
    narrow_menu();
    const auto& chosen = state.menu.chosen;
    const auto at = std::find(chosen.begin(), chosen.end(), true);
    if (at != chosen.end() && purpose != Menu::Purpose::columns)
        state.menu.place.selected = static_cast<std::size_t>(at - chosen.begin());
    settle(state.menu.place, state.menu.items.size(), overlay_page);
}

void Controller::narrow_menu() {
    Menu& menu = state.menu;
    menu.items.clear();
    for (const std::string& item : menu_items)
        if (item.find(menu.typed) != std::string::npos) menu.items.push_back(item);
    // What begins so is rather meant than what holds it.
    std::stable_partition(menu.items.begin(), menu.items.end(),
                          [&](const std::string& item) { return item.starts_with(menu.typed); });
    menu.place = {};
    settle(menu.place, menu.items.size(), overlay_page);
    mark_chosen(*this);
}

void Controller::select_item(std::size_t item) {
    Menu& menu = state.menu;
    if (item >= menu.items.size()) return;
    menu.place.selected = item;
    settle(menu.place, menu.items.size(), overlay_page);
    // A theme is judged by seeing it.
    if (menu.purpose == Menu::Purpose::theme) use_theme(menu.items[item]);
}

/// What the item says is in force; of columns, until it is chosen again.
void Controller::choose_item(std::size_t item) {
    if (item >= state.menu.items.size()) return;
    select_item(item);
    const std::string name = state.menu.items[item];
    switch (state.menu.purpose) {
        case Menu::Purpose::sort: sort_by(name, false); break;
        case Menu::Purpose::columns: return turn_column(*this, name);
        case Menu::Purpose::grouping:
            for (const Grouping grouping : groupings)
                if (name_of(grouping) == name) group_by(grouping);
            break;
        case Menu::Purpose::theme: break;
    }
    menu::done(*this);
}

namespace menu {

namespace {
void move(Controller& controller, std::ptrdiff_t by) {
    const Place& place = controller.state.menu.place;
    if (place.count == 0) return;
    const auto last = static_cast<std::ptrdiff_t>(place.count) - 1;
    const auto to = std::clamp(static_cast<std::ptrdiff_t>(place.selected) + by, std::ptrdiff_t{0}, last);
    controller.select_item(static_cast<std::size_t>(to));
}
std::ptrdiff_t page(const Controller& controller) { return static_cast<std::ptrdiff_t>(controller.overlay_page); }
}  // namespace

void down(Controller& controller) { move(controller, 1); }
void up(Controller& controller) { move(controller, -1); }
void page_down(Controller& controller) { move(controller, page(controller)); }
void page_up(Controller& controller) { move(controller, -page(controller)); }
void first(Controller& controller) { controller.select_item(0); }
void last(Controller& controller) {
    if (controller.state.menu.place.count > 0) controller.select_item(controller.state.menu.place.count - 1);
}
void toggle(Controller& controller) { controller.choose_item(controller.state.menu.place.selected); }

void accept(Controller& controller) {
    if (controller.state.menu.purpose != Menu::Purpose::columns && !controller.state.menu.items.empty())
        return controller.choose_item(controller.state.menu.place.selected);
    done(controller);
}

void done(Controller& controller) {
    if (controller.state.settings != controller.settings_before) controller.keep();
    controller.close_overlay();
}

void cancel(Controller& controller) {
    if (controller.state.menu.purpose == Menu::Purpose::columns)
        controller.show_columns(controller.settings_before.columns);
    controller.use_theme(controller.settings_before.theme);
    controller.close_overlay();
}

void erase_letter(Controller& controller) {
    std::string& typed = controller.state.menu.typed;
    if (typed.empty()) return cancel(controller);
    typed.pop_back();
    controller.narrow_menu();
}

}  // namespace menu

}  // namespace tui::model
