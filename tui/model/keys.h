#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tui::inline model {

/// A key as the terminal gives it: a character, or one of these.
enum class Named : std::uint8_t {
    none,  ///< `character` counts
    up,
    down,
    left,
    right,
    page_up,
    page_down,
    home,
    end,
    enter,
    escape,
    tab,
    back_tab,
    backspace,
    remove,     ///< Delete
    interrupt,  ///< Ctrl-C
    redraw,     ///< Ctrl-L
};

struct Key {
    Named named = Named::none;
    char32_t character = 0;
    bool operator==(const Key&) const = default;
};
constexpr Key key(char32_t character) { return {Named::none, character}; }
constexpr Key key(Named named) { return {named, 0}; }

struct Mouse {
    enum class Action : std::uint8_t { press, double_press, scroll_up, scroll_down } action = Action::press;
    int x = 0;  ///< column, from 0
    int y = 0;  ///< row, from 0
};

/// The screens, in the order of Tab and of the digits.
enum class View : std::uint8_t { flows, hosts, congestion, events, packets, counters, io, paths, flow };
inline constexpr std::size_t view_count = 9;
std::string_view name_of(View view);
constexpr std::uint32_t bit_of(View view) { return 1U << static_cast<unsigned>(view); }

/// What a key does. Derived from the table of keys in keys.cpp, which also has each key's function.
struct KeyText {
    std::string_view keys;   ///< as help shows them: "j, Down"
    std::string_view help;   ///< "the next row"
    std::string_view group;  ///< heading under which help lists it: "Move", "Look", "Choose", "Time", "Program"; while
                             ///< something lies over the view: "In a prompt", "In a menu", "In a text"
    std::uint32_t views;     ///< bits of the views in which it does something
};
/// Every key with an action, in the order of help and of the manual.
std::span<const KeyText> key_texts();
/// The keys that `KeyText::keys` names. Ctrl-D is the character 4, Ctrl-Z 26; Space is a blank.
std::vector<Key> keys_named(std::string_view keys);

}  // namespace tui::model
