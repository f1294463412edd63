#include <gmock/gmock.h>

#include "fleet/client/http_client.h"
#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/having_filter.h"
#include "fleet/questions/scope.h"
#include "fleet/questions/why_question.h"
#include "fleet/schema/dialect.h"

namespace fleet::questions {
namespace {

using schema::Resolution;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t hour = 3600 * second;

TEST(FleetScope, is_rounded_to_what_the_tables_know) {
    const std::int64_t now = 100 * hour + 17 * second;
    EXPECT_EQ(scope_of(now - 600 * second, now, now, {}).resolution, Resolution::interval);
    const Scope minutes = scope_of(now - hour, now, now, {});
    EXPECT_EQ(minutes.resolution, Resolution::minute);
    EXPECT_EQ(minutes.from_ns, 99 * hour);
    EXPECT_EQ(minutes.to_ns, now);
    const Scope past = scope_of(now - 20 * hour, now - hour, now, {});
    EXPECT_EQ(past.resolution, Resolution::hour);
    EXPECT_EQ(past.from_ns, 80 * hour);
    EXPECT_EQ(past.to_ns, 99 * hour);
    EXPECT_EQ(scope_of(98 * hour, 99 * hour, now, {}).resolution, Resolution::hour);
    EXPECT_EQ(scope_of(98 * hour + 1, 99 * hour, now, Resolution::interval).from_ns, 98 * hour + 1);
}

TEST(FleetFilter, becomes_a_condition_of_names_numbers_and_literals) {
    EXPECT_EQ(having_of("packets > 10k and source.address == \"192.0.2.1\"").value(),
              "((x_packets > 10000) AND (x_source_address = '192.0.2.1'))");
    EXPECT_EQ(having_of("not (5 < timeouts) || host contains \"it's\"").value(),
              R"(((NOT (x_timeouts > 5)) OR (position(host, 'it\'s') > 0)))");
    EXPECT_EQ(having_of("  ").value(), "");
    for (const char* wrong : {"packets", "packets >", "pakets > 1", "packets > x", "packets contains \"1\"",
                              "packets > 1; DROP TABLE flows", "packets + 1 > 2", "1 > 2"})
        EXPECT_FALSE(having_of(wrong)) << wrong;
}

TEST(FleetWhy, the_narrowest_group_that_fits_comes_first) {
    // 30 of 231 flows are troubled: 27 of the 31 of a destination, all 4 of a pair within it, half of a source's 20.
    std::vector<Group> groups{{"source", "s", 20, 10},
                              {"pair", "p", 4, 4},
                              {"destination", "d", 31, 27},
                              {"destination rack", "r", 31, 27},
                              {"traffic class", "0", 231, 30}};
    choose_groups(groups, 231, 30);
    ASSERT_EQ(groups.size(), 2u);  // 2 * 4 / 34, 2 * 10 / 50 are below a half; all flows have the class
    EXPECT_EQ(groups[0].value, "d");
    EXPECT_DOUBLE_EQ(fit(groups[0], 30), 54.0 / 61);
}

TEST(FleetWhy, what_is_not_more_often_troubled_than_others_is_no_cause) {
    std::vector<Group> groups{{"source", "s", 99, 50}};
    choose_groups(groups, 100, 51);
    EXPECT_TRUE(groups.empty());
}

TEST(FleetWhy, racks_belong_to_addresses_as_the_tables_write_them) {
    Racks racks;
    EXPECT_TRUE(add_rack(racks, "2001:DB8:0:0::1", "r1"));
    EXPECT_TRUE(add_rack(racks, "192.0.2.1", "r2"));
    EXPECT_FALSE(add_rack(racks, "node-7", "r3"));
    EXPECT_THAT(racks, testing::ElementsAre(testing::Pair("192.0.2.1", "r2"), testing::Pair("2001:db8::1", "r1")));
}

TEST(FleetAnswers, lists_are_read) {
    EXPECT_THAT(list_of("[1,-2,30]"), testing::ElementsAre(1, -2, 30));
    EXPECT_THAT(list_of("[]"), testing::IsEmpty());
}

TEST(FleetClient, urls_have_a_host_and_nothing_else) {
    for (const char* right : {"http://127.0.0.1:8123", "https://clickhouse-1.example:8443/", "http://[::1]:8123"})
        EXPECT_TRUE(client::is_url(right)) << right;
    for (const char* wrong :
         {"", "clickhouse:8123", "ftp://x", "http://", "http://a b", "http://u:p@h", "http://h/?q=1"})
        EXPECT_FALSE(client::is_url(wrong)) << wrong;
}

TEST(FleetDialect, versions_from_20_3_on_are_current) {
    EXPECT_FALSE(schema::Dialect::of("18.16.1")->current);
    EXPECT_FALSE(schema::Dialect::of("20.2")->current);
    EXPECT_TRUE(schema::Dialect::of("20.3")->current);
    EXPECT_TRUE(schema::Dialect::of("24.8.1.1")->current);
    for (const char* wrong : {"", "new", "24", "24.x"}) EXPECT_FALSE(schema::Dialect::of(wrong)) << wrong;
}

}  // namespace
}  // namespace fleet::questions
