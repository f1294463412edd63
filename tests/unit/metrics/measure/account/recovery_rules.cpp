/// Go-back-N as IBTA vol. 1, 9.7.5 and 9.9.2 have it, played packet by packet: what is a violation, and what only looks
/// like one from where the tap stands.
#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

#include "metrics/measure/account/recovery.h"

namespace {

using metrics::EventKind;
using metrics::NakKind;
using metrics::Recovery;
using metrics::RecoveryStep;
using metrics::RecoveryVantage;
using metrics::RepeatCause;
using metrics::Situation;

constexpr std::int64_t us = 1000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::uint64_t base = (std::uint64_t{1} << 32) + 0xfffff0;  // the PSNs wrap after 16

/// Positions and times count from the beginning; `sent` packets have passed, `acked` of them are acknowledged.
class Script {
public:
    auto report() {
        return [this](auto what, std::uint64_t value) {
            if constexpr (std::is_same_v<decltype(what), EventKind>)
                events.emplace_back(what, value);
            else
                steps[what].push_back(value);
        };
    }

    Script(std::uint64_t sent, std::uint64_t acked, RecoveryVantage vantage = {}) : vantage_{vantage} {
        recovery_.resume(base + sent, base);
        if (acked > 0) {
            // an object that has lived through trouble before: only so it knows what acknowledgements say
            recovery_.resume(base + sent, base + acked);
        }
    }
    RepeatCause data(std::int64_t now_ns, std::uint64_t position) {
        return recovery_.data({now_ns, base + position}, vantage_, report());
    }
    void run(std::int64_t now_ns, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i <= last; ++i) data(now_ns += us, i);
    }
    RepeatCause read(std::int64_t now_ns, std::uint64_t position, std::uint32_t span) {
        return recovery_.data({now_ns, base + position, span, true}, vantage_, report());
    }
    void nak(std::int64_t now_ns, std::uint64_t position, NakKind kind = NakKind::sequence,
             std::int64_t sent_ns = Situation::never) {
        recovery_.nak(now_ns, base + position, kind, sent_ns, report());
    }
    void ack(std::uint64_t position) { recovery_.acknowledged(base + position, report()); }

    Recovery& recovery() { return recovery_; }
    std::vector<std::pair<EventKind, std::uint64_t>> events;
    std::map<RecoveryStep, std::vector<std::uint64_t>> steps;

private:
    RecoveryVantage vantage_;
    Recovery recovery_;
};

using Events = std::vector<std::pair<EventKind, std::uint64_t>>;
using Values = std::vector<std::uint64_t>;

