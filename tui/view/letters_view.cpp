// The letters of the time column, all of them.
#include <algorithm>
#include <array>

#include "tui/view/box.h"
#include "tui/view/figures.h"
#include "tui/view/letters.h"
#include "tui/view/screen.h"

namespace tui::inline view {

namespace {

struct StateMeaning {
    metrics::State state;
    std::string_view meaning;
};

/// What is in the way of traffic first, then what is at rest.
constexpr std::array<StateMeaning, metrics::state_count> meanings{{
    {metrics::State::transmit_new, "packets are sent for the first time"},
    {metrics::State::transmit_again, "packets are sent again"},
    {metrics::State::rnr_wait, "after an RNR NAK: no receive was posted"},
    {metrics::State::recover_nak, "a lost packet is not sent again yet, after a NAK"},
    {metrics::State::recover_timeout, "a lost packet is not sent again yet: a timer runs"},
    {metrics::State::read_window, "as many READs are open as are allowed"},
    {metrics::State::credit, "the receiver has no room: credits, TCP window"},
    {metrics::State::ack_window, "the send window is full"},
    {metrics::State::link_shared, "other flows of the host fill its link"},
    {metrics::State::congestion_paced, "the sender was asked to slow down"},
    {metrics::State::nic_stall, "a message stops, and nothing else is a reason"},
    {metrics::State::application_in_flight, "messages are open, the application gives no more"},
    {metrics::State::peer_wait, "nothing is open until the peer sends"},
    {metrics::State::application_idle, "nothing is open, nothing to send"},
    {metrics::State::unobserved, "not captured"},
}};

}  // namespace

void draw_state_letters(Canvas& canvas, Area area) {
    int words = 0;
    int text = 0;
    for (const StateMeaning& row : meanings) {
        words = std::max(words, width_of(state_words(row.state)));
        text = std::max(text, width_of(row.meaning));
    }
    const int words_at = 4;
    const int text_at = words_at + words + 2;
    const Area inside =
        draw_box(canvas, area, text_at + text + 4, static_cast<int>(meanings.size()) + 2, "Letters of the time column");
    Pane pane(canvas, inside);
    const auto page = static_cast<std::size_t>(std::max(pane.height(), 1));
    canvas.drawn.overlay_page = page;
    canvas.drawn.overlay_rows = meanings.size();
    const std::size_t most = meanings.size() > page ? meanings.size() - page : 0;
    const std::size_t top = std::min(canvas.state.overlay_place.top, most);
    draw_scroll(canvas, inside, top, meanings.size());
    for (int y = 0; y < pane.height() && top + static_cast<std::size_t>(y) < meanings.size(); ++y) {
        const StateMeaning& row = meanings[top + static_cast<std::size_t>(y)];
        pane.put(1, y, static_cast<char32_t>(state_letter(row.state)), {role_of(row.state), false, true});
        pane.text(words_at, y, state_words(row.state), {Role::title});
        pane.text(text_at, y, row.meaning, {}, pane.width() - text_at);
    }
}

}  // namespace tui::view
