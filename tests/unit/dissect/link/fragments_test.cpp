// Datagrams put together again, whatever the order; and what cannot be put together.
#include "dissect/fragments.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <numeric>
#include <random>

#include "tests/unit/dissect/link/support.h"
#include "wire/checksum.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// The test counts what the library allocates. g++ 12 warns of a mismatch where it has inlined the one and not the
// other.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc{};
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using dissect::FragmentTable;
using dissect::LayerId;
using dissect::Outcome;
using dissect::Reason;
using support::Octets;
using Result = FragmentTable::Result;

constexpr std::int64_t second = 1'000'000'000;

/// A RoCEv2 datagram: UDP, BTH of an RC Send Only, `payload` octets, and four for the ICRC.
Octets datagram(std::uint32_t payload) {
    Octets octets = support::from_hex(
        "c00012b700000000"
        "0440ffff0000001180000456");
    for (std::uint32_t i = 0; i < payload + 4; ++i) octets.push_back(static_cast<std::byte>(i * 7 & 0xff));
    base::store_be16(&octets[4], static_cast<std::uint16_t>(octets.size()));
    return octets;
}

struct Ipv4Options {
    std::uint16_t identification = 0x77;
    std::uint8_t ecn = 2;
    Octets options = {};
    std::uint8_t host = 1;
};

/// The frame with a piece of a datagram's payload.
Octets ipv4_fragment(const Octets& payload, std::uint32_t offset, std::uint32_t length, bool more,
                     const Ipv4Options& with = {}) {
    wire::Ipv4 header;
    header.header_words = static_cast<std::uint8_t>(5 + with.options.size() / 4);
    header.dscp = 26;
    header.ecn = with.ecn;
    header.total_length = static_cast<std::uint16_t>(20 + with.options.size() + length);
    header.identification = with.identification;
    header.more_fragments = more;
    header.fragment_offset = static_cast<std::uint16_t>(offset / 8);
    header.ttl = 64;
    header.protocol = wire::ip_protocol::udp;
    header.source = {std::byte{192}, std::byte{0}, std::byte{2}, static_cast<std::byte>(with.host)};
    header.destination = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{200}};
    Octets frame = support::from_hex("5254000000025254000000010800");
    const auto octets = wire::to_octets(header);
    frame.insert(frame.end(), octets.begin(), octets.end());
    frame.insert(frame.end(), with.options.begin(), with.options.end());
    frame.insert(frame.end(), payload.begin() + offset, payload.begin() + offset + length);
    return frame;
}

Octets ipv6_fragment(const Octets& payload, std::uint32_t offset, std::uint32_t length, bool more,
                     const Octets& extensions = {}) {
    wire::Ipv6 header;
    header.payload_length = static_cast<std::uint16_t>(extensions.size() + 8 + length);
    header.next_header = extensions.empty() ? wire::ip_protocol::fragment : wire::ip_protocol::destination_options;
    header.hop_limit = 64;
    header.source.back() = std::byte{1};
    header.destination.back() = std::byte{2};
    wire::Ipv6Fragment fragment;
    fragment.next_header = wire::ip_protocol::udp;
    fragment.offset = static_cast<std::uint16_t>(offset / 8);
    fragment.more = more;
    fragment.identification = 0xcafebabe;
    Octets frame = support::from_hex("52540000000252540000000186dd");
    const auto octets = wire::to_octets(header);
    const auto more_octets = wire::to_octets(fragment);
    frame.insert(frame.end(), octets.begin(), octets.end());
    frame.insert(frame.end(), extensions.begin(), extensions.end());
    frame.insert(frame.end(), more_octets.begin(), more_octets.end());
    frame.insert(frame.end(), payload.begin() + offset, payload.begin() + offset + length);
    return frame;
}

/// A number below `bound`.
std::uint32_t below(std::mt19937& random, std::uint32_t bound) { return static_cast<std::uint32_t>(random()) % bound; }

