#include <algorithm>
#include <gtest/gtest.h>

#include "stream_builder.h"

namespace {

using namespace iwarp_test;
using dissect::Notice;

/// A connection with a mixture of messages in both directions.
Wire connection(unsigned seed, bool client_markers, bool server_markers, bool crc, unsigned count = 12,
                std::size_t most = 700, std::uint32_t client_isn = 1000, std::uint32_t server_isn = 5000) {
    std::mt19937 random{seed};
    Wire wire{client_isn, server_isn};
    wire.client.markers = client_markers;
    wire.server.markers = server_markers;
    wire.client.crc = wire.server.crc = crc;
    // M asks for markers in what its sender receives.
    wire.client.start(true, server_markers, crc, false, seed % 7);
    wire.server.start(false, client_markers, false, false, seed % 5);
    wire.client.mixture(random, count, most);
    wire.server.mixture(random, count, most);
    return wire;
}

TEST(Stream, every_way_to_cut_it) {
    for (const unsigned variant : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
        const Wire made = connection(variant, (variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0);
        for (std::uint32_t size = 1; size < 2000; size = size < 40 ? size + 1 : size * 5 / 4) {
            Wire wire = made;
            wire.play(size);
            const Found found = find(wire);
            ASSERT_EQ(difference(found.client, wire.client.units), "") << variant << ' ' << size;
            ASSERT_EQ(difference(found.server, wire.server.units), "") << variant << ' ' << size;
            ASSERT_TRUE(found.notices.empty());
            ASSERT_EQ(found.crc_bad, 0u);
            if ((variant & 4) != 0) {
                ASSERT_EQ(found.crc_good, wire.client.units.size() + wire.server.units.size() - 2);
            }
            ASSERT_EQ(found.markers != 0, (variant & 3) != 0);
        }
    }
}

TEST(Stream, sequence_numbers_wrap_anywhere) {
    for (std::uint32_t back = 0; back < 3000; back += 61) {
        Wire wire = connection(back, back % 2 == 0, back % 3 == 0, true, 12, 300, 0u - back, 0x80000000u - back);
        wire.play(100 + back % 77);
        const Found found = find(wire);
        ASSERT_EQ(difference(found.client, wire.client.units), "") << back;
        ASSERT_EQ(difference(found.server, wire.server.units), "") << back;
    }
}

TEST(Stream, fpdus_of_64_kib) {
    for (const bool markers : {false, true}) {
        std::mt19937 random{1};
        Wire wire;
        wire.client.markers = markers;
        wire.client.start(true, false, true);
        wire.server.start(false, markers, true);
        for (unsigned i = 0; i < 5; ++i) wire.client.write(1, i * 65521ull, i == 4, pattern(random, 65535 - 14));
        wire.play(1448);
        EXPECT_EQ(difference(find(wire).client, wire.client.units), "");
        Wire gso = wire;
        gso.frames.clear();
        gso.wire_lengths.clear();
        gso.play(65160);
        const Found found = find(gso);
        EXPECT_EQ(difference(found.client, gso.client.units), "");
        EXPECT_EQ(found.crc_good, 5u);
    }
}

TEST(Stream, reordered_repeated_and_overlapping) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        std::mt19937 random{seed};
        Wire wire = connection(seed, seed % 3 == 1, seed % 5 == 1, seed % 2 == 0);
        wire.handshake();
        const std::uint32_t request = wire.client.units.front().length;
        const std::uint32_t reply = wire.server.units.front().length;
        wire.segment(true, {0, request});
        wire.segment(false, {0, reply}, request);
        for (const bool client : {true, false}) {
            auto pieces = cut(client ? wire.client : wire.server, static_cast<std::uint32_t>(20 + random() % 600),
                              client ? request : reply);
            const auto total = static_cast<std::uint32_t>((client ? wire.client : wire.server).octets.size());
            // Swap within a window, repeat some, stretch some over their neighbours.
            for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
                if (random() % 3 == 0)
                    std::swap(pieces[i], pieces[i + random() % std::min<std::size_t>(8, pieces.size() - i)]);
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                if (random() % 5 == 0)
                    pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i), pieces[random() % (i + 1)]);
                if (random() % 5 == 0)
                    pieces[i].length = std::min(pieces[i].length + static_cast<std::uint32_t>(random() % 900),
                                                total - pieces[i].offset);
            }
            wire.segments(client, pieces);
        }
        const Found found = find(wire);
        ASSERT_EQ(difference(found.client, wire.client.units), "") << seed;
        ASSERT_EQ(difference(found.server, wire.server.units), "") << seed;
        ASSERT_EQ(found.gap_octets, 0u);
        ASSERT_EQ(found.crc_bad, 0u);
    }
}

