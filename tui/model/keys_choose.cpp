// Keys that choose what the tables show, and in which order.
#include <algorithm>
#include <fmt/core.h>

#include "tui/model/key_row.h"

namespace tui::inline model::choose {

namespace {

void sort(Workings& w, const std::string& column, bool turned) {
    w.sort_by(column, turned);
    w.keep();
    w.say(fmt::format("by {}, {}", column, w.state.choice.order.descending ? "downwards" : "upwards"));
}

void sort_by_neighbour(Workings& w, std::ptrdiff_t step) {
    const auto& columns = w.state.columns;
    const std::string now = w.sort_column();
    const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == now; });
    const auto count = std::ssize(columns);
    // From a column that is not shown one comes to the first.
    const auto next = at == columns.end() ? 0 : (at - columns.begin() + step + count) % count;
    sort(w, columns[static_cast<std::size_t>(next)].name, false);
}

/// The heading of the group that the selected row belongs to; null where there are no groups.
const FlowLine* group_of_row(const Workings& w) {
    const auto& lines = w.state.list.lines();
    for (std::size_t at = w.state.place().selected + 1; at-- > 0;)
        if (at < lines.size() && lines[at].group) return &lines[at];
    return nullptr;
}

void set_fold(Workings& w, bool (*wanted)(bool)) {
    const FlowLine* group = group_of_row(w);
    if (group == nullptr) return w.say("there are no groups; u makes them");
    const std::string title = group->title;
    const bool folded = group->folded;
    if (wanted(folded) == folded) return w.say(folded ? "it is folded" : "it is unfolded");
    // A row that goes with its group leaves the selection to the heading.
    w.select(View::flows, static_cast<std::size_t>(group - w.state.list.lines().data()));
    if (folded)
        w.state.choice.folded.erase(title);
    else
        w.state.choice.folded.insert(title);
    w.rebuild();
}

}  // namespace

void filter(Workings& w) { w.open_prompt(Prompt::Purpose::filter, w.state.filter_text); }
void packet_filter(Workings& w) { w.open_prompt(Prompt::Purpose::packet_filter, w.state.packet_filter_text); }

void window(Workings& w) {
    const bool all = w.state.choice.window == Window::interval;
    w.show_window(all ? Window::total : Window::interval);
    w.keep();
    w.say(all ? "figures since the beginning" : "figures of the last interval");
}

void sort_menu(Workings& w) { w.open_menu(Menu::Purpose::sort); }
void columns(Workings& w) { w.open_menu(Menu::Purpose::columns); }
void grouping(Workings& w) { w.open_menu(Menu::Purpose::grouping); }
void sort_left(Workings& w) { sort_by_neighbour(w, -1); }
void sort_right(Workings& w) { sort_by_neighbour(w, 1); }
void reverse(Workings& w) { sort(w, w.sort_column(), !w.state.settings.sort.starts_with('-')); }

void heading(Workings& w, std::size_t column) {
    if (column >= w.state.columns.size()) return;
    const std::string name = w.state.columns[column].name;
    if (name == w.sort_column()) return reverse(w);
    sort(w, name, false);
}

void fold(Workings& w) {
    set_fold(w, [](bool) { return true; });
}
void unfold(Workings& w) {
    set_fold(w, [](bool) { return false; });
}
void turn_fold(Workings& w) {
    set_fold(w, [](bool folded) { return !folded; });
}

void turn_all_folds(Workings& w) {
    std::set<std::string> titles;
    for (const FlowLine& line : w.state.list.lines())
        if (line.group) titles.insert(line.title);
    if (titles.empty()) return w.say("there are no groups; u makes them");
    if (const FlowLine* group = group_of_row(w))
        w.select(View::flows, static_cast<std::size_t>(group - w.state.list.lines().data()));
    const bool any_open =
        !std::includes(w.state.choice.folded.begin(), w.state.choice.folded.end(), titles.begin(), titles.end());
    w.state.choice.folded = any_open ? std::move(titles) : std::set<std::string>{};
    w.rebuild();
}

void pin(Workings& w) {
    const auto id = w.selected_flow();
    if (!id) return w.say("only flows can be pinned");
    auto& pinned = w.state.choice.pinned;
    const bool fresh = pinned.insert(*id).second;
    if (!fresh) pinned.erase(*id);
    w.rebuild();
    w.say(fresh ? "pinned to the top" : "no longer pinned");
}

}  // namespace tui::model::choose