class Fragments : public testing::Test {
protected:
    FragmentTable table_;
    std::uint64_t frame_ = 0;

    FragmentTable::Added add(const Octets& frame, std::int64_t time_ns = 0, std::uint32_t wire_length = 0) {
        const auto dissection =
            support::dissect_octets(frame, wire_length == 0 ? static_cast<std::uint32_t>(frame.size()) : wire_length);
        EXPECT_TRUE(dissection.fragmented);
        return table_.add(dissection, frame, time_ns, ++frame_);
    }
    static void expect_whole(const FragmentTable::Added& added, const Octets& payload, std::uint32_t header) {
        ASSERT_EQ(added.result, Result::complete);
        ASSERT_EQ(added.bytes.size(), header + payload.size());
        EXPECT_EQ(added.wire_length, header + payload.size());
        EXPECT_TRUE(std::equal(payload.begin(), payload.end(), added.bytes.begin() + header));
        dissect::Dissection dissection;
        dissect::dissect_unit(added.first, added.bytes, added.wire_length, {}, dissection);
        EXPECT_EQ(dissection.bth.psn, 0x456u);
        EXPECT_FALSE(dissection.fragmented);
        EXPECT_EQ(dissection.stop.outcome, Outcome::complete);
    }
};

TEST_F(Fragments, AloneShowWhatTheyHave) {
    const Octets payload = datagram(2000);
    Octets frame = ipv4_fragment(payload, 0, 1480, true);
    auto dissection = support::dissect_octets(frame, static_cast<std::uint32_t>(frame.size()));
    EXPECT_EQ(dissection.stop.outcome, Outcome::truncated);
    EXPECT_EQ(dissection.stop.reason, Reason::fragment_pending);
    EXPECT_EQ(dissection.bth.psn, 0x456u);
    EXPECT_EQ(dissection.bth.payload_length, 2000u);

    frame = ipv4_fragment(payload, 1480, 544, false);
    dissection = support::dissect_octets(frame, static_cast<std::uint32_t>(frame.size()));
    EXPECT_EQ(dissection.stop.outcome, Outcome::truncated);
    EXPECT_EQ(dissection.stop.reason, Reason::fragment_pending);
    EXPECT_FALSE(dissection.has(LayerId::udp));
}

TEST_F(Fragments, Ipv4InOrder) {
    const Octets payload = datagram(2000);
    EXPECT_EQ(add(ipv4_fragment(payload, 0, 1480, true)).result, Result::pending);
    EXPECT_EQ(table_.size(), 1u);
    const auto added = add(ipv4_fragment(payload, 1480, 544, false));
    expect_whole(added, payload, 20);
    EXPECT_EQ(added.first_frame, 1u);
    EXPECT_EQ(added.fragments, 2u);
    EXPECT_EQ(table_.size(), 0u);

    // RFC 791's header without fragmentation, checked by RFC 1071's sum.
    const auto header = *wire::parse<wire::Ipv4>(added.bytes);
    EXPECT_EQ(header.total_length, 20 + payload.size());
    EXPECT_FALSE(header.more_fragments);
    EXPECT_EQ(header.fragment_offset, 0);
    EXPECT_EQ(header.identification, 0x77);
    EXPECT_EQ(wire::internet_checksum(added.bytes.first(20)), 0);
}