/// Units of which every octet is outside [from, to).
std::vector<SentUnit> untouched(const std::vector<SentUnit>& units, std::uint32_t from, std::uint32_t to) {
    std::vector<SentUnit> out;
    for (const auto& unit : units)
        if (unit.offset + unit.length <= from || unit.offset >= to) out.push_back(unit);
    return out;
}

bool contains_all(const std::vector<SentUnit>& found, const std::vector<SentUnit>& wanted, unsigned& missing) {
    missing = 0;
    for (const auto& unit : wanted) missing += std::find(found.begin(), found.end(), unit) == found.end();
    return missing == 0;
}

/// The whole connection except one of the client's segments, which the server acknowledges all the same: that one.
Cut play_without_one(Wire& wire, std::mt19937& random) {
    wire.handshake();
    const std::uint32_t request = wire.client.units.front().length;
    wire.segment(true, {0, request});
    wire.segment(false, {0, wire.server.units.front().length}, request);
    auto pieces = cut(wire.client, static_cast<std::uint32_t>(100 + random() % 500), request);
    const std::size_t lost = 2 + random() % (pieces.size() - 4);
    const Cut gone = pieces[lost];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(lost));
    wire.segments(true, pieces);
    wire.acknowledge(false, static_cast<std::uint32_t>(wire.client.octets.size()));
    return gone;
}

TEST(Stream, lost_segments_cost_only_what_was_in_them) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937 random{seed};
        const bool crc = seed % 2 == 0;
        Wire wire = connection(seed, seed % 3 == 1, false, crc, 30, 500);
        const Cut gone = play_without_one(wire, random);
        const Found found = find(wire);
        unsigned missing = 0;
        const auto whole = untouched(wire.client.units, gone.offset, gone.offset + gone.length);
        // Without CRCs a single tagged head proves little; a later one is waited for.
        EXPECT_TRUE(contains_all(found.client, whole, missing) || (!crc && missing <= 2))
            << seed << ' ' << missing << " of " << whole.size();
        EXPECT_EQ(found.gap_octets, gone.length) << seed;
        EXPECT_EQ(found.count(Notice::Kind::stream_gap), 1u);
        EXPECT_EQ(found.crc_bad, 0u) << seed;
    }
}

/// The start frames ask for CRCs, and the tap is in front of who fills them in.
TEST(Stream, lost_segments_of_a_stream_whose_crcs_are_not_filled_in) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random{seed};
        Wire wire;
        wire.client.start(true, false, true);
        wire.server.start(false, false, true);
        wire.client.crc = false;
        wire.client.mixture(random, 40, 500);
        const Cut gone = play_without_one(wire, random);
        const Found found = find(wire);
        unsigned missing = 0;
        const auto whole = untouched(wire.client.units, gone.offset, gone.offset + gone.length);
        contains_all(found.client, whole, missing);
        EXPECT_LE(missing, 2u) << seed << " of " << whole.size();
        EXPECT_EQ(found.gap_octets, gone.length) << seed;
    }
}

/// Missing bytes of a connection whose fourth segment, of `size` bytes, comes after `others` later ones. At the end of
/// a capture the stream gives up what is missing: only a segment that comes last shows whether it was waited for.
std::uint64_t missing_of(Wire wire, std::uint32_t size, std::size_t others, const dissect::DissectorOptions& options) {
    auto pieces = cut(wire.client, size, wire.client.units.front().length);
    EXPECT_GT(pieces.size(), 3 + others);
    const auto late = pieces.begin() + 3;
    const auto end = late + 1 + static_cast<std::ptrdiff_t>(others);
    std::rotate(late, late + 1, end);
    wire.segments(true, {pieces.begin(), end});
    return find(wire, options).gap_octets;
}

