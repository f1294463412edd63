#include <gmock/gmock.h>

#include "script.h"

/// Entropies of a flow, what is lost of them, and what its receiver does about it. Counted by hand.
namespace {

using namespace roce_test;
using metrics::Entropy;
using metrics::EntropyFigures;
using metrics::HoleOutcomes;
using metrics::PathFigures;
using testing::ElementsAre;

PathFigures path_of(const Script& script) {
    const metrics::FlowSnapshot shown = script.shown();
    return shown.path ? *shown.path : PathFigures{};
}

void send(Script& script, std::int64_t index, std::uint16_t port) {
    script.entropy = Entropy::of_udp(port);
    script.request(index);
}

TEST(RoceEntropies, OneNeedsNoTable) {
    Script script;
    for (std::int64_t index = 0; index < 10; ++index) send(script, index, 50'000);
    script.ack(9);
    EXPECT_EQ(script.shown().entropy, Entropy::of_udp(50'000));
    EXPECT_FALSE(script.shown().path);
    EXPECT_FALSE(script.requester().has_entropies);
}

TEST(RoceEntropies, SeveralDivideThePackets) {
    Script script;
    for (std::int64_t index = 0; index < 4; ++index) send(script, index, 50'000);
    for (std::int64_t index = 4; index < 5; ++index) send(script, index, 50'001);
    for (std::int64_t index = 5; index < 7; ++index) send(script, index, 50'000);
    const PathFigures path = path_of(script);
    EXPECT_EQ(path.entropies, 2u);
    EXPECT_EQ(path.entropy_changes, 2u);
    ASSERT_EQ(path.rows.size(), 2u);
    EXPECT_EQ(path.rows[0].packets, 6u);
    EXPECT_EQ(path.rows[1].packets, 1u);
    EXPECT_EQ(path.rows[0].wire_bytes, 6u * (58 + 1024));
}

TEST(RoceEntropies, AcknowledgementsHaveNone) {
    Script script;
    send(script, 0, 50'000);
    script.entropy = Entropy::of_udp(50'009);
    script.ack(0);
    send(script, 1, 50'000);
    script.entropy = Entropy::of_udp(50'008);
    script.ack(1);
    metrics::FlowSnapshot back;
    script.store.describe(script.requester().reverse, back);
    EXPECT_FALSE(back.path);
}

TEST(RoceEntropies, ManyKeepTheHeaviest) {
    Script script;
    std::int64_t index = 0;
    for (unsigned round = 0; round < 300; ++round) {
        // Every second packet is of one entropy, the others have one each.
        send(script, index++, 40'000);
        send(script, index++, static_cast<std::uint16_t>(50'000 + round));
    }
    const PathFigures path = path_of(script);
    EXPECT_EQ(path.rows.size(), PathFigures::most_rows);
    // 301 different ones; the standard error is 13 %, so this is three of them.
    EXPECT_NEAR(static_cast<double>(path.entropies), 301, 3 * 0.13 * 301);
    const auto heaviest = std::ranges::max_element(path.rows, {}, &EntropyFigures::packets);
    EXPECT_EQ(heaviest->entropy, Entropy::of_udp(40'000));
    EXPECT_EQ(heaviest->packets, 300u);
    std::uint64_t packets = 0;
    for (const EntropyFigures& row : path.rows) packets += row.packets;
    EXPECT_EQ(packets, 600u) << "space saving loses no packet";
}

TEST(RoceEntropies, EightAreExact) {
    Script script;
    for (std::int64_t index = 0; index < 80; ++index)
        send(script, index, static_cast<std::uint16_t>(50'000 + index % 8));
    const PathFigures path = path_of(script);
    EXPECT_EQ(path.entropies, 8u);
    for (const EntropyFigures& row : path.rows) EXPECT_EQ(row.packets, 10u);
}

TEST(RoceEntropies, HopLimitsAreKept) {
    Script script;
    send(script, 0, 50'000);
    script.hop_limit = 62;
    send(script, 1, 50'000);
    script.hop_limit = 64;
    send(script, 2, 50'000);
    EXPECT_THAT(path_of(script).hop_limits, ElementsAre(62, 64));
    EXPECT_EQ(path_of(script).entropies, 1u) << "the length of the way is no entropy";
}

/// Lost after the tap: 2 goes again, and all after it. The first transmission of 2 had port 50002.
TEST(RoceLosses, AreOfTheEntropyThatLostThePacket) {
    Script script;
    for (std::int64_t index = 0; index < 6; ++index) send(script, index, static_cast<std::uint16_t>(50'000 + index));
    script.nak(2);
    script.after_us(20);
    for (std::int64_t index = 2; index < 6; ++index) send(script, index, 50'000);
    script.ack(5);
    const PathFigures path = path_of(script);
    EXPECT_EQ(path.loss_episodes, 1u);
    for (const EntropyFigures& row : path.rows)
        EXPECT_EQ(row.loss_episodes, row.entropy == Entropy::of_udp(50'002) ? 1u : 0u);
    EXPECT_EQ(path.rows[0].repeated_packets, 4u);
}

/// Three packets in a row, and one 18 PSNs later, are lost before the tap.
TEST(RoceLosses, InARowAreOneEpisode) {
    Script script;
    script.entropy = Entropy::of_udp(50'000);
    script.requests(0, 2);
    script.requests(6, 22);
    script.requests(24, 30);
    script.nak(3);
    script.after_us(20);
    script.requests(3, 30);
    script.ack(30);
    EXPECT_EQ(path_of(script).loss_episodes, 2u);
}

/// On UC nothing is sent again: 10, 11 and 20 are one episode, 45 is another, until it comes late.
TEST(UcLosses, AreHoles) {
    Script script(500, metrics::Service::uc);
    script.entropy = Entropy::of_udp(50'000);
    for (std::int64_t i = 0; i < 60; ++i)
        if (i != 10 && i != 11 && i != 20 && i != 45) script.request(i, uc | send_only, 64);
    EXPECT_EQ(path_of(script).loss_episodes, 2u);
    script.request(45, uc | send_only, 64);
    EXPECT_EQ(path_of(script).loss_episodes, 1u);
    EXPECT_EQ(path_of(script).late_depth.max(), 15u);
}

/// 10 is lost. 20, near it, comes late, and 33 is lost: too far from 10 to be of its episode.
TEST(UcLosses, ALatePacketTakesNoLossOfOthersBack) {
    Script script(500, metrics::Service::uc);
    script.entropy = Entropy::of_udp(50'000);
    for (std::int64_t i = 0; i < 30; ++i)
        if (i != 10 && i != 20) script.request(i, uc | send_only, 64);
    script.request(20, uc | send_only, 64);
    EXPECT_EQ(path_of(script).loss_episodes, 1u);
    for (std::int64_t i = 30; i < 40; ++i)
        if (i != 33) script.request(i, uc | send_only, 64);
    EXPECT_EQ(path_of(script).loss_episodes, 2u);
}

/// A flow without a block for rare cases has no losses, and a late packet takes none back.
TEST(UcLosses, NeedABlock) {
    Script script(500, metrics::Service::uc);
    script.entropy = Entropy::of_udp(50'000);
    while (script.store.troubles.take() != metrics::Flow::no_block) {
    }
    for (const std::int64_t index : std::to_array<std::int64_t>({10, 9, 12, 11}))
        script.request(index, uc | send_only, 64);
    EXPECT_EQ(script.requester().trouble, metrics::Flow::no_block);
    EXPECT_FALSE(script.shown().path);
}

/// The parts of a hole come one by one: it is a loss until the last one has come.
TEST(UcLosses, AHoleIsALossWhileAnyOfItIsMissing) {
    Script script(500, metrics::Service::uc);
    script.entropy = Entropy::of_udp(50'000);
    for (std::int64_t i = 0; i < 20; ++i)
        if (i < 10 || i > 12) script.request(i, uc | send_only, 64);
    for (const auto& [late, episodes] : {std::pair{11, 1u}, std::pair{10, 1u}, std::pair{12, 0u}}) {
        script.request(late, uc | send_only, 64);
        EXPECT_EQ(path_of(script).loss_episodes, episodes) << late;
    }
    // What is lost next is a loss of its own.
    for (std::int64_t i = 20; i < 30; ++i)
        if (i != 22) script.request(i, uc | send_only, 64);
    EXPECT_EQ(path_of(script).loss_episodes, 1u);
}

/// The capture begins with 5, and 4 comes after the loss of 7.
TEST(UcLosses, WhatCameBeforeTheCaptureTakesNoneBack) {
    Script script(500, metrics::Service::uc);
    script.entropy = Entropy::of_udp(50'000);
    for (const std::int64_t i : {5, 6, 8, 4, 9}) script.request(i, uc | send_only, 64);
    EXPECT_EQ(path_of(script).loss_episodes, 1u);
}

TEST(RoceLosses, LatePacketsAreNone) {
    Script script;
    script.identification = 1;
    script.entropy = Entropy::of_udp(50'000);
    script.requests(0, 9);
    script.identification = 12;
    script.requests(11, 14);
    script.identification = 11;
    script.request(10);
    script.ack(14);
    const PathFigures path = path_of(script);
    EXPECT_EQ(script.shown().reordered_packets, 1u);
    EXPECT_EQ(path.loss_episodes, 0u);
    EXPECT_EQ(path.late_depth.count(), 1u);
    EXPECT_EQ(path.late_depth.max(), 5u);
    EXPECT_EQ(path.late_ns.count(), 1u);
    EXPECT_EQ(path.late_ns.max(), 4000u) << "packets are 1 us apart: 11, 12, 13, 14, 10";
    EXPECT_EQ(path.outcomes, (HoleOutcomes{0, 0, 1})) << "the receiver has placed 11 to 14 before 10 came";
}

/// 10 is late, and its receiver, which takes packets in order only, has asked for it before it came.
TEST(RoceLosses, RepeatsOfALatePacketAreNone) {
    for (const bool nak_first : {true, false}) {
        SCOPED_TRACE(nak_first);
        Script script;
        script.identification = 1;
        script.entropy = Entropy::of_udp(50'000);
        script.requests(0, 9);
        script.identification = 12;
        script.requests(11, 14);
        if (nak_first) script.nak(10);
        script.identification = 11;
        script.request(10);
        if (!nak_first) script.nak(10);
        script.identification = 16;
        script.after_us(20);
        script.requests(10, 14);
        script.ack(14);
        EXPECT_EQ(script.shown().reordered_packets, 1u);
        EXPECT_EQ(path_of(script).loss_episodes, 0u);
        EXPECT_GE(path_of(script).outcomes.in_order, 1u);
        EXPECT_EQ(path_of(script).outcomes.placing, 0u);
        EXPECT_EQ(path_of(script).outcomes.selective, 0u);
    }
}

TEST(RoceReceivers, GoBackInOrder) {
    Script script;
    script.entropy = Entropy::of_udp(50'000);
    script.requests(0, 2);
    script.requests(4, 7);
    script.nak(3);
    script.after_us(20);
    script.requests(3, 9);
    script.ack(9);
    EXPECT_EQ(path_of(script).outcomes, (HoleOutcomes{1, 0, 0}));
}

TEST(RoceReceivers, RepeatOnlyWhatIsMissing) {
    Script script;
    script.entropy = Entropy::of_udp(50'000);
    script.requests(0, 2);
    script.requests(4, 7);
    script.nak(3);
    script.after_us(20);
    script.request(3);
    script.ack(7);
    EXPECT_EQ(path_of(script).outcomes, (HoleOutcomes{0, 1, 0}));
}

}  // namespace
