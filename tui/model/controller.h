#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "tui/model/model.h"

namespace tui::inline model {

inline constexpr std::size_t prompt_purposes = 3;

/// The model's state and what the keys do with it. The functions of key_row.h work on a controller.
struct Controller {
    Controller(Settings settings, Feed& source, const metrics::HostNames* host_names,
               const dissect::FieldRegistry& fields_of_frames);

    ModelState state;
    Feed& feed;
    const metrics::HostNames* names;
    const dissect::FieldRegistry& registry;
    exporters::filter::FlowFilter filter = {};
    std::vector<Request> requests = {};
    std::uint64_t last_serial = 0;
    std::int64_t now_ns = 0;
    bool window_chosen = false;  ///< by the user: the end of a file does not change it

    std::array<std::size_t, view_count> pages;  ///< rows that fit, for each view, as far as known
    std::size_t overlay_page = 10;
    std::vector<Hit> hits = {};
    std::vector<std::uint64_t> evidence = {};  ///< frames that an answer of why names
    /// For each view: the selection stays on its row. Otherwise it stays on the first row, whatever comes there, or on
    /// the last row of events and packets, which follow new lines.
    std::array<bool, view_count> held{};

    std::string text_before = {};  ///< of the prompt that is open: what Escape brings back
    /// Accepted texts, by purpose, the latest last; and how far Up has gone back in them.
    std::array<std::vector<std::string>, prompt_purposes> typed_before = {};
    std::size_t typed_ago = 0;
    Settings settings_before = {};             ///< the same of the menu
    std::vector<std::string> menu_items = {};  ///< all of them, not narrowed

    void say(std::string text);
    void complain(std::string text);
    void ask(Request::Kind kind);
    /// Settings have changed: asks for them to be stored.
    void keep() { ask(Request::Kind::settings); }

    // Lists; controller.cpp.
    void list_paths();       ///< if they are shown
    void rebuild();          ///< all lists, from the reading and the choice; selections stay on their rows
    void rebuild_packets();  ///< goes through the frames again
    void count_rows();       ///< of every view; selections and what is in sight stay within them
    void say_who_follows();
    void follow_flow();  ///< the plot of sequence follows the flow of the view of one flow
    std::size_t rows(View view) const;
    void select(View view, std::size_t row);
    void move(std::ptrdiff_t rows);
    void go_to(View view);
    void open_flow(std::uint64_t id);
    void open_frame(std::uint64_t frame);      ///< the packet among its neighbours, with all its fields
    void show_packets_of(std::uint64_t flow);  ///< the packets of both directions
    void open_details();                       ///< of the packet that is selected
    bool show_details(std::uint64_t frame);    ///< false, with a message: the frame is no longer kept
    base::Result<void> apply_filter(const std::string& text);
    base::Result<void> apply_packet_filter(const std::string& text);

    /// The flow of the selected row, or of the view of one flow; no value on groups, hosts, packets, counters.
    std::optional<std::uint64_t> selected_flow() const;
    const FlowLine* selected_line() const;  ///< null if absent

    // The user's choices; choices.cpp.
    void sort_by(const std::string& column, bool turned);
    std::string sort_column() const;
    void show_columns(std::vector<std::string> column_names);
    void show_only_problems(bool only);
    void group_by(Grouping grouping);
    void show_window(Window window);
    void use_theme(const std::string& name);

    // Overlays; prompt.cpp, menu.cpp.
    void close_overlay();
    void open_text(Overlay overlay, std::size_t text_rows);
    void open_prompt(Prompt::Purpose purpose, std::string text);
    void edit_prompt(std::string text, std::size_t cursor);
    void type(char32_t character);
    void open_menu(Menu::Purpose purpose);
    void narrow_menu();
    void choose_item(std::size_t item);
    void select_item(std::size_t item);
    void scroll_text(std::ptrdiff_t lines);

private:
    struct Anchor;
    Anchor anchor() const;
    void restore(const Anchor& anchor);
};

/// The default order.
inline constexpr std::string_view usual_sort = "cause";

/// Bounds a place in a list: `place` has `count` rows, and `page` of them fit.
void settle(Place& place, std::size_t count, std::size_t page);

}  // namespace tui::model
