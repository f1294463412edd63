#include "tui/view/state_bar.h"

#include <algorithm>

#include "tui/view/figures.h"

namespace tui {

void draw_state_bar(Pane& pane, int x, int y, int width, const metrics::StateTimes& times, bool dim) {
    const std::vector<int> columns = deal(times.data(), times.size(), width);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto state = static_cast<metrics::State>(i);
        const Style style{dim ? Role::dim : role_of(state)};
        for (int left = columns[i]; left > 0; --left)
            pane.put(x++, y, static_cast<char32_t>(state_letter(state)), style);
    }
}

int draw_state_legend(Pane& pane, int x, int y, int width, const metrics::StateTimes& times) {
    std::vector<metrics::State> states;
    for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] > 0) states.push_back(static_cast<metrics::State>(i));
    std::stable_sort(states.begin(), states.end(), [&times](metrics::State a, metrics::State b) {
        return times[metrics::index_of(a)] > times[metrics::index_of(b)];
    });
    const int begin = x;
    for (const metrics::State state : states) {
        const std::string_view name = metrics::name_of(state);
        if (x - begin + 2 + width_of(name) > width) break;
        pane.put(x, y, static_cast<char32_t>(state_letter(state)), {role_of(state)});
        pane.text(x + 2, y, name, {Role::dim});
        x += 2 + width_of(name) + 2;
    }
    return x - begin;
}

}  // namespace tui