TEST_F(Fragments, AnyOrderAndAnySize) {
    std::mt19937 random{7};
    for (unsigned round = 0; round < 200; ++round) {
        const Octets payload = datagram(below(random, round % 10 == 0 ? 65000 : 9000));
        const auto size = static_cast<std::uint32_t>(payload.size());
        std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces;
        for (std::uint32_t at = 0; at < size;) {
            const std::uint32_t length = std::min(size - at, (1 + below(random, 200)) * 8);
            pieces.emplace_back(at, length);
            at += length;
        }
        if (pieces.size() < 2) continue;
        std::shuffle(pieces.begin(), pieces.end(), random);
        const bool six = round % 2 == 0;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const auto [at, length] = pieces[i];
            const bool more = at + length != size;
            const auto added =
                add(six ? ipv6_fragment(payload, at, length, more) : ipv4_fragment(payload, at, length, more));
            if (i + 1 == pieces.size())
                expect_whole(added, payload, six ? 40 : 20);
            else
                ASSERT_EQ(added.result, Result::pending);
        }
        EXPECT_EQ(table_.size(), 0u);
    }
}

TEST_F(Fragments, Ipv4OptionsComeFromTheFirstFragment) {
    const Octets payload = datagram(2000);
    Ipv4Options with;
    with.options = support::from_hex("94040000");
    add(ipv4_fragment(payload, 1480, 544, false));
    expect_whole(add(ipv4_fragment(payload, 0, 1480, true, with)), payload, 24);
}

TEST_F(Fragments, Ipv6KeepsTheHeadersBefore) {
    const Octets payload = datagram(2000);
    const Octets extensions = support::from_hex("2c00010400000000");
    add(ipv6_fragment(payload, 0, 1480, true, extensions));
    const auto added = add(ipv6_fragment(payload, 1480, 544, false, extensions));
    expect_whole(added, payload, 48);
    const auto header = *wire::parse<wire::Ipv6>(added.bytes);
    EXPECT_EQ(header.payload_length, 8 + payload.size());
    EXPECT_EQ(added.bytes[40], std::byte{17});
}

/// RFC 3168, 5.3
TEST_F(Fragments, OneCongestionMarkMarksTheDatagram) {
    const Octets payload = datagram(2000);
    Ipv4Options marked;
    marked.ecn = 3;
    add(ipv4_fragment(payload, 0, 1480, true));
    const auto added = add(ipv4_fragment(payload, 1480, 544, false, marked));
    ASSERT_EQ(added.result, Result::complete);
    EXPECT_EQ(wire::parse<wire::Ipv4>(added.bytes)->ecn, 3);
    EXPECT_EQ(wire::internet_checksum(added.bytes.first(20)), 0);
}

TEST_F(Fragments, SeenTwiceIsNoOverlap) {
    const Octets payload = datagram(3000);
    add(ipv4_fragment(payload, 0, 1480, true));
    EXPECT_EQ(add(ipv4_fragment(payload, 0, 1480, true)).result, Result::duplicate);
    add(ipv4_fragment(payload, 1480, 1480, true));
    expect_whole(add(ipv4_fragment(payload, 2960, 64, false)), payload, 20);
    EXPECT_EQ(table_.counters().duplicates, 1u);
    EXPECT_EQ(table_.counters().overlaps, 0u);
}

/// RFC 5722, 4: the datagram goes, with what still comes of it.
TEST_F(Fragments, OverlapGivesUpTheDatagram) {
    const Octets payload = datagram(3000);
    add(ipv6_fragment(payload, 0, 1480, true));
    const auto added = add(ipv6_fragment(payload, 1472, 1480, true));
    EXPECT_EQ(added.result, Result::refused);
    EXPECT_EQ(added.problem.outcome, Outcome::malformed);
    EXPECT_EQ(added.problem.reason, Reason::fragment_overlap);
    EXPECT_EQ(add(ipv6_fragment(payload, 1480, 1544, false)).result, Result::refused);
    EXPECT_EQ(table_.counters().overlaps, 1u);
    EXPECT_EQ(table_.counters().datagrams, 0u);
}

TEST_F(Fragments, OtherOctetsInTheSamePlaceAreAnOverlap) {
    Octets payload = datagram(3000);
    add(ipv4_fragment(payload, 0, 1480, true));
    payload[100] ^= std::byte{1};
    EXPECT_EQ(add(ipv4_fragment(payload, 0, 1480, true)).problem.reason, Reason::fragment_overlap);
}

