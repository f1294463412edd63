#pragma once
#include "tui/model/controller.h"

namespace tui::inline model {

/// A key with everything about it: its words for help and manual, and its action.
struct KeyRow {
    /// Where a key acts: on the view; while something lies over it; or always.
    enum class Where : std::uint8_t { view, prompt, menu, text, always };

    KeyText text;
    Where where = Where::view;
    void (*act)(Controller&) = nullptr;
};

/// All of them; keys.cpp.
std::span<const KeyRow> key_table();
/// The row of a key in a view, or in what lies over it; null if the key does nothing.
const KeyRow* find_key(const Key& key, View view, Overlay overlay);

/// The functions of the keys, in the order in which help lists them.
namespace move {
void down(Controller& controller);
void up(Controller& controller);
void page_down(Controller& controller);
void page_up(Controller& controller);
void first(Controller& controller);
void last(Controller& controller);
void next_flow(Controller& controller);
void previous_flow(Controller& controller);
void next_chart(Controller& controller);
void previous_chart(Controller& controller);
}  // namespace move

namespace look {
void open_row(Controller& controller);
void open_event(Controller& controller);
void packets(Controller& controller);
void open_host(Controller& controller);
void open_packet(Controller& controller);
void spread(Controller& controller);
void back(Controller& controller);
void next_view(Controller& controller);
void previous_view(Controller& controller);
template <View view>
void at(Controller& controller) {
    controller.go_to(view);
}
void opposite(Controller& controller);
void next_problem(Controller& controller);
void answers(Controller& controller);
void follow(Controller& controller);
}  // namespace look

namespace choose {
void filter(Controller& controller);
void packet_filter(Controller& controller);
void window(Controller& controller);
void sort_menu(Controller& controller);
void sort_left(Controller& controller);
void sort_right(Controller& controller);
void reverse(Controller& controller);
void columns(Controller& controller);
void grouping(Controller& controller);
void only_problems(Controller& controller);
void fold(Controller& controller);
void unfold(Controller& controller);
void turn_fold(Controller& controller);
void turn_all_folds(Controller& controller);
void pin(Controller& controller);
/// A click on a heading: a second click reverses the order.
void heading(Controller& controller, std::size_t column);
}  // namespace choose

namespace time {
void pause(Controller& controller);
void faster_refresh(Controller& controller);
void slower_refresh(Controller& controller);
void slower_playback(Controller& controller);
void faster_playback(Controller& controller);
void step_forward(Controller& controller);
void step_back(Controller& controller);
void jump(Controller& controller);
/// Jumps to a permille of the source's time.
void jump_to_share(Controller& controller, std::size_t permille);
/// Jumps to the typed time; fails if the text is not a time.
base::Result<void> jump_to(Controller& controller, const std::string& text);
}  // namespace time

namespace program {
void theme(Controller& controller);
void names(Controller& controller);
void save(Controller& controller);
void help(Controller& controller);
void letters(Controller& controller);
void quit(Controller& controller);
void suspend(Controller& controller);
void redraw(Controller& controller);
}  // namespace program

namespace prompt {
void accept(Controller& controller);
void cancel(Controller& controller);
void left(Controller& controller);
void right(Controller& controller);
void home(Controller& controller);
void end(Controller& controller);
void erase_before(Controller& controller);
void erase_at(Controller& controller);
void erase_word(Controller& controller);
void erase_all(Controller& controller);
void complete(Controller& controller);
void earlier(Controller& controller);
void later(Controller& controller);
}  // namespace prompt

namespace menu {
void down(Controller& controller);
void up(Controller& controller);
void page_down(Controller& controller);
void page_up(Controller& controller);
void first(Controller& controller);
void last(Controller& controller);
void toggle(Controller& controller);
void accept(Controller& controller);
void done(Controller& controller);  ///< closes it and keeps the choices
void cancel(Controller& controller);
void erase_letter(Controller& controller);
}  // namespace menu

namespace text_overlay {
void down(Controller& controller);
void up(Controller& controller);
void page_down(Controller& controller);
void page_up(Controller& controller);
void first(Controller& controller);
void last(Controller& controller);
void next(Controller& controller);
void previous(Controller& controller);
void open_evidence(Controller& controller);
void next_evidence(Controller& controller);
void close(Controller& controller);
}  // namespace text_overlay

}  // namespace tui::model
