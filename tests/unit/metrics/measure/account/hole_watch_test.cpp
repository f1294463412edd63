// How receivers treat packets out of order, from scripts of packets. IBTA vol. 1, 9.7.5.2 for receivers in order.
#include "metrics/measure/account/hole_watch.h"

#include <gtest/gtest.h>

namespace {

using metrics::HoleOutcomes;
using metrics::HoleWatch;

TEST(HoleWatch, AReceiverInOrderNeedsAllAgain) {
    HoleWatch watch;  // 10 is lost before the tap; 11 to 15 pass; NAK 10
    watch.nak(10);
    watch.repeat(10, 16, true, true, false);
    for (std::uint64_t position = 11; position < 16; ++position) watch.repeat(position, 16, false, false, false);
    EXPECT_TRUE(watch.is_open());
    watch.acknowledged(12);
    EXPECT_TRUE(watch.is_open());
    watch.acknowledged(15);
    EXPECT_FALSE(watch.is_open());
    EXPECT_EQ(watch.outcomes(), (HoleOutcomes{1, 0, 0}));
}

TEST(HoleWatch, ASelectiveOneNeedsTheHole) {
    HoleWatch watch;
    watch.repeat(10, 16, true, true, false);
    watch.acknowledged(15);
    EXPECT_EQ(watch.outcomes(), (HoleOutcomes{0, 1, 0}));
}

TEST(HoleWatch, APlacingOneWaits) {
    HoleWatch watch;  // 10 comes after 15
    watch.late(10, false);
    watch.acknowledged(10);
    EXPECT_TRUE(watch.is_open()) << "the rest may have been dropped";
    watch.acknowledged(15);
    EXPECT_EQ(watch.outcomes(), (HoleOutcomes{0, 0, 1}));
}

TEST(HoleWatch, ALatePacketThatWasRefusedIsOfAReceiverInOrder) {
    HoleWatch before;
    before.late(10, true);
    EXPECT_EQ(before.outcomes(), (HoleOutcomes{1, 0, 0}));
    HoleWatch after;
    after.late(10, false);
    after.nak(10);
    after.acknowledged(15);
    EXPECT_EQ(after.outcomes(), (HoleOutcomes{1, 0, 0}));
}

TEST(HoleWatch, ANakOfALaterHoleIsAnother) {
    HoleWatch watch;
    watch.late(10, false);
    watch.nak(20);
    watch.acknowledged(19);
    EXPECT_EQ(watch.outcomes(), (HoleOutcomes{0, 0, 1}));
}

/// A tap near the sender sees no holes: repeats alone.
TEST(HoleWatch, RepeatsAloneShowHowManyWentAgain) {
    HoleWatch all;
    all.repeat(10, 20, false, true, false);
    for (std::uint64_t position = 11; position < 20; ++position) all.repeat(position, 20, false, false, false);
    all.acknowledged(19);
    EXPECT_EQ(all.outcomes(), (HoleOutcomes{1, 0, 0}));
    HoleWatch one;
    one.repeat(10, 20, false, true, false);
    one.acknowledged(19);
    EXPECT_EQ(one.outcomes(), (HoleOutcomes{0, 1, 0}));
}

TEST(HoleWatch, ALostAcknowledgementIsNoHole) {
    HoleWatch watch;  // the timer runs out, the first packet goes again, and all is acknowledged
    watch.repeat(10, 20, false, true, true);
    watch.acknowledged(19);
    EXPECT_EQ(watch.outcomes(), HoleOutcomes{});
}

TEST(HoleWatch, TheLastPacketShowsNothing) {
    HoleWatch watch;  // nothing had passed after it
    watch.repeat(10, 11, false, true, false);
    watch.acknowledged(10);
    EXPECT_EQ(watch.outcomes(), HoleOutcomes{});
}

TEST(HoleWatch, ForgetsPositions) {
    HoleWatch watch;
    watch.late(10, false);
    watch.forget_positions();
    EXPECT_FALSE(watch.is_open());
    watch.acknowledged(15);
    EXPECT_EQ(watch.outcomes(), HoleOutcomes{});
}

}  // namespace