/// Set up, with both start frames.
Wire begun(unsigned count, std::size_t most) {
    Wire wire = connection(1, false, false, true, count, most);
    wire.handshake();
    const std::uint32_t request = wire.client.units.front().length;
    wire.segment(true, {0, request});
    wire.segment(false, {0, wire.server.units.front().length}, request);
    return wire;
}

TEST(Stream, a_gap_is_waited_for_until_the_buffer_is_full) {
    Wire wire = begun(60, 700);
    dissect::DissectorOptions options;
    options.max_stream_bytes = 8 * 768;  // each takes a piece of 768
    EXPECT_EQ(missing_of(wire, 500, 8, options), 0u);
    EXPECT_EQ(missing_of(wire, 500, 9, options), 500u);
    auto pieces = cut(wire.client, 500, wire.client.units.front().length);
    pieces.erase(pieces.begin() + 3);
    wire.segments(true, pieces);
    const Found found = find(wire, options);
    EXPECT_EQ(found.gap_octets, 500u);
    EXPECT_GT(found.client.size(), wire.client.units.size() - 5);
}

/// One segment comes after all others, as when it was lost before the tap, or waited in another processor's queue.
TEST(Stream, a_gap_is_waited_for_as_long_as_a_window_may_last) {
    Wire wire = begun(3000, 1400);
    ASSERT_GT(wire.client.octets.size(), 1'000'000u);
    auto pieces = cut(wire.client, 1400, wire.client.units.front().length);
    std::rotate(pieces.begin() + 3, pieces.begin() + 4, pieces.end());
    wire.segments(true, pieces);
    wire.acknowledge(false, static_cast<std::uint32_t>(wire.client.octets.size()));
    const Found found = find(wire);
    EXPECT_EQ(difference(found.client, wire.client.units), "");
    EXPECT_EQ(found.count(Notice::Kind::stream_gap), 0u);
    EXPECT_EQ(found.gap_octets, 0u);
}

/// Where the other direction was not captured, nobody tells that it came: 256 KiB must do.
TEST(Stream, a_gap_that_nobody_acknowledges_is_waited_for_shortly) {
    Wire wire = connection(1, false, false, true, 3000, 1400);
    wire.raw(true, wire.isn(true), 0x02, {}, 0);
    wire.segment(true, {0, wire.client.units.front().length});
    EXPECT_EQ(missing_of(wire, 1400, 128, {}), 0u);
    EXPECT_EQ(missing_of(wire, 1400, 129, {}), 1400u);
}

/// However small they are: each resent one is put among all that wait.
TEST(Stream, segments_that_wait_are_limited_in_number) {
    const Wire wire = begun(600, 1400);
    EXPECT_EQ(missing_of(wire, 20, 4096, {}), 0u);
    EXPECT_EQ(missing_of(wire, 20, 4097, {}), 20u);
}

/// What waits then may hold the boundary: with the lost segment went the head of a long FPDU, and another gap comes
/// before its end.
TEST(Stream, while_a_boundary_is_looked_for_a_gap_is_waited_for_shortly) {
    constexpr std::uint32_t size = 1400;
    Wire wire = connection(2, false, false, true, 60, 60000);
    wire.handshake();
    const auto long_unit = std::find_if(wire.client.units.begin() + 1, wire.client.units.end(),
                                        [](const SentUnit& unit) { return unit.length > 20 * size; });
    ASSERT_NE(long_unit, wire.client.units.end());
    const std::uint32_t request = wire.client.units.front().length;
    wire.segment(true, {0, request});
    wire.segment(false, {0, wire.server.units.front().length}, request);
    const auto pieces = cut(wire.client, size, request);
    // The one that is lost is acknowledged with the next.
    const std::size_t lost = (long_unit->offset - request) / size;
    wire.segments(true, {pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(lost)});
    wire.segments(true, {pieces[lost + 1]});
    wire.acknowledge(false, pieces[lost + 1].offset + pieces[lost + 1].length);
    const std::size_t late = lost + 4;
    const auto missing = [&](std::size_t others) {
        Wire now = wire;
        now.segments(true, {pieces.begin() + static_cast<std::ptrdiff_t>(lost + 2),
                            pieces.begin() + static_cast<std::ptrdiff_t>(late)});
        now.segments(true, {pieces.begin() + static_cast<std::ptrdiff_t>(late + 1),
                            pieces.begin() + static_cast<std::ptrdiff_t>(late + 1 + others)});
        now.segments(true, {pieces[late]});
        return find(now).gap_octets;
    };
    EXPECT_EQ(missing(100), size);
    EXPECT_EQ(missing(140), 2 * size);
}

