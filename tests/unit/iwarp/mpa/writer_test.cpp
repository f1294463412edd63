#include <algorithm>
#include <gtest/gtest.h>

#include "support.h"
#include "wire/mpa.h"

namespace {

using namespace mpa_test;
using iwarp::mpa::Batch;
using iwarp::mpa::FpduWriter;

void add(FpduWriter& writer, const Octets& ulpdu, Batch& batch) {
    const std::size_t header = wire::ddp_header_size(ulpdu[0]);
    const base::Bytes payload = base::Bytes{ulpdu}.subspan(header);
    writer.add(base::Bytes{ulpdu}.first(header), std::span{&payload, 1}, batch);
}

// RFC 5044 figures 5 and 6; between them a Send that takes 0x1ec - 0x34 octets.
TEST(FpduWriter, rfc_5044_figures_5_and_6) {
    FpduWriter writer{{true, true}};
    Batch batch;
    add(writer, joined({octets("4143 00000000 00000000 00000001 00000000"), Octets(24)}), batch);
    EXPECT_EQ(hex(content(batch.pieces())), hex(octets("00000000 002a4143 00000000 00000000 00000001 00000000"
                                                       "000000000000000000000000000000000000000000000000 52239983")));
    add(writer, joined({header(false), Octets(0x1ec - 0x34 - 6 - 18)}), batch);
    add(writer, joined({octets("4143 00000000 00000000 00000002 00000000"), Octets(24)}), batch);
    EXPECT_EQ(hex(base::Bytes{content(batch.pieces())}.subspan(0x1ec)),
              hex(octets("002a4143 00000000 00000000 00000002 00000000 00000014"
                         "000000000000000000000000000000000000000000000000 84925898")));
    EXPECT_EQ(writer.fpdus(), 3u);
}

TEST(FpduWriter, markers_at_every_phase) {
    std::mt19937 random{4};
    for (std::size_t filler = 0; filler < 512; filler += 4) {
        Stream expected{.crc = true, .markers = true, .octets = {}, .ulpdus = {}, .ends = {}};
        for (const std::size_t length :
             {filler, std::size_t{0}, std::size_t{1}, std::size_t{1700}, std::size_t{0}, std::size_t{530}})
            expected.add(length % 2 == 0, pattern(random, length));
        FpduWriter writer{{true, true}};
        Batch batch;
        for (const Octets& ulpdu : expected.ulpdus) add(writer, ulpdu, batch);
        ASSERT_EQ(hex(content(batch.pieces())), hex(expected.octets)) << filler;
    }
}

TEST(FpduWriter, every_length_around_the_limits) {
    std::mt19937 random{4};
    for (const bool crc : {true, false}) {
        for (const bool markers : {true, false}) {
            FpduWriter writer{{crc, markers}};
            Batch batch;
            Stream expected{.crc = crc, .markers = markers, .octets = {}, .ulpdus = {}, .ends = {}};
            const auto check = [&](std::size_t payload) {
                const std::size_t before = expected.octets.size();
                expected.add(payload % 2 == 0, pattern(random, payload));
                add(writer, expected.ulpdus.back(), batch);
                ASSERT_TRUE(std::ranges::equal(content(batch.pieces()), base::Bytes{expected.octets}.subspan(before)))
                    << payload;
                batch.clear();
            };
            for (std::size_t payload = 0; payload < 40; ++payload) check(payload);
            for (std::size_t payload = 1442 - 18 - 4; payload <= 1442 - 14; ++payload) check(payload);
            for (std::size_t i = 0; i < 6; ++i) check(FpduWriter::copied_payload - 3 + i);
            for (const std::size_t payload : {64768u - 18, 64768u - 19, 64768u - 20, 32768u}) check(payload);
        }
    }
}

TEST(FpduWriter, payload_in_pieces) {
    std::mt19937 random{6};
    for (const bool markers : {true, false}) {
        for (const std::size_t piece_size : {1u, 7u, 90u, 300u, 5000u}) {
            const Octets payload = pattern(random, 3333);
            std::vector<base::Bytes> pieces;
            for (std::size_t at = 0; at < payload.size(); at += piece_size) {
                pieces.push_back(base::Bytes{payload}.subspan(at, std::min(piece_size, payload.size() - at)));
                pieces.emplace_back();
            }
            Stream expected{.crc = true, .markers = markers, .octets = {}, .ulpdus = {}, .ends = {}};
            expected.add(true, payload);
            FpduWriter writer{{true, markers}};
            Batch batch;
            writer.add(header(true), pieces, batch);
            EXPECT_TRUE(content(batch.pieces()) == expected.octets) << piece_size;
            EXPECT_LE(batch.pieces().size(), 34u);
        }
    }
}

TEST(FpduWriter, no_payload_at_all) {
    FpduWriter writer{{true, false}};
    Batch batch;
    writer.add(header(true), {}, batch);
    Stream expected;
    expected.add(true, {});
    EXPECT_EQ(content(batch.pieces()), expected.octets);
}

TEST(FpduWriter, large_payloads_are_referred_to_small_ones_copied) {
    FpduWriter writer{{true, false}};
    Batch batch;
    const Octets large(8192, std::byte{7});
    const Octets small(64, std::byte{8});
    const base::Bytes large_payload = large;
    const base::Bytes small_payload = small;
    writer.add(header(true), std::span{&large_payload, 1}, batch);
    writer.add(header(true), std::span{&large_payload, 1}, batch);
    // Two iovecs an FPDU: the CRC goes with the next header.
    ASSERT_EQ(batch.pieces().size(), 5u);
    EXPECT_EQ(batch.pieces()[1].data(), large.data());
    EXPECT_EQ(batch.pieces()[2].size(), 4u + 2 + 14);  // 2 + 14 + 8192 needs no padding
    for (unsigned i = 0; i < 40; ++i) writer.add(header(true), std::span{&small_payload, 1}, batch);
    EXPECT_EQ(batch.pieces().size(), 5u);
}

// What one writes the other reads, with sizes and pieces of any kind.
TEST(FpduWriter, round_trip) {
    std::mt19937 random{8};
    for (unsigned round = 0; round < 200; ++round) {
        const auto settings = all_settings()[round % 8];
        FpduWriter writer{{settings.crc, settings.markers}};
        Sink sink;
        if (random() % 2 == 0) sink.piece_sizes = {1 + random() % 5000, random() % 40};
        FpduReader reader{settings, sink};
        Batch batch;
        std::vector<Octets> ulpdus;
        std::vector<Octets> memory;
        for (unsigned i = 0; i < 30; ++i) {
            const bool tagged = random() % 2 == 0;
            memory.push_back(pattern(random, random() % (i % 10 == 0 ? 64750 : i % 2 == 0 ? 3000 : 80)));
            std::vector<base::Bytes> pieces;
            for (base::Bytes left = memory.back(); !left.empty();) {
                pieces.push_back(left.first(std::min<std::size_t>(left.size(), 1 + random() % 20000)));
                left = left.subspan(pieces.back().size());
            }
            writer.add(header(tagged), pieces, batch);
            ulpdus.push_back(joined({header(tagged), memory.back()}));
            if (!batch.full() && random() % 4 != 0) continue;
            while (!batch.empty()) {
                const Octets whole = content(random() % 2 == 0 ? batch.pieces() : batch.next_fpdu());
                const std::size_t part = 1 + random() % whole.size();
                ASSERT_EQ(give(reader, base::Bytes{whole}.first(part)), std::nullopt);
                batch.consume(part);
            }
        }
        ASSERT_EQ(give(reader, content(batch.pieces())), std::nullopt);
        ASSERT_TRUE(sink.ulpdus == ulpdus) << round;
        ASSERT_EQ(reader.fpdus(), writer.fpdus());
    }
}

}  // namespace
