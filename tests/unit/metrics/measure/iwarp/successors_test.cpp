#include <gtest/gtest.h>

#include "script.h"

/// Where a connection ends, another one uses its ports, or its stream goes on elsewhere.
namespace {

using namespace metrics;
using namespace stream_test;

constexpr std::int64_t step_ns = 124;  // of a Send of 100 octets: 2 + 18 + 100 + 4
Octets successor_message(std::uint32_t msn) { return send_of(msn, 100); }

TEST(Sender, ports_used_again_are_another_flow) {
    Script script;
    script.establish();
    script.data(true, successor_message(1));
    script.restart(3'000'000'000u, 77);
    script.after_us(1'000'000);
    script.establish();
    script.data(true, successor_message(1) + successor_message(2));
    EXPECT_EQ(script.flows(), 4u);
    EXPECT_EQ(script.messages(true, Operation::send), 2u);
    EXPECT_EQ(script.flow(true)->id, 10u);
    EXPECT_EQ(script.flow(true)->request.repeated, 0u);
}

TEST(Sender, ports_used_again_with_the_same_sequence_numbers_are_another_flow) {
    Script script;
    for (int life = 0; life < 3; ++life) {
        script.restart(1000, 2000);
        script.establish();
        script.data(true, successor_message(1) + successor_message(2));
        Extras fin;
        fin.flags = 0x11;
        script.segment(true, -1, {}, 0, fin);
        script.segment(false, -1, {}, 0, fin);
        EXPECT_EQ(script.flows(), 2u * static_cast<unsigned>(life + 1));
        EXPECT_EQ(script.messages(true, Operation::send), 2u);
        EXPECT_EQ(script.flow(true)->request.repeated, 0u);
        script.after_us(1'000'000);
    }
}

/// A connection of one message that has come to its end.
struct Ended {
    Script script;
    explicit Ended(bool by_reset) {
        script.establish();
        script.data(true, successor_message(1));
        script.ack(false, script.sent(true));
        Extras end;
        end.flags = by_reset ? 4 : 1;
        script.segment(true, script.sent(true), {}, script.sent(false), end);
        if (by_reset) return;
        script.segment(false, script.sent(false), {}, script.sent(true) + 1, end);
        script.segment(true, script.sent(true) + 1, {}, script.sent(false) + 1);
    }
};

TEST(Sender, ports_used_again_are_another_flow_though_no_syn_was_captured) {
    for (const bool by_reset : {false, true}) {
        // Before, within and beyond the octets of the first one, and where only a wrap leads to.
        for (const std::uint32_t isn : {900u, 1080u, 3'000'000u, 3'000'000'000u}) {
            Ended first{by_reset};
            Script& script = first.script;
            const std::uint64_t then = script.frames;
            std::vector<std::uint64_t> used;
            script.tracker.on_reuse = [&used](const FlowKey&, std::uint64_t frame) { used.push_back(frame); };
            script.restart(isn, 90'000'000);
            script.after_us(1'000'000);
            for (std::uint32_t i = 11; i <= 22; ++i) {
                script.data(true, successor_message(i));
                script.ack(false, script.sent(true));
            }
            EXPECT_EQ(script.flows(), 4u) << isn << (by_reset ? " behind a RST" : "");
            EXPECT_EQ(used, std::vector{then + 1});
            ASSERT_NE(script.flow(true), nullptr);
            EXPECT_GT(script.flow(true)->id, then);
            EXPECT_EQ(script.messages(true, Operation::send), 12u);
            EXPECT_EQ(script.flow(true)->request.repeated, 0u);
            EXPECT_EQ(script.store.trouble_of(*script.flow(true)), nullptr) << "all that is acknowledged was seen";
            EXPECT_EQ(script.shown(true).tcp->mss, std::nullopt) << "that was the first one's";
        }
    }
}

/// The capture has a hole of more octets than a window holds: 3,500 MiB ahead look like 596 MiB back.
TEST(Sender, a_stream_goes_on_wherever_it_is_found_again) {
    for (const std::size_t far : {std::size_t{1500} << 20, std::size_t{2500} << 20, std::size_t{3500} << 20}) {
        Script script;
        script.establish();
        const auto send = [&script](std::uint32_t msn) {
            script.data(true, successor_message(msn));
            script.after_us(30);
            script.ack(false, script.sent(true));
            script.after_us(70);
        };
        for (std::uint32_t i = 1; i <= 10; ++i) send(i);
        script.skip(true, far);
        for (std::uint32_t i = 1001; i <= 1040; ++i) send(i);
        EXPECT_EQ(script.flows(), 2u);
        EXPECT_GE(script.messages(true, Operation::send), 34u) << far;
        EXPECT_LE(script.flow(true)->request.repeated, 15u) << far;
        EXPECT_EQ(script.flow(true)->request.missing, 0u);
        EXPECT_GE(script.latency(true, Operation::send).count(), 32u);
        EXPECT_EQ(script.latency(true, Operation::send).max(), 30'000u);
        EXPECT_EQ(script.flow(true)->ledger.messages(), 0u);
    }
}

TEST(Sender, segments_astray_move_nothing) {
    Script script;
    script.establish();
    for (std::uint32_t i = 1; i <= 40; ++i) {
        script.data(true, successor_message(i));
        script.ack(false, script.sent(true));
        // One of another connection's in between.
        script.segment(true, script.sent(true) - (std::int64_t{500} << 20) + i * step_ns, successor_message(i),
                       script.sent(false));
    }
    EXPECT_EQ(script.messages(true, Operation::send), 40u);
    EXPECT_EQ(script.latency(true, Operation::send).count(), 40u);
}

TEST(Sender, what_comes_late_belongs_to_the_connection_that_is_over) {
    for (const bool by_reset : {false, true}) {
        Ended ended{by_reset};
        Script& script = ended.script;
        script.after_us(200'000);
        script.segment(true, script.sent(true) - step_ns, successor_message(1), script.sent(false));
        if (by_reset) script.segment(false, script.sent(false) + 20, successor_message(1), script.sent(true));
        EXPECT_EQ(script.flows(), 2u);
        EXPECT_EQ(script.flow(true)->request.repeated, 1u);
    }
}

TEST(Sender, a_syn_sent_again_ends_nothing) {
    Script script;
    script.establish();
    Extras syn;
    syn.flags = 2;
    syn.no_ack = true;
    script.segment(true, -1, {}, 0, syn);
    script.data(true, successor_message(1));
    EXPECT_EQ(script.flows(), 2u);
    EXPECT_EQ(script.messages(true, Operation::send), 1u);
}

TEST(Sender, the_end_is_shown) {
    Script script;
    script.establish();
    Extras fin;
    fin.flags = 1;
    script.segment(true, script.sent(true), {}, script.sent(false), fin);
    EXPECT_FALSE(script.shown(true).finished);
    script.segment(false, script.sent(false), {}, script.sent(true) + 1, fin);
    EXPECT_TRUE(script.shown(true).finished);
    EXPECT_TRUE(script.shown(false).finished);
    EXPECT_EQ(script.count(true, EventKind::disconnected), 1u);
    EXPECT_EQ(script.count(true, EventKind::ack_unseen), 0u) << "a FIN takes a sequence number";

    Script torn;
    torn.establish();
    Extras reset;
    reset.flags = 4;
    torn.segment(false, torn.sent(false), {}, torn.sent(true), reset);
    EXPECT_EQ(torn.count(false, EventKind::reset), 1u);
    EXPECT_TRUE(torn.shown(true).finished);
}

}  // namespace
