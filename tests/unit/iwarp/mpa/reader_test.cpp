#include <algorithm>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "support.h"
#include "wire/mpa.h"

namespace {

using namespace mpa_test;

Stream stream_of(bool crc, bool markers, const std::vector<std::size_t>& payloads, unsigned seed = 1) {
    std::mt19937 random{seed};
    Stream stream{.crc = crc, .markers = markers, .octets = {}, .ulpdus = {}, .ends = {}};
    for (std::size_t i = 0; i < payloads.size(); ++i) stream.add(i % 3 != 1, pattern(random, payloads[i]));
    return stream;
}

/// RFC 5044 figure 5: the first FPDU of a stream with markers.
const char* const figure_5 =
    "00000000 002a4143 00000000 00000000 00000001 00000000"
    "000000000000000000000000000000000000000000000000 52239983";

// The figures against the builder of these tests and against the reader.
TEST(FpduReader, rfc_5044_figures_5_and_6) {
    Stream stream{.crc = true, .markers = true, .octets = {}, .ulpdus = {}, .ends = {}};
    const Octets first = joined({octets("4143 00000000 00000000 00000001 00000000"), Octets(24)});
    stream.fpdu(first);
    ASSERT_EQ(hex(stream.octets), hex(octets(figure_5)));
    // Figure 6 is at 0x1ec: a FPDU of 0x1ec - 0x34 octets is between them.
    stream.fpdu(joined({octets("4143 00000000 00000000 00000001 00000000"), Octets(0x1ec - 0x34 - 6 - 18)}));
    ASSERT_EQ(stream.octets.size(), 0x1ecu);
    const Octets second = joined({octets("4143 00000000 00000000 00000002 00000000"), Octets(24)});
    stream.fpdu(second);
    EXPECT_EQ(hex(base::Bytes{stream.octets}.subspan(0x1ec)),
              hex(octets("002a4143 00000000 00000000 00000002 00000000 00000014"
                         "000000000000000000000000000000000000000000000000 84925898")));
    Sink sink;
    FpduReader reader{{true, true, true}, sink};
    EXPECT_EQ(give(reader, stream.octets), std::nullopt);
    EXPECT_EQ(sink.ulpdus, stream.ulpdus);
    EXPECT_EQ(reader.fpdus(), 3u);
}

TEST(FpduReader, rfc_5044_figure_4_has_a_marker_within) {
    // The marker at octet 12 of the FPDU: 500 octets go before.
    Stream stream{.crc = true, .markers = true, .octets = {}, .ulpdus = {}, .ends = {}};
    stream.fpdu(joined({header(true), Octets(500 - 4 - 6 - 14)}));
    ASSERT_EQ(stream.octets.size(), 500u);
    stream.fpdu(joined({header(true), octets("0102")}));
    EXPECT_EQ(hex(base::Bytes{stream.octets}.subspan(500, 24)),
              "0010c140"
              "00000b07"
              "00000000"
              "0000000c"
              "00001000"
              "01020000");
    Sink sink;
    FpduReader reader{{true, true, true}, sink};
    EXPECT_EQ(give(reader, stream.octets), std::nullopt);
    EXPECT_EQ(sink.ulpdus, stream.ulpdus);
}

class EverySetting : public testing::TestWithParam<int> {
protected:
    FpduReader::Settings settings() const { return all_settings()[static_cast<std::size_t>(GetParam())]; }
    Stream stream(const std::vector<std::size_t>& payloads) const {
        return stream_of(settings().crc, settings().markers, payloads);
    }
};
INSTANTIATE_TEST_SUITE_P(FpduReader, EverySetting, testing::Range(0, 8));

TEST_P(EverySetting, one_octet_at_a_time) {
    const Stream sent = stream({0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 500, 1024, 3, 4000, 5000, 0});
    Sink sink;
    sink.piece_sizes = {7, 0, 1, 300};
    FpduReader reader{settings(), sink};
    std::size_t ended = 0;
    for (std::size_t i = 0; i < sent.octets.size(); ++i) {
        ASSERT_EQ(give(reader, base::Bytes{sent.octets}.subspan(i, 1)), std::nullopt) << i;
        if (i + 1 == sent.ends[ended]) ++ended;
        // An FPDU is delivered with its last octet.
        ASSERT_EQ(sink.ulpdus.size(), ended) << i;
        ASSERT_EQ(reader.at_boundary(), ended != 0 && i + 1 == sent.ends[ended - 1]) << i;
    }
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
    EXPECT_EQ(reader.fpdus(), sent.ulpdus.size());
}

TEST_P(EverySetting, segments_that_wait_are_offered_again) {
    const Stream sent = stream({0, 1, 500, 3, 0, 1024, 7, 4000, 100, 5000, 0, 60000, 2});
    for (const std::size_t size : {1u, 7u, 100u, 1460u, 5000u, 200000u}) {
        Sink sink;
        sink.piece_sizes = {7, 0, 1, 300};
        sink.refuse_once = true;
        FpduReader reader{settings(), sink};
        std::size_t held = 0;
        for (std::size_t at = 0; at < sent.octets.size(); at += size) {
            // What comes while one waits is kept after it; two parts may lie there before the first is expected.
            ASSERT_EQ(give(reader, base::Bytes{sent.octets}.subspan(at, std::min(size, sent.octets.size() - at))),
                      std::nullopt);
            if (reader.paused() && ++held % 3 == 0) {
                ASSERT_FALSE(reader.at_boundary());
                ASSERT_EQ(reader.resume(), std::nullopt);
            }
        }
        for (int i = 0; reader.paused() && i < 100; ++i) {
            ASSERT_EQ(reader.resume(), std::nullopt);
        }
        EXPECT_EQ(sink.ulpdus, sent.ulpdus) << size;
        EXPECT_EQ(reader.fpdus(), sent.ulpdus.size());
        EXPECT_TRUE(reader.at_boundary());
        EXPECT_EQ(reader.resume(), std::nullopt);
    }
}

TEST_P(EverySetting, every_pair_of_cuts) {
    const Stream sent = stream({0, 3, 0, 20, 41});
    const base::Bytes all = sent.octets;
    for (std::size_t first = 0; first <= all.size(); ++first) {
        for (std::size_t second = first; second <= all.size(); ++second) {
            Sink sink;
            sink.piece_sizes = {5, 11};
            FpduReader reader{settings(), sink};
            ASSERT_EQ(give(reader, all.first(first)), std::nullopt);
            ASSERT_EQ(give(reader, all.subspan(first, second - first)), std::nullopt);
            ASSERT_EQ(give(reader, all.subspan(second)), std::nullopt);
            ASSERT_EQ(sink.ulpdus, sent.ulpdus) << first << ' ' << second;
            ASSERT_TRUE(reader.at_boundary());
        }
    }
}

TEST_P(EverySetting, every_size_of_pieces) {
    const Stream sent = stream({1442, 1, 600, 9000, 0, 65});
    const auto pool = std::make_shared<iwarp::mpa::StagePool>();
    for (std::size_t size = 1; size < 1500; size += 1 + size / 16) {
        Sink sink;
        FpduReader reader{settings(), sink, pool};
        for (std::size_t at = 0; at < sent.octets.size(); at += size)
            ASSERT_EQ(give(reader, base::Bytes{sent.octets}.subspan(at, std::min(size, sent.octets.size() - at))),
                      std::nullopt);
        ASSERT_EQ(sink.ulpdus, sent.ulpdus) << size;
    }
    EXPECT_LE(pool->kept_octets(), std::size_t{4096 + 70000});
}

/// A marker at each of the 128 places relative to an FPDU.
TEST(FpduReader, markers_at_every_phase) {
    for (std::size_t filler = 0; filler < 512; filler += 4) {
        const Stream sent = stream_of(true, true, {filler, 0, 1, 700, 0, 0, 2, 530, 22});
        for (const bool whole : {true, false}) {
            Sink sink;
            FpduReader reader{{true, true, true}, sink};
            for (std::size_t at = 0; at < sent.octets.size();) {
                const std::size_t size =
                    whole ? sent.octets.size() : std::min<std::size_t>(61, sent.octets.size() - at);
                ASSERT_EQ(give(reader, base::Bytes{sent.octets}.subspan(at, size)), std::nullopt) << filler;
                at += size;
            }
            ASSERT_EQ(sink.ulpdus, sent.ulpdus) << filler;
        }
    }
}

TEST_P(EverySetting, longest_ulpdus) {
    // 64768 is the most that may be sent (RFC 5044 section 3); the length's field goes further, and Linux siw with it.
    const std::vector<std::size_t> lengths = {64767, 64768, 64769, 65154, 65532, 65533, 65534, 65535};
    Stream sent{.crc = settings().crc, .markers = settings().markers, .octets = {}, .ulpdus = {}, .ends = {}};
    std::mt19937 random{3};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const Octets head = header(i % 2 == 0);
        sent.fpdu(joined({head, pattern(random, lengths[i] - head.size())}));
    }
    for (const std::size_t size : {sent.octets.size(), std::size_t{256 * 1024}, std::size_t{10000}, std::size_t{1}}) {
        Sink sink;
        FpduReader reader{settings(), sink};
        for (std::size_t at = 0; at < sent.octets.size(); at += size) {
            const auto fault =
                give(reader, base::Bytes{sent.octets}.subspan(at, std::min(size, sent.octets.size() - at)));
            ASSERT_EQ(fault, std::nullopt);
        }
        ASSERT_TRUE(sink.ulpdus == sent.ulpdus) << size;
    }
}

