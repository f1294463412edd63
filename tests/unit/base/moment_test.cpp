#include "base/moment.h"

#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>

namespace base {
namespace {

/// Seconds since 1970 are GNU date's: `TZ=Europe/Berlin date -d '2026-11-21 10:00' +%s`.
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t now_ns = 1'795'255'200 * second + 5;  // 2026-11-21 10:00:00 UTC

class Moment : public testing::Test {
protected:
    void SetUp() override {
        const char* const zone = std::getenv("TZ");
        if (zone != nullptr) former_ = zone;
        in("Europe/Berlin");
    }
    void TearDown() override { in(former_.c_str()); }
    static void in(const char* zone) {
        setenv("TZ", zone, 1);
        tzset();
    }
    static std::int64_t of(const std::string& value) {
        std::int64_t ns = -1;
        EXPECT_EQ(base::take_moment(value, now_ns, ns), "") << value;
        return ns;
    }
    std::string former_;
};

TEST_F(Moment, is_local_time_where_nothing_else_is_said) {
    EXPECT_EQ(of("2026-11-21 10:00"), 1'795'251'600 * second);
    EXPECT_EQ(of("2026-11-21T10:00:30"), 1'795'251'630 * second);
    EXPECT_EQ(of("2026-11-21"), 1'795'215'600 * second);
    EXPECT_EQ(of("2026-07-01 10:00"), 1'782'892'800 * second);  // summer time
    EXPECT_EQ(of("10:00"), 1'795'251'600 * second);
    EXPECT_EQ(of("10:00:30.25"), 1'795'251'630 * second + second / 4);
    in("UTC");
    EXPECT_EQ(of("10:00"), 1'795'255'200 * second);
    in("America/New_York");
    EXPECT_EQ(of("2026-11-21 10:00"), 1'795'273'200 * second);
}

TEST_F(Moment, may_have_a_zone) {
    EXPECT_EQ(of("2026-11-21T10:00:00Z"), 1'795'255'200 * second);
    EXPECT_EQ(of("2026-11-21 10:00:00.5z"), 1'795'255'200 * second + second / 2);
    EXPECT_EQ(of("2026-11-21T10:00:00+01:00"), 1'795'251'600 * second);
    EXPECT_EQ(of("2026-11-21T10:00:00-0530"), 1'795'275'000 * second);
    EXPECT_EQ(of("2026-11-21T10:00:00.123456789Z"), 1'795'255'200 * second + 123'456'789);
}

TEST_F(Moment, may_be_before_now_or_since_1970) {
    EXPECT_EQ(of("now"), now_ns);
    EXPECT_EQ(of("-1h"), now_ns - 3600 * second);
    EXPECT_EQ(of("-30m"), now_ns - 1800 * second);
    EXPECT_EQ(of("-1.5s"), now_ns - 3 * second / 2);
    EXPECT_EQ(of("-7d"), now_ns - 7 * 86400 * second);
    EXPECT_EQ(of("@1795255200"), 1'795'255'200 * second);
    EXPECT_EQ(of("@1795255200.5"), 1'795'255'200 * second + second / 2);
}

TEST_F(Moment, that_is_none_is_told) {
    for (const char* value : {"",
                              "x",
                              "10",
                              "10:",
                              "24:00",
                              "10:60",
                              "10:00:61",
                              "10:00x",
                              "1:00",
                              "2026-11-31",
                              "2026-02-29",
                              "2026-13-01",
                              "2026-00-10",
                              "2026-11-21 ",
                              "2026-11-21x",
                              "2026-11-21T10:00:00+1",
                              "2026-11-21T10:00:00.",
                              "10:00Z",
                              "-",
                              "-x",
                              "--1h",
                              "1h",
                              "@",
                              "@-5",
                              "@x",
                              "@99999999999999",
                              "9999-01-01",
                              "1969-12-31",
                              "-1-2-3-4",
                              "2026--1-21"}) {
        std::int64_t ns = 42;
        EXPECT_EQ(base::take_moment(value, now_ns, ns),
                  "a time such as 10:00, '2026-11-21 10:00', 2026-11-21T10:00:00Z or -30m")
            << value;
        EXPECT_EQ(ns, 42);
    }
}

TEST_F(Moment, is_written_as_it_is_read) {
    EXPECT_EQ(base::moment(1'795'251'600 * second + 7), "2026-11-21 10:00:00");
    EXPECT_EQ(base::moment(1'782'892'800 * second), "2026-07-01 10:00:00");
    in("UTC");
    EXPECT_EQ(base::moment(-1), "1969-12-31 23:59:59");
    EXPECT_EQ(base::moment(0), "1970-01-01 00:00:00");
    EXPECT_EQ(base::moment(INT64_MAX), "2262-04-11 23:47:16");
}

}  // namespace
}  // namespace base
