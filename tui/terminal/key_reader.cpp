#include "tui/terminal/key_reader.h"

#include <array>
#include <utility>

namespace tui::inline terminal {

namespace {

constexpr std::size_t most_at_once = 1024;
constexpr int escape_delay_ms = 25;
constexpr auto double_click = std::chrono::milliseconds(400);
constexpr wint_t escape = 0x1b;

/// What terminals send whatever their description says.
constexpr std::array<std::pair<const char*, int>, 16> sequences{{
    {"\033[H", KEY_HOME},
    {"\033OH", KEY_HOME},
    {"\033[1~", KEY_HOME},
    {"\033[7~", KEY_HOME},
    {"\033[F", KEY_END},
    {"\033OF", KEY_END},
    {"\033[4~", KEY_END},
    {"\033[8~", KEY_END},
    {"\033[A", KEY_UP},
    {"\033OA", KEY_UP},
    {"\033[B", KEY_DOWN},
    {"\033OB", KEY_DOWN},
    {"\033[Z", KEY_BTAB},
    {"\033[3~", KEY_DC},
    {"\033[5~", KEY_PPAGE},
    {"\033[6~", KEY_NPAGE},
}};
constexpr std::array<std::pair<const char*, int>, 4> sideways{{
    {"\033[C", KEY_RIGHT},
    {"\033OC", KEY_RIGHT},
    {"\033[D", KEY_LEFT},
    {"\033OD", KEY_LEFT},
}};

Named named_of(wint_t function) {
    switch (function) {
        case KEY_UP: return Named::up;
        case KEY_DOWN: return Named::down;
        case KEY_LEFT: return Named::left;
        case KEY_RIGHT: return Named::right;
        case KEY_PPAGE: return Named::page_up;
        case KEY_NPAGE: return Named::page_down;
        case KEY_HOME:
        case KEY_FIND:
        case KEY_A1: return Named::home;
        case KEY_END:
        case KEY_SELECT:
        case KEY_C1: return Named::end;
        case KEY_A3: return Named::page_up;
        case KEY_C3: return Named::page_down;
        case KEY_ENTER: return Named::enter;
        case KEY_BTAB: return Named::back_tab;
        case KEY_BACKSPACE: return Named::backspace;
        case KEY_DC: return Named::remove;
        default: return Named::none;
    }
}

Key key_of_character(wint_t character) {
    switch (character) {
        case '\r':
        case '\n': return key(Named::enter);
        case '\t': return key(Named::tab);
        case 0x08:
        case 0x7f: return key(Named::backspace);
        case 0x03: return key(Named::interrupt);
        case 0x0c: return key(Named::redraw);
        default: return key(static_cast<char32_t>(character));
    }
}

Input input_of(const Key& key) { return {Input::Kind::key, key, {}}; }

}  // namespace

KeyReader::KeyReader(bool mouse) : window_(::newpad(1, 1)) {
    ::keypad(window_, true);
    ::nodelay(window_, true);
    ::set_escdelay(escape_delay_ms);
    const auto define = [](const auto& table) {
        for (const auto& [sequence, code] : table)
            if (::key_defined(sequence) == 0) ::define_key(sequence, code);
    };
    define(sequences);
    define(sideways);
    if (!mouse) return;
    ::mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, nullptr);
    ::mouseinterval(0);  // a press counts at once; which are double is found out here
}

KeyReader::~KeyReader() { ::delwin(window_); }

void KeyReader::read(std::vector<Input>& inputs) {
    more_ = true;
    while (inputs.size() < most_at_once) {
        const std::optional<Code> code = next();
        if (!code) {
            more_ = false;
            return;
        }
        take(*code, inputs);
    }
}

std::optional<KeyReader::Code> KeyReader::next() {
    wint_t value = 0;
    const int answer = ::wget_wch(window_, &value);
    if (answer == ERR) return {};
    return Code{answer == KEY_CODE_YES, value};
}

void KeyReader::take(const Code& code, std::vector<Input>& inputs) {
    if (!code.function) {
        if (code.value == escape)
            take_escape(inputs);
        else
            inputs.push_back(input_of(key_of_character(code.value)));
        return;
    }
    if (code.value == KEY_MOUSE)
        take_mouse(inputs);
    else if (const Named named = named_of(code.value); named != Named::none)
        inputs.push_back(input_of(key(named)));
}

/// ncurses has waited for what may follow. A control sequence that it does not know (ECMA-48, 5.4) is left out as a
/// whole; whatever else follows was typed.
void KeyReader::take_escape(std::vector<Input>& inputs) {
    const std::optional<Code> second = next();
    if (second && !second->function && second->value == '[') {
        std::optional<Code> code = next();
        // A mouse report of the old form has three more bytes; some terminals send it although the new form was
        // requested.
        if (code && code->value == 'M')
            for (int octets = 0; octets < 3 && code && !code->function; ++octets) code = next();
        while (code && !code->function && code->value >= 0x20 && code->value < 0x40) code = next();
        if (code && (code->function || code->value == escape)) take(*code, inputs);
        return;
    }
    inputs.push_back(input_of(key(Named::escape)));
    if (second) take(*second, inputs);
}

void KeyReader::take_mouse(std::vector<Input>& inputs) {
    MEVENT event{};
    while (::getmouse(&event) == OK) {
        Mouse mouse{Mouse::Action::press, event.x, event.y};
        if ((event.bstate & BUTTON4_PRESSED) != 0)
            mouse.action = Mouse::Action::scroll_up;
        else if ((event.bstate & BUTTON5_PRESSED) != 0)
            mouse.action = Mouse::Action::scroll_down;
        else if ((event.bstate & BUTTON1_PRESSED) != 0)
            mouse.action = press(event.x, event.y);
        else
            continue;
        inputs.push_back({Input::Kind::mouse, {}, mouse});
    }
}

Mouse::Action KeyReader::press(int x, int y) {
    const auto now = std::chrono::steady_clock::now();
    const bool twice = last_press_.action == Mouse::Action::press && last_press_.x == x && last_press_.y == y &&
                       now - last_press_at_ < double_click && last_press_at_ != std::chrono::steady_clock::time_point{};
    last_press_ = {twice ? Mouse::Action::double_press : Mouse::Action::press, x, y};
    last_press_at_ = now;
    return last_press_.action;
}

}  // namespace tui::terminal
