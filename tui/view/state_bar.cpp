#include "tui/view/state_bar.h"

#include <algorithm>

#include "tui/view/figures.h"

namespace tui::inline view {

void draw_state_bar(Pane& pane, int x, int y, int width, const metrics::StateTimes& times, bool dim) {
    const std::vector<int> columns = deal(times.data(), times.size(), width);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto state = static_cast<metrics::State>(i);
        const Style style{dim ? Role::dim : role_of(state)};
        for (int left = columns[i]; left > 0; --left)
            pane.put(x++, y, static_cast<char32_t>(state_letter(state)), style);
    }
}

namespace {

/// States that block traffic come before states that are no problem.
int rank_of(metrics::State state) {
    switch (metrics::group_of(state)) {
        case metrics::StateGroup::recover: return 0;
        case metrics::StateGroup::window: return 1;
        case metrics::StateGroup::fabric: return 2;
        default: return 3;
    }
}

}  // namespace

void add_state_letters(metrics::StateTimes& letters, int width, const metrics::StateTimes& times) {
    const std::vector<int> columns = deal(times.data(), times.size(), width);
    for (std::size_t i = 0; i < columns.size(); ++i) letters[i] += static_cast<std::uint64_t>(columns[i]);
}

int draw_state_legend(Pane& pane, int x, int y, int width, const metrics::StateTimes& letters) {
    std::vector<metrics::State> states;
    for (std::size_t i = 0; i < letters.size(); ++i)
        if (letters[i] > 0) states.push_back(static_cast<metrics::State>(i));
    std::stable_sort(states.begin(), states.end(), [&letters](metrics::State a, metrics::State b) {
        if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
        return letters[metrics::index_of(a)] > letters[metrics::index_of(b)];
    });
    const int begin = x;
    for (const metrics::State state : states) {
        const std::string words = state_words(state);
        // One that is too long leaves its room to a shorter one.
        if (x - begin + 2 + width_of(words) > width) continue;
        pane.put(x, y, static_cast<char32_t>(state_letter(state)), {role_of(state)});
        pane.text(x + 2, y, words, {Role::dim});
        x += 2 + width_of(words) + 2;
    }
    return x - begin;
}

}  // namespace tui::view
