#include "tui/view/theme.h"

#include <algorithm>

namespace tui::inline view {

namespace {

/// Numbers of xterm's 256 colours: 16 + 36 r + 6 g + b, r g b in 0..5, and greys from 232 on. After them the nearest of
/// the 16 colours, which terminals define as they like.
constexpr std::int16_t own = -1;
enum Ansi : std::int16_t {
    black,
    red,
    green,
    yellow,
    blue,
    magenta,
    cyan,
    white,
    bright_black,
    bright_red,
    bright_green,
    bright_yellow,
    bright_blue,
    bright_magenta,
    bright_cyan,
    bright_white
};

constexpr Paint ink(std::int16_t fore, std::int16_t fore_16, bool bold = false) {
    return {fore, own, fore_16, own, bold, false};
}
constexpr Paint block(std::int16_t fore, std::int16_t back, std::int16_t fore_16, std::int16_t back_16,
                      bool bold = false) {
    return {fore, back, fore_16, back_16, bold, false};
}
constexpr Paint reversed(bool bold = false) { return {own, own, own, own, bold, true}; }

constexpr std::size_t at(Role role) { return static_cast<std::size_t>(role); }
constexpr std::size_t at(metrics::State state) { return at(role_of(state)); }

/// After Okabe and Ito, "Color Universal Design": sky blue, bluish green, orange, yellow, vermillion, reddish
/// purple. States have the
/// colour of their group: sending is green, repair orange to red, windows blue, the fabric yellow, the application
/// grey; inside a group their letters tell them apart.
constexpr std::array<Paint, role_count> safe_paints() {
    using metrics::State;
    std::array<Paint, role_count> paints{};
    paints[at(Role::normal)] = {};
    paints[at(Role::dim)] = ink(245, bright_black);
    paints[at(Role::title)] = ink(117, bright_cyan, true);
    paints[at(Role::accent)] = ink(80, bright_cyan);
    paints[at(Role::good)] = ink(36, green);
    paints[at(Role::warning)] = ink(221, bright_yellow);
    paints[at(Role::bad)] = ink(202, bright_red, true);
    paints[at(Role::alarm)] = block(231, 160, bright_white, red, true);
    paints[at(Role::bar)] = block(252, 237, white, black);
    paints[at(Role::sorted)] = block(16, 74, black, cyan, true);
    paints[at(Role::chart)] = ink(32, cyan);
    paints[at(Role::chart_second)] = ink(182, bright_magenta);
    paints[at(Role::heat_0)] = ink(24, blue);
    paints[at(Role::heat_1)] = ink(60, bright_blue);
    paints[at(Role::heat_2)] = ink(66, cyan);
    paints[at(Role::heat_3)] = ink(102, white);
    paints[at(Role::heat_4)] = ink(143, yellow);
    paints[at(Role::heat_5)] = ink(185, bright_yellow);
    paints[at(Role::heat_6)] = ink(229, bright_white);
    paints[at(State::unobserved)] = block(247, 235, white, bright_black);
    paints[at(State::transmit_new)] = block(16, 36, black, green);
    paints[at(State::transmit_again)] = block(16, 202, black, red);
    paints[at(State::rnr_wait)] = block(16, 208, black, red);
    paints[at(State::recover_nak)] = block(231, 130, bright_white, red);
    paints[at(State::recover_timeout)] = block(231, 160, bright_white, red, true);
    paints[at(State::read_window)] = block(16, 74, black, cyan);
    paints[at(State::credit)] = block(16, 110, black, cyan);
    paints[at(State::ack_window)] = block(16, 68, black, cyan);
    paints[at(State::link_shared)] = block(16, 229, black, yellow);
    paints[at(State::congestion_paced)] = block(16, 227, black, yellow);
    paints[at(State::nic_stall)] = block(16, 221, black, yellow);
    paints[at(State::application_in_flight)] = block(255, 241, bright_white, bright_black);
    paints[at(State::peer_wait)] = block(252, 238, white, bright_black);
    paints[at(State::application_idle)] = ink(241, bright_black);
    return paints;
}

/// What terminals have had for ever: green is well, yellow is to be looked at, red is wrong.
constexpr std::array<Paint, role_count> classic_paints() {
    using metrics::State;
    std::array<Paint, role_count> paints = safe_paints();
    paints[at(Role::title)] = ink(46, bright_green, true);
    paints[at(Role::accent)] = ink(51, bright_cyan);
    paints[at(Role::good)] = ink(46, bright_green);
    paints[at(Role::warning)] = ink(226, bright_yellow);
    paints[at(Role::bad)] = ink(196, bright_red, true);
    paints[at(Role::bar)] = block(16, 34, black, green);
    paints[at(Role::sorted)] = block(16, 51, black, cyan, true);
    paints[at(Role::chart)] = ink(46, bright_green);
    paints[at(Role::chart_second)] = ink(226, bright_yellow);
    paints[at(State::transmit_new)] = block(16, 40, black, green);
    paints[at(State::transmit_again)] = block(231, 160, bright_white, red);
    paints[at(State::rnr_wait)] = block(16, 203, black, red);
    paints[at(State::recover_nak)] = block(231, 124, bright_white, red);
    paints[at(State::recover_timeout)] = block(231, 160, bright_white, red, true);
    paints[at(State::read_window)] = block(16, 45, black, cyan);
    paints[at(State::ack_window)] = block(231, 27, bright_white, blue);
    return paints;
}

/// For dark letters on a light background; the colours of `safe`, darkened.
constexpr std::array<Paint, role_count> light_paints() {
    using metrics::State;
    std::array<Paint, role_count> paints = safe_paints();
    paints[at(Role::dim)] = ink(242, bright_black);
    paints[at(Role::title)] = ink(24, blue, true);
    paints[at(Role::accent)] = ink(25, blue);
    paints[at(Role::good)] = ink(29, green);
    paints[at(Role::warning)] = ink(136, magenta, true);
    paints[at(Role::bad)] = ink(124, red, true);
    paints[at(Role::bar)] = block(16, 252, black, white);
    paints[at(Role::sorted)] = block(231, 25, bright_white, blue, true);
    paints[at(Role::chart)] = ink(24, blue);
    paints[at(Role::chart_second)] = ink(170, magenta);
    paints[at(Role::heat_0)] = ink(180, yellow);
    paints[at(Role::heat_1)] = ink(179, yellow);
    paints[at(Role::heat_2)] = ink(137, yellow);
    paints[at(Role::heat_3)] = ink(101, bright_black);
    paints[at(Role::heat_4)] = ink(66, cyan);
    paints[at(Role::heat_5)] = ink(24, blue);
    paints[at(Role::heat_6)] = ink(17, black);
    paints[at(State::unobserved)] = ink(238, black);
    paints[at(State::application_in_flight)] = block(16, 252, black, white);
    paints[at(State::peer_wait)] = block(16, 254, black, white);
    paints[at(State::application_idle)] = ink(240, bright_black);
    return paints;
}

/// No colours at all: words, letters, bold and reverse.
constexpr std::array<Paint, role_count> plain_paints() {
    using metrics::State;
    std::array<Paint, role_count> paints{};
    const Paint bold{own, own, own, own, true, false};
    for (const Role role : {Role::title, Role::accent, Role::warning, Role::bad}) paints[at(role)] = bold;
    for (const Role role : {Role::bar, Role::sorted}) paints[at(role)] = reversed();
    paints[at(Role::sorted)] = reversed(true);
    paints[at(Role::alarm)] = reversed(true);
    for (const State state : {State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout})
        paints[at(state)] = reversed(true);
    return paints;
}

constexpr std::array<Theme, theme_names.size()> all_themes{
    Theme{theme_names[0], safe_paints(), block(231, 24, bright_white, blue)},
    Theme{theme_names[1], classic_paints(), block(16, 44, black, cyan)},
    Theme{theme_names[2], light_paints(), block(16, 153, black, cyan)},
    Theme{theme_names[3], plain_paints(), reversed()},
};

}  // namespace

std::span<const Theme> themes() { return all_themes; }

const Theme* find_theme(std::string_view name) {
    const auto* const found =
        std::find_if(all_themes.begin(), all_themes.end(), [name](const Theme& theme) { return theme.name == name; });
    return found == all_themes.end() ? nullptr : found;
}

}  // namespace tui::view
