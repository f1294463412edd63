#include "wire/mpa.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string_view>
#include <vector>

#include "wire/crc32c.h"

namespace {

using Octets = std::vector<std::byte>;

Octets octets(std::string_view hex) {
    Octets out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        out.push_back(static_cast<std::byte>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
    return out;
}

/// The check value's octets on the wire, as a number read in that order.
std::uint32_t on_wire(base::Bytes bytes) { return base::load_be32(wire::crc32c_octets(wire::crc32c(bytes)).data()); }

// RFC 3720 appendix B.4.
TEST(Crc32c, iscsi_vectors) {
    EXPECT_EQ(on_wire(Octets(32)), 0xaa36918au);
    EXPECT_EQ(on_wire(Octets(32, std::byte{0xff})), 0x43aba862u);
    Octets rising(32);
    for (std::size_t i = 0; i < 32; ++i) rising[i] = static_cast<std::byte>(i);
    EXPECT_EQ(on_wire(rising), 0x4e79dd46u);
    Octets falling(rising.rbegin(), rising.rend());
    EXPECT_EQ(on_wire(falling), 0x5cdb3f11u);
}

TEST(Crc32c, check_value_of_the_nine_digits) {
    EXPECT_EQ(wire::crc32c(base::Bytes{reinterpret_cast<const std::byte*>("123456789"), 9}), 0xe3069283u);
}

// RFC 5044 figures 5 and 6: a marker before, and a marker within.
TEST(Crc32c, mpa_figures) {
    Octets first = octets("00000000002a414300000000000000000000000100000000");
    first.resize(first.size() + 24);
    EXPECT_EQ(on_wire(first), 0x52239983u);
    Octets second = octets("002a41430000000000000000000000020000000000000014");
    second.resize(second.size() + 24);
    EXPECT_EQ(on_wire(second), 0x84925898u);
}

TEST(Crc32c, pieces_are_as_good_as_the_whole) {
    Octets data(1000);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
    for (std::size_t cut = 0; cut <= data.size(); cut += 37) {
        wire::Crc32c crc;
        crc.update(base::Bytes{data}.first(cut));
        crc.update(base::Bytes{data}.subspan(cut));
        EXPECT_EQ(crc.value(), wire::crc32c(data));
    }
    EXPECT_EQ(wire::load_crc32c(wire::crc32c_octets(0x12345678).data()), 0x12345678u);
}

// The frames of a capture of Linux siw, its fields as tshark prints them.
TEST(MpaStart, of_siw) {
    const Octets request = octets(
        "4d504120494420526571204672616d6550020004"
        "8001c001");
    ASSERT_EQ(wire::mpa_start_kind(request), wire::MpaStartKind::request);
    const auto start = wire::parse<wire::MpaRequest>(request);
    ASSERT_TRUE(start);
    EXPECT_FALSE(start->marker);
    EXPECT_TRUE(start->crc);
    EXPECT_FALSE(start->rejected);
    EXPECT_EQ(start->reserved, 0x10);
    EXPECT_EQ(start->revision, 2);
    EXPECT_EQ(start->private_length, 4);
    EXPECT_TRUE(start->enhanced());
    const auto enhanced = wire::parse<wire::MpaEnhanced>(base::Bytes{request}.subspan(20));
    ASSERT_TRUE(enhanced);
    EXPECT_TRUE(enhanced->peer_to_peer);
    EXPECT_FALSE(enhanced->send);
    EXPECT_EQ(enhanced->ird, 1);
    EXPECT_TRUE(enhanced->write);
    EXPECT_TRUE(enhanced->read);
    EXPECT_EQ(enhanced->ord, 1);
    const auto again = wire::to_octets(*start);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), request.begin()));
    const auto enhanced_again = wire::to_octets(*enhanced);
    EXPECT_TRUE(std::equal(enhanced_again.begin(), enhanced_again.end(), request.begin() + 20));
}

TEST(MpaStart, key_is_told_early) {
    const Octets reply = octets("4d504120494420526570204672616d65");
    EXPECT_EQ(wire::mpa_start_kind(reply), wire::MpaStartKind::reply);
    EXPECT_EQ(wire::mpa_start_kind(base::Bytes{reply}.first(10)), wire::MpaStartKind::reply);
    EXPECT_EQ(wire::mpa_start_kind(base::Bytes{reply}.first(9)), wire::MpaStartKind::none);
    for (std::size_t i = 0; i < reply.size(); ++i) {
        EXPECT_TRUE(wire::mpa_start_possible(base::Bytes{reply}.first(i)));
        Octets other = reply;
        other[i] ^= std::byte{0x80};
        EXPECT_FALSE(wire::mpa_start_possible(other));
    }
}

TEST(MpaFpdu, sizes) {
    EXPECT_EQ(wire::mpa_fpdu_size(42), 48u);  // RFC 5044 figure 5
    EXPECT_EQ(wire::mpa_fpdu_size(0), 8u);
    EXPECT_EQ(wire::mpa_fpdu_size(1), 8u);
    EXPECT_EQ(wire::mpa_fpdu_size(3), 12u);
    EXPECT_EQ(wire::mpa_fpdu_size(17), 24u);  // tshark: pad of one octet
    EXPECT_EQ(wire::mpa_fpdu_size(65535), 65544u);
}

// Counted octet by octet, as RFC 5044 section 4.3 tells it.
std::uint32_t markers_by_walking(std::uint32_t size, std::uint32_t phase) {
    std::uint32_t markers = 0;
    for (std::uint32_t at = phase, left = size; left != 0;) {
        if (at % 512 == 0) {
            ++markers;
            at += 4;
        }
        at += 4;
        left -= 4;
    }
    return markers;
}

TEST(MpaMarkers, counted_by_walking) {
    for (std::uint32_t phase = 0; phase < 512; phase += 4)
        for (std::uint32_t size = 8; size < 2100; size += 4)
            ASSERT_EQ(wire::mpa_markers(size, phase), markers_by_walking(size, phase)) << size << ' ' << phase;
    EXPECT_EQ(wire::mpa_markers(65544, 0), markers_by_walking(65544, 0));
}

}  // namespace