TEST(Stream, retransmission_names_the_first_frame) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    const std::size_t before = wire.frames.size();
    wire.segment(true, {wire.client.units.front().length + 400, 400});
    const Found found = find(wire);
    ASSERT_EQ(found.count(Notice::Kind::tcp_retransmission), 1u);
    // Three of the handshake, one for each start frame, and the first piece come before it.
    EXPECT_EQ(found.related.back(), 7u);
    EXPECT_EQ(wire.frames.size(), before + 1);
    EXPECT_EQ(difference(found.client, wire.client.units), "");
}

TEST(Stream, keep_alive_is_no_retransmission) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    const auto sent = static_cast<std::uint32_t>(wire.client.octets.size());
    wire.raw(true, wire.isn(true) + sent, 0x10, {std::byte{0}}, 0);
    wire.raw(true, wire.isn(true) + sent, 0x10, {}, 0);
    EXPECT_TRUE(find(wire).notices.empty());
}

TEST(Stream, connection_reused) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    Wire second = connection(4, true, false, true, 12, 700, 900000, 400000);
    second.play(300);
    const Found first_found = find(wire);
    const Found second_found = find(second);
    const std::size_t first_frames = wire.frames.size();
    wire.frames.insert(wire.frames.end(), second.frames.begin(), second.frames.end());
    wire.wire_lengths.insert(wire.wire_lengths.end(), second.wire_lengths.begin(), second.wire_lengths.end());
    const Found both = find(wire);
    EXPECT_EQ(both.client.size(), first_found.client.size() + second_found.client.size());
    EXPECT_EQ(both.server.size(), first_found.server.size() + second_found.server.size());
    EXPECT_EQ(both.streams.front(), 0u);
    EXPECT_EQ(both.streams.back(), 1u);
    EXPECT_GT(first_frames, 0u);
}

/// A capture that is replayed on a wire has the same ports and sequence numbers every time.
TEST(Stream, connection_reused_with_the_same_sequence_numbers) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    for (const bool client : {true, false})
        wire.raw(client,
                 wire.isn(client) + 1 + static_cast<std::uint32_t>((client ? wire.client : wire.server).octets.size()),
                 0x11, {}, 0);
    const Found once = find(wire);
    const Wire first = wire;
    for (int more = 0; more < 2; ++more) {
        wire.frames.insert(wire.frames.end(), first.frames.begin(), first.frames.end());
        wire.wire_lengths.insert(wire.wire_lengths.end(), first.wire_lengths.begin(), first.wire_lengths.end());
    }
    const Found thrice = find(wire);
    EXPECT_GT(once.client.size(), 0u);
    EXPECT_EQ(thrice.client.size(), 3 * once.client.size());
    EXPECT_EQ(thrice.server.size(), 3 * once.server.size());
    EXPECT_EQ(thrice.streams.back(), 2u);
}

/// Of the later one the SYNs and start frames are not in the capture.
TEST(Stream, connection_reused_unseen) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    const auto end_of = [&wire](bool client) {
        const Stream& stream = client ? wire.client : wire.server;
        return wire.isn(client) + 1 + static_cast<std::uint32_t>(stream.octets.size());
    };
    const Wire open = wire;
    Wire second = connection(4, false, false, true, 40, 200, 900, 400000);
    second.play(300);
    constexpr std::size_t set_up = 5;
    second.frames.erase(second.frames.begin(), second.frames.begin() + set_up);
    second.wire_lengths.erase(second.wire_lengths.begin(), second.wire_lengths.begin() + set_up);
    const Found first_found = find(wire);
    const Found second_found = find(second);
    for (const bool by_reset : {false, true}) {
        wire = open;
        wire.raw(true, end_of(true), by_reset ? 0x14 : 0x11, {}, end_of(false));
        if (!by_reset) wire.raw(false, end_of(false), 0x11, {}, end_of(true) + 1);
        wire.frames.insert(wire.frames.end(), second.frames.begin(), second.frames.end());
        wire.wire_lengths.insert(wire.wire_lengths.end(), second.wire_lengths.begin(), second.wire_lengths.end());
        const Found both = find(wire);
        EXPECT_GT(second_found.client.size(), 20u);
        EXPECT_EQ(both.client.size(), first_found.client.size() + second_found.client.size());
        EXPECT_EQ(both.server.size(), first_found.server.size() + second_found.server.size());
        EXPECT_EQ(both.streams.back(), 1u);
        EXPECT_EQ(both.gap_octets, 0u);
        EXPECT_EQ(both.count(Notice::Kind::tcp_retransmission), 0u);
    }
}

