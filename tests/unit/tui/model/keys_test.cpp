#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "controller_bench.h"

/// Every key that help lists does something, in every view in which help says so.
namespace tui::test {
namespace {

struct Situation {
    std::string name;
    std::string keys;  ///< pressed before, from the view that is tried
    bool playable = true;
};

/// Where a key is tried; one in which it does something is enough.
const std::vector<Situation>& situations_of(std::string_view group) {
    static const std::vector<Situation> views{
        {"plain", ""}, {"further down", "j j"}, {"at the end", "G"}, {"at the beginning", "g"}, {"live", "", false}};
    static const std::vector<Situation> grouped{{"plain", ""},
                                                {"further down", "j j"},
                                                {"live", "", false},
                                                {"groups", "1 u Down Enter"},
                                                {"folded groups", "1 u Down Enter Z"},
                                                {"filtered", "1 / 1 0 Enter"}};
    static const std::vector<Situation> prompts{{"jump", ": a b c Left"},
                                                {"jump, at its begin", ": g o o Home"},
                                                {"filter", "1 / g o o d p"},
                                                {"filter again", "1 / a Enter / Ctrl-U b Enter / Ctrl-U Up Up"}};
    static const std::vector<Situation> menus{{"themes", "T"},
                                              {"themes, narrowed", "T Down a"},
                                              {"columns", "1 c Down Down"},
                                              {"columns, at the end", "1 c End"}};
    static const std::vector<Situation> texts{
        {"help", "?"}, {"help, below", "? End"}, {"details", "5 g j Enter"}, {"a packet of why", "1 g e Enter"}};
    if (group == "In a prompt") return prompts;
    if (group == "In a menu") return menus;
    if (group == "In a text") return texts;
    return group == "Choose" || group == "Look" ? grouped : views;
}

/// What the capture has nothing of: several hosts, marks, commands, counters of a device.
void enrich(Reading& reading) {
    for (const char* name : {"out_of_buffer", "port_xmit_data", "port_rcv_data"})
        reading.counters.push_back({"siw0", 1, name, 17, 5});
    for (metrics::Snapshot* snapshot : {&reading.total, &reading.interval}) {
        for (unsigned i = 1; i <= 6; ++i) {
            snapshot->hosts.emplace_back().address = host(i);
            snapshot->hosts.back().sent_wire_bytes = i;
        }
        for (metrics::FlowSnapshot& flow : snapshot->flows) {
            flow.ecn_ce_packets = flow.id;
            flow.commands.emplace().protocol = "nvme";
            metrics::CommandKindFigures& reads = flow.commands->kinds.emplace_back();
            reads.kind = "read";
            reads.commands = 1;
        }
    }
}

support::FakeFeed capture(bool playable) {
    static const support::FakeFeed kept = [] {
        auto feed = support::FakeFeed::of_capture("demo-loopback.pcap.gz", 250'000'000);
        for (auto& reading : feed.readings) {
            auto richer = std::make_shared<Reading>(*reading);
            enrich(*richer);
            reading = richer;
        }
        return feed;
    }();
    support::FakeFeed feed = kept;
    feed.state.playable = playable;
    return feed;
}

void bring_to(Bench& bench, View view) {
    if (view == View::flow)
        bench.press("1 j Enter");
    else
        bench.press(std::string(1, static_cast<char>('1' + static_cast<int>(view))));
    bench.model.refresh(0);
    bench.draw(3, {}, 40);
}

struct Listed {
    KeyText text;
    View view;
    Key key;
    std::string name;
};

void PrintTo(const Listed& listed, std::ostream* out) { *out << listed.text.keys; }

std::vector<Listed> all_listed() {
    std::vector<Listed> all;
    std::size_t number = 0;
    for (const KeyText& text : key_texts()) {
        const auto keys = keys_named(text.keys);
        for (std::size_t v = 0; v < view_count; ++v)
            for (std::size_t k = 0; k < keys.size(); ++k) {
                const auto view = static_cast<View>(v);
                if ((text.views & bit_of(view)) == 0) continue;
                all.push_back(
                    {text, view, keys[k],
                     "row" + std::to_string(number) + "_key" + std::to_string(k) + "_" + std::string(name_of(view))});
            }
        ++number;
    }
    return all;
}

class EveryKey : public testing::TestWithParam<Listed> {};

TEST_P(EveryKey, does_something_where_it_is_listed) {
    const Listed& listed = GetParam();
    ASSERT_NE(listed.key, Key{}) << listed.text.keys;
    if (listed.key == key(U'1' + static_cast<char32_t>(listed.view))) return;  // one is there already
    for (const Situation& situation : situations_of(listed.text.group)) {
        Bench bench(capture(situation.playable));
        bench.next();
        bench.next();
        bring_to(bench, listed.view);
        if (!situation.keys.empty()) bench.press(situation.keys);
        if (listed.text.group.find("In a") == std::string_view::npos && bench.state().view != listed.view)
            bring_to(bench, listed.view);
        bench.draw(3, {}, 40);
        bench.requests();
        const std::string before = fingerprint(bench.state());
        const auto orders_before = bench.feed.orders;
        bench.model.press(listed.key);
        EXPECT_NE(bench.state().message, "? lists the keys") << listed.text.keys << ", " << situation.name;
        if (fingerprint(bench.state()) != before || bench.feed.orders != orders_before || !bench.requests().empty())
            return;
    }
    FAIL() << listed.text.keys << " (" << listed.text.help << ") does nothing in " << name_of(listed.view);
}

INSTANTIATE_TEST_SUITE_P(Keys, EveryKey, testing::ValuesIn(all_listed()),
                         [](const auto& listed) { return listed.param.name; });

TEST(Keys, each_means_one_thing_in_a_view) {
    for (std::size_t v = 0; v < view_count; ++v)
        for (const std::string_view layer : {"", "In a prompt", "In a menu", "In a text"}) {
            std::set<std::pair<Named, char32_t>> seen;
            for (const KeyText& text : key_texts()) {
                const bool over = text.group.starts_with("In a");
                if (over ? text.group != layer : !layer.empty()) continue;
                if ((text.views & bit_of(static_cast<View>(v))) == 0) continue;
                for (const Key& key : keys_named(text.keys))
                    EXPECT_TRUE(seen.insert({key.named, key.character}).second)
                        << text.keys << " in " << name_of(static_cast<View>(v)) << " " << layer;
            }
        }
}

TEST(Keys, are_explained_in_a_few_words) {
    for (const KeyText& text : key_texts()) {
        EXPECT_FALSE(text.help.empty()) << text.keys;
        EXPECT_LE(text.help.size(), 48U) << text.help;
        EXPECT_NE(text.views, 0U) << text.keys;
    }
}

TEST(Keys, names_of_keys) {
    EXPECT_EQ(keys_named("j, Down"), (std::vector{key(U'j'), key(Named::down)}));
    EXPECT_EQ(keys_named(","), (std::vector{key(U',')}));
    EXPECT_EQ(keys_named("Ctrl-D, PageDown"), (std::vector{key(char32_t{4}), key(Named::page_down)}));
    EXPECT_EQ(keys_named("Ctrl-Z"), (std::vector{key(char32_t{26})}));
    EXPECT_EQ(keys_named("Ctrl-C"), (std::vector{key(Named::interrupt)}));
    EXPECT_EQ(keys_named("Space"), (std::vector{key(U' ')}));
    EXPECT_EQ(keys_named("Nonsense"), (std::vector{Key{}}));
}

TEST(Keys, an_unknown_key_says_where_help_is) {
    Bench bench(std::vector<ReadingPtr>{});
    bench.type(U"y");
    EXPECT_EQ(bench.state().message, "? lists the keys");
    bench.type(U"j");
    EXPECT_EQ(bench.state().message, "");
}

TEST(Keys, an_overlay_keeps_them_to_itself) {
    Bench bench({reading_of(1, {writes(1, 1, 2, 10)})});
    bench.all();
    bench.press("? p 2 S");
    EXPECT_EQ(bench.state().overlay, Overlay::help);
    EXPECT_EQ(bench.state().view, View::flows);
    EXPECT_TRUE(bench.state().choice.pinned.empty());
    EXPECT_TRUE(bench.requests().empty());
    bench.press("q");
    EXPECT_EQ(bench.state().overlay, Overlay::none);
    EXPECT_TRUE(bench.requests().empty());
    bench.press("? Ctrl-C Ctrl-L Ctrl-Z");
    using Kind = Request::Kind;
    EXPECT_EQ(bench.requests(), (std::vector{Kind::quit, Kind::redraw, Kind::suspend}));
}

}  // namespace
}  // namespace tui::test
