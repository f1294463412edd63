// Expected times are what tcpdump 4.99.3 printed of rxe-rping's first three frames with TZ=UTC.
#include "base/timestamp.h"

#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <string>

namespace {

using base::Timestamps;
using base::TimeStyle;

std::string three(TimeStyle style, bool nanoseconds = false) {
    Timestamps times{style, nanoseconds};
    std::string out;
    for (const std::int64_t when : {1795225249'473152000, 1795225249'533588000, 1795225249'596194000}) {
        times.append(out, when);
        out += '|';
    }
    return out;
}

class Timestamp : public ::testing::Test {
protected:
    void SetUp() override { zone("UTC"); }
    static void zone(const char* name) {
        setenv("TZ", name, 1);
        tzset();
    }
};

TEST_F(Timestamp, TimeOfDay) {
    EXPECT_EQ(three(TimeStyle::time_of_day), "01:40:49.473152 |01:40:49.533588 |01:40:49.596194 |");
}
TEST_F(Timestamp, None) { EXPECT_EQ(three(TimeStyle::none), "|||"); }
TEST_F(Timestamp, Seconds) {
    EXPECT_EQ(three(TimeStyle::seconds), "1795225249.473152 |1795225249.533588 |1795225249.596194 |");
}
TEST_F(Timestamp, SincePrevious) {
    EXPECT_EQ(three(TimeStyle::since_previous), " 00:00:00.000000 | 00:00:00.060436 | 00:00:00.062606 |");
}
TEST_F(Timestamp, Date) {
    EXPECT_EQ(three(TimeStyle::date),
              "2026-11-21 01:40:49.473152 |2026-11-21 01:40:49.533588 |2026-11-21 01:40:49.596194 |");
}
TEST_F(Timestamp, SinceFirst) {
    EXPECT_EQ(three(TimeStyle::since_first), " 00:00:00.000000 | 00:00:00.060436 | 00:00:00.123042 |");
}
TEST_F(Timestamp, Nanoseconds) {
    EXPECT_EQ(three(TimeStyle::seconds, true), "1795225249.473152000 |1795225249.533588000 |1795225249.596194000 |");
}
TEST_F(Timestamp, LocalTime) {
    zone("EST5");
    EXPECT_EQ(three(TimeStyle::time_of_day), "20:40:49.473152 |20:40:49.533588 |20:40:49.596194 |");
}
TEST_F(Timestamp, BackwardsAndBefore1970) {
    Timestamps times{TimeStyle::since_previous, false};
    std::string out;
    times.append(out, 5'000'000'000);
    times.append(out, 3'999'999'000);
    EXPECT_EQ(out, " 00:00:00.000000 -00:00:01.000001 ");
    Timestamps clock{TimeStyle::time_of_day, true};
    out.clear();
    clock.append(out, -1);
    EXPECT_EQ(out, "23:59:59.999999999 ");
}

}  // namespace
