/// Frames that are shorter than their headers say: which sizes a mirror leaves is known from how it cuts.
#include "metrics/measure/hosts/mirror_cuts.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>

namespace metrics {
namespace {

constexpr std::uint32_t whole_frame = 1100;

MirrorCuts cut_at(std::initializer_list<std::uint32_t> sizes, unsigned frames_each) {
    MirrorCuts cuts;
    for (unsigned i = 0; i < frames_each; ++i)
        for (const std::uint32_t size : sizes) cuts.add(size, whole_frame - size);
    return cuts;
}

TEST(MirrorCuts, NothingIsNoMirrors) { EXPECT_FALSE(MirrorCuts().are_of_mirror(whole_frame)); }

TEST(MirrorCuts, OneSizeIsAMirrors) {
    const MirrorCuts cuts = cut_at({178}, 48);
    EXPECT_TRUE(cuts.are_of_mirror(178));
    EXPECT_TRUE(cuts.are_of_mirror(whole_frame)) << "another source in the same file";
    EXPECT_EQ(cuts.frames(), 48u);
    EXPECT_EQ(cuts.cut_bytes(), 48u * (whole_frame - 178));
}

TEST(MirrorCuts, AFewSizesAreOfHeadersOfDifferentLength) {
    EXPECT_TRUE(cut_at({128, 148, 178}, 20).are_of_mirror(whole_frame));
}

TEST(MirrorCuts, ASingleFrameIsAMirrorsIfNoneIsLonger) {
    EXPECT_TRUE(cut_at({128}, 1).are_of_mirror(128));
    EXPECT_FALSE(cut_at({128}, 1).are_of_mirror(whole_frame));
}

TEST(MirrorCuts, AnySizeIsDamage) {
    std::mt19937 random(5);
    for (const unsigned frames : {3U, 16U, 20'000U}) {
        MirrorCuts cuts;
        for (unsigned i = 0; i < frames; ++i) {
            const auto size = static_cast<std::uint32_t>(60 + random() % 1000);
            cuts.add(size, whole_frame - size);
        }
        EXPECT_FALSE(cuts.are_of_mirror(whole_frame)) << frames;
    }
}

TEST(MirrorCuts, LongFramesShareAPlace) {
    MirrorCuts cuts;
    for (int i = 0; i < 8; ++i) cuts.add(70'000, 1);
    EXPECT_TRUE(cuts.are_of_mirror(70'000));
    EXPECT_LT(cuts.octets(), 32u << 10);
}

}  // namespace
}  // namespace metrics
