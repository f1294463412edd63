#pragma once
#include "tui/model/workings.h"

namespace tui::inline model {

/// A key with all that there is of it: its words for help and manual, and what it does.
struct KeyRow {
    /// Where a key acts: on the view; while something lies over it; or always.
    enum class Where : std::uint8_t { view, prompt, menu, text, always };

    KeyText text;
    Where where = Where::view;
    void (*act)(Workings&) = nullptr;
};

/// All of them; keys.cpp.
std::span<const KeyRow> key_table();
/// What a key does in a view, or in what lies over it; null where it does nothing.
const KeyRow* find_key(const Key& key, View view, Overlay overlay);

/// The functions behind the keys, by where help lists them.
namespace move {
void down(Workings& w);
void up(Workings& w);
void page_down(Workings& w);
void page_up(Workings& w);
void first(Workings& w);
void last(Workings& w);
void next_flow(Workings& w);
void previous_flow(Workings& w);
void next_chart(Workings& w);
void previous_chart(Workings& w);
}  // namespace move

namespace look {
void open_row(Workings& w);
void open_host(Workings& w);
void open_packet(Workings& w);
void spread(Workings& w);
void back(Workings& w);
void next_view(Workings& w);
void previous_view(Workings& w);
template <View view>
void at(Workings& w) {
    w.go_to(view);
}
void opposite(Workings& w);
void answers(Workings& w);
void follow(Workings& w);
}  // namespace look

namespace choose {
void filter(Workings& w);
void packet_filter(Workings& w);
void window(Workings& w);
void sort_menu(Workings& w);
void sort_left(Workings& w);
void sort_right(Workings& w);
void reverse(Workings& w);
void columns(Workings& w);
void grouping(Workings& w);
void fold(Workings& w);
void unfold(Workings& w);
void turn_fold(Workings& w);
void turn_all_folds(Workings& w);
void pin(Workings& w);
/// By a click on its heading: again turns the order round.
void heading(Workings& w, std::size_t column);
}  // namespace choose

namespace time {
void pause(Workings& w);
void faster_refresh(Workings& w);
void slower_refresh(Workings& w);
void slower_playback(Workings& w);
void faster_playback(Workings& w);
void step_forward(Workings& w);
void step_back(Workings& w);
void jump(Workings& w);
/// To where a permille of the source's time has passed.
void jump_to_share(Workings& w, std::size_t permille);
/// What was typed for jump(); false where it is no time, and the prompt says why.
bool jump_to(Workings& w, const std::string& text);
}  // namespace time

namespace program {
void theme(Workings& w);
void names(Workings& w);
void save(Workings& w);
void help(Workings& w);
void quit(Workings& w);
void suspend(Workings& w);
void redraw(Workings& w);
}  // namespace program

namespace prompt {
void accept(Workings& w);
void cancel(Workings& w);
void left(Workings& w);
void right(Workings& w);
void home(Workings& w);
void end(Workings& w);
void erase_before(Workings& w);
void erase_at(Workings& w);
void erase_word(Workings& w);
void erase_all(Workings& w);
void complete(Workings& w);
void earlier(Workings& w);
void later(Workings& w);
}  // namespace prompt

namespace menu {
void down(Workings& w);
void up(Workings& w);
void page_down(Workings& w);
void page_up(Workings& w);
void first(Workings& w);
void last(Workings& w);
void toggle(Workings& w);
void accept(Workings& w);
void done(Workings& w);  ///< closes it; what was chosen is kept
void cancel(Workings& w);
void erase_letter(Workings& w);
}  // namespace menu

namespace text_overlay {
void down(Workings& w);
void up(Workings& w);
void page_down(Workings& w);
void page_up(Workings& w);
void first(Workings& w);
void last(Workings& w);
void next(Workings& w);
void previous(Workings& w);
void close(Workings& w);
}  // namespace text_overlay

}  // namespace tui::model
