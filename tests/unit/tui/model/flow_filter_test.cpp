#include "exporters/filter/flow_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "controller_bench.h"

/// Which flows an expression chooses. The flows of demo-loopback, and their figures, are those that the demo itself
/// reports: pcaps/demo-loopback.json.
namespace tui::test {
namespace {

using exporters::filter::FlowFilter;
using Ids = std::vector<std::uint64_t>;
using testing::HasSubstr;

const metrics::Snapshot& demo() {
    static const support::FakeFeed feed = support::FakeFeed::of_capture("demo-loopback.pcap.gz", 60'000'000'000);
    return feed.readings.back()->total;
}

Ids chosen(std::string_view expression, const metrics::Snapshot& snapshot = demo(),
           const metrics::HostNames* names = nullptr) {
    auto filter = FlowFilter::compile(expression);
    if (!filter) {
        ADD_FAILURE() << filter.error().text();
        return Ids{};
    }
    Ids ids;
    const exporters::Context context{names, true, {}};
    for (const auto& flow : snapshot.flows)
        if (filter->matches({flow, context})) ids.push_back(flow.id);
    return ids;
}

std::string error_of(std::string_view expression) {
    const auto filter = FlowFilter::compile(expression);
    return filter ? "" : filter.error().text();
}

const Ids all_ids{4, 5, 9, 10, 14, 15, 19, 20, 24, 25};

TEST(FlowFilter, an_empty_one_lets_everything_through) {
    for (const char* text : {"", "  ", "\t"}) {
        EXPECT_EQ(chosen(text), all_ids);
        EXPECT_TRUE(FlowFilter::compile(text)->everything());
    }
    EXPECT_FALSE(FlowFilter::compile("packets > 0")->everything());
}

TEST(FlowFilter, counts_as_the_endpoints_counted_them) {
    // 600 Fetch and Adds by one client; the Sends are 733 one way and 727 the other: 1460 together.
    EXPECT_EQ(chosen("messages.fetch_add.count == 600"), (Ids{19}));
    EXPECT_EQ(chosen("messages.send.count == 733 || messages.send.count == 727"), (Ids{14, 15}));
    EXPECT_EQ(chosen("messages.send.count + messages.write.count >= 727 and messages.write.count == 0"), (Ids{14, 15}));
    EXPECT_EQ(chosen("message_count in {458 .. 460, 801}"), (Ids{4, 9, 24}));
}

TEST(FlowFilter, numbers_with_the_units_that_people_write) {
    // 9.76 ms, 200 us, 334 us, 7.83 ms, 169 us, 5.28 ms in the demo's table; the others have no latency.
    EXPECT_EQ(chosen("latency_p99 > 1ms"), (Ids{4, 15, 24}));
    EXPECT_EQ(chosen("latency_p99 < 250us"), (Ids{9, 19}));
    EXPECT_EQ(chosen("latency_p99 < 250000"), (Ids{9, 19}));
    EXPECT_EQ(chosen("latency_p99 <= 0.0053s && latency_p99 > 1000us"), (Ids{24}));
    // 103 MB/s is 824 Mbit/s.
    EXPECT_EQ(chosen("goodput > 100M"), (Ids{24}));
    EXPECT_EQ(chosen("goodput > 800Mbit"), (Ids{24}));
    EXPECT_EQ(chosen("goodput > 900Mbit"), (Ids{}));
    EXPECT_EQ(chosen("goodput >= 2.4MB"), (Ids{4, 9, 24}));
    // READs of 16 KiB, Writes of 32 KiB.
    EXPECT_EQ(chosen("message_bytes.max == 16K"), (Ids{9}));
    EXPECT_EQ(chosen("message_bytes.max == 32KiB"), (Ids{4, 24}));
    EXPECT_EQ(chosen("message_bytes.max == 16384"), (Ids{9}));
    EXPECT_EQ(chosen("messages.write.bytes > 1M"), (Ids{4, 24}));
    EXPECT_EQ(chosen("message_count > 0.7k"), (Ids{14, 15, 24}));
}

TEST(FlowFilter, shares_and_ratios_have_decimals) {
    // The server that is away keeps its window full 77 % of the time; the others idle, or wait for their peer.
    EXPECT_EQ(chosen("stalled > 76.5%"), (Ids{24}));
    EXPECT_EQ(chosen("stalled > 0.765"), (Ids{24}));
    // depth 5.7/26, 1.0/1, 0.5/2 and less.
    EXPECT_EQ(chosen("depth > 5.5"), (Ids{24}));
    EXPECT_EQ(chosen("depth < 5.5 && depth > 0.9"), (Ids{15}));
    EXPECT_EQ(chosen("depth > 0.9 + 0.1"), (Ids{24}));
    EXPECT_EQ(chosen("stalled>76%&&packets>0"), (Ids{24}));
    EXPECT_EQ(chosen("stalled > 76% or id == 4"), (Ids{4, 24}));
    // 600 in three seconds.
    EXPECT_EQ(chosen("message_rate > 190.5 && message_rate < 205"), (Ids{19}));
}

TEST(FlowFilter, text) {
    EXPECT_EQ(chosen("transport == \"iwarp\""), all_ids);
    EXPECT_EQ(chosen("transport == iwarp && operations == read"), (Ids{9}));
    EXPECT_EQ(chosen("source.address contains \"127.0\""), all_ids);
    EXPECT_EQ(chosen("top_state matches \"^credit\""), (Ids{24}));
    EXPECT_EQ(chosen("flow contains \".39477\""), (Ids{24, 25}));
    EXPECT_EQ(chosen("not flow contains \"41717\""), (Ids{24, 25}));
    EXPECT_EQ(chosen("destination.port == 39477"), (Ids{24}));
    EXPECT_EQ(chosen("destination.port == 0x9a35"), (Ids{24}));  // 39477
}

TEST(FlowFilter, a_column_alone_asks_whether_it_is_known) {
    EXPECT_EQ(chosen("latency_p99"), (Ids{4, 9, 14, 15, 19, 24}));
    EXPECT_EQ(chosen("!latency_p99"), (Ids{5, 10, 20, 25})) << "flows that only answer";
    EXPECT_EQ(chosen("source.qpn"), (Ids{})) << "iWARP has none";
    EXPECT_EQ(chosen("source.qpn != 5 || source.qpn == 5"), (Ids{})) << "what is unknown satisfies nothing";
}

TEST(FlowFilter, a_word_is_looked_for_in_the_rows) {
    const GivenNames names{{"127.0.0.1", "Storage-3"}};
    EXPECT_EQ(chosen("39477"), (Ids{24, 25}));
    EXPECT_EQ(chosen("IWARP"), all_ids);
    EXPECT_EQ(chosen("fetch_add"), (Ids{19}));
    EXPECT_EQ(chosen("storage-3"), (Ids{})) << "without names there is none";
    EXPECT_EQ(chosen("storage-3", demo(), &names), all_ids);
    EXPECT_EQ(chosen("127.0.0.1.39477", demo(), &names), (Ids{24, 25})) << "addresses are found beside names";
    EXPECT_EQ(chosen("24"), (Ids{4, 5, 9, 10, 14, 15, 19, 20, 24})) << "42432, 42444, ... and the id";
    EXPECT_EQ(chosen("\"credit 77\""), (Ids{24}));
    EXPECT_EQ(chosen("  39477 "), (Ids{24, 25}));
    metrics::Snapshot roce;
    roce.flows = {writes(1, 1, 2, 10), writes(2, 2, 1, 10)};
    EXPECT_EQ(chosen("0x101", roce), (Ids{1}));
    EXPECT_EQ(chosen("10.0.0.2/", roce), (Ids{1}));
    EXPECT_EQ(chosen("b\xc3\xb6rse", roce), (Ids{}));
}

TEST(FlowFilter, errors_say_where_and_what_is_near) {
    EXPECT_EQ(error_of("latncy_p99 > 1ms"),
              "column 1: latncy_p99 is not a known column; near it: latency_p99, latency_p50");
    EXPECT_THAT(error_of("goodput > 1G && resnt > 0"), HasSubstr("column 17: resnt is not a known column"));
    EXPECT_THAT(error_of("goodput > 1G && resnt > 0"), HasSubstr("resent"));
    EXPECT_THAT(error_of("latency_p99 > 1GB"), HasSubstr("\"1GB\" is not a time such as 250us"));
    EXPECT_THAT(error_of("goodput > fast"), HasSubstr("\"fast\" is not a rate such as"));
    EXPECT_THAT(error_of("stalled > 5ms"), HasSubstr("is not a share such as 5% or 0.05"));
    EXPECT_THAT(error_of("goodput >"), HasSubstr("ends too early"));
    EXPECT_THAT(error_of("goodput 5"), HasSubstr("column 9"));
    EXPECT_THAT(error_of("depth > packets"), HasSubstr("a number with decimals"));
    EXPECT_THAT(error_of(std::string(70'000, 'x')), HasSubstr("64 KiB"));
}

TEST(FlowFilter, a_percent_sign_still_divides) {
    EXPECT_EQ(chosen("message_count % 3 == 0 && message_count > 730"), (Ids{24})) << "801; 733 is none";
    EXPECT_EQ(chosen("messages.fetch_add.count %599 == 1"), (Ids{19}));
    EXPECT_EQ(chosen("1 == messages.fetch_add.count%599"), (Ids{19}));
}

TEST(FlowFilter, any_octets_are_a_filter_or_an_error) {
    std::mt19937 random(7);
    const std::vector<std::string> words{"goodput", "resent",  ">",        "==",   "1ms",      "5%", "&&",  "(",
                                         ")",       "\"a\"",   "contains", "in",   "{",        "}",  "..",  "%",
                                         "depth",   "stalled", "len(",     "max(", "first_ns", "-",  "1e9", "\xff"};
    unsigned good = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (auto i = random() % 8; i > 0; --i) {
            if (random() % 8 == 0)
                text += static_cast<char>(random() & 0xff);
            else
                text += words[random() % words.size()] + (random() % 3 == 0 ? "" : " ");
        }
        auto filter = FlowFilter::compile(text);
        if (!filter) {
            EXPECT_FALSE(filter.error().message.empty());
            continue;
        }
        ++good;
        const exporters::Context context;
        for (const auto& flow : demo().flows) filter->matches({flow, context});
    }
    EXPECT_GT(good, 500U);
}

}  // namespace
}  // namespace tui::test
