// The command line of `top`: what each option sets, what is refused, and what goes before what is stored.
#include "cli/top/options.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cli::top {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string mistake(const std::optional<options::UsageError>& error) { return error ? error->message : ""; }

TopOptions read(const Words& words) {
    TopOptions options;
    EXPECT_EQ(mistake(parse_options(words, options)), "");
    return options;
}

std::string refused(const Words& words) {
    TopOptions options;
    return mistake(parse_options(words, options));
}

TEST(TopOptions, EachSetsWhatItSays) {
    const TopOptions options = read({"-r",
                                     "a.pcap",
                                     "--interval",
                                     "250ms",
                                     "--speed",
                                     "2.5",
                                     "--columns",
                                     "flow,goodput,time",
                                     "--sort=-latency_p99",
                                     "--filter",
                                     "goodput > 1Gbit",
                                     "--view",
                                     "packets",
                                     "--theme",
                                     "light",
                                     "--ascii",
                                     "--no-mouse",
                                     "--no-color",
                                     "--once",
                                     "--size",
                                     "132x43",
                                     "-n"});
    EXPECT_EQ(options.interval_ns, 250'000'000U);
    EXPECT_EQ(options.speed, 2.5);
    EXPECT_TRUE(options.ascii && options.once);
    EXPECT_TRUE(read({"-r", "a.pcap", "--paused"}).paused);
    EXPECT_FALSE(options.mouse || options.color || options.names);
    EXPECT_THAT(options.columns, ElementsAre("flow", "goodput", "time"));
    EXPECT_EQ(options.sort, "-latency_p99");
    EXPECT_EQ(options.filter, "goodput > 1Gbit");
    EXPECT_EQ(options.view, tui::View::packets);
    EXPECT_EQ(options.theme, "light");
    ASSERT_TRUE(options.size);
    EXPECT_EQ(options.size->width, 132);
    EXPECT_EQ(options.size->height, 43);
    EXPECT_TRUE(options.plays_back());
}

TEST(TopOptions, WithoutAnyTheScreenIsAsUsual) {
    const TopOptions options = read({"-i", "lo"});
    EXPECT_TRUE(options.mouse && options.color && options.names);
    EXPECT_FALSE(options.once || options.paused || options.ascii || options.interval_ns || options.speed ||
                 options.view || options.plays_back());
}

TEST(TopOptions, TheSpeedIsAFactorOrMax) {
    EXPECT_EQ(read({"-r", "x", "--speed", "max"}).speed, 0);
    EXPECT_EQ(read({"-r", "x", "--speed", "10x"}).speed, 10);
    EXPECT_EQ(read({"--from", "-1h", "--speed", "0.5"}).speed, 0.5);
    for (const char* value : {"0", "-1", "fast", "nan", "inf", "1e300", "2xx", ""})
        EXPECT_THAT(refused({"-r", "x", "--speed", value}), HasSubstr("a number from 0.001")) << value;
}

TEST(TopOptions, TheIntervalIsFromATenthOfASecondToTen) {
    EXPECT_EQ(read({"-r", "x", "--interval", "0.1"}).interval_ns, 100'000'000U);
    EXPECT_EQ(read({"-r", "x", "--interval", "10s"}).interval_ns, 10'000'000'000U);
    for (const char* value : {"99ms", "10.1", "1m", "soon"})
        EXPECT_THAT(refused({"-r", "x", "--interval", value}), HasSubstr("100ms to 10s")) << value;
}

TEST(TopOptions, TheHelpNamesEveryView) {
    const std::vector<options::ListedOption> rows = option_table().options();
    const auto row =
        std::ranges::find_if(rows, [](const options::ListedOption& each) { return each.text.long_name == "view"; });
    ASSERT_NE(row, rows.end());
    for (const char* view : {"flows", "hosts", "congestion", "events", "packets", "counters", "io"}) {
        EXPECT_EQ(refused({"-r", "x", "--view", view}), "");
        EXPECT_THAT(std::string(row->text.help), HasSubstr(std::string(" ") + view));
    }
}

TEST(TopOptions, WhatIsLiveIsNotPlayedBack) {
    for (const Words& source : {Words{"-i", "lo"}, Words{"--connect=/nowhere"}}) {
        Words words = source;
        words.insert(words.end(), {"--speed", "2"});
        EXPECT_THAT(refused(words), HasSubstr("--speed is of files"));
        words = source;
        words.emplace_back("--paused");
        EXPECT_THAT(refused(words), HasSubstr("--paused is of files"));
    }
}

TEST(TopOptions, NamesThatAreNoneAreRefusedWithWhatIsNear) {
    EXPECT_THAT(refused({"-r", "x", "--sort", "goodputt"}), HasSubstr("did you mean 'goodput'?"));
    EXPECT_THAT(refused({"-r", "x", "--sort=-"}), HasSubstr("a column"));
    EXPECT_THAT(refused({"-r", "x", "--columns", "flow,tiem"}), HasSubstr("did you mean 'time'?"));
    EXPECT_THAT(refused({"-r", "x", "--columns", ","}), HasSubstr("a list"));
    EXPECT_THAT(refused({"-r", "x", "--view", "flow"}),
                HasSubstr("flows, hosts, congestion, events, packets, counters, io or paths is expected"));
    EXPECT_THAT(refused({"-r", "x", "--theme", "dark"}), HasSubstr("safe, classic, light or plain is expected"));
    EXPECT_THAT(refused({"-r", "x", "--filter", "goodput >"}), HasSubstr("--filter goodput >: "));
}

TEST(TopOptions, ASizeIsOfThePictureAlone) {
    for (const char* value : {"80", "x24", "80x", "0x24", "80x-1", "80x24x2", "1001x24"})
        EXPECT_THAT(refused({"-r", "x", "--once", "--size", value}), HasSubstr("132x43")) << value;
    EXPECT_THAT(refused({"-r", "x", "--size", "80x24"}), HasSubstr("--size is of --once"));
    EXPECT_THAT(refused({"-r", "x", "--once", "--paused"}), HasSubstr("--paused"));
}

TEST(TopOptions, OfTwoSourcesNoneIsChosen) {
    EXPECT_THAT(refused({"-r", "x", "-i", "lo"}), HasSubstr("-i and -r are given"));
    EXPECT_THAT(refused({"--connect", "--from", "-1h"}), HasSubstr("figures come from one or the other"));
}

TEST(TopOptions, TheListOfColumnsNeedsNoSource) { EXPECT_TRUE(read({"--columns", "help"}).column_help()); }

TEST(TopOptions, GoBeforeWhatIsStored) {
    tui::Settings stored;
    stored.columns = {"id"};
    stored.sort = "resent";
    stored.theme = "classic";
    stored.interval_ns = 2'000'000'000;
    stored.grouping = tui::Grouping::transport;

    EXPECT_EQ(overridden(stored, read({"-i", "lo"})), stored);
    tui::Settings wanted = stored;
    wanted.columns = {"flow", "time"};
    wanted.sort = "-depth";
    wanted.theme = "plain";
    wanted.interval_ns = 500'000'000;
    wanted.names = false;
    EXPECT_EQ(overridden(stored, read({"-i", "lo", "--columns", "flow,time", "--sort=-depth", "--theme", "plain",
                                       "--interval", "500ms", "-n"})),
              wanted);
}

}  // namespace
}  // namespace cli::top
