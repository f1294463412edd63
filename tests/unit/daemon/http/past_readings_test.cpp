// Which readings of the history keep their place.
#include "daemon/http/past_readings.h"

#include <gtest/gtest.h>

namespace service::http {
namespace {

constexpr std::int64_t readings_second = 1'000'000'000;

TimeRange hour_number(std::int64_t number) {
    return {number * 3600 * readings_second, (number + 1) * 3600 * readings_second};
}

/// One request of a client that reads a stretch of `pieces` pieces; false if it was refused.
bool ask(PastReadings& readings, std::int64_t number, std::uint64_t pieces, std::int64_t now_s) {
    auto reading = readings.take(hour_number(number), now_s * readings_second);
    if (!reading) return false;
    if (!reading->is_whole) {
        ++reading->past.intervals;
        reading->is_whole = reading->past.intervals == pieces;
    }
    readings.keep(*std::move(reading), now_s * readings_second);
    return true;
}

std::uint64_t pieces_of(PastReadings& readings, std::int64_t number, std::int64_t now_s) {
    auto reading = readings.take(hour_number(number), now_s * readings_second);
    if (!reading) return 0;
    const std::uint64_t pieces = reading->past.intervals;
    readings.keep(*std::move(reading), now_s * readings_second);
    return pieces;
}

TEST(PastReadings, clients_do_not_evict_each_other) {
    PastReadings readings(readings_second);
    constexpr std::int64_t clients = 6;  // two more than there are places
    constexpr std::uint64_t pieces = 5;
    std::int64_t now_s = 0;
    for (std::uint64_t round = 1; round < pieces; ++round)
        for (std::int64_t client = 0; client < clients; ++client)
            EXPECT_EQ(ask(readings, client, pieces, ++now_s), client < 4);
    for (std::int64_t client = 0; client < 4; ++client) {
        EXPECT_TRUE(ask(readings, client, pieces, ++now_s));
        EXPECT_EQ(pieces_of(readings, client, now_s), pieces);
    }
    // The first ones are at their end, so the others have places now.
    for (std::uint64_t round = 0; round < pieces; ++round)
        for (std::int64_t client = 4; client < clients; ++client) EXPECT_TRUE(ask(readings, client, pieces, ++now_s));
    for (std::int64_t client = 4; client < clients; ++client) EXPECT_EQ(pieces_of(readings, client, now_s), pieces);
}

// Two clients ask for the same stretch: both get the end.
TEST(PastReadings, a_reading_at_its_end_is_there_for_others) {
    PastReadings readings(readings_second);
    EXPECT_TRUE(ask(readings, 1, 2, 0));
    EXPECT_TRUE(ask(readings, 1, 2, 0));
    EXPECT_TRUE(ask(readings, 1, 2, 1));
    EXPECT_EQ(pieces_of(readings, 1, 59), 2u);
    readings.forget_unused(120 * readings_second);
    EXPECT_EQ(pieces_of(readings, 1, 120), 0u);
}

TEST(PastReadings, a_client_that_has_left_loses_its_place) {
    PastReadings readings(readings_second);
    for (std::int64_t client = 0; client < 4; ++client) EXPECT_TRUE(ask(readings, client, 9, client));
    EXPECT_FALSE(ask(readings, 7, 9, 9));
    EXPECT_TRUE(ask(readings, 7, 9, 10));  // client 0 has not asked for 10 s
    EXPECT_EQ(pieces_of(readings, 1, 10), 1u);
    EXPECT_FALSE(ask(readings, 0, 9, 10));
}

}  // namespace
}  // namespace service::http
