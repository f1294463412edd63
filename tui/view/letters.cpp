#include "tui/view/letters.h"

#include <algorithm>

namespace tui::inline view {

const Letters utf8_letters{
    true,
    {U' ', U'▁', U'▂', U'▃', U'▄', U'▅', U'▆', U'▇', U'█'},
    {U' ', U'░', U'▒', U'▓', U'█'},
    U'─',
    U'│',
    U'┌',
    U'┐',
    U'└',
    U'┘',
    U'…',
    U'▲',
    U'▼',
    U'●',
    U'▸',
    U'▾',
    U'▶',
    U'‖',
    U'•',
    "→",
    "←",
};

const Letters ascii_letters{
    false,
    {' ', '_', '.', ',', '-', '=', '+', '*', '#'},
    {' ', '.', ':', 'x', '#'},
    U'-',
    U'|',
    U'+',
    U'+',
    U'+',
    U'+',
    U'~',
    U'^',
    U'v',
    U'*',
    U'+',
    U'-',
    U'>',
    U'=',
    U'*',
    ">",
    "<",
    false,
};

char state_letter(metrics::State state) {
    using metrics::State;
    switch (state) {
        case State::unobserved: return '?';
        case State::transmit_new: return 'T';
        case State::transmit_again: return 'R';
        case State::rnr_wait: return 'N';
        case State::recover_nak: return 'K';
        case State::recover_timeout: return 'O';
        case State::read_window: return 'D';
        case State::credit: return 'C';
        case State::ack_window: return 'W';
        case State::link_shared: return 'L';
        case State::congestion_paced: return 'G';
        case State::nic_stall: return 'S';
        case State::application_in_flight: return 'a';
        case State::peer_wait: return 'p';
        case State::application_idle: return '.';
    }
    return '?';
}

std::string state_words(metrics::State state) {
    std::string text(metrics::short_name_of(state));
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

}  // namespace tui::view
