#pragma once
#include <cstdint>
#include <span>
#include <vector>

/// How evenly traffic is spread over paths, and what chance alone would do. Formulae only.
namespace metrics::inline answers {

/// Of the bytes of each entropy between two hosts.
struct Evenness {
    std::uint64_t entropies = 0;  ///< with bytes
    double effective = 0;         ///< the number of equal ones that would be as even: (sum x)^2 / sum x^2
    double fairness = 0;          ///< Jain's index: 1 is even, 1/n is all on one of n
    double max_over_mean = 0;
};
Evenness evenness_of(std::span<const std::uint64_t> bytes);

/// If each entropy is hashed to one of `paths` equal paths, all equally likely.
struct Expectation {
    std::uint64_t paths = 0;
    double used = 0;           ///< paths that carry anything
    double collision = 0;      ///< the probability that at least two entropies share a path
    double fairness = 0;       ///< of the paths' bytes: ratio of the expectations
    double max_over_mean = 0;  ///< of the paths' bytes: mean of random placements, the same ones in every run
};
Expectation expectation_of(std::span<const std::uint64_t> bytes, std::uint64_t paths);

/// P[X >= successes] of a binomial distribution, summed exactly by logarithms of the gamma function.
double binomial_tail(std::uint64_t successes, std::uint64_t trials, double probability);
/// Adjusts p values so that the probability of any false alarm among them is bounded. Holm, 1979.
std::vector<double> holm(std::span<const double> p_values);
/// One-sided sign test: P[X >= plus] if either sign is equally likely.
double sign_test(std::uint64_t plus, std::uint64_t minus);

/// One of several entropies: its packets, and how often packets of it were lost together.
struct LossCount {
    std::uint64_t packets = 0;
    std::uint64_t episodes = 0;
};
/// What the comparison of the entropies says about one of them.
struct LossTest {
    double p = 1;         ///< adjusted
    bool sick = false;    ///< loses more than the others, beyond chance
    bool tested = false;  ///< has packets enough
};
/// Tests whether one entropy loses more than the others: their share of the packets is what chance would give them of
/// the episodes. Finds one after the other, each left out of the next comparison, a quarter of all at most.
std::vector<LossTest> test_losses(std::span<const LossCount> counts);
/// The probability that the next loss stays away for `quiet` packets or more, if losses come at random, at a constant
/// rate, and the widest of `gaps` gaps between the losses before is `widest` packets.
double quiet_probability(std::uint64_t gaps, std::uint64_t widest, std::uint64_t quiet);
/// Episodes that one of `entropies` equal ones needs at least to be found, if no other loses anything.
std::uint64_t least_episodes(std::uint64_t entropies);

}  // namespace metrics::answers
