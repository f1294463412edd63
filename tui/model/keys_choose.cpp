// Keys that choose what the tables show, and in which order.
#include <algorithm>
#include <fmt/core.h>

#include "tui/model/key_row.h"

namespace tui::inline model::choose {

namespace {

void sort(Controller& controller, const std::string& column, bool turned) {
    controller.sort_by(column, turned);
    controller.keep();
    controller.say(
        fmt::format("by {}, {}", column, controller.state.choice.order.descending ? "downwards" : "upwards"));
}

void sort_by_neighbour(Controller& controller, std::ptrdiff_t step) {
    const auto& columns = controller.state.columns;
    const std::string now = controller.sort_column();
    const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == now; });
    const auto count = std::ssize(columns);
    // From a column that is not shown one comes to the first.
    const auto next = at == columns.end() ? 0 : (at - columns.begin() + step + count) % count;
    sort(controller, columns[static_cast<std::size_t>(next)].name, false);
}

/// The heading of the group that the selected row belongs to; null where there are no groups.
const FlowLine* group_of_row(const Controller& controller) {
    const auto& lines = controller.state.list.lines();
    for (std::size_t at = controller.state.place().selected + 1; at-- > 0;)
        if (at < lines.size() && lines[at].group) return &lines[at];
    return nullptr;
}

void set_fold(Controller& controller, bool (*wanted)(bool)) {
    const FlowLine* group = group_of_row(controller);
    if (group == nullptr) return controller.say("there are no groups; u makes them");
    const std::string title = *group->title;
    const bool folded = group->folded;
    if (wanted(folded) == folded) return controller.say(folded ? "it is folded" : "it is unfolded");
    // A row that goes with its group leaves the selection to the heading.
    controller.select(View::flows, static_cast<std::size_t>(group - controller.state.list.lines().data()));
    if (folded)
        controller.state.choice.folded.erase(title);
    else
        controller.state.choice.folded.insert(title);
    controller.rebuild();
}

}  // namespace

void filter(Controller& controller) { controller.open_prompt(Prompt::Purpose::filter, controller.state.filter_text); }
void packet_filter(Controller& controller) {
    controller.open_prompt(Prompt::Purpose::packet_filter, controller.state.packet_filter_text);
}

void window(Controller& controller) {
    const bool all = controller.state.choice.window == Window::interval;
    controller.show_window(all ? Window::total : Window::interval);
    controller.keep();
    controller.say(all ? "figures since the beginning" : "figures of the last interval");
}

void only_problems(Controller& controller) {
    const bool only = !controller.state.choice.only_problems;
    if (only && controller.state.list.problems() == 0) return controller.say("no flow has a problem");
    controller.show_only_problems(only);
    controller.say(only ? "only flows with a problem; ! shows all" : "all flows");
}

void sort_menu(Controller& controller) { controller.open_menu(Menu::Purpose::sort); }
void columns(Controller& controller) { controller.open_menu(Menu::Purpose::columns); }
void grouping(Controller& controller) { controller.open_menu(Menu::Purpose::grouping); }
void sort_left(Controller& controller) { sort_by_neighbour(controller, -1); }
void sort_right(Controller& controller) { sort_by_neighbour(controller, 1); }
void reverse(Controller& controller) {
    sort(controller, controller.sort_column(), !controller.state.settings.sort.starts_with('-'));
}

void heading(Controller& controller, std::size_t column) {
    if (column >= controller.state.columns.size()) return;
    const std::string name = controller.state.columns[column].name;
    if (name == controller.sort_column()) return reverse(controller);
    sort(controller, name, false);
}

void fold(Controller& controller) {
    set_fold(controller, [](bool) { return true; });
}
void unfold(Controller& controller) {
    set_fold(controller, [](bool) { return false; });
}
void turn_fold(Controller& controller) {
    set_fold(controller, [](bool folded) { return !folded; });
}

void turn_all_folds(Controller& controller) {
    std::set<std::string> titles;
    for (const FlowLine& line : controller.state.list.lines())
        if (line.group) titles.insert(*line.title);
    if (titles.empty()) return controller.say("there are no groups; u makes them");
    if (const FlowLine* group = group_of_row(controller))
        controller.select(View::flows, static_cast<std::size_t>(group - controller.state.list.lines().data()));
    const bool any_open = !std::includes(controller.state.choice.folded.begin(), controller.state.choice.folded.end(),
                                         titles.begin(), titles.end());
    controller.state.choice.folded = any_open ? std::move(titles) : std::set<std::string>{};
    controller.rebuild();
}

void pin(Controller& controller) {
    const auto id = controller.selected_flow();
    if (!id) return controller.say("only flows can be pinned");
    auto& pinned = controller.state.choice.pinned;
    const bool fresh = pinned.insert(*id).second;
    if (!fresh) pinned.erase(*id);
    controller.rebuild();
    controller.say(fresh ? "pinned to the top" : "no longer pinned");
}

}  // namespace tui::model::choose
