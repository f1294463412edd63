// What a user has chosen, in force and among the settings.
#include <algorithm>
#include <fmt/core.h>

#include "tui/model/controller.h"

namespace tui::inline model {

void Controller::sort_by(const std::string& column, bool turned) {
    const auto found = column_named(column);
    if (!found) return;
    const bool ranked = static_cast<bool>(found->field->rank);
    const bool downwards = ranked || !exporters::is_left_aligned(found->field->unit);
    state.choice.order = {found->field, downwards != turned, ranked ? exporters::worst_first().then : nullptr};
    state.settings.sort = (turned ? "-" : "") + found->name;
    rebuild();
}

std::string Controller::sort_column() const {
    const std::string& sort = state.settings.sort;
    const std::string column = sort.substr(sort.starts_with('-') ? 1 : 0);
    return column.empty() ? std::string(usual_sort) : column;
}

void Controller::show_columns(std::vector<std::string> column_names) {
    state.settings.columns = std::move(column_names);
    state.columns = columns_of(state.settings.columns);
}

void Controller::show_only_problems(bool only) {
    state.choice.only_problems = only;
    held[static_cast<std::size_t>(View::flows)] = false;
    rebuild();
}

void Controller::group_by(Grouping grouping) {
    state.settings.grouping = grouping;
    state.choice.grouping = grouping;
    state.choice.folded.clear();
    rebuild();
}

void Controller::show_window(Window window) {
    window_chosen = true;
    state.settings.window = window;
    state.choice.window = window;
    rebuild();
}

void Controller::use_theme(const std::string& name) {
    if (state.settings.theme == name) return;
    state.settings.theme = name;
    ask(Request::Kind::theme);
}

}  // namespace tui::model