TEST_F(Fragments, TwoEndsContradictEachOther) {
    const Octets payload = datagram(3000);
    add(ipv4_fragment(payload, 1480, 800, false));
    EXPECT_EQ(add(ipv4_fragment(payload, 2280, 400, false)).problem.reason, Reason::fragment_overlap);
    Ipv4Options other;
    other.identification = 9;
    add(ipv4_fragment(payload, 2280, 400, true, other));
    EXPECT_EQ(add(ipv4_fragment(payload, 1480, 800, false, other)).problem.reason, Reason::fragment_overlap);
}

TEST_F(Fragments, ImpossiblePiecesAreRefused) {
    const Octets payload = datagram(3000);
    EXPECT_EQ(add(ipv4_fragment(payload, 0, 1479, true)).result, Result::refused);
    Octets beyond = ipv4_fragment(payload, 0, 1480, true);
    base::store_be16(&beyond[14 + 6], 0x1fff);  // offset 65528: the ping of death
    EXPECT_EQ(add(beyond).problem.reason, Reason::bad_total_length);
    EXPECT_EQ(table_.counters().malformed, 2u);
    EXPECT_EQ(table_.size(), 0u);
}

TEST_F(Fragments, TheLargestDatagram) {
    Octets payload = datagram(65515 - 8 - 12 - 4);
    ASSERT_EQ(payload.size(), 65515u);
    add(ipv4_fragment(payload, 0, 65504, true));
    expect_whole(add(ipv4_fragment(payload, 65504, 11, false)), payload, 20);
}

/// `-s 96`: the headers are in the first fragment, and the lengths tell the rest.
TEST_F(Fragments, SnappedFragmentsGiveTheBeginning) {
    const Octets payload = datagram(2000);
    Octets first = ipv4_fragment(payload, 0, 1480, true);
    Octets second_piece = ipv4_fragment(payload, 1480, 544, false);
    const auto first_length = static_cast<std::uint32_t>(first.size());
    const auto second_length = static_cast<std::uint32_t>(second_piece.size());
    first.resize(96);
    second_piece.resize(96);
    add(second_piece, 0, second_length);
    const auto added = add(first, 0, first_length);
    ASSERT_EQ(added.result, Result::complete);
    EXPECT_EQ(added.bytes.size(), 96u - 14);
    EXPECT_EQ(added.wire_length, 20 + payload.size());
    dissect::Dissection dissection;
    dissect::dissect_unit(added.first, added.bytes, added.wire_length, {}, dissection);
    EXPECT_EQ(dissection.stop.outcome, Outcome::truncated);
    EXPECT_EQ(dissection.bth.payload_length, 2000u);
}

TEST_F(Fragments, AreKeptApartByAddressAndIdentification) {
    const Octets payload = datagram(2000);
    Ipv4Options other_host;
    other_host.host = 9;
    Ipv4Options other_identification;
    other_identification.identification = 0x78;
    add(ipv4_fragment(payload, 0, 1480, true));
    EXPECT_EQ(add(ipv4_fragment(payload, 1480, 544, false, other_host)).result, Result::pending);
    EXPECT_EQ(add(ipv4_fragment(payload, 1480, 544, false, other_identification)).result, Result::pending);
    EXPECT_EQ(table_.size(), 3u);
    expect_whole(add(ipv4_fragment(payload, 1480, 544, false)), payload, 20);
}

