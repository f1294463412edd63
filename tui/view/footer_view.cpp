// Two lines below every view: what is typed, said or in force, and the keys that matter here.
#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "metrics/answers/unread_carriers.h"
#include "tui/view/figures.h"
#include "tui/view/footer_keys.h"
#include "tui/view/pane.h"
#include "tui/view/screen.h"

namespace tui::inline view {

namespace {

constexpr std::uint32_t all_views = (1U << view_count) - 1;
constexpr std::uint32_t lists_of_flows =
    bit_of(View::flows) | bit_of(View::congestion) | bit_of(View::io) | bit_of(View::paths);

/// The most useful first: what does not fit is left to help.
constexpr std::array shown_keys{
    FooterKey{"?", "help", all_views},
    FooterKey{"q", "quit", all_views},
    FooterKey{"Enter", "open", lists_of_flows},
    FooterKey{"Enter", "packet", bit_of(View::events)},
    FooterKey{"Enter", "its flows", bit_of(View::hosts)},
    FooterKey{"Enter", "details", bit_of(View::packets)},
    FooterKey{"Esc", "back", bit_of(View::flow)},
    FooterKey{"e", "why", all_views},
    FooterKey{"/", "filter", bit_of(View::flows) | bit_of(View::congestion) | bit_of(View::packets)},
    FooterKey{"!", "problems", bit_of(View::flows)},
    FooterKey{"n", "next problem", bit_of(View::flows) | bit_of(View::flow)},
    FooterKey{"s", "sort", bit_of(View::flows)},
    FooterKey{"o", "opposite", bit_of(View::flow)},
    FooterKey{"5", "its packets", bit_of(View::flow)},
    FooterKey{"z", "enlarge", bit_of(View::flow)},
    FooterKey{"Space", "pause", all_views},
    FooterKey{"p", "pin", bit_of(View::flows) | bit_of(View::congestion) | bit_of(View::flow)},
    FooterKey{"u", "group", bit_of(View::flows)},
    FooterKey{"c", "columns", bit_of(View::flows)},
    FooterKey{"f", "follow", bit_of(View::events) | bit_of(View::packets)},
    FooterKey{"t", "interval or all", all_views},
    FooterKey{"J", "jump", all_views},
    FooterKey{"N", "names", all_views},
    FooterKey{"T", "theme", all_views},
    FooterKey{"S", "save", all_views},
    FooterKey{"Enter", "done", all_views, FooterKey::Where::prompt},
    FooterKey{"Esc", "as before", all_views, FooterKey::Where::prompt},
    FooterKey{"Tab", "complete", all_views, FooterKey::Where::prompt},
    FooterKey{"Ctrl-U", "rub out", all_views, FooterKey::Where::prompt},
    FooterKey{"Up", "", all_views, FooterKey::Where::menu},
    FooterKey{"Down", "move", all_views, FooterKey::Where::menu},
    FooterKey{"Space", "choose", all_views, FooterKey::Where::menu},
    FooterKey{"Enter", "done", all_views, FooterKey::Where::menu},
    FooterKey{"Esc", "as before", all_views, FooterKey::Where::menu},
    FooterKey{"letters", "narrow", all_views, FooterKey::Where::menu},
    FooterKey{"Esc", "close", all_views, FooterKey::Where::text},
    FooterKey{"Up", "", all_views, FooterKey::Where::text},
    FooterKey{"Down", "scroll", all_views, FooterKey::Where::text},
};

FooterKey::Where where(const ModelState& state) {
    switch (state.overlay) {
        case Overlay::none: return FooterKey::Where::view;
        case Overlay::prompt: return FooterKey::Where::prompt;
        case Overlay::menu: return FooterKey::Where::menu;
        default: return FooterKey::Where::text;
    }
}

std::string_view name_of(Prompt::Purpose purpose) {
    switch (purpose) {
        case Prompt::Purpose::filter: return "filter flows: ";
        case Prompt::Purpose::packet_filter: return "filter packets: ";
        case Prompt::Purpose::jump: return "go to time: ";
    }
    return "";
}

/// What may be typed, while nothing is wrong with it.
std::string_view hint_of(Prompt::Purpose purpose) {
    switch (purpose) {
        case Prompt::Purpose::filter: return "a word of the row, or columns: goodput > 1Gbit && latency_p99 > 1ms";
        case Prompt::Purpose::packet_filter: return "as dump -Y: infiniband.bth.destqp == 0x11";
        case Prompt::Purpose::jump: return "+10s, -1m, 12:00:03, 50%";
    }
    return "";
}

void draw_prompt(const ModelState& state, Pane& pane, int y) {
    const Prompt& prompt = state.prompt;
    int x = 1 + pane.text(1, y, name_of(prompt.purpose), {Role::accent, false, true});
    const int for_text = std::max(pane.width() - x - 1, 1);
    std::string_view text = prompt.text;
    int before = width_of(text.substr(0, std::min(prompt.cursor, text.size())));
    // The cursor stays in sight: what is left of it goes out to the left.
    while (before >= for_text && !text.empty()) before -= width_of(take_character(text));
    // One column wider, so that a cut text has no ellipsis under the cursor.
    pane.text(x, y, text, {}, for_text);
    if (before >= width_of(text)) pane.put(x + before, y, U' ');
    pane.select(x + before, y, 1);
}

/// "PAUSED", "FROZEN" or "END": why nothing moves.
std::string_view standstill(const ModelState& state) {
    if (state.frozen) return "FROZEN";
    if (state.feed.playable && state.feed.at_end) return "END";
    return state.feed.playing ? "" : "PAUSED";
}

std::string filter_in_force(const ModelState& state) {
    if (state.view == View::packets) {
        if (state.packet_filter_text.empty()) return {};
        return fmt::format("filter {}", state.packet_filter_text);
    }
    if (state.choice.only_problems && state.view == View::flows && state.filter_text.empty())
        return fmt::format("{} of {} hidden by !", base::group_digits(state.list.hidden()),
                           base::format_counted(state.list.flows(), "flow"));
    if (state.filter_text.empty() || (lists_of_flows & bit_of(state.view)) == 0) return {};
    return fmt::format("{} of {} hidden by {}", base::group_digits(state.list.hidden()),
                       base::format_counted(state.list.flows(), "flow"), state.filter_text);
}

std::string where_in_list(const ModelState& state) {
    const Place& place = state.place();
    if (place.count == 0 || state.view == View::flow) return {};
    return fmt::format("{} of {}", base::group_digits(std::min(place.selected + 1, place.count)),
                       base::group_digits(place.count));
}

/// What the figures of the view are about.
std::string window_text(const ModelState& state) {
    if (!state.reading || state.view == View::events || state.view == View::packets) return {};
    if (state.view != View::counters && state.choice.window == Window::total) return "since the start";
    // Counters are of this machine, and go on whatever is played back.
    if (state.view == View::counters && state.feed.playable) return {};
    // A capture's end that comes with its last interval's has one of no length.
    if (state.reading->length_ns < 1000) return {};
    std::string text = "last " + base::format_interval(state.reading->length_ns);
    if (state.view == View::flows && state.list.idle() > 0) text += " (silent: in all)";
    return text;
}

bool is_in_trouble(const FeedStatus& feed) {
    return feed.health == FeedStatus::Health::lost || feed.health == FeedStatus::Health::failed;
}

/// What the flows are sorted by, where it is no column of the table.
std::string order_unseen(const ModelState& state) {
    const exporters::FlowField* const field = state.choice.order.field;
    if (state.view != View::flows || field == nullptr) return {};
    for (const Column& column : state.columns)
        if (column.field == field) return {};
    return fmt::format("by {}", field->path);
}

/// What stands at the right all the time.
std::string standing_text(const ModelState& state) {
    std::string text = where_in_list(state);
    if (const std::string window = window_text(state); !window.empty())
        text = text.empty() ? window : fmt::format("{}   {}", window, text);
    if (const std::string order = order_unseen(state); !order.empty()) text = fmt::format("{}   {}", order, text);
    return text;
}

/// What had no room in the header goes on here: marked, as else it looks like a text without its beginning.
std::string continued(const std::string& rest, const Letters& letters) {
    if (rest.empty()) return {};
    std::string text;
    append_utf8(text, letters.ellipsis);
    return text + " " + rest;
}

void draw_status(const ModelState& state, Pane& pane, int y) {
    int x = 1;
    if (const std::string_view why = standstill(state); !why.empty())
        x += pane.text(x, y, why, {Role::warning, false, true}) + 2;
    // A message stays only for a moment: it replaces the standing text.
    const auto fits = [&](const std::string& standing) {
        return x + width_of(state.message) + 2 <= pane.width() - 1 - width_of(standing);
    };
    std::string standing = standing_text(state);
    if (!state.message.empty() && !fits(standing)) standing = where_in_list(state);
    if (!state.message.empty() && !fits(standing)) standing.clear();
    if (x + width_of(standing) + 1 > pane.width()) standing.clear();
    const int right = pane.width() - 1 - width_of(standing);
    if (!standing.empty()) pane.text(right, y, standing, {Role::dim});
    const auto say = [&](const std::string& text, Role role) {
        if (!text.empty() && x + 2 < right) x += pane.text(x, y, text, {role}, right - 2 - x) + 2;
    };
    if (!state.message.empty()) return say(state.message, state.message_is_error ? Role::bad : Role::good);
    if (is_in_trouble(state.feed)) say(continued(trouble_of(state.feed, pane.width()).rest, pane.letters), Role::bad);
    say(filter_in_force(state), Role::accent);
    const auto& warnings = state.feed.warnings;
    if (warnings.empty() && state.view == View::flows && state.reading)
        say(metrics::describe_cut_packets(state.reading->total), Role::warning);
    if (warnings.empty()) return;
    const std::string more = warnings.size() > 1 ? fmt::format(" (and {} more)", warnings.size() - 1) : "";
    say(warnings.front() + more, Role::warning);
}

void draw_keys(const ModelState& state, Pane& pane, int y) {
    pane.fill(0, y, pane.width(), U' ', {Role::bar});
    int x = 1;
    for (const FooterKey& shown : footer_keys()) {
        if ((shown.views & bit_of(state.view)) == 0 || shown.where != where(state)) continue;
        const int needed = width_of(shown.key) + 1 + width_of(shown.does);
        if (x + needed >= pane.width()) break;
        x += pane.text(x, y, shown.key, {Role::bar, false, true}) + 1;
        if (!shown.does.empty()) x += pane.text(x, y, shown.does, {Role::bar}) + 2;
    }
}

}  // namespace

std::span<const FooterKey> footer_keys() { return shown_keys; }

void draw_footer(Canvas& canvas, Area area) {
    Pane pane(canvas, area);
    int y = 0;
    if (canvas.state.overlay == Overlay::prompt) {
        const Prompt& prompt = canvas.state.prompt;
        const bool wrong = !prompt.error.empty();
        if (pane.height() > 2)
            pane.text(1, y++, wrong ? prompt.error : hint_of(prompt.purpose), {wrong ? Role::bad : Role::dim});
        draw_prompt(canvas.state, pane, y++);
    } else {
        draw_status(canvas.state, pane, y++);
    }
    draw_keys(canvas.state, pane, y);
}

}  // namespace tui::view
