#include "replay/peer/pieces.h"

#include <gtest/gtest.h>

#include "wire/crc32c.h"
#include "wire/mpa.h"

namespace replay {
namespace {

std::vector<std::byte> start_frame(std::size_t private_octets) {
    wire::MpaRequest request;
    request.key = wire::mpa_request_key;
    request.private_length = static_cast<std::uint16_t>(private_octets);
    const auto header = wire::to_octets(request);
    std::vector<std::byte> octets(header.begin(), header.end());
    octets.resize(octets.size() + private_octets, std::byte{7});
    return octets;
}

TEST(Pieces, a_start_frame_however_it_is_cut) {
    const auto whole = start_frame(5);
    for (std::size_t have = 0; have < whole.size(); ++have) {
        PieceCutter cutter;
        EXPECT_FALSE(cutter.next(base::Bytes{whole}.first(have)));
        const auto piece = cutter.next(whole);
        ASSERT_TRUE(piece.has_value());
        EXPECT_EQ(piece->kind, PieceKind::start);
        EXPECT_EQ(piece->size, 25u);
    }
}

TEST(Pieces, what_is_no_start_frame_is_not_cut) {
    PieceCutter cutter;
    const std::vector<std::byte> octets(100, std::byte{'x'});
    EXPECT_FALSE(cutter.next(octets));
    EXPECT_FALSE(cutter.next(start_frame(0))) << "nor what comes behind it";
}

/// RFC 5044, 4.3 and 4.4: the first marker in front of the FPDU, the next ones 512 octets apart.
TEST(Pieces, markers_are_taken_out_and_written_around) {
    // A ULPDU of 1000 octets: 2 + 1000 + 2 of padding + 4 of CRC are 1008, and markers at 0, 512 and 1024 after 4, 508
    // and 508 octets: 4 + 508 + 4 + 500 = 1016, so that the third is not reached.
    std::vector<std::byte> fpdu;
    std::vector<std::byte> ulpdu;
    const auto add = [&](std::byte octet) {
        if (fpdu.size() % 512 == 0) fpdu.insert(fpdu.end(), 4, std::byte{0xee});
        fpdu.push_back(octet);
    };
    add(std::byte{1000 >> 8});
    add(std::byte{1000 & 0xff});
    for (unsigned i = 0; i < 1000; ++i) {
        ulpdu.push_back(static_cast<std::byte>(i % 199));
        add(ulpdu.back());
    }
    for (unsigned i = 0; i < 6; ++i) add(std::byte{0});
    ASSERT_EQ(fpdu.size(), 1016u);
    put_crc(fpdu);
    EXPECT_TRUE(crc_is_right(fpdu));

    auto stream = start_frame(0);
    const std::size_t at = stream.size();
    stream.insert(stream.end(), fpdu.begin(), fpdu.end());
    PieceCutter cutter;
    cutter.markers(true);
    ASSERT_TRUE(cutter.next(stream).has_value());
    const auto piece = cutter.next(base::Bytes{stream}.subspan(at));
    ASSERT_TRUE(piece.has_value());
    EXPECT_EQ(piece->size, 1016u);
    EXPECT_EQ(ulpdu_of(fpdu, true, 0), ulpdu);

    // Octets 504 to 511 of the ULPDU lie on both sides of the marker at 512: 4 + 2 + 506 octets are in front of it.
    const std::vector<std::byte> value(8, std::byte{0xaa});
    put_into_ulpdu(fpdu, true, 0, 504, value);
    std::copy(value.begin(), value.end(), ulpdu.begin() + 504);
    EXPECT_EQ(ulpdu_of(fpdu, true, 0), ulpdu);
    for (std::size_t i = 512; i < 516; ++i) EXPECT_EQ(fpdu[i], std::byte{0xee});
    EXPECT_FALSE(crc_is_right(fpdu));
}

TEST(Pieces, every_length_is_survived) {
    for (unsigned length : {0U, 1U, 2U, 3U, 65535U}) {
        std::vector<std::byte> stream = start_frame(0);
        const std::size_t at = stream.size();
        stream.push_back(static_cast<std::byte>(length >> 8));
        stream.push_back(static_cast<std::byte>(length & 0xff));
        stream.resize(at + (length + 2 + 3) / 4 * 4 + 4);  // padded to a multiple of four, and the CRC
        PieceCutter cutter;
        ASSERT_TRUE(cutter.next(stream).has_value());
        EXPECT_FALSE(cutter.next(base::Bytes{stream}.subspan(at).first(stream.size() - at - 1)));
        const auto piece = cutter.next(base::Bytes{stream}.subspan(at));
        ASSERT_TRUE(piece.has_value());
        EXPECT_EQ(piece->size, stream.size() - at);
        EXPECT_EQ(ulpdu_of(base::Bytes{stream}.subspan(at), false, 0).size(), length);
    }
}

}  // namespace
}  // namespace replay