TEST_F(Fragments, AreForgottenAfterTheirTime) {
    const Octets payload = datagram(2000);
    Ipv4Options other;
    other.identification = 1;
    add(ipv4_fragment(payload, 0, 1480, true));
    add(ipv4_fragment(payload, 0, 1480, true, other), 20 * second);
    EXPECT_TRUE(table_.lost().empty());
    EXPECT_EQ(add(ipv4_fragment(payload, 1480, 544, false), 31 * second).result, Result::pending);
    ASSERT_EQ(table_.lost().size(), 1u);
    EXPECT_EQ(table_.lost()[0].first_frame, 1u);
    EXPECT_EQ(table_.lost()[0].octets, 1480u);
    EXPECT_EQ(table_.counters().timed_out, 1u);
    EXPECT_EQ(table_.size(), 2u);
    table_.finish();
    EXPECT_EQ(table_.lost().size(), 2u);
    EXPECT_EQ(table_.size(), 0u);
}

TEST_F(Fragments, TheIdlestIsEvicted) {
    table_ = FragmentTable{{2, 30 * second}};
    const Octets payload = datagram(3000);
    Ipv4Options with[3];
    for (std::uint16_t i = 0; i < 3; ++i) with[i].identification = i;
    add(ipv4_fragment(payload, 0, 1480, true, with[0]));
    add(ipv4_fragment(payload, 0, 1480, true, with[1]));
    add(ipv4_fragment(payload, 1480, 1480, true, with[0]));
    add(ipv4_fragment(payload, 0, 1480, true, with[2]));
    ASSERT_EQ(table_.lost().size(), 1u);
    EXPECT_EQ(table_.lost()[0].first_frame, 2u);
    EXPECT_EQ(table_.counters().evicted, 1u);
    expect_whole(add(ipv4_fragment(payload, 2960, 64, false, with[0])), payload, 20);
}

TEST_F(Fragments, NothingIsAllocatedAfterWarmUp) {
    table_ = FragmentTable{{4, 30 * second}};
    const Octets payload = datagram(2000);
    std::vector<Octets> frames;
    std::vector<dissect::Dissection> dissections;
    for (std::uint16_t i = 0; i < 64; ++i) {
        Ipv4Options with;
        with.identification = i;
        frames.push_back(ipv4_fragment(payload, 0, 1480, true, with));
        if (i % 3 == 0) frames.push_back(ipv4_fragment(payload, 1480, 544, false, with));
    }
    for (const auto& frame : frames)
        dissections.push_back(support::dissect_octets(frame, static_cast<std::uint32_t>(frame.size())));
    const auto run = [&] {
        for (std::size_t i = 0; i < frames.size(); ++i) table_.add(dissections[i], frames[i], 0, i);
    };
    run();
    const std::size_t before = allocations;
    for (unsigned round = 0; round < 10; ++round) run();
    EXPECT_EQ(allocations, before);
}

/// Ten thousand random pieces of a few datagrams, wrong ones among them: bounds hold, and all that is pending goes.
TEST_F(Fragments, HostileTrafficIsBounded) {
    table_ = FragmentTable{{8, second}};
    const Octets payload = datagram(60000);
    std::mt19937 random{3};
    for (unsigned round = 0; round < 10000; ++round) {
        Ipv4Options with;
        with.identification = static_cast<std::uint16_t>(below(random, 20));
        const std::uint32_t at = below(random, 7000) * 8;
        const std::uint32_t length = below(random, 4) == 0 ? 1 + below(random, 500) : (1 + below(random, 100)) * 8;
        const bool more = length % 8 == 0 && random() % 16 != 0;
        Octets frame = random() % 2 == 0 ? ipv4_fragment(payload, at, length, more, with)
                                         : ipv6_fragment(payload, at, length, more);
        const auto wire_length = static_cast<std::uint32_t>(frame.size());
        if (random() % 8 == 0) frame.resize(std::max<std::size_t>(62, random() % frame.size()));
        const auto dissection = support::dissect_octets(frame, wire_length);
        if (dissection.fragmented)
            table_.add(dissection, frame, static_cast<std::int64_t>(round) * second / 100, round);
        ASSERT_LE(table_.size(), 8u);
    }
    table_.finish();
    EXPECT_EQ(table_.size(), 0u);
}

}  // namespace