// Reserved bits of a marker, and the two low bits of its pointer, are not looked at. RFC 5044 section 4.2.
TEST(FpduReader, reserved_bits_of_markers) {
    Stream sent = stream_of(false, true, {400, 1400});
    for (std::size_t at = 0; at < sent.octets.size(); at += 512) {
        sent.octets[at] = std::byte{0xff};
        sent.octets[at + 1] = std::byte{0xff};
        sent.octets[at + 3] |= std::byte{3};
    }
    Sink sink;
    FpduReader reader{{false, true, true}, sink};
    EXPECT_EQ(give(reader, sent.octets), std::nullopt);
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

// Neither is padding, but the CRC covers it. Section 4.1.
TEST(FpduReader, padding_may_be_anything) {
    Octets fpdu = joined({octets("0011"), header(true), octets("010203"), octets("ff")});
    const Octets crc = slow_crc(fpdu);
    for (const bool strict : {true, false}) {
        Sink sink;
        FpduReader reader{{true, false, strict}, sink};
        EXPECT_EQ(give(reader, base::Bytes{fpdu}.first(18)), std::nullopt);
        EXPECT_EQ(give(reader, base::Bytes{fpdu}.subspan(18)), std::nullopt);
        EXPECT_EQ(give(reader, crc), std::nullopt);
        ASSERT_EQ(sink.ulpdus.size(), 1u);
        EXPECT_EQ(hex(base::Bytes{sink.ulpdus[0]}.last(3)), "010203");
    }
}

TEST(FpduReader, without_crcs_the_field_is_never_checked) {
    Stream sent = stream_of(false, false, {10, 20, 3000});
    for (const std::size_t end : sent.ends)
        for (std::size_t i = 1; i <= 4; ++i) sent.octets[end - i] = static_cast<std::byte>(0xa0 + i);
    for (const bool strict : {true, false}) {
        Sink sink;
        FpduReader reader{{false, false, strict}, sink};
        EXPECT_EQ(give(reader, sent.octets), std::nullopt);
        EXPECT_EQ(sink.ulpdus, sent.ulpdus);
    }
}

TEST(FpduReader, strict_shows_nothing_before_the_crc) {
    const Stream sent = stream_of(true, false, {5000});
    Sink sink;
    FpduReader reader{{true, false, true}, sink};
    for (std::size_t i = 0; i + 1 < sent.octets.size(); ++i) {
        ASSERT_EQ(give(reader, base::Bytes{sent.octets}.subspan(i, 1)), std::nullopt);
        ASSERT_EQ(sink.begun, 0u);
    }
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.last(1)), std::nullopt);
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

