// The formulae of the comparison of paths. Expected values: for placements on paths a simulation of 2000 runs that was
// made apart from this code, for the tests the binomial distribution by hand.
#include "metrics/answers/path_statistics.h"

#include <array>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

namespace {

using metrics::Evenness;
using metrics::Expectation;
using metrics::LossCount;
using metrics::LossTest;

std::vector<std::uint64_t> equal(std::size_t entropies) { return std::vector<std::uint64_t>(entropies, 1000); }

TEST(PathEvenness, IsThatOfEqualShares) {
    const Evenness even = metrics::evenness_of(equal(4));
    EXPECT_EQ(even.entropies, 4U);
    EXPECT_DOUBLE_EQ(even.effective, 4);
    EXPECT_DOUBLE_EQ(even.fairness, 1);
    EXPECT_DOUBLE_EQ(even.max_over_mean, 1);
}

TEST(PathEvenness, OfFourOneCarriesAll) {
    const std::array<std::uint64_t, 4> bytes{4'000'000'000, 0, 0, 1};
    const Evenness even = metrics::evenness_of(bytes);
    EXPECT_EQ(even.entropies, 2U);
    EXPECT_NEAR(even.effective, 1.0, 1e-6);
    EXPECT_NEAR(even.fairness, 0.5, 1e-6);
    EXPECT_NEAR(even.max_over_mean, 2.0, 1e-6);
}

TEST(PathEvenness, OfOneToThree) {
    // (1 + 2 + 3)^2 / (1 + 4 + 9) = 36 / 14; 3 * 3 / 6.
    const std::array<std::uint64_t, 3> bytes{1, 2, 3};
    const Evenness even = metrics::evenness_of(bytes);
    EXPECT_NEAR(even.effective, 36.0 / 14, 1e-12);
    EXPECT_NEAR(even.fairness, 12.0 / 14, 1e-12);
    EXPECT_NEAR(even.max_over_mean, 1.5, 1e-12);
}

TEST(PathEvenness, OfNothingIsNothing) {
    EXPECT_EQ(metrics::evenness_of({}).entropies, 0U);
    EXPECT_EQ(metrics::evenness_of(std::array<std::uint64_t, 2>{0, 0}).entropies, 0U);
    EXPECT_EQ(metrics::expectation_of({}, 8).max_over_mean, 0);
}

struct Row {
    std::uint64_t paths;
    std::size_t entropies;
    double distinct;
    double used;
    double max_over_mean;
    double fairness;
};
constexpr std::array placements{
    Row{2, 2, 0.500, 1.50, 1.49, 0.667}, Row{4, 4, 0.094, 2.73, 2.12, 0.571}, Row{4, 16, 0, 3.96, 1.54, 0.842},
    Row{8, 4, 0.410, 3.31, 3.30, 0.364}, Row{8, 8, 0.002, 5.25, 2.61, 0.533}, Row{8, 32, 0, 7.89, 1.75, 0.821},
    Row{8, 128, 0, 8.00, 1.38, 0.948},   Row{16, 16, 0, 10.30, 3.07, 0.516},  Row{32, 32, 0, 20.41, 3.54, 0.508},
    Row{64, 128, 0, 55.47, 2.99, 0.670},
};

TEST(PathExpectation, IsThatOfRandomHashing) {
    for (const Row& row : placements) {
        SCOPED_TRACE(std::to_string(row.entropies) + " over " + std::to_string(row.paths));
        const Expectation expected = metrics::expectation_of(equal(row.entropies), row.paths);
        EXPECT_NEAR(1 - expected.collision, row.distinct, 1e-3);
        // The simulation's own error, two digits after the point.
        EXPECT_NEAR(expected.used, row.used, 0.03);
        EXPECT_NEAR(expected.fairness, row.fairness, 1e-3);
        EXPECT_NEAR(expected.max_over_mean, row.max_over_mean, 0.06);
    }
}

TEST(PathExpectation, OfUnequalWeights) {
    // H = (9 + 1) / 16; over two paths: 1 / (1 + 10 / 16). One path has 1, or 3/4 of the bytes, with equal probability.
    const std::array<std::uint64_t, 2> bytes{3, 1};
    const Expectation expected = metrics::expectation_of(bytes, 2);
    EXPECT_NEAR(expected.fairness, 16.0 / 26, 1e-12);
    EXPECT_NEAR(expected.max_over_mean, (2 + 1.5) / 2, 0.04);
    EXPECT_DOUBLE_EQ(metrics::expectation_of(bytes, 1).max_over_mean, 1);
    EXPECT_DOUBLE_EQ(metrics::expectation_of(bytes, 1).collision, 1);
}

TEST(PathTest, SumsTheBinomialTail) {
    EXPECT_NEAR(metrics::binomial_tail(2, 2, 0.5), 0.25, 1e-12);
    EXPECT_NEAR(metrics::binomial_tail(1, 2, 0.5), 0.75, 1e-12);
    EXPECT_DOUBLE_EQ(metrics::binomial_tail(0, 10, 0.1), 1);
    EXPECT_DOUBLE_EQ(metrics::binomial_tail(3, 2, 0.5), 0);
    EXPECT_NEAR(metrics::binomial_tail(5, 5, 0.125), 1.0 / 32768, 1e-15);
    // C(10,3)/10^3*0.9^7 + ...: 1 - 0.9^10 - 10*0.1*0.9^9 - 45*0.01*0.9^8.
    EXPECT_NEAR(metrics::binomial_tail(3, 10, 0.1), 0.0701908264, 1e-9);
    EXPECT_NEAR(metrics::sign_test(20, 0), 1.0 / 1048576, 1e-15);
    EXPECT_NEAR(metrics::sign_test(500'000, 500'000), 0.5004, 1e-3);
}

TEST(PathTest, AdjustsByHolm) {
    // 0.01 * 3, 0.02 * 2, 0.9 * 1; never less than the one before.
    EXPECT_EQ(metrics::holm(std::array{0.02, 0.9, 0.01}), (std::vector{0.04, 0.9, 0.03}));
    EXPECT_EQ(metrics::holm(std::array{0.4, 0.5}), (std::vector{0.8, 0.8}));
}

TEST(PathTest, NeedsTheseEpisodesAtLeast) {
    EXPECT_EQ(metrics::least_episodes(2), 11U);
    EXPECT_EQ(metrics::least_episodes(4), 6U);
    EXPECT_EQ(metrics::least_episodes(8), 5U);
    EXPECT_EQ(metrics::least_episodes(16), 4U);
    EXPECT_EQ(metrics::least_episodes(64), 3U);
}

std::vector<LossCount> entropies(std::size_t count, std::uint64_t packets, std::uint64_t episodes) {
    return std::vector<LossCount>(count, {packets, episodes});
}

TEST(PathTest, FindsTheOneThatLoses) {
    for (const std::size_t count : {2U, 4U, 8U, 16U, 64U}) {
        SCOPED_TRACE(count);
        std::vector<LossCount> counts = entropies(count, 20'000, 0);
        counts[1].episodes = metrics::least_episodes(count);
        const std::vector<LossTest> tests = metrics::test_losses(counts);
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(tests[i].sick, i == 1) << i;
        EXPECT_LE(tests[1].p, 0.001);
        counts[1].episodes -= 1;
        for (const LossTest& test : metrics::test_losses(counts)) EXPECT_FALSE(test.sick);
    }
}

TEST(PathTest, FindsAQuarterAtMost) {
    std::vector<LossCount> counts = entropies(8, 20'000, 1);
    counts[2].episodes = counts[5].episodes = 40;
    const auto sick = [&counts] {
        std::vector<std::size_t> found;
        const std::vector<LossTest> tests = metrics::test_losses(counts);
        for (std::size_t i = 0; i < tests.size(); ++i)
            if (tests[i].sick) found.push_back(i);
        return found;
    };
    EXPECT_EQ(sick(), (std::vector<std::size_t>{2, 5}));
    counts[6].episodes = 40;
    EXPECT_TRUE(sick().empty()) << "three of eight";
}

TEST(PathTest, LeavesOutWhatHasFewPackets) {
    std::vector<LossCount> counts = entropies(8, 20'000, 0);
    counts[0] = {199, 50};
    const std::vector<LossTest> tests = metrics::test_losses(counts);
    EXPECT_FALSE(tests[0].tested);
    EXPECT_FALSE(tests[0].sick);
    EXPECT_TRUE(tests[1].tested);
    EXPECT_FALSE(metrics::test_losses(entropies(1, 20'000, 50))[0].tested) << "nothing to compare it with";
}

TEST(PathTest, AllLoseAlike) {
    for (const LossTest& test : metrics::test_losses(entropies(8, 20'000, 50))) {
        EXPECT_FALSE(test.sick);
        EXPECT_GT(test.p, 0.5);
    }
}

/// By hand: 1/2 * 2/3, and 1/4 * 2/5 * 3/6.
TEST(PathQuiet, IsTheProbabilityOfAWiderGap) {
    EXPECT_NEAR(metrics::quiet_probability(2, 1000, 1000), 1.0 / 3, 1e-12);
    EXPECT_NEAR(metrics::quiet_probability(3, 1000, 3000), 0.05, 1e-12);
    EXPECT_EQ(metrics::quiet_probability(0, 1000, 3000), 1);
    EXPECT_EQ(metrics::quiet_probability(3, 1000, 0), 1);
    EXPECT_LT(metrics::quiet_probability(1'000'000'000'000, 0, 3000), 1e-9);
}

/// What exponential gaps do: in 100,000 runs, how often a gap is three times the widest of four before it.
TEST(PathQuiet, IsThatOfRandomGaps) {
    std::mt19937_64 random(7);
    std::exponential_distribution<double> gap(0.001);
    constexpr int runs = 100'000;
    int wider = 0;
    for (int run = 0; run < runs; ++run) {
        double widest = 0;
        for (int i = 0; i < 4; ++i) widest = std::max(widest, gap(random));
        wider += gap(random) >= 3 * widest ? 1 : 0;
    }
    // 1/4 * 2/5 * 3/6 * 4/7; four standard errors are 0.0021.
    EXPECT_NEAR(metrics::quiet_probability(4, 1000, 3000), 1.0 / 35, 1e-12);
    EXPECT_NEAR(static_cast<double>(wider) / runs, 1.0 / 35, 0.0021);
}

/// Episodes of 20,000 packets an entropy: 0.001 of the packets on one, 0.00001 on the others. It is the first one in
/// 95 % of 1000 draws; if all lose 0.001, one is called sick in 1 % at most.
TEST(PathLosses, AreFoundAmongManyEntropies) {
    constexpr int draws = 1000;
    constexpr std::uint64_t packets = 20'000;
    for (const std::size_t entropies : {4UL, 8UL, 16UL, 64UL}) {
        SCOPED_TRACE(entropies);
        std::mt19937_64 random(entropies);
        std::poisson_distribution<std::uint64_t> many(20);
        std::poisson_distribution<std::uint64_t> few(0.2);
        int found = 0;
        int wrong = 0;
        for (int draw = 0; draw < draws; ++draw) {
            std::vector<LossCount> counts(entropies);
            for (LossCount& each : counts) each = {packets, few(random)};
            counts[3].episodes = many(random);
            const std::vector<LossTest> tests = metrics::test_losses(counts);
            found += tests[3].sick ? 1 : 0;
            for (LossCount& each : counts) each.episodes = many(random);
            for (const LossTest& test : metrics::test_losses(counts)) wrong += test.sick ? 1 : 0;
        }
        EXPECT_GE(found, draws * 95 / 100);
        EXPECT_LE(wrong, draws / 100);
    }
}

}  // namespace
