// Tables: which columns leave, how wide those are that stay, which rows are on a page.
#include "tui/view/table.h"

#include <gtest/gtest.h>

#include "tui/view/figures.h"
#include "tui/view/state_bar.h"

namespace tui {
namespace {

TableRow row_of(std::initializer_list<const char*> texts) {
    TableRow row;
    for (const char* text : texts) row.cells.push_back({text});
    return row;
}

/// name: squeezable text; goodput stays; resent leaves last of the two, id first.
const std::vector<TableColumn> table_columns{{"id", false, 4, 0, 0, 9},
                                             {"name", true, 8, 8, 0, 0},
                                             {"goodput", false, 8, 0, 0, 0},
                                             {"resent", false, 6, 0, 0, 2},
                                             {"time", true, 10, 0, 30, 0}};

TEST(Fit, gives_what_is_left_to_what_likes_to_be_wide) {
    const std::vector<TableRow> rows{row_of({"1", "storage-3", "1MB/s", "0", ""})};
    // 4 + 12 (9 columns in steps of 4) + 8 + 6 + 10 and four gaps of 2: 48.
    EXPECT_EQ(fit(table_columns, rows, 48), (std::vector<int>{4, 12, 8, 6, 10}));
    EXPECT_EQ(fit(table_columns, rows, 60), (std::vector<int>{4, 12, 8, 6, 22}));
    EXPECT_EQ(fit(table_columns, rows, 300), (std::vector<int>{4, 12, 8, 6, 30}));
}

TEST(Fit, squeezes_before_it_drops_and_drops_the_greatest_weight_first) {
    const std::vector<TableRow> rows{row_of({"1", "storage-3", "1MB/s", "0", ""})};
    EXPECT_EQ(fit(table_columns, rows, 47), (std::vector<int>{4, 11, 8, 6, 10}));
    EXPECT_EQ(fit(table_columns, rows, 44), (std::vector<int>{4, 8, 8, 6, 10}));
    EXPECT_EQ(fit(table_columns, rows, 43), (std::vector<int>{0, 12, 8, 6, 11}));
    EXPECT_EQ(fit(table_columns, rows, 37), (std::vector<int>{0, 12, 8, 0, 13}));
    // What is left of the least: the columns to the left.
    EXPECT_EQ(fit(table_columns, rows, 27), (std::vector<int>{0, 12, 8, 0, 0}));
    EXPECT_EQ(fit(table_columns, rows, 3), (std::vector<int>{0, 0, 0, 0, 0}));
}

TEST(Fit, does_not_move_when_a_figure_gets_a_digit_more) {
    const auto widths = [](const char* name, const char* goodput) {
        return fit(table_columns, std::vector<TableRow>{row_of({"1", name, goodput, "0", ""})}, 100);
    };
    EXPECT_EQ(widths("a", "9.99MB/s"), widths("host-12", "999kB/s"));
    EXPECT_EQ(widths("storage-31", "12"), widths("storage-3", "12"));
    EXPECT_EQ(widths("storage-31", "1234567890"), widths("storage-3", "123456789"));
}

TEST(PageOfRows, holds_the_selected_row) {
    const auto page = [](Place place, std::size_t count, int rows) {
        const PageOfRows found = page_of(place, count, rows);
        return std::pair{found.first, found.last};
    };
    EXPECT_EQ(page({0, 0, 100}, 100, 10), std::pair(std::size_t{0}, std::size_t{10}));
    EXPECT_EQ(page({57, 50, 100}, 100, 10), std::pair(std::size_t{50}, std::size_t{60}));
    EXPECT_EQ(page({70, 50, 100}, 100, 10), std::pair(std::size_t{61}, std::size_t{71}));
    EXPECT_EQ(page({3, 50, 100}, 100, 10), std::pair(std::size_t{3}, std::size_t{13}));
    // The list became shorter since the model counted it.
    EXPECT_EQ(page({99, 95, 100}, 5, 10), std::pair(std::size_t{0}, std::size_t{5}));
    EXPECT_EQ(page({99, 95, 100}, 12, 10), std::pair(std::size_t{2}, std::size_t{12}));
    EXPECT_EQ(page({0, 0, 0}, 0, 10), std::pair(std::size_t{0}, std::size_t{0}));
    EXPECT_EQ(page({0, 0, 9}, 9, 0), std::pair(std::size_t{0}, std::size_t{0}));
    EXPECT_EQ(page({0, 0, 9}, 9, -3), std::pair(std::size_t{0}, std::size_t{0}));
}

TEST(Deal, uses_up_the_total_by_largest_remainder) {
    const auto dealt = [](std::vector<std::uint64_t> shares, int total) {
        return deal(shares.data(), shares.size(), total);
    };
    // 10/3 each: 3, 3, 3 and the one that is left to the first.
    EXPECT_EQ(dealt({1, 1, 1}, 10), (std::vector<int>{4, 3, 3}));
    // 4.7, 3.4, 1.9: 4, 3, 1; remainders .9 and .7.
    EXPECT_EQ(dealt({47, 34, 19}, 10), (std::vector<int>{5, 3, 2}));
    EXPECT_EQ(dealt({0, 5, 0}, 7), (std::vector<int>{0, 7, 0}));
    EXPECT_EQ(dealt({0, 0}, 7), (std::vector<int>{0, 0}));
    EXPECT_EQ(dealt({1, 2}, 0), (std::vector<int>{0, 0}));
    // Sums beyond 64 bits.
    EXPECT_EQ(dealt({~std::uint64_t{0}, ~std::uint64_t{0}}, 4), (std::vector<int>{2, 2}));
}

TEST(Figures, words_are_wrapped) {
    EXPECT_EQ(wrapped("", 9), (std::vector<std::string>{}));
    EXPECT_EQ(wrapped("no permission to connect", 13), (std::vector<std::string>{"no permission", "to connect"}));
    EXPECT_EQ(wrapped("a/very/long/path is gone", 8), (std::vector<std::string>{"a/very/long/path", "is gone"}));
    FeedStatus feed;
    feed.trouble = "eth0: the interface went away; it is looked for again every second";
    const Trouble trouble = trouble_of(feed, 50);
    EXPECT_EQ(trouble.first, "eth0: the interface went away; it is");
    EXPECT_EQ(trouble.rest, "looked for again every second");
}

TEST(Figures, counts_are_short_where_they_are_large) {
    EXPECT_EQ(short_count(99'999), "99,999");
    EXPECT_EQ(short_count(100'000), "100k");
    EXPECT_EQ(short_count(1'234'567), "1.23M");
}

TEST(Figures, quantities_have_the_letters_of_the_terminal) {
    EXPECT_EQ(base::format_duration(881'000, in_sentence(utf8_letters)), "881 µs");
    EXPECT_EQ(base::format_duration(881'000, in_column(utf8_letters)), "881µs");
    EXPECT_EQ(base::format_duration(881'000, in_sentence(ascii_letters)), "881 us");
    EXPECT_EQ(base::format_duration(881'000, in_column(ascii_letters)), "881us");
}

TEST(Figures, an_interval_is_told_as_finely_as_it_is_known) {
    setenv("TZ", "UTC", 1);
    constexpr std::int64_t ms = 1'000'000;
    constexpr std::int64_t at = 1'795'227'260'140 * ms;  // 2026-11-21 02:14:20.140
    EXPECT_EQ(between_text(at, at + 1000 * ms), "02:14:20 - 21");
    EXPECT_EQ(between_text(at - 140 * ms, at + 860 * ms), "02:14:20") << "the next second is not part of it";
    EXPECT_EQ(between_text(at, at + 60'000 * ms), "02:14:20 - 15:20");
    EXPECT_EQ(between_text(at, at + 3'600'000 * ms), "02:14:20 - 03:14:20");
    EXPECT_EQ(between_text(at, at + 500 * ms), "02:14:20");
    EXPECT_EQ(between_text(at, at + 20 * ms), "02:14:20.1");
    EXPECT_EQ(between_text(at + 50 * ms, at + 70 * ms), "02:14:20.1 - 20.2");
    EXPECT_EQ(between_text(at, at + 1), "02:14:20.140");
    EXPECT_EQ(between_text(at, at), "02:14:20.140");
}

}  // namespace
}  // namespace tui