/// RFC 5044 section 6: also where placement need not wait for a CRC, one that is there already comes first.
TEST(FpduReader, nothing_of_a_whole_fpdu_is_shown_before_its_crc) {
    for (const bool strict : {true, false})
        for (const std::size_t length : {100u, 5000u, 60000u})
            for (const std::size_t place : {std::size_t{3}, length / 2, length}) {
                Stream sent = stream_of(true, false, {length});
                sent.octets[place] ^= std::byte{1};
                Sink sink;
                FpduReader reader{{true, false, strict}, sink};
                EXPECT_EQ(give(reader, sent.octets), iwarp::fault::crc) << length << ' ' << place;
                EXPECT_EQ(sink.begun, 0u) << length << ' ' << place;
            }
}

TEST(FpduReader, direct_begins_with_the_header) {
    for (const FpduReader::Settings settings : {FpduReader::Settings{true, false, false}, {false, false, true}}) {
        const Stream sent = stream_of(settings.crc, false, {5000});
        Sink sink;
        FpduReader reader{settings, sink};
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(15)), std::nullopt);
        EXPECT_EQ(sink.begun, 0u);
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(15, 1)), std::nullopt);
        EXPECT_EQ(sink.begun, 1u);
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(16, 100)), std::nullopt);
        ASSERT_EQ(sink.pieces().size(), 1u);
        EXPECT_EQ(hex(sink.pieces()[0].first(100)), hex(base::Bytes{sent.ulpdus[0]}.subspan(14, 100)));
        EXPECT_EQ(std::to_integer<int>(sink.pieces()[0][100]), 0xee);
    }
}

