#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "controller_bench.h"
#include "tui/view/theme.h"

/// Keys that choose what is shown: filter, order, columns, groups, pins, window, theme; and that settings remember it.
namespace tui::test {
namespace {

using Ids = std::vector<std::uint64_t>;
using RequestKind = Request::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<metrics::FlowSnapshot> three() { return {writes(1, 1, 9, 10), writes(2, 1, 8, 30), writes(3, 2, 9, 20)}; }

struct Choosing : testing::Test {
    Choosing() {
        bench.all();
        bench.draw(10);
    }
    Bench bench{std::vector<ReadingPtr>{reading_of(1, three())}};
    const Settings& settings() const { return bench.state().settings; }
    const Menu& menu() const { return bench.state().menu; }
    const Prompt& prompt() const { return bench.state().prompt; }
};

TEST_F(Choosing, a_filter_acts_while_it_is_typed) {
    bench.press("/").type(U"message_count > 1");
    EXPECT_EQ(bench.ids(), (Ids{2, 3, 1}));
    bench.type(U"5");
    EXPECT_EQ(bench.ids(), (Ids{2, 3}));
    EXPECT_EQ(bench.state().filter_text, "message_count > 15");
    EXPECT_EQ(bench.state().list.hidden(), 1U);
    bench.press("Enter");
    EXPECT_EQ(bench.state().overlay, Overlay::none);
    EXPECT_EQ(bench.ids(), (Ids{2, 3}));
    bench.press("Escape");
    EXPECT_EQ(bench.ids(), (Ids{2, 3, 1}));
    EXPECT_EQ(bench.state().filter_text, "");
}

TEST_F(Choosing, escape_brings_the_former_filter_back) {
    bench.press("/").type(U"message_count>15").press("Enter").press("/");
    EXPECT_EQ(prompt().text, "message_count>15");
    EXPECT_EQ(prompt().cursor, 16U);
    bench.press("Ctrl-U").type(U"id==1");
    EXPECT_EQ(bench.ids(), (Ids{1}));
    bench.press("Escape");
    EXPECT_EQ(bench.ids(), (Ids{2, 3}));
    EXPECT_EQ(bench.state().filter_text, "message_count>15");
}

TEST_F(Choosing, a_wrong_filter_says_so_and_the_last_right_one_holds) {
    bench.press("/").type(U"message_count > 15 && resnt > 0");
    EXPECT_THAT(prompt().error, HasSubstr("column 23: resnt is not a known column; near it: resent"));
    EXPECT_EQ(bench.ids(), (Ids{2, 3}));
    EXPECT_EQ(bench.state().filter_text, "message_count > 15 ");
    bench.press("Enter");
    EXPECT_EQ(bench.state().overlay, Overlay::prompt) << "until it is right, or given up";
    bench.press("Ctrl-W Ctrl-W Ctrl-W").type(U"id == 2");
    EXPECT_EQ(prompt().error, "");
    bench.press("Enter");
    EXPECT_EQ(bench.ids(), (Ids{2}));
}

TEST_F(Choosing, a_prompt_knows_letters_of_several_octets) {
    bench.press("/").type(U"aä€𝄞b");
    EXPECT_EQ(prompt().text,
              "a\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e"
              "b");
    bench.press("Left");
    EXPECT_EQ(prompt().cursor, 10U);
    bench.press("Left");
    EXPECT_EQ(prompt().cursor, 6U);
    bench.press("Backspace");
    EXPECT_EQ(prompt().text,
              "a\xc3\xa4\xf0\x9d\x84\x9e"
              "b");
    EXPECT_EQ(prompt().cursor, 3U);
    bench.press("Delete");
    EXPECT_EQ(prompt().text,
              "a\xc3\xa4"
              "b");
    bench.press("Home Right Right").type(U"x");
    EXPECT_EQ(prompt().text, "a\xc3\xa4xb");
    bench.press("End Right Right Backspace Ctrl-A Left Delete");
    EXPECT_EQ(prompt().text, "\xc3\xa4x");
    bench.model.press(key(char32_t{0x1b}));
    bench.model.press(key(char32_t{0xd800}));
    bench.model.press(key(char32_t{0x110000}));
    EXPECT_EQ(prompt().text, "\xc3\xa4x") << "what is no letter does not get in";
    bench.press("Ctrl-U Backspace");
    EXPECT_EQ(bench.state().overlay, Overlay::none) << "nothing left to rub out";
}

TEST_F(Choosing, tab_completes_names_of_columns) {
    bench.press("/").type(U"message_c").press("Tab");
    EXPECT_EQ(prompt().text, "message_count");
    bench.type(U" > 15 && laten").press("Tab");
    EXPECT_EQ(prompt().text, "message_count > 15 && latency_");
    bench.press("Tab");
    EXPECT_THAT(bench.state().message, HasSubstr("names begin so"));
    bench.type(U"x").press("Tab");
    EXPECT_EQ(bench.state().message, "nothing begins so");
    bench.press("Escape 5 /").type(U"infiniband.bth.opc").press("Tab");
    EXPECT_EQ(prompt().text, "infiniband.bth.opcode");
}

TEST_F(Choosing, up_and_down_bring_back_what_was_typed) {
    bench.press("/").type(U"id==1").press("Enter / Ctrl-U").type(U"id==2").press("Enter");
    bench.press("/ Up");
    EXPECT_EQ(prompt().text, "id==1") << "the latest stands there already";
    EXPECT_EQ(bench.ids(), (Ids{1}));
    EXPECT_EQ(prompt().cursor, 5U);
    bench.press("Up");
    EXPECT_EQ(prompt().text, "id==1") << "there is nothing before";
    bench.press("Down");
    EXPECT_EQ(prompt().text, "id==2");
    bench.press("Down Down");
    EXPECT_EQ(prompt().text, "id==2");
    bench.press("Up Up Escape");
    EXPECT_EQ(bench.ids(), (Ids{2})) << "as it was before";
    bench.press("Escape / Up");
    EXPECT_EQ(prompt().text, "id==2");
    bench.press("Escape 5 / Up");
    EXPECT_EQ(prompt().text, "") << "filters of packets are others";
}

TEST_F(Choosing, sort_by_neighbours_and_the_other_way_round) {
    EXPECT_EQ(bench.state().choice.order.field->path, "cause");
    EXPECT_EQ(bench.state().choice.order.then->path, "goodput");
    EXPECT_TRUE(bench.state().choice.order.descending);
    EXPECT_EQ(bench.ids(), (Ids{2, 3, 1})) << "nothing is wrong with them";
    bench.press("r");
    EXPECT_EQ(bench.ids(), (Ids{1, 3, 2}));
    EXPECT_EQ(settings().sort, "-cause");
    EXPECT_THAT(bench.requests(), ElementsAre(RequestKind::settings));
    bench.press("I");
    EXPECT_EQ(settings().sort, "cause");
    bench.press(">");
    EXPECT_EQ(settings().sort, "operations") << "the next one of the usual columns";
    EXPECT_EQ(bench.state().choice.order.then, nullptr);
    bench.press("< <");
    EXPECT_EQ(settings().sort, "flow");
    EXPECT_FALSE(bench.state().choice.order.descending) << "texts begin at A";
    bench.press("< < <");
    EXPECT_EQ(settings().sort, "time") << "round the end";
}

TEST_F(Choosing, the_menu_of_orders) {
    bench.press("s");
    EXPECT_EQ(bench.state().overlay, Overlay::menu);
    EXPECT_EQ(menu().items[menu().place.selected], "cause") << "the one that holds";
    EXPECT_TRUE(menu().chosen[menu().place.selected]);
    bench.type(U"latency_p5");
    EXPECT_EQ(menu().items.front(), "latency_p50");
    bench.press("Backspace Backspace").type(U"p99");
    EXPECT_EQ(menu().typed, "latency_p99");
    EXPECT_THAT(menu().items, ElementsAre("latency_p99", "io.latency_p99_ns"));
    bench.press("Enter");
    EXPECT_EQ(bench.state().overlay, Overlay::none);
    EXPECT_EQ(settings().sort, "latency_p99");
    EXPECT_THAT(bench.requests(), ElementsAre(RequestKind::settings));
    bench.press("s").type(U"zzz").press("Enter");
    EXPECT_EQ(settings().sort, "latency_p99");
    bench.press("s Down Escape");
    EXPECT_EQ(settings().sort, "latency_p99");
}

TEST_F(Choosing, any_field_of_flows_can_be_an_order) {
    bench.press("s").type(U"destination.address").press("Enter");
    EXPECT_EQ(bench.ids(), (Ids{2, 1, 3}));
}

TEST_F(Choosing, columns) {
    bench.press("c");
    EXPECT_EQ(menu().items.front(), "id");
    bench.press("Space");
    EXPECT_EQ(bench.state().columns.front().name, "kind");
    EXPECT_FALSE(menu().chosen.front());
    EXPECT_EQ(menu().items.front(), "id") << "it stays where it was, to be chosen again";
    bench.type(U"timeouts").press("Space");
    EXPECT_EQ(bench.state().columns.back().name, "timeouts");
    bench.press("Enter");
    EXPECT_EQ(settings().columns.back(), "timeouts");
    EXPECT_EQ(settings().columns.size(), usual_columns().size());
    EXPECT_THAT(bench.requests(), ElementsAre(RequestKind::settings));
    bench.press("c Space Space Down Space Escape");
    EXPECT_EQ(bench.state().columns.front().name, "kind");
    EXPECT_EQ(bench.state().columns.size(), usual_columns().size());
}

TEST_F(Choosing, the_last_column_stays) {
    Settings one;
    one.columns = {"goodput"};
    Bench narrow({reading_of(1, three())}, one);
    narrow.press("c Space");
    EXPECT_EQ(narrow.state().columns.size(), 1U);
    EXPECT_EQ(narrow.state().message, "a table has a column");
}

TEST_F(Choosing, groups) {
    bench.press("u");
    EXPECT_THAT(menu().items, ElementsAre("none", "source", "destination", "transport", "traffic class", "process"));
    bench.press("Down Enter");
    EXPECT_EQ(settings().grouping, Grouping::source);
    EXPECT_EQ(bench.ids(), (Ids{0, 2, 1, 0, 3}));
    bench.press("g j j h");
    EXPECT_EQ(bench.ids(), (Ids{0, 0, 3}));
    EXPECT_EQ(bench.state().places[0].selected, 0U) << "on the heading";
    bench.press("l");
    EXPECT_EQ(bench.ids(), (Ids{0, 2, 1, 0, 3}));
    bench.press("Enter");
    EXPECT_EQ(bench.ids(), (Ids{0, 0, 3}));
    bench.press("Z");
    EXPECT_EQ(bench.ids(), (Ids{0, 0}));
    bench.press("Z");
    EXPECT_EQ(bench.ids(), (Ids{0, 2, 1, 0, 3}));
    bench.press("z");
    EXPECT_EQ(bench.ids(), (Ids{0, 0, 3}));
    bench.press("p");
    EXPECT_EQ(bench.state().message, "only flows can be pinned");
    bench.press("u Home Enter");
    EXPECT_EQ(bench.ids(), (Ids{2, 3, 1}));
}

TEST_F(Choosing, pins) {
    bench.press("G p");
    EXPECT_EQ(bench.ids(), (Ids{1, 2, 3}));
    EXPECT_EQ(bench.selected_id(), 1U);
    bench.press("p");
    EXPECT_EQ(bench.ids(), (Ids{2, 3, 1}));
    bench.press("Enter p Escape");
    EXPECT_EQ(bench.ids(), (Ids{1, 2, 3})) << "from the view of the flow as well";
}

TEST_F(Choosing, themes_are_judged_by_seeing_them) {
    const std::string second_theme(themes()[1].name);
    bench.press("T");
    EXPECT_EQ(menu().items.size(), themes().size());
    bench.press("Down");
    EXPECT_EQ(settings().theme, second_theme);
    EXPECT_THAT(bench.requests(), ElementsAre(RequestKind::theme));
    bench.press("Escape");
    EXPECT_EQ(settings().theme, "safe");
    EXPECT_THAT(bench.requests(), ElementsAre(RequestKind::theme));
    bench.press("T Down Enter");
    EXPECT_EQ(settings().theme, second_theme);
    EXPECT_THAT(bench.requests(), ElementsAre(RequestKind::theme, RequestKind::settings));
}

TEST_F(Choosing, the_flows_of_a_host) {
    auto reading = std::make_shared<Reading>(*bench.feed.readings.front());
    for (metrics::Snapshot* snapshot : {&reading->total, &reading->interval})
        for (unsigned number : {8U, 9U}) {
            snapshot->hosts.emplace_back().address = host(number);
            snapshot->hosts.back().received_wire_bytes = number;
        }
    Bench hosts({reading});
    hosts.all();
    hosts.press("2 j Enter");
    EXPECT_EQ(hosts.state().view, View::flows);
    EXPECT_EQ(hosts.ids(), (Ids{2})) << "10.0.0.8, which received less than 10.0.0.9";
    hosts.press("Escape");
    EXPECT_EQ(hosts.ids().size(), 3U);
}

TEST_F(Choosing, congested_flows_worst_first) {
    auto flows = three();
    flows[0].ecn_ce_packets = 4;
    flows[2].cnp_packets = 9;
    Bench congested({reading_of(1, flows)});
    congested.all();
    ASSERT_EQ(congested.state().congested.size(), 2U);
    EXPECT_EQ(congested.state().congested[0]->id, 3U);
    congested.press("3 j Enter");
    EXPECT_EQ(congested.state().flow_id, 1U);
    congested.press("Escape");
    EXPECT_EQ(congested.state().view, View::congestion);
    congested.press("/").type(U"cnp_packets > 0").press("Enter");
    EXPECT_EQ(congested.state().congested.size(), 1U);
}

TEST_F(Choosing, the_opposite_direction) {
    auto flows = three();
    flows[0].reverse = 3;
    Bench paired({reading_of(1, flows)});
    paired.all();
    paired.press("G Enter o");
    EXPECT_EQ(paired.state().flow_id, 3U);
    paired.press("o");
    EXPECT_EQ(paired.state().flow_id, 3U);
    EXPECT_TRUE(paired.state().message_is_error);
}

TEST_F(Choosing, names_and_numbers) {
    const GivenNames names{{"10.0.0.1", "storage-1"}};
    Bench named({reading_of(1, three())}, {}, &names);
    named.all();
    EXPECT_EQ(named.state().names, &names);
    named.press("/").type(U"storage").press("Enter");
    EXPECT_EQ(named.ids(), (Ids{2, 1}));
    named.press("N");
    EXPECT_EQ(named.state().names, nullptr);
    EXPECT_FALSE(named.state().settings.names);
    EXPECT_EQ(named.ids(), (Ids{})) << "nothing shows that name now";
    named.press("N");
    EXPECT_EQ(named.ids(), (Ids{2, 1}));
}

TEST(Settings, come_back_as_they_were_left) {
    Settings kept;
    kept.columns = {"flow", "goodput", "timeouts"};
    kept.sort = "-timeouts";
    kept.grouping = Grouping::destination;
    kept.window = Window::total;
    kept.theme = "light";
    kept.interval_ns = 500'000'000;
    kept.names = false;
    const Bench bench(std::vector<ReadingPtr>{}, kept);
    EXPECT_EQ(bench.state().settings, kept);
    EXPECT_EQ(bench.state().columns.size(), 3U);
    EXPECT_EQ(bench.state().choice.order.field->path, "timeouts");
    EXPECT_FALSE(bench.state().choice.order.descending);
    EXPECT_EQ(bench.state().choice.grouping, Grouping::destination);
    EXPECT_EQ(bench.state().choice.window, Window::total);
}

TEST(Settings, what_is_no_column_is_left_out) {
    Settings odd;
    odd.columns = {"no_such", "goodput", "goodput", "latency_ns"};
    odd.sort = "no_such";
    const Bench bench(std::vector<ReadingPtr>{}, odd);
    ASSERT_EQ(bench.state().columns.size(), 1U);
    EXPECT_EQ(bench.state().columns.front().name, "goodput");
    EXPECT_EQ(bench.state().choice.order.field->path, "cause");
    const Bench usual(std::vector<ReadingPtr>{}, Settings{});
    EXPECT_EQ(usual.state().settings, Settings{});
    EXPECT_EQ(usual.state().columns.size(), usual_columns().size());
}

TEST(Columns, usual_ones_have_a_field_and_a_place) {
    std::set<std::string> names;
    unsigned narrow = 0;
    for (const Column& column : usual_columns()) {
        ASSERT_NE(column.field, nullptr) << column.name;
        EXPECT_TRUE(names.insert(column.name).second) << column.name;
        EXPECT_EQ(column_named(column.name)->title, column.title);
        if (column.weight == 0) narrow += column.least_width + 1;
    }
    EXPECT_LE(narrow, 80U) << "those that stay fit into 80 columns";
    EXPECT_EQ(column_named("p99")->name, "latency_p99") << "a heading is a name, too";
    EXPECT_EQ(column_named("bytes")->name, "wire_bytes");
    EXPECT_FALSE(column_named("latency_ns")) << "a group of columns is none";
    EXPECT_EQ(column_named("latency_ns.write.p50")->field->path, "latency_ns.write.p50");
}

}  // namespace
}  // namespace tui::test