TEST(RecoveryCause, NakThenTheRunThenNothing) {
    Script script{10, 4};
    script.nak(0, 6);
    EXPECT_EQ(script.recovery().pending(), RepeatCause::nak);
    EXPECT_EQ(script.data(500 * us, 10), RepeatCause::none);  // new ones that were under way
    EXPECT_EQ(script.data(900 * us, 6), RepeatCause::nak);
    for (std::uint64_t i = 7; i <= 10; ++i) EXPECT_EQ(script.data(900 * us + ms, i), RepeatCause::none);
    EXPECT_EQ(script.recovery().run_packets(), 5u);
    EXPECT_FALSE(script.recovery().busy());
    EXPECT_EQ(script.data(2 * ms, 11), RepeatCause::none);
    EXPECT_TRUE(script.events.empty());
    EXPECT_EQ(script.steps[RecoveryStep::begun], Values{5});
    EXPECT_EQ(script.steps[RecoveryStep::nak_reaction], Values{900'000});
    EXPECT_TRUE(script.steps[RecoveryStep::total].empty());  // lost past the tap: it is unknown when it was sent
}

TEST(RecoveryCause, TotalFromTheLostPacketWhereItWasSeen) {
    Script script{10, 4};
    script.nak(3 * ms, 6, NakKind::sequence, 1 * ms);
    script.data(4 * ms, 6);
    EXPECT_EQ(script.steps[RecoveryStep::total], Values{3'000'000});
    EXPECT_TRUE(script.steps[RecoveryStep::nak_generation].empty());
}

TEST(RecoveryCause, HoleAtTheTapTimesTheNak) {
    Script script{10, 10};
    EXPECT_EQ(script.data(1 * ms, 12), RepeatCause::none);  // 10 and 11 are missing
    script.data(2 * ms, 13);
    script.nak(5 * ms, 10);
    EXPECT_EQ(script.data(9 * ms, 10), RepeatCause::nak);  // never seen before, and yet sent again
    script.run(9 * ms, 11, 13);
    EXPECT_EQ(script.steps[RecoveryStep::nak_generation], Values{4'000'000});
    EXPECT_EQ(script.steps[RecoveryStep::nak_reaction], Values{4'000'000});
    EXPECT_EQ(script.steps[RecoveryStep::total], Values{8'000'000});
    EXPECT_TRUE(script.events.empty());
    EXPECT_FALSE(script.recovery().busy());
}

/// rxe answers one missing receive with an RNR NAK and a PSN sequence error for the packet after it.
TEST(RecoveryCause, RnrWinsOverTheSequenceErrorBehindIt) {
    Script script{2, 0};
    script.nak(1 * ms, 0, NakKind::rnr);
    script.nak(2 * ms, 0, NakKind::sequence);
    EXPECT_EQ(script.recovery().pending(), RepeatCause::rnr_nak);
    EXPECT_EQ(script.data(660 * ms, 0), RepeatCause::rnr_nak);
    EXPECT_EQ(script.data(661 * ms, 1), RepeatCause::none);
    script.ack(1);
    EXPECT_TRUE(script.events.empty());
    EXPECT_TRUE(script.steps.empty());  // no loss
    EXPECT_EQ(script.recovery().pending(), RepeatCause::none);
}

TEST(RecoveryCause, SilenceMeansTimer) {
    Script script{5, 3};
    EXPECT_EQ(script.data(500 * ms, 3), RepeatCause::timeout);
    EXPECT_EQ(script.data(501 * ms, 4), RepeatCause::none);
    EXPECT_EQ(script.data(999 * ms, 3), RepeatCause::timeout);  // and again
    EXPECT_TRUE(script.events.empty());
}

/// Time-outs from which the acknowledgement was lost after the tap begin before the oldest.
TEST(RecoveryCause, LostAcknowledgement) {
    Script script{5, 4};
    EXPECT_EQ(script.data(500 * ms, 2), RepeatCause::timeout);
    script.run(500 * ms, 3, 4);
    script.ack(4);
    EXPECT_TRUE(script.events.empty());
}

TEST(RecoveryCause, SecondNakWithinARunBeginsAnother) {
    Script script{100, 10};
    script.nak(1 * ms, 20);
    EXPECT_EQ(script.data(2 * ms, 20), RepeatCause::nak);
    script.run(2 * ms, 22, 60);  // 21 was lost again before the tap
    script.nak(3 * ms, 21);
    script.run(3 * ms, 61, 70);
    EXPECT_EQ(script.data(4 * ms, 21), RepeatCause::nak);
    script.run(4 * ms, 22, 99);
    script.ack(99);
    EXPECT_TRUE(script.events.empty());
    EXPECT_EQ(script.steps[RecoveryStep::begun].size(), 2u);
    EXPECT_EQ(script.steps[RecoveryStep::nak_generation], Values{1 * ms - 1 * us});  // 22 came 1 µs after 20
    EXPECT_FALSE(script.recovery().busy());
}

TEST(RecoveryCause, ReadAgainForWhatTheTapHasSeen) {
    Script script{64, 40};  // responses up to 39 were seen
    EXPECT_EQ(script.read(1 * ms, 25, 7), RepeatCause::nak);
    EXPECT_EQ(script.read(1 * ms, 32, 16), RepeatCause::none);
    EXPECT_EQ(script.read(1 * ms, 48, 16), RepeatCause::none);
    EXPECT_TRUE(script.events.empty());
    EXPECT_FALSE(script.recovery().busy());
}

TEST(RecoveryCause, MissingResponseIsAsGoodAsANak) {
    Script script{32, 5};
    script.recovery().response_missing(1 * ms, base + 5);
    EXPECT_EQ(script.recovery().pending(), RepeatCause::nak);
    EXPECT_EQ(script.read(3 * ms, 5, 11), RepeatCause::nak);
    EXPECT_EQ(script.read(3 * ms, 16, 16), RepeatCause::none);
    EXPECT_EQ(script.steps[RecoveryStep::total], Values{2'000'000});
    EXPECT_TRUE(script.steps[RecoveryStep::nak_reaction].empty());
    EXPECT_TRUE(script.events.empty());
}

TEST(RecoveryCause, DoubledPacketIsNone) {
    Script script{5, 3};
    script.recovery() = Recovery{};
    script.recovery().resume(base + 5, base + 3, 0);
    EXPECT_EQ(script.data(5 * us, 4), RepeatCause::none);
    EXPECT_FALSE(script.recovery().busy());
}

TEST(SenderGoesBack, BeyondTheNakedPacket) {
    Script script{20, 5, {true, false, 0}};
    script.nak(0, 8);
    EXPECT_EQ(script.data(1 * ms, 11), RepeatCause::nak);
    EXPECT_TRUE(script.events.empty());  // one packet does not tell
    script.data(1 * ms, 12);
    EXPECT_EQ(script.events, (Events{{EventKind::go_back_wrong_start, 3}}));
}

TEST(SenderGoesBack, BeyondTheNakedPacketOrItWasLostBeforeTheTap) {
    Script script{20, 5};
    script.nak(0, 8);
    script.run(1 * ms, 9, 19);
    EXPECT_TRUE(script.events.empty());
    EXPECT_EQ(script.data(500 * ms, 8), RepeatCause::timeout);
    script.run(500 * ms, 9, 19);
    script.ack(19);
    EXPECT_TRUE(script.events.empty());
}

/// The receiver had them all the same: the sender did leave them out.
TEST(SenderGoesBack, BeyondTheNakedPacketAndNobodyMissesIt) {
    Script script{20, 5};
    script.nak(0, 8);
    script.run(1 * ms, 11, 19);
    script.ack(19);
    EXPECT_EQ(script.events, (Events{{EventKind::go_back_wrong_start, 3}}));
}

TEST(SenderGoesBack, BehindTheNakedPacket) {
    Script script{20, 5};
    script.nak(0, 10);
    script.data(1 * ms, 7);  // 5 would be the timer's, 10 the NAK's
    EXPECT_TRUE(script.events.empty());
    script.data(1 * ms, 8);
    EXPECT_EQ(script.events, (Events{{EventKind::go_back_wrong_start, 3}}));
}

TEST(SenderGoesBack, ToTheOldestBecauseTheNakWasLost) {
    Script script{20, 5};
    script.nak(0, 10);
    script.run(500 * ms, 5, 19);
    script.ack(19);
    EXPECT_TRUE(script.events.empty());
}

/// An acknowledgement after the NAK: the packet was late, not lost, and the sender may begin after it.
TEST(SenderGoesBack, WhereANewerAcknowledgementSays) {
    Script script{20, 5, {true, false, 0}};
    script.nak(0, 8);
    script.ack(12);
    script.run(1 * ms, 13, 19);
    script.ack(19);
    EXPECT_TRUE(script.events.empty());
}

TEST(SenderGoesBack, ButDoesNotRepeatAll) {
    Script script{20, 5};
    script.nak(0, 8);
    script.data(1 * ms, 8);  // then goes on with new ones: selective repeat
    script.data(1 * ms, 20);
    EXPECT_TRUE(script.events.empty());
    script.ack(20);
    EXPECT_EQ(script.events, (Events{{EventKind::go_back_incomplete, 11}}));
}

TEST(SenderGoesBack, ButDoesNotRepeatAllAsItsOwnTapSees) {
    Script script{20, 5, {true, false, 0}};
    script.nak(0, 8);
    script.data(1 * ms, 8);
    script.data(1 * ms, 10);
    EXPECT_EQ(script.events, (Events{{EventKind::go_back_incomplete, 1}}));
}

TEST(SenderGoesBack, TwiceWithoutBeingAsked) {
    const RecoveryVantage vantage{false, false, 67 * static_cast<std::uint64_t>(ms)};
    Script script{40, 5, vantage};
    script.nak(0, 8);
    script.run(1 * ms, 8, 20);
    EXPECT_EQ(script.data(1 * ms + 20 * us, 8), RepeatCause::none);
    EXPECT_TRUE(script.events.empty());  // the network could have doubled one
    script.data(1 * ms + 21 * us, 9);
    EXPECT_EQ(script.events, (Events{{EventKind::go_back_wrong_start, 13}}));
}

TEST(SenderGoesBack, TwiceByItsTimer) {
    const RecoveryVantage vantage{false, false, 67 * static_cast<std::uint64_t>(ms)};
    Script script{40, 5, vantage};
    script.nak(0, 8);
    script.run(1 * ms, 8, 20);
    EXPECT_EQ(script.data(80 * ms, 8), RepeatCause::timeout);
    script.data(80 * ms, 9);
    EXPECT_TRUE(script.events.empty());
}

TEST(SenderGoesBack, ThroughANetworkThatReorders) {
    Script script{40, 5};
    script.nak(0, 8);
    for (const std::uint64_t position : {12U, 17U, 30U, 8U, 9U, 10U, 11U, 13U, 14U, 15U, 16U, 18U, 19U, 20U}) {
        script.data(1 * ms, position);
    }
    script.ack(39);
    EXPECT_TRUE(script.events.empty());
}

TEST(SenderGoesBack, NothingIsSaidOfWhatTheTapMayHaveMissed) {
    Script script{20, 5};
    script.nak(0, 8);
    script.data(1 * ms, 8);
    script.data(1 * ms, 20);
    script.recovery().lost_sight();
    script.ack(20);
    EXPECT_TRUE(script.events.empty());
}

TEST(ReceiverNaks, WhatItHasAcknowledged) {
    Script script{20, 5};
    script.nak(0, 8);
    script.ack(12);
    script.nak(1 * ms, 10);
    EXPECT_EQ(script.events, (Events{{EventKind::nak_wrong_psn, 3}}));  // it waits for 13
}

TEST(ReceiverNaks, PastTheFirstMissing) {
    Script script{10, 10, {false, true, 0}};
    script.data(1 * ms, 12);
    script.nak(2 * ms, 11);
    EXPECT_EQ(script.events, (Events{{EventKind::nak_wrong_psn, 1}}));
}

/// Elsewhere the tap may have missed what the receiver got.
TEST(ReceiverNaks, PastTheFirstMissingAtTheTap) {
    Script script{10, 10};
    script.data(1 * ms, 12);
    script.nak(2 * ms, 11);
    EXPECT_TRUE(script.events.empty());
}

TEST(ReceiverNaks, AnEarlierPacketThanTheTapMisses) {
    Script script{10, 6};
    script.data(1 * ms, 12);  // 10, 11 lost before the tap
    script.nak(2 * ms, 8);    // and 8 after it
    script.run(3 * ms, 8, 12);
    script.ack(12);
    EXPECT_TRUE(script.events.empty());
    EXPECT_TRUE(script.steps[RecoveryStep::nak_generation].empty());
    EXPECT_FALSE(script.recovery().busy());
}

TEST(ReceiverNaks, Nothing) {
    const auto silent = [](RecoveryVantage vantage) {
        Script script{10, 10, vantage};
        script.run(1 * ms, 12, 16);
        EXPECT_EQ(script.data(500 * ms, 10), RepeatCause::timeout);
        return script.events;
    };
    EXPECT_EQ(silent({false, true, 0}), (Events{{EventKind::nak_missing, 5}}));
    EXPECT_EQ(silent({}), Events{});  // the NAK may have been lost before the tap
}

/// One NAK for a hole is all that a receiver owes. IBTA vol. 1, 9.7.5.1.
TEST(ReceiverNaks, Once) {
    Script script{10, 10, {false, true, 0}};
    script.run(1 * ms, 12, 16);
    script.nak(2 * ms, 10);
    script.data(3 * ms, 10);  // 11 is lost once more
    script.data(500 * ms, 10);
    EXPECT_TRUE(script.events.empty());
}

TEST(ReadRestarts, PastTheFirstMissingResponse) {
    Script script{32, 5};
    script.recovery().response_missing(1 * ms, base + 5);
    EXPECT_EQ(script.read(3 * ms, 8, 8), RepeatCause::nak);
    EXPECT_EQ(script.events, (Events{{EventKind::read_restart_wrong, 3}}));
}

TEST(ReadRestarts, BeforeTheFirstMissingResponse) {
    const auto restart = [](RecoveryVantage vantage) {
        Script script{32, 5, vantage};
        script.recovery().response_missing(1 * ms, base + 5);
        script.read(3 * ms, 0, 16);
        return script.events;
    };
    EXPECT_EQ(restart({true, false, 0}), (Events{{EventKind::read_restart_wrong, 5}}));
    EXPECT_EQ(restart({}), Events{});  // others may have been lost after the tap
}

TEST(RecoveryStands, AnyInput) {
    std::uint64_t random = 88172645463325252U;
    const auto next = [&] {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    };
    Recovery recovery;
    std::uint64_t reported = 0;
    const auto report = [&](auto, std::uint64_t) { ++reported; };
    for (unsigned i = 0; i < 200'000; ++i) {
        const auto now_ns = static_cast<std::int64_t>(next() % 8 == 0 ? next() : next() % 10'000'000);
        const std::uint64_t position = next() % 64 == 0 ? next() : base + next() % 64;
        const RecoveryVantage vantage{next() % 2 == 0, next() % 2 == 0, next() % 3 == 0 ? next() : 0};
        switch (next() % 8) {
            case 0: recovery.resume(position, next()); break;
            case 1: recovery.nak(now_ns, position, static_cast<NakKind>(next() % 3), now_ns, report); break;
            case 2: recovery.acknowledged(position, report); break;
            case 3: recovery.response_missing(now_ns, position); break;
            case 4:
                if (next() % 16 == 0) recovery.lost_sight();
                break;
            default:
                recovery.data(
                    {now_ns, position, static_cast<std::uint32_t>(next() % 5), next() % 4 == 0, next() % 8 == 0},
                    vantage, report);
        }
    }
    EXPECT_GT(reported, 0u);
}

}  // namespace