TEST(FpduReader, is_small_and_gives_back_what_it_borrowed) {
    EXPECT_LE(sizeof(FpduReader), 512u);
    const auto pool = std::make_shared<iwarp::mpa::StagePool>();
    using Size = iwarp::mpa::StagePool::Size;
    const Stream sent = stream_of(true, false, {60000, 100});
    Sink sink;
    {
        FpduReader reader{{true, false, true}, sink, pool};
        // Few octets of a long FPDU take the small size.
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(4000)), std::nullopt);
        EXPECT_EQ(pool->kept_octets(), 0u);
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(4000, 1000)), std::nullopt);
        EXPECT_EQ(pool->kept_octets(), pool->octets(Size::small));
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(5000)), std::nullopt);
        EXPECT_EQ(pool->kept_octets(), pool->octets(Size::small) + pool->octets(Size::large));
        EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(100)), std::nullopt);
        EXPECT_EQ(pool->kept_octets(), pool->octets(Size::large));
    }
    EXPECT_EQ(pool->kept_octets(), pool->octets(Size::small) + pool->octets(Size::large));
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

TEST(FpduReader, gives_back_what_it_borrowed_before_it_waits) {
    const auto pool = std::make_shared<iwarp::mpa::StagePool>();
    // Of a long FPDU the first octets take the small size, which is given back for the large one.
    using Size = iwarp::mpa::StagePool::Size;
    const std::size_t small = pool->octets(Size::small);
    const std::size_t all = small + pool->octets(Size::large);
    const Stream sent = stream_of(true, false, {60000, 100, 60000, 200});
    Sink sink;
    sink.fault = iwarp::fault::not_yet;  // counted whenever a segment is offered, also again
    FpduReader reader{{true, false, true}, sink, pool};
    // The second waits after the first, which came in two parts.
    sink.refuse_at = 1;
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.first(20000)), std::nullopt);
    EXPECT_EQ(pool->kept_octets(), small);
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(20000, sent.ends[1] - 20000)), std::nullopt);
    EXPECT_TRUE(reader.paused());
    EXPECT_EQ(pool->kept_octets(), all);
    // The third waits while it is in borrowed memory; the fourth after the third.
    sink.refuse_at = 3;
    EXPECT_EQ(reader.resume(), std::nullopt);
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(sent.ends[1], 20000)), std::nullopt);
    EXPECT_EQ(give(reader, base::Bytes{sent.octets}.subspan(sent.ends[1] + 20000)), std::nullopt);
    EXPECT_TRUE(reader.paused());
    EXPECT_EQ(pool->kept_octets(), small);
    sink.refuse_at = 5;
    EXPECT_EQ(reader.resume(), std::nullopt);
    EXPECT_TRUE(reader.paused());
    EXPECT_EQ(pool->kept_octets(), all);
    sink.refuse_at.reset();
    EXPECT_EQ(reader.resume(), std::nullopt);
    EXPECT_EQ(sink.ulpdus, sent.ulpdus);
}

}  // namespace
