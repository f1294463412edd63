#include "tui/model/keys.h"

#include <algorithm>
#include <array>

#include "tui/model/key_row.h"

namespace tui::inline model {

namespace {

constexpr std::uint32_t in_flows = bit_of(View::flows);
constexpr std::uint32_t in_hosts = bit_of(View::hosts);
constexpr std::uint32_t in_congestion = bit_of(View::congestion);
constexpr std::uint32_t in_events = bit_of(View::events);
constexpr std::uint32_t in_packets = bit_of(View::packets);
constexpr std::uint32_t in_counters = bit_of(View::counters);
constexpr std::uint32_t in_io = bit_of(View::io);
constexpr std::uint32_t in_paths = bit_of(View::paths);
constexpr std::uint32_t in_flow = bit_of(View::flow);
constexpr std::uint32_t in_lists =
    in_flows | in_hosts | in_congestion | in_events | in_packets | in_counters | in_io | in_paths;
constexpr std::uint32_t in_every_view = in_lists | in_flow;

using Where = KeyRow::Where;

constexpr std::array table{
    KeyRow{{"j, Down", "the next row", "Move", in_lists}, Where::view, move::down},
    KeyRow{{"k, Up", "the row before", "Move", in_lists}, Where::view, move::up},
    KeyRow{{"Ctrl-D, PageDown", "a page down", "Move", in_lists}, Where::view, move::page_down},
    KeyRow{{"Ctrl-U, PageUp", "a page up", "Move", in_lists}, Where::view, move::page_up},
    KeyRow{{"g, Home", "the first row, whatever comes there", "Move", in_lists}, Where::view, move::first},
    KeyRow{{"G, End", "the last row; events and packets then follow", "Move", in_lists}, Where::view, move::last},
    KeyRow{{"j, Down", "the next flow of the table", "Move", in_flow}, Where::view, move::next_flow},
    KeyRow{{"k, Up", "the flow before", "Move", in_flow}, Where::view, move::previous_flow},
    KeyRow{{"l, Right", "the next chart", "Move", in_flow}, Where::view, move::next_chart},
    KeyRow{{"h, Left", "the chart before", "Move", in_flow}, Where::view, move::previous_chart},

    KeyRow{{"Enter", "the flow of the row; a group: fold, unfold", "Look", in_flows | in_congestion | in_paths},
           Where::view,
           look::open_row},
    KeyRow{{"Enter", "a connection: latency, slowest commands, errors", "Look", in_io}, Where::view, look::open_row},
    KeyRow{{"Enter", "the first packet of the event", "Look", in_events}, Where::view, look::open_event},
    KeyRow{{"l, Right", "the flow of the event", "Look", in_events}, Where::view, look::open_row},
    KeyRow{{"Enter", "the flows of the host", "Look", in_hosts}, Where::view, look::open_host},
    KeyRow{{"Enter", "all fields of the packet", "Look", in_packets}, Where::view, look::open_packet},
    KeyRow{{"Enter, z", "the chart on all of the screen, and back", "Look", in_flow}, Where::view, look::spread},
    KeyRow{{"Escape, Backspace", "back; in flows: end the filter", "Look", in_every_view}, Where::view, look::back},
    KeyRow{{"Tab", "the next view", "Look", in_every_view}, Where::view, look::next_view},
    KeyRow{{"Shift-Tab", "the view before", "Look", in_every_view}, Where::view, look::previous_view},
    KeyRow{{"1", "flows", "Look", in_every_view}, Where::view, look::at<View::flows>},
    KeyRow{{"2", "hosts", "Look", in_every_view}, Where::view, look::at<View::hosts>},
    KeyRow{{"3", "congestion", "Look", in_every_view}, Where::view, look::at<View::congestion>},
    KeyRow{{"4", "events", "Look", in_every_view}, Where::view, look::at<View::events>},
    KeyRow{{"5", "packets; of a flow: its own", "Look", in_every_view}, Where::view, look::packets},
    KeyRow{{"6", "counters of the devices", "Look", in_every_view}, Where::view, look::at<View::counters>},
    KeyRow{{"7", "commands of upper layers: NVMe, NFS, SCSI, SMB", "Look", in_every_view},
           Where::view,
           look::at<View::io>},
    KeyRow{
        {"8", "paths between hosts, and which one is bad", "Look", in_every_view}, Where::view, look::at<View::paths>},
    KeyRow{{"o", "the opposite direction", "Look", in_flow}, Where::view, look::opposite},
    KeyRow{{"n", "the next flow with a problem", "Look", in_flows | in_flow}, Where::view, look::next_problem},
    KeyRow{{"e", "why: about the flow; without one, about all", "Look", in_every_view}, Where::view, look::answers},
    KeyRow{{"f", "follow the newest, or stay", "Look", in_events | in_packets}, Where::view, look::follow},

    KeyRow{{"/", "filter flows: goodput > 1Gbit && resent > 0", "Choose", in_flows | in_congestion},
           Where::view,
           choose::filter},
    KeyRow{{"/", "filter packets, as dump -Y does", "Choose", in_packets}, Where::view, choose::packet_filter},
    KeyRow{{"!", "only flows with a problem, or all", "Choose", in_flows}, Where::view, choose::only_problems},
    KeyRow{{"t", "figures of the last interval, or of all", "Choose", in_every_view}, Where::view, choose::window},
    KeyRow{{"s", "sort by ...", "Choose", in_flows}, Where::view, choose::sort_menu},
    KeyRow{{"<", "sort by the column to the left", "Choose", in_flows}, Where::view, choose::sort_left},
    KeyRow{{">", "sort by the column to the right", "Choose", in_flows}, Where::view, choose::sort_right},
    KeyRow{{"r, I", "the other way round", "Choose", in_flows}, Where::view, choose::reverse},
    KeyRow{{"c", "columns ...", "Choose", in_flows}, Where::view, choose::columns},
    KeyRow{{"u", "group by ...", "Choose", in_flows}, Where::view, choose::grouping},
    KeyRow{{"h, Left", "fold the group of the row", "Choose", in_flows}, Where::view, choose::fold},
    KeyRow{{"l, Right", "unfold the group", "Choose", in_flows}, Where::view, choose::unfold},
    KeyRow{{"z", "fold or unfold the group", "Choose", in_flows}, Where::view, choose::turn_fold},
    KeyRow{{"Z", "fold or unfold all groups", "Choose", in_flows}, Where::view, choose::turn_all_folds},
    KeyRow{{"p", "pin the flow to the top, or let it go", "Choose", in_flows | in_congestion | in_flow},
           Where::view,
           choose::pin},

    KeyRow{{"Space", "pause, go on; live: freeze the screen", "Time", in_every_view}, Where::view, time::pause},
    KeyRow{{"+, =", "refresh more often", "Time", in_every_view}, Where::view, time::faster_refresh},
    KeyRow{{"-", "refresh less often", "Time", in_every_view}, Where::view, time::slower_refresh},
    KeyRow{{"]", "play twice as fast", "Time", in_every_view}, Where::view, time::faster_playback},
    KeyRow{{"[", "play half as fast", "Time", in_every_view}, Where::view, time::slower_playback},
    KeyRow{{".", "pause, and an interval forward", "Time", in_every_view}, Where::view, time::step_forward},
    KeyRow{{",", "pause, and an interval back", "Time", in_every_view}, Where::view, time::step_back},
    KeyRow{{"J, :", "jump: +10s, -1m, 12:00:03, 50%", "Time", in_every_view}, Where::view, time::jump},

    KeyRow{{"T", "theme ...", "Program", in_every_view}, Where::view, program::theme},
    KeyRow{{"N", "names of hosts, or addresses", "Program", in_every_view}, Where::view, program::names},
    KeyRow{{"S", "save what is known: JSON and text", "Program", in_every_view}, Where::view, program::save},
    KeyRow{{"?", "this list", "Program", in_every_view}, Where::view, program::help},
    KeyRow{{"L", "what the letters of the time column mean", "Program", in_every_view}, Where::view, program::letters},
    KeyRow{{"q", "quit", "Program", in_every_view}, Where::view, program::quit},
    KeyRow{{"Ctrl-C", "quit", "Program", in_every_view}, Where::always, program::quit},
    KeyRow{{"Ctrl-Z", "suspend; fg comes back", "Program", in_every_view}, Where::always, program::suspend},
    KeyRow{{"Ctrl-L", "draw again", "Program", in_every_view}, Where::always, program::redraw},

    KeyRow{{"Enter", "done", "In a prompt", in_every_view}, Where::prompt, prompt::accept},
    KeyRow{{"Escape", "as it was before", "In a prompt", in_every_view}, Where::prompt, prompt::cancel},
    KeyRow{{"Left, Ctrl-B", "a letter to the left", "In a prompt", in_every_view}, Where::prompt, prompt::left},
    KeyRow{{"Right, Ctrl-F", "a letter to the right", "In a prompt", in_every_view}, Where::prompt, prompt::right},
    KeyRow{{"Home, Ctrl-A", "the beginning", "In a prompt", in_every_view}, Where::prompt, prompt::home},
    KeyRow{{"End, Ctrl-E", "the end", "In a prompt", in_every_view}, Where::prompt, prompt::end},
    KeyRow{
        {"Backspace", "rub out the letter before", "In a prompt", in_every_view}, Where::prompt, prompt::erase_before},
    KeyRow{{"Delete, Ctrl-D", "rub out the letter", "In a prompt", in_every_view}, Where::prompt, prompt::erase_at},
    KeyRow{{"Ctrl-W", "rub out the word before", "In a prompt", in_every_view}, Where::prompt, prompt::erase_word},
    KeyRow{{"Ctrl-U", "rub out all", "In a prompt", in_every_view}, Where::prompt, prompt::erase_all},
    KeyRow{{"Tab", "complete the name", "In a prompt", in_every_view}, Where::prompt, prompt::complete},
    KeyRow{{"Up, Ctrl-P", "what was typed before", "In a prompt", in_every_view}, Where::prompt, prompt::earlier},
    KeyRow{{"Down, Ctrl-N", "what was typed after that", "In a prompt", in_every_view}, Where::prompt, prompt::later},

    KeyRow{{"Down, Ctrl-N", "the next item", "In a menu", in_every_view}, Where::menu, menu::down},
    KeyRow{{"Up, Ctrl-P", "the item before", "In a menu", in_every_view}, Where::menu, menu::up},
    KeyRow{{"PageDown, Ctrl-D", "a page down", "In a menu", in_every_view}, Where::menu, menu::page_down},
    KeyRow{{"PageUp, Ctrl-U", "a page up", "In a menu", in_every_view}, Where::menu, menu::page_up},
    KeyRow{{"Home", "the first item", "In a menu", in_every_view}, Where::menu, menu::first},
    KeyRow{{"End", "the last item", "In a menu", in_every_view}, Where::menu, menu::last},
    KeyRow{{"Space", "choose; a column: show or hide it", "In a menu", in_every_view}, Where::menu, menu::toggle},
    KeyRow{{"Enter", "choose; columns: done", "In a menu", in_every_view}, Where::menu, menu::accept},
    KeyRow{{"Escape", "as it was before", "In a menu", in_every_view}, Where::menu, menu::cancel},
    KeyRow{{"Backspace", "take back a letter; letters narrow", "In a menu", in_every_view},
           Where::menu,
           menu::erase_letter},

    KeyRow{{"j, Down", "the next line", "In a text", in_every_view}, Where::text, text_overlay::down},
    KeyRow{{"k, Up", "the line before", "In a text", in_every_view}, Where::text, text_overlay::up},
    KeyRow{
        {"Space, Ctrl-D, PageDown", "a page down", "In a text", in_every_view}, Where::text, text_overlay::page_down},
    KeyRow{{"b, Ctrl-U, PageUp", "a page up", "In a text", in_every_view}, Where::text, text_overlay::page_up},
    KeyRow{{"g, Home", "the beginning", "In a text", in_every_view}, Where::text, text_overlay::first},
    KeyRow{{"G, End", "the end", "In a text", in_every_view}, Where::text, text_overlay::last},
    KeyRow{{"l, Right", "of a packet: the next one", "In a text", in_every_view}, Where::text, text_overlay::next},
    KeyRow{{"h, Left", "of a packet: the one before", "In a text", in_every_view}, Where::text, text_overlay::previous},
    KeyRow{{"Enter", "of why: the packet of \"See\"; else close", "In a text", in_every_view},
           Where::text,
           text_overlay::open_evidence},
    KeyRow{
        {"n", "of why's packets: the next one", "In a text", in_every_view}, Where::text, text_overlay::next_evidence},
    KeyRow{{"Escape, Backspace, q, ?", "close", "In a text", in_every_view}, Where::text, text_overlay::close},
};

Key key_named(std::string_view name) {
    struct Name {
        std::string_view text;
        Key key;
    };
    constexpr std::array names{
        Name{"Down", key(Named::down)},
        Name{"Up", key(Named::up)},
        Name{"Left", key(Named::left)},
        Name{"Right", key(Named::right)},
        Name{"PageDown", key(Named::page_down)},
        Name{"PageUp", key(Named::page_up)},
        Name{"Home", key(Named::home)},
        Name{"End", key(Named::end)},
        Name{"Enter", key(Named::enter)},
        Name{"Escape", key(Named::escape)},
        Name{"Tab", key(Named::tab)},
        Name{"Shift-Tab", key(Named::back_tab)},
        Name{"Backspace", key(Named::backspace)},
        Name{"Delete", key(Named::remove)},
        Name{"Ctrl-C", key(Named::interrupt)},
        Name{"Ctrl-L", key(Named::redraw)},
        Name{"Space", key(U' ')},
    };
    for (const Name& known : names)
        if (known.text == name) return known.key;
    constexpr std::string_view control = "Ctrl-";
    if (name.starts_with(control) && name.size() == control.size() + 1)
        return key(static_cast<char32_t>(name.back() - 'A' + 1));
    return name.size() == 1 ? key(static_cast<char32_t>(name.front())) : Key{};
}

bool acts_in(const KeyRow& row, View view, Overlay overlay) {
    switch (row.where) {
        case Where::always: return true;
        case Where::view: return overlay == Overlay::none && (row.text.views & bit_of(view)) != 0;
        case Where::prompt: return overlay == Overlay::prompt;
        case Where::menu: return overlay == Overlay::menu;
        case Where::text:
            return overlay == Overlay::help || overlay == Overlay::letters || overlay == Overlay::answers ||
                   overlay == Overlay::details;
    }
    return false;
}

}  // namespace

std::string_view name_of(View view) {
    constexpr std::array<std::string_view, view_count> names{"flows",    "hosts", "congestion", "events", "packets",
                                                             "counters", "io",    "paths",      "flow"};
    return names[static_cast<std::size_t>(view)];
}

std::span<const KeyRow> key_table() { return table; }

std::span<const KeyText> key_texts() {
    static const auto texts = [] {
        std::array<KeyText, table.size()> all;
        std::transform(table.begin(), table.end(), all.begin(), [](const KeyRow& row) { return row.text; });
        return all;
    }();
    return texts;
}

std::vector<Key> keys_named(std::string_view keys) {
    constexpr std::string_view between = ", ";
    std::vector<Key> all;
    for (std::size_t at = 0; at < keys.size();) {
        // A comma may be a key itself.
        const std::size_t end = std::min(keys.find(between, at + 1), keys.size());
        all.push_back(key_named(keys.substr(at, end - at)));
        at = end + between.size();
    }
    return all;
}

const KeyRow* find_key(const Key& key, View view, Overlay overlay) {
    static const auto keys = [] {
        std::array<std::vector<Key>, table.size()> all;
        std::transform(table.begin(), table.end(), all.begin(),
                       [](const KeyRow& row) { return keys_named(row.text.keys); });
        return all;
    }();
    for (std::size_t i = 0; i < table.size(); ++i)
        if (acts_in(table[i], view, overlay) && std::find(keys[i].begin(), keys[i].end(), key) != keys[i].end())
            return &table[i];
    return nullptr;
}

}  // namespace tui::model
