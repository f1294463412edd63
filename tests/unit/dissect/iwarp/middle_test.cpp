#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "stream_builder.h"
#include "tests/support/sanitized.h"

/// Connections whose beginning was not captured, and others that are no RDMA at all.
namespace {

using namespace iwarp_test;

Wire one_sided(unsigned seed, bool markers, bool crc, bool zero_crc, unsigned count, std::size_t most) {
    std::mt19937 random{seed};
    Wire wire;
    wire.client.markers = markers;
    wire.client.crc = crc;
    wire.client.zero_crc = zero_crc;
    wire.client.start(true, false, crc);
    wire.client.mixture(random, count, most);
    return wire;
}

void expect_all_from(Wire& wire, std::uint32_t from, std::uint32_t segment_size, unsigned may_miss,
                     const std::string& what) {
    wire.frames.clear();
    wire.wire_lengths.clear();
    wire.segments(true, cut(wire.client, segment_size, from));
    const Found found = find(wire);
    std::vector<SentUnit> expected;
    for (const auto& unit : wire.client.units)
        if (unit.offset >= from) expected.push_back(unit);
    // All of an FPDU but the marker in front of it may be there.
    const auto cut_marker = std::find_if(wire.client.units.begin(), wire.client.units.end(), [&](const SentUnit& unit) {
        return wire.client.markers && (unit.offset - wire.client.fpdus_at) % 512 == 0 && unit.offset < from &&
               from <= unit.offset + 4;
    });
    if (cut_marker != wire.client.units.end()) {
        expected.insert(expected.begin(), *cut_marker);
        expected.front().offset += 4;
        expected.front().length -= 4;
    }
    ASSERT_EQ(found.server.size(), 0u) << what;
    ASSERT_LE(found.client.size(), expected.size()) << what;
    ASSERT_GE(found.client.size() + may_miss, expected.size()) << what;
    expected.erase(expected.begin(), expected.end() - static_cast<std::ptrdiff_t>(found.client.size()));
    ASSERT_EQ(difference(found.client, expected), "") << what;
    ASSERT_EQ(found.crc_bad, 0u) << what;
}

TEST(Middle, every_offset_of_the_first_fpdus) {
    for (const bool crc : {true, false})
        for (const bool markers : {false, true})
            for (const std::uint32_t size : {137u, 1448u}) {
                Wire wire = one_sided(5, markers, crc, true, 25, 300);
                const std::uint32_t until = wire.client.units[6].offset;
                for (std::uint32_t from = 20; from < until; from += support::sanitized ? 7 : 1)
                    expect_all_from(wire, from, size, 0,
                                    (crc ? "crc " : "no crc ") + std::string{markers ? "markers " : ""} +
                                        std::to_string(size) + ' ' + std::to_string(from));
            }
}

TEST(Middle, long_fpdus) {
    for (const bool markers : {false, true}) {
        std::mt19937 random{9};
        Wire wire;
        wire.client.markers = markers;
        wire.client.start(true, false, true);
        for (unsigned i = 0; i < 8; ++i) wire.client.write(77, i * 60000ull, i == 7, pattern(random, 60000));
        for (const std::uint32_t from : {20u, 1000u, 59000u, 61000u}) {
            dissect::DissectorOptions options;
            wire.frames.clear();
            wire.wire_lengths.clear();
            wire.segments(true, cut(wire.client, 1448, from));
            const Found found = find(wire, options);
            const auto whole = std::count_if(wire.client.units.begin(), wire.client.units.end(),
                                             [&](const auto& unit) { return unit.offset >= from; });
            EXPECT_EQ(found.client.size(), static_cast<std::size_t>(whole)) << markers << ' ' << from;
        }
    }
}

TEST(Middle, crcs_that_are_off_and_not_zero) {
    Wire wire = one_sided(6, false, false, false, 40, 300);
    for (std::uint32_t from = 20; from < 900; from += 13) expect_all_from(wire, from, 1448, 0, std::to_string(from));
}

TEST(Middle, snapped) {
    std::mt19937 random{9};
    Wire wire;
    wire.snap = 96;
    for (unsigned i = 0; i < 30; ++i) wire.client.write(77, i * 1000ull, i == 29, pattern(random, 1000));
    for (const auto& unit : wire.client.units) wire.segment(true, {unit.offset, unit.length});
    EXPECT_EQ(find(wire).client.size(), 30u);
}

/// That the other direction is RDMA, and has no markers, does not say that this one has none.
TEST(Middle, markers_of_one_direction) {
    for (const bool crc : {true, false})
        for (const std::size_t most : {300u, 1400u, 5000u})
            for (std::size_t skip = 6; skip < 40; skip += support::sanitized ? 8 : 1) {
                std::mt19937 random{3};
                Wire wire;
                wire.client.markers = true;
                wire.client.crc = wire.server.crc = crc;
                wire.client.start(true, false, crc);
                wire.server.start(false, true, crc);
                for (std::uint32_t i = 1; i <= 100; ++i) {
                    wire.client.send(i, 0, true, pattern(random, random() % most));
                    wire.server.send(i, 0, true, pattern(random, random() % most));
                }
                // Each FPDU in segments of its own.
                std::uint32_t acknowledged[2] = {0, 0};
                for (std::size_t i = 0; i < wire.client.units.size(); ++i)
                    for (const bool client : {false, true}) {
                        const SentUnit& unit = (client ? wire.client : wire.server).units[i];
                        for (std::uint32_t at = 0; at < unit.length; at += 1448)
                            wire.segment(client, {unit.offset + at, std::min(1448u, unit.length - at)},
                                         acknowledged[client ? 1 : 0]);
                        acknowledged[client ? 0 : 1] = unit.offset + unit.length;
                    }
                const Found found = find(wire, {}, skip);
                const std::string what = std::to_string(most) + ' ' + std::to_string(skip);
                EXPECT_EQ(found.crc_bad, 0u) << what;
                EXPECT_EQ(found.counters.malformed, 0u) << what;
                // Before a marker is seen, chance may make a head of the octets after it, once in a while.
                EXPECT_GE(found.client.size() + found.server.size() + skip + 24, 202u) << what;
            }
}

/// A CRC of zero, as before an adapter fills it in, is no proof of a marker, nor anything to look for again and again.
TEST(Middle, an_fpdu_in_doubt_is_looked_for_once) {
    std::mt19937 random{3};
    Wire wire;
    for (std::uint32_t i = 1; i <= 40; ++i) {
        wire.server.crc = i != 12;  // the last that the capture holds
        wire.server.send(i, 0, true, pattern(random, 100));
        wire.client.send(i, 0, true, pattern(random, 100));
    }
    wire.segments(true, cut(wire.client, 1448));
    for (std::size_t i = 10; i < 12; ++i)
        wire.segment(false, {wire.server.units[i].offset, wire.server.units[i].length});
    const Found found = find(wire);
    EXPECT_EQ(found.client.size(), 40u);
    EXPECT_EQ(found.server.size(), 2u);
}

/// Its number lies 12 octets after its head: as if it were a marker that points there.
TEST(Middle, the_twelfth_message_has_no_marker_by_its_number) {
    std::mt19937 random{3};
    Wire wire;
    wire.client.markers = true;
    wire.client.start(true, false, true);
    for (std::uint32_t i = 1; i <= 60; ++i) wire.client.send(i, 0, true, pattern(random, 440));
    expect_all_from(wire, wire.client.units[12].offset, 1448, 0, "from the 12th");
    wire.frames.clear();
    wire.wire_lengths.clear();
    wire.segments(true, cut(wire.client, 1448, wire.client.units[12].offset));
    EXPECT_EQ(find(wire).counters.malformed, 0u);
}

Found of_plain_tcp(const std::vector<Octets>& segments, bool from_the_start) {
    Wire wire;
    if (from_the_start) wire.handshake();
    std::uint32_t at = 1001;
    for (const auto& segment : segments) {
        wire.raw(true, at, 0x18, segment, 5001);
        at += static_cast<std::uint32_t>(segment.size());
    }
    return find(wire);
}

TEST(Middle, ordinary_tcp_has_no_units) {
    std::mt19937 random{2};
    std::vector<std::vector<Octets>> kinds(5);
    const std::string http =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: x\r\n\r\n<html><body>lorem ipsum dolor sit "
        "amet</body></html>\r\n";
    for (unsigned i = 0; i < 500; ++i) {
        kinds[0].push_back(pattern(random, 1448));
        kinds[1].emplace_back(1448, std::byte{0});
        Octets text;
        for (unsigned j = 0; j < 10; ++j)
            for (const char c : http) text.push_back(static_cast<std::byte>(c));
        kinds[2].push_back(text);
        // ONC RPC records: a length, a transaction, a call with small numbers.
        Octets rpc;
        for (const unsigned word : {0x80000024u, i, 0u, 2u, 100003u, 3u, 1u, 0u, 0u, 0u})
            for (unsigned shift = 32; shift > 0; shift -= 8)
                rpc.push_back(static_cast<std::byte>(word >> (shift - 8) & 0xff));
        kinds[3].push_back(rpc);
        // Octets that are only those of DDP and RDMAP control fields.
        Octets nasty(1448);
        for (auto& octet : nasty)
            octet = std::array{std::byte{0}, std::byte{0x81}, std::byte{0x40}, std::byte{0xc1},
                               std::byte{0x41}}[random() % 5];
        kinds[4].push_back(nasty);
    }
    for (std::size_t i = 0; i < kinds.size(); ++i)
        for (const bool start : {true, false}) {
            const Found found = of_plain_tcp(kinds[i], start);
            EXPECT_EQ(found.client.size() + found.server.size(), 0u) << i << start;
            EXPECT_TRUE(found.notices.empty()) << i << start;
        }
}

TEST(Middle, start_frame_after_other_traffic) {
    Wire wire = one_sided(5, false, true, true, 10, 300);
    wire.handshake();
    wire.server.start(false, false, true);
    const Octets before(300, std::byte{'x'});
    const std::uint32_t isn = wire.isn(true);
    wire.raw(true, isn + 1 - 300, 0x18, before, 5001);
    Wire late = wire;
    late.segment(true, {0, 20});
    late.segment(false, {0, 20}, 20);
    late.segments(true, cut(late.client, 500, 20));
    EXPECT_EQ(find(late).client.size(), wire.client.units.size());
}

TEST(Middle, many_connections_within_bounds) {
    dissect::DissectorOptions options;
    options.max_streams = 8;
    Wire all;
    std::size_t units = 0;
    for (unsigned i = 0; i < 50; ++i) {
        Wire wire = one_sided(i, false, true, true, 5, 100);
        wire.client_port = static_cast<std::uint16_t>(30000 + i);
        wire.server.start(false, false, true);
        wire.play(500);
        units += wire.client.units.size() + 1;
        all.frames.insert(all.frames.end(), wire.frames.begin(), wire.frames.end());
        all.wire_lengths.insert(all.wire_lengths.end(), wire.wire_lengths.begin(), wire.wire_lengths.end());
    }
    const Found found = find(all, options);
    EXPECT_EQ(found.client.size() + found.server.size(), units);
    EXPECT_EQ(found.count(dissect::Notice::Kind::stream_evicted), 42u);
}

TEST(Middle, hostile_memory_is_bounded) {
    // Gaps everywhere in many connections, and far less memory than they would take.
    dissect::DissectorOptions options;
    options.max_total_bytes = 1 << 20;
    Wire all;
    for (unsigned i = 0; i < 200; ++i) {
        Wire wire = one_sided(i, i % 2 == 0, true, true, 30, 1000);
        wire.client_port = static_cast<std::uint16_t>(30000 + i);
        wire.server.start(false, i % 2 == 0, true);
        wire.handshake();
        wire.segment(true, {0, 20});
        wire.segment(false, {0, 20}, 20);
        auto pieces = cut(wire.client, 700, 20);
        pieces.erase(pieces.begin() + 1);
        wire.segments(true, pieces);
        all.frames.insert(all.frames.end(), wire.frames.begin(), wire.frames.end());
        all.wire_lengths.insert(all.wire_lengths.end(), wire.wire_lengths.begin(), wire.wire_lengths.end());
    }
    const Found found = find(all, options);
    EXPECT_GT(found.client.size(), 200u);
}

}  // namespace