/// After a RST comes what was under way, of which the capture lacks some; the other side's last octets it lacks, too.
TEST(Stream, what_was_under_way_at_a_reset_begins_no_other_connection) {
    Wire wire = connection(3, false, false, true, 20, 200);
    wire.play(300);
    const auto sent = static_cast<std::uint32_t>(wire.server.octets.size());
    const auto acknowledged = static_cast<std::uint32_t>(wire.client.octets.size()) + 500;
    for (std::uint32_t i = 0; i < 40; ++i) wire.server.send(100 + i, 0, true, Octets(100));
    wire.segment(false, {sent, 124}, acknowledged);
    wire.raw(true, wire.isn(true) + 1 + acknowledged, 0x14, {}, wire.isn(false) + 1 + sent);
    // One of 124 octets is not in the capture.
    for (std::uint32_t i = 2; i < 40; ++i) wire.segment(false, {sent + i * 124, 124}, acknowledged);
    const Found found = find(wire);
    EXPECT_EQ(found.streams.back(), 0u);
    EXPECT_EQ(found.gap_octets, 124u);
    EXPECT_EQ(found.server.size(), wire.server.units.size() - 1);
}

/// Nothing was captured in between: the connection went on for longer than sequence numbers tell, or it is another one.
TEST(Stream, goes_on_elsewhere) {
    for (const std::uint32_t far : {1500u << 20, 2500u << 20, 3000u << 20, 4000u << 20}) {
        Wire wire = connection(3, false, false, true, 60, 200);
        wire.play(300);
        Wire later = connection(4, false, false, true, 120, 200, 1000 + far, 5000);
        later.play(300);
        const Found first_found = find(wire);
        constexpr std::size_t set_up = 5;
        wire.frames.insert(wire.frames.end(), later.frames.begin() + set_up, later.frames.end());
        wire.wire_lengths.insert(wire.wire_lengths.end(), later.wire_lengths.begin() + set_up,
                                 later.wire_lengths.end());
        const Found both = find(wire);
        // Up to 16 segments of 300 octets tell that it is so.
        const std::size_t expected = first_found.client.size() + later.client.units.size();
        EXPECT_LE(both.client.size(), expected) << far;
        EXPECT_GT(both.client.size() + 60, expected) << far;
        EXPECT_EQ(both.count(Notice::Kind::stream_gap), 1u) << far;
        EXPECT_EQ(both.counters.stream_octets_lost, 0u) << "how many, nobody knows";
    }
}

/// Both ends of a connection that has FPDUs of 4 KiB in segments of 48 KiB, of which little is captured.
TEST(Stream, what_is_not_read_at_the_end_is_told) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    std::mt19937 random{1};
    const auto from = static_cast<std::uint32_t>(wire.client.octets.size());
    const auto units = wire.client.units.size();
    for (std::uint32_t i = 0; i < 12; ++i) wire.client.write(7, i * 4096, true, pattern(random, 4096));
    const auto octets = static_cast<std::uint32_t>(wire.client.octets.size()) - from;
    const std::uint32_t first = wire.client.units[units].length;
    wire.snap = 128;
    wire.segment(true, {from, octets});
    const Found open = find(wire);
    EXPECT_EQ(open.client.size(), units + 1);
    EXPECT_EQ(open.unread_octets, octets - first);
    // It is told once, whether or not the connection ends before the capture does.
    wire.raw(true, wire.isn(true) + 1 + from + octets, 0x14, {}, 0);
    const Found reset = find(wire);
    EXPECT_EQ(reset.count(Notice::Kind::stream_unread), 1u);
    EXPECT_EQ(reset.unread_octets, octets - first);
    EXPECT_EQ(reset.skipped_octets, 0u);
}

