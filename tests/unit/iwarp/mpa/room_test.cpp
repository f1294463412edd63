#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace mpa_test;

std::size_t size_of(std::span<const base::MutableBytes> pieces) {
    std::size_t size = 0;
    for (const auto piece : pieces) size += piece.size();
    return size;
}

/// As recvmsg does it: fills the pieces in their order.
void fill(std::span<const base::MutableBytes> pieces, base::Bytes octets) {
    for (const auto piece : pieces) {
        const std::size_t part = std::min(piece.size(), octets.size());
        if (part != 0) std::memcpy(piece.data(), octets.data(), part);
        octets = octets.subspan(part);
    }
    ASSERT_TRUE(octets.empty());
}

TEST(Room, begins_where_the_payload_stands_and_ends_with_the_next_header) {
    Stream sent;
    sent.add(true, Octets(20000, std::byte{1}));
    sent.add(true, Octets(30001, std::byte{2}));
    sent.add(false, Octets(50, std::byte{3}));
    Sink sink;
    FpduReader reader{{true, false, false}, sink};
    EXPECT_TRUE(reader.room(0).empty());
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(116)), std::nullopt);
    EXPECT_TRUE(reader.room(19901).empty());
    auto room = reader.room(19900);
    ASSERT_EQ(room.size(), 2u);
    EXPECT_EQ(room[0].data(), sink.pieces()[0].data() + 100);
    EXPECT_EQ(room[0].size(), 19900u);
    EXPECT_EQ(room[1].size(), 4u + 16u);  // the CRC, and the next length with a header of the same kind
    // In three parts, the last up to the next payload.
    std::size_t at = 116;
    for (const std::size_t part : {std::size_t{1}, std::size_t{10000}, std::size_t{9899 + 20}}) {
        room = reader.room(1);
        fill(room, base::Bytes{sent.octets}.subspan(at, part));
        EXPECT_EQ(reader.received(part), std::nullopt);
        at += part;
    }
    EXPECT_EQ(reader.fpdus(), 1u);
    EXPECT_EQ(sink.begun, 2u);
    room = reader.room(30001);
    ASSERT_EQ(room.size(), 2u);
    EXPECT_EQ(room[0].data(), sink.pieces()[0].data());
    EXPECT_EQ(room[1].size(), 3u + 4u + 16u);  // with padding: 2 + 14 + 30001 is 1 modulo 4
    fill(room, base::Bytes{sent.octets}.subspan(at, 30001 + 7 + 16));
    EXPECT_EQ(reader.received(30001 + 7 + 16), std::nullopt);
    at += 30001 + 7 + 16;
    EXPECT_EQ(reader.fpdus(), 2u);
    EXPECT_EQ(sink.begun, 2u);  // four octets of an untagged header are missing
    EXPECT_TRUE(reader.room(1).empty());
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(at)), std::nullopt);
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

TEST(Room, none_where_octets_must_be_looked_at_first) {
    for (const auto& settings : all_settings()) {
        Stream sent{.crc = settings.crc, .markers = settings.markers, .octets = {}, .ulpdus = {}, .ends = {}};
        sent.add(true, Octets(20000));
        Sink sink;
        FpduReader reader{settings, sink};
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(100)), std::nullopt);
        const bool direct = !settings.markers && !(settings.crc && settings.strict);
        EXPECT_EQ(!reader.room(1).empty(), direct) << name(settings);
    }
}

TEST(Room, of_a_target_in_pieces) {
    Stream sent;
    sent.crc = false;
    std::mt19937 random{2};
    sent.add(false, pattern(random, 40000));
    Sink sink;
    sink.piece_sizes = {1000, 0, 9000};
    FpduReader reader{{false, false, false}, sink};
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(20 + 1500)), std::nullopt);
    auto room = reader.room(30000);
    EXPECT_EQ(size_of(room), 40000u - 1500 + 4 + 20);  // 2 + 18 + 40000 needs no padding
    EXPECT_EQ(room[0].size(), 8500u);
    for (const auto piece : room) EXPECT_NE(piece.size(), 0u);
    fill(room.first(3), base::Bytes{sent.octets}.subspan(1520, size_of(room.first(3))));
    const std::size_t part = size_of(room.first(3));
    EXPECT_EQ(reader.received(part), std::nullopt);
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(1520 + part)), std::nullopt);
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

TEST(Room, none_of_many_small_pieces) {
    Stream sent;
    sent.add(true, Octets(20000));
    Sink sink;
    sink.piece_sizes = {700};
    FpduReader reader{{true, false, false}, sink};
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(16)), std::nullopt);
    EXPECT_TRUE(reader.room(16384).empty());
    const auto room = reader.room(4000);
    EXPECT_GE(size_of(room), 4000u);
    EXPECT_LE(size_of(room), 20000u);
}

TEST(Room, bad_crc_of_what_was_received_there) {
    Stream sent;
    sent.add(true, Octets(20000));
    sent.octets[10000] ^= std::byte{1};
    Sink sink;
    FpduReader reader{{true, false, false}, sink};
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(16)), std::nullopt);
    const auto room = reader.room(16384);
    fill(room, base::Bytes{sent.octets}.subspan(16));
    EXPECT_EQ(reader.received(sent.octets.size() - 16), iwarp::fault::crc);
    EXPECT_TRUE(sink.ulpdus.empty());
    EXPECT_EQ(reader.received(1), std::nullopt);
}

TEST(Room, short_messages_within_the_octets_of_the_next_header) {
    Stream sent;
    sent.add(false, Octets(20000, std::byte{1}));
    sent.add(true, {});  // 20 octets in all: they fit
    sent.add(false, Octets(1, std::byte{2}));
    Sink sink;
    FpduReader reader{{true, false, false}, sink};
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(20)), std::nullopt);
    const auto room = reader.room(16384);
    const std::size_t part = size_of(room);
    fill(room, base::Bytes{sent.octets}.subspan(20, part));
    EXPECT_EQ(reader.received(part), std::nullopt);
    EXPECT_EQ(reader.fpdus(), 2u);
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(20 + part)), std::nullopt);
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

// A transport that takes what it is offered, in parts of any size, gets the same as one that does not.
TEST(Room, any_mixture_of_both_ways) {
    std::mt19937 random{17};
    for (unsigned round = 0; round < 300; ++round) {
        Stream sent;
        sent.crc = random() % 2 == 0;
        for (unsigned i = 0; i < 8; ++i)
            sent.add(random() % 2 == 0, pattern(random, random() % (i % 3 == 0 ? 9000 : 40)));
        Sink sink;
        if (random() % 2 == 0) sink.piece_sizes = {1 + random() % 3000, random() % 50, 1 + random() % 900};
        FpduReader reader{{sent.crc, false, false}, sink};
        const base::Bytes all = sent.octets;
        for (std::size_t at = 0; at < all.size();) {
            const auto room = reader.room(1 + random() % 1000);
            const std::size_t offered = size_of(room);
            const std::size_t part = std::min(all.size() - at, 1 + random() % (offered != 0 ? offered : 2000));
            if (offered != 0) {
                fill(room, all.subspan(at, part));
                ASSERT_EQ(reader.received(part), std::nullopt);
            } else {
                ASSERT_EQ(give(reader, all.subspan(at, part)), std::nullopt);
            }
            at += part;
        }
        ASSERT_EQ(sink.ulpdus, sent.ulpdus) << round;
        ASSERT_TRUE(reader.at_boundary());
    }
}

}  // namespace
