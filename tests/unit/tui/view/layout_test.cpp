// What holds for every screen: views stay in their area, clicks lie on what they mean, the same state is the same
// picture, any size is survived, and ASCII is ASCII.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/fake_feed.h"
#include "tests/unit/tui/view/screens.h"
#include "tui/view/footer_keys.h"

namespace tui {
namespace {

std::unique_ptr<Screen> screen_with(const char* keys, std::size_t flows = 40) {
    auto screen = std::make_unique<Screen>(feed_of(std::vector{many_flows(flows), many_flows(flows)}));
    screen->show_all();
    screen->type(keys);
    return screen;
}

/// Every view and overlay.
constexpr std::array all_keys{"1", "2", "3", "4", "5", "6", "1e", "1?", "1s", "1c", "1u", "1T", "1/x ==", "1pjjp"};

using Draw = void (*)(Canvas&, Area);
constexpr std::array<Draw, 12> all_draws{draw_flows,  draw_hosts,   draw_congestion, draw_counters,
                                         draw_events, draw_packets, draw_flow,       draw_answers,
                                         draw_help,   draw_menu,    draw_header,     draw_footer};

TEST(Layout, nothing_is_drawn_outside_the_area) {
    constexpr char32_t sentinel = U'@';
    for (const char* keys : all_keys) {
        const auto screen = screen_with(keys);
        for (const Draw draw_one : all_draws)
            for (const Area area : {Area{7, 5, 80, 20}, Area{3, 2, 40, 4}, Area{1, 1, 1, 1}, Area{5, 5, 0, 7},
                                    Area{5, 5, 9, 0}, Area{100, 30, 80, 24}}) {
                Grid grid(140, 40);
                grid.fill(0, 0, 140, 40, sentinel, {Role::heat_6});
                Drawn drawn;
                Canvas canvas{screen->model.state(), utf8_letters, grid, drawn};
                draw_one(canvas, area);
                for (int y = 0; y < grid.height(); ++y)
                    for (int x = 0; x < grid.width(); ++x) {
                        const bool inside =
                            x >= area.x && x < area.x + area.width && y >= area.y && y < area.y + area.height;
                        ASSERT_TRUE(inside || grid.at(x, y) == (Cell{sentinel, {Role::heat_6}}))
                            << keys << ": " << x << ", " << y << " of " << area.width << "x" << area.height;
                    }
                for (const Hit& hit : drawn.hits) {
                    EXPECT_GE(hit.x, area.x);
                    EXPECT_GE(hit.y, area.y);
                    EXPECT_GT(hit.width, 0);
                    EXPECT_LE(hit.x + hit.width, area.x + area.width);
                    EXPECT_LE(hit.y + hit.height, area.y + area.height);
                }
            }
    }
}

// What is said goes before what stands in its line all the time, which never runs into anything else.
TEST(Layout, messages_have_the_line_that_they_need) {
    Screen screen(support::FakeFeed::of_capture("rxe-rping.pcap", second_ns));
    screen.show_all();
    const std::string message = screen.model.state().message;
    ASSERT_EQ(message, "figures of all of it; t: the last interval");
    // " END  " and two blanks about it; what stands at the right, and a blank after that.
    const int alone = static_cast<int>(6 + message.size() + 2 + 1);
    const std::string standing = fmt::format("since the start   1 of {}", screen.model.state().place().count);
    const int beside = alone + static_cast<int>(standing.size());
    for (int width = alone; width <= 120; ++width) {
        const std::string text = screen.draw(width, 24).grid.plain();
        EXPECT_NE(text.find(message), std::string::npos) << width;
        EXPECT_EQ(text.find(standing) != std::string::npos, width >= beside) << width;
    }
    EXPECT_LE(beside, 80);
    for (int width = 5; width < 40; ++width) {
        const Picture picture = screen.draw(width, 5);
        std::string line;  // the last but one
        for (int x = 0; x < width; ++x)
            line += static_cast<char>(std::min<char32_t>(picture.grid.at(x, 3).glyph, 0x7f));
        EXPECT_EQ(line.substr(0, 5), " END ") << line;
    }
}

TEST(Layout, the_same_state_is_the_same_picture) {
    for (const char* keys : all_keys) {
        const auto screen = screen_with(keys);
        const Picture one = screen->draw(100, 30);
        const Picture other = screen->draw(100, 30);
        EXPECT_EQ(one.grid.plain(), other.grid.plain());
        EXPECT_EQ(one.grid.styles(), other.grid.styles());
    }
}

TEST(Layout, any_size_is_survived) {
    for (const char* keys : all_keys) {
        const auto screen = screen_with(keys);
        for (int width = 0; width < 40; ++width)
            for (int height = 0; height < 14; ++height) screen->draw(width, height);
        for (const int width : {1, 80, 300}) screen->draw(width, 1);
        const Picture large = screen->draw(400, 200);
        EXPECT_EQ(large.grid.height(), 200);
    }
}

TEST(Layout, the_view_of_one_flow_survives_any_size) {
    Screen screen(support::FakeFeed::of_capture("rxe-rxdrop1pct-write-bw.pcap.gz", 250'000'000));
    screen.show_all();
    screen.press(Named::enter);
    ASSERT_EQ(screen.model.state().view, View::flow);
    for (int width = 0; width < 100; width += 3)
        for (int height = 0; height < 40; height += 2) screen.draw(width, height);
    const std::string text = screen.draw(160, 50, ascii_letters).grid.plain();
    for (const char c : text) ASSERT_LT(static_cast<unsigned char>(c), 0x80) << text;
}

TEST(Layout, without_a_reading_every_view_says_what_is_waited_for) {
    support::FakeFeed feed;
    feed.state.name = "ib0";
    Screen screen(std::move(feed));
    for (const View view : {View::flows, View::hosts, View::congestion, View::counters}) {
        screen.go(view);
        EXPECT_NE(screen.draw(80, 24).grid.plain().find("waiting for the first figures of ib0"), std::string::npos);
    }
}

TEST(Layout, ascii_is_ascii) {
    for (const char* keys : all_keys) {
        const std::string text = screen_with(keys)->draw(160, 50, ascii_letters).grid.plain();
        for (const char c : text) ASSERT_LT(static_cast<unsigned char>(c), 0x80) << keys << text;
    }
}

/// Rows of a list that can be clicked: their indices are those of the list, one a line, from top to bottom.
TEST(Layout, hits_of_rows_are_the_rows) {
    for (const auto& [keys, count] : {std::pair{"1", 40}, std::pair{"1G", 40}}) {
        const auto screen = screen_with(keys);
        const Picture picture = screen->draw(100, 24);
        std::vector<Hit> rows;
        for (const Hit& hit : picture.drawn.hits)
            if (hit.target == Hit::Target::row) rows.push_back(hit);
        EXPECT_EQ(rows.size(), picture.drawn.page);
        ASSERT_FALSE(rows.empty());
        const Place& place = screen->model.state().place();
        EXPECT_LE(rows.front().value, place.selected);
        EXPECT_GE(rows.back().value, place.selected);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            EXPECT_EQ(rows[i].value, rows.front().value + i);
            EXPECT_EQ(rows[i].y, rows.front().y + static_cast<int>(i));
            const bool selected = picture.grid.at(rows[i].x, rows[i].y).style.selected;
            EXPECT_EQ(selected, rows[i].value == place.selected);
        }
        EXPECT_LT(rows.back().value, static_cast<std::size_t>(count));
    }
}

TEST(Layout, hits_of_headings_are_the_columns) {
    const auto screen = screen_with("1");
    const Picture picture = screen->draw(160, 24);
    std::set<std::size_t> seen;
    for (const Hit& hit : picture.drawn.hits) {
        if (hit.target != Hit::Target::heading) continue;
        std::string text;
        for (int x = hit.x; x < hit.x + hit.width; ++x) append_utf8(text, picture.grid.at(x, hit.y).glyph);
        EXPECT_NE(text.find(screen->model.state().columns[hit.value].title), std::string::npos) << text;
        EXPECT_TRUE(seen.insert(hit.value).second);
    }
    EXPECT_GE(seen.size(), 8U);
}

TEST(Layout, the_order_is_in_sight) {
    const auto heading_of = [](const Screen& screen) {
        const std::string text = screen.draw(80, 24).grid.plain();
        const std::size_t begin = text.find("  source >");
        return text.substr(begin, text.find('\n', begin) - begin);
    };
    Settings settings;
    settings.sort = "nak_rnr";  // has no room on 80 columns, else
    Screen screen(feed_of(many_flows(100)), settings);
    screen.show_all();
    EXPECT_NE(heading_of(screen).find("▼NAK/RNR"), std::string::npos) << heading_of(screen);
    settings.sort = "timeouts";  // no column of the table
    Screen other(feed_of(many_flows(100)), settings);
    other.show_all();
    EXPECT_EQ(heading_of(other).find("▼"), std::string::npos);
    EXPECT_NE(other.draw(80, 24).grid.plain().find("by timeouts   last 1 s"), std::string::npos);
}

TEST(Layout, tabs_are_the_views) {
    const Picture picture = screen_with("3")->draw(80, 24);
    std::size_t tabs = 0;
    for (const Hit& hit : picture.drawn.hits) {
        if (hit.target != Hit::Target::tab) continue;
        std::string text;
        for (int x = hit.x; x < hit.x + hit.width; ++x) append_utf8(text, picture.grid.at(x, hit.y).glyph);
        EXPECT_NE(text.find(name_of(static_cast<View>(hit.value))), std::string::npos) << text;
        const Role role = picture.grid.at(hit.x + 1, hit.y).style.role;
        EXPECT_EQ(role == Role::sorted, static_cast<View>(hit.value) == View::congestion);
        ++tabs;
    }
    EXPECT_EQ(tabs, view_count);
}

TEST(Layout, the_position_is_found_along_its_bar) {
    support::FakeFeed feed = feed_of(many_flows(4));
    feed.state.kind = SourceKind::file;
    feed.state.playable = true;
    Screen screen(std::move(feed));
    screen.show_all();
    const Picture picture = screen.draw(120, 24);
    std::vector<Hit> cells;
    std::size_t plays = 0;
    for (const Hit& hit : picture.drawn.hits) {
        if (hit.target == Hit::Target::position) cells.push_back(hit);
        if (hit.target == Hit::Target::play) ++plays;
    }
    EXPECT_EQ(plays, 1U);
    ASSERT_GE(cells.size(), 8U);
    EXPECT_EQ(cells.front().value, 0U);
    EXPECT_EQ(cells.back().value, 1000U);
    for (std::size_t i = 1; i < cells.size(); ++i) {
        EXPECT_EQ(cells[i].x, cells[i - 1].x + 1);
        EXPECT_GT(cells[i].value, cells[i - 1].value);
    }
    // A live source has neither.
    for (const Hit& hit : screen_with("1")->draw(120, 24).drawn.hits) {
        EXPECT_NE(hit.target, Hit::Target::position);
        EXPECT_NE(hit.target, Hit::Target::play);
    }
}

TEST(Layout, drops_are_always_in_sight) {
    for (const char* keys : all_keys)
        for (const int width : {20, 80, 300}) {
            metrics::Snapshot snapshot = many_flows(4);
            snapshot.capture.kernel_dropped = 1;
            Screen screen(feed_of(std::move(snapshot)));
            screen.show_all();
            screen.type(keys);
            const Picture picture = screen.draw(width, 24);
            const std::string text = picture.grid.plain();
            EXPECT_NE(text.substr(0, text.find('\n')).find("DROPS 1"), std::string::npos) << keys << width;
            EXPECT_NE(picture.grid.styles().find('!'), std::string::npos);
        }
}

/// Widths come from what is in sight, in steps: figures that change within them move nothing.
TEST(Layout, columns_stand_still_while_figures_change) {
    std::vector<metrics::Snapshot> intervals;
    for (std::uint64_t writes : {1000U, 1417U, 900U, 2345U}) {
        metrics::Snapshot snapshot;
        for (std::uint64_t id = 1; id <= 5; ++id)
            snapshot.flows.push_back(write_flow(id, ipv4(192, 0, 2, 1), ipv4(192, 0, 2, 2), writes * id));
        intervals.push_back(std::move(snapshot));
    }
    Screen screen(feed_of(intervals));
    std::set<std::string> headings;
    for (std::size_t i = 1; i <= intervals.size(); ++i) {
        screen.show(i);
        const std::string text = screen.draw(120, 24).grid.plain();
        const std::size_t begin = text.find("  source >");
        ASSERT_NE(begin, std::string::npos);
        headings.insert(text.substr(begin, text.find('\n', begin) - begin));
    }
    EXPECT_EQ(headings.size(), 1U) << *headings.begin() << *headings.rbegin();
}

TEST(Footer, shows_keys_that_do_something_there) {
    const auto group_of = [](FooterKey::Where where) -> std::string_view {
        switch (where) {
            case FooterKey::Where::prompt: return "In a prompt";
            case FooterKey::Where::menu: return "In a menu";
            case FooterKey::Where::text: return "In a text";
            case FooterKey::Where::view: return "";
        }
        return "";
    };
    for (const FooterKey& shown : footer_keys()) {
        if (shown.key == "letters") continue;
        const std::string_view name = shown.key == "Esc" ? "Escape" : shown.key;
        const std::vector<Key> wanted = keys_named(name);
        ASSERT_EQ(wanted.size(), 1U);
        for (std::size_t i = 0; i < view_count; ++i) {
            const std::uint32_t view = bit_of(static_cast<View>(i));
            if ((shown.views & view) == 0) continue;
            bool found = false;
            for (const KeyText& row : key_texts()) {
                const bool overlay = row.group.starts_with("In a");
                if (overlay ? row.group != group_of(shown.where) : shown.where != FooterKey::Where::view) continue;
                const std::vector<Key> keys = keys_named(row.keys);
                found =
                    found || ((row.views & view) != 0 && std::find(keys.begin(), keys.end(), wanted[0]) != keys.end());
            }
            EXPECT_TRUE(found) << shown.key << " " << shown.does << " in " << name_of(static_cast<View>(i));
        }
    }
}

TEST(Help, lists_every_key_once_wherever_it_is_asked_for) {
    for (const View view : {View::flows, View::hosts, View::packets}) {
        Screen screen(feed_of(many_flows(4)));
        screen.show_all();
        screen.go(view);
        screen.type("?");
        const std::string text = screen.draw(300, 120).grid.plain();
        for (const KeyText& row : key_texts()) EXPECT_NE(text.find(row.help), std::string::npos) << row.help;
        EXPECT_NE(text.find(fmt::format("Keys in the view of {}", name_of(view))), std::string::npos);
    }
}

TEST(Help, scrolls_through_all_of_it) {
    Screen screen(feed_of(many_flows(4)));
    screen.show_all();
    screen.type("?");
    std::string seen;
    Picture picture = screen.draw(80, 24);
    const std::size_t rows = picture.drawn.overlay_rows;
    ASSERT_GT(rows, picture.drawn.overlay_page);
    for (std::size_t pages = 0; pages <= rows / picture.drawn.overlay_page + 1; ++pages) {
        picture = screen.draw(80, 24);
        screen.model.drawn(picture.drawn);
        seen += picture.grid.plain();
        screen.press(Named::page_down);
    }
    for (const KeyText& row : key_texts()) EXPECT_NE(seen.find(row.help), std::string::npos) << row.help;
}

}  // namespace
}  // namespace tui