/// What has not come when the capture ends, no snap length has cut.
TEST(Stream, an_fpdu_that_the_capture_ends_in_is_not_cut_by_a_snap_length) {
    Wire wire = connection(3, false, false, true);
    wire.play(400);
    std::mt19937 random{1};
    const auto from = static_cast<std::uint32_t>(wire.client.octets.size());
    wire.client.write(7, 0, true, pattern(random, 4096));
    wire.segment(true, {from, 1000});
    EXPECT_EQ(find(wire).counters.truncated, 0u);
    wire.snap = 128;
    wire.segment(true, {from + 1000, wire.client.units.back().length - 1000});
    EXPECT_EQ(find(wire).counters.truncated, 1u);
}

TEST(Stream, rejected_connection_is_left_alone) {
    Wire wire;
    wire.client.start(true, false, true);
    wire.server.start(false, false, true, true, 20);
    std::mt19937 random{1};
    wire.client.mixture(random, 10, 200);
    wire.play(100);
    const Found found = find(wire);
    EXPECT_EQ(found.client.size(), 1u);
    EXPECT_EQ(found.server.size(), 1u);
}

TEST(Stream, start_frame_with_too_much_private_data_is_malformed) {
    Wire wire;
    wire.client.start(true, false, true, false, 513);
    wire.server.start(false, false, true);
    wire.play(1000);
    const Found found = find(wire);
    ASSERT_EQ(found.client.size(), 1u);
    EXPECT_TRUE(found.client[0].start);
}

TEST(Stream, snap_lengths_keep_every_head_that_was_captured) {
    for (std::size_t snap = 54; snap <= 200; ++snap) {
        for (const bool aligned : {true, false}) {
            std::mt19937 random{7};
            Wire wire;
            wire.snap = snap;
            wire.client.start(true, false, true);
            wire.server.start(false, false, true);
            for (unsigned i = 1; i < 40; ++i) wire.client.send(i, 0, true, pattern(random, 100 + i * 10));
            wire.handshake();
            wire.segment(true, {0, 20});
            wire.segment(false, {0, 20}, 20);
            std::vector<Cut> pieces;
            for (std::size_t i = 1; i < wire.client.units.size(); ++i)
                pieces.push_back({wire.client.units[i].offset, wire.client.units[i].length});
            if (!aligned) pieces = cut(wire.client, 900, 20);
            wire.segments(true, pieces);
            const Found found = find(wire);
            const std::size_t captured = snap - 54;
            if (aligned && captured >= 4) {
                std::size_t fpdus = 0;
                for (const auto& unit : found.client) fpdus += !unit.start;
                EXPECT_EQ(fpdus, wire.client.units.size() - 1) << snap;
            }
            for (const auto& unit : found.client) {
                const auto same = std::find_if(
                    wire.client.units.begin(), wire.client.units.end(),
                    [&](const SentUnit& sent) { return sent.offset == unit.offset && sent.length == unit.length; });
                ASSERT_NE(same, wire.client.units.end()) << snap;
                ASSERT_LE(unit.payload.size(), same->payload.size());
                ASSERT_TRUE(std::equal(unit.payload.begin(), unit.payload.end(), same->payload.begin()));
            }
        }
    }
}

TEST(Stream, one_flipped_bit_anywhere_is_found) {
    const Wire made = connection(11, true, false, true, 3, 120);
    Wire wire = made;
    wire.play(1448);
    const Found clean = find(wire);
    const std::size_t data_frame = 5;  // the first with FPDUs
    for (std::size_t bit = 0; bit < (wire.frames[data_frame].size() - 54) * 8; ++bit) {
        Wire flipped = wire;
        flipped.frames[data_frame][54 + bit / 8] ^= std::byte{1} << bit % 8;
        const Found found = find(flipped);
        ASSERT_TRUE(found.crc_bad != 0 || found.count(Notice::Kind::tcp_checksum_wrong) != 0 || found.gap_octets != 0)
            << bit;
        ASSERT_LT(found.crc_good, clean.crc_good);
    }
}

}  // namespace
