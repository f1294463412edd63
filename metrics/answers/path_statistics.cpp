#include "metrics/answers/path_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "metrics/answers/thresholds.h"

namespace metrics::inline answers {

namespace {

/// Sums of x and of x^2.
struct Moments {
    double sum = 0;
    double squares = 0;
};

Moments moments_of(std::span<const std::uint64_t> values) {
    Moments out;
    for (const std::uint64_t value : values) {
        out.sum += static_cast<double>(value);
        out.squares += static_cast<double>(value) * static_cast<double>(value);
    }
    return out;
}

/// The mean of the greatest path's load over the mean load, if the entropies are placed at random.
double placed_max_over_mean(std::span<const std::uint64_t> bytes, std::uint64_t paths) {
    constexpr std::size_t usual_runs = 1000;
    constexpr std::size_t most_placed = 2'000'000;
    constexpr std::size_t least_runs = 20;
    const std::size_t runs = std::clamp(most_placed / std::max<std::size_t>(bytes.size(), 1), least_runs, usual_runs);
    const double sum = moments_of(bytes).sum;
    std::vector<double> load(paths);
    std::uint64_t clock = 0;
    double greatest = 0;
    for (std::size_t run = 0; run < runs; ++run) {
        std::ranges::fill(load, 0);
        for (const std::uint64_t value : bytes) {
            const std::uint64_t random = base::spread(++clock * base::golden + 1) >> 32;
            load[(random * paths) >> 32] += static_cast<double>(value);
        }
        greatest += *std::ranges::max_element(load);
    }
    return greatest / static_cast<double>(runs) * static_cast<double>(paths) / sum;
}

}  // namespace

Evenness evenness_of(std::span<const std::uint64_t> bytes) {
    Evenness out;
    const Moments moments = moments_of(bytes);
    if (moments.sum == 0) return out;
    out.entropies = static_cast<std::uint64_t>(std::ranges::count_if(bytes, [](std::uint64_t x) { return x > 0; }));
    const auto n = static_cast<double>(out.entropies);
    out.effective = moments.sum * moments.sum / moments.squares;
    out.fairness = out.effective / n;
    out.max_over_mean = n * static_cast<double>(*std::ranges::max_element(bytes)) / moments.sum;
    return out;
}

Expectation expectation_of(std::span<const std::uint64_t> bytes, std::uint64_t paths) {
    Expectation out;
    out.paths = paths;
    const Moments moments = moments_of(bytes);
    if (moments.sum == 0 || paths == 0) return out;
    const auto n = static_cast<std::uint64_t>(std::ranges::count_if(bytes, [](std::uint64_t x) { return x > 0; }));
    const auto p = static_cast<double>(paths);
    out.used = p * (1 - std::pow(1 - 1 / p, static_cast<double>(n)));
    double distinct = n > paths ? 0 : 1;
    for (std::uint64_t i = 0; i < n && distinct > 0; ++i) distinct *= 1 - static_cast<double>(i) / p;
    out.collision = 1 - distinct;
    out.fairness = 1 / (1 + (p - 1) * moments.squares / (moments.sum * moments.sum));
    out.max_over_mean = placed_max_over_mean(bytes, paths);
    return out;
}

double binomial_tail(std::uint64_t successes, std::uint64_t trials, double probability) {
    if (successes == 0) return 1;
    if (successes > trials || probability <= 0) return 0;
    if (probability >= 1) return 1;
    const auto n = static_cast<double>(trials);
    const auto probability_of = [=](std::uint64_t count) {
        const auto k = static_cast<double>(count);
        return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(probability) +
                        (n - k) * std::log1p(-probability));
    };
    // Away from the mean, terms fall by a greater factor each: few of them matter.
    constexpr double negligible = 1e-17;
    double sum = 0;
    if (static_cast<double>(successes) > n * probability) {
        for (std::uint64_t i = successes; i <= trials; ++i) {
            const double term = probability_of(i);
            sum += term;
            if (term < sum * negligible) break;
        }
        return std::min(sum, 1.0);
    }
    for (std::uint64_t i = successes; i-- > 0;) {
        const double term = probability_of(i);
        sum += term;
        if (term < sum * negligible) break;
    }
    return std::max(1 - sum, 0.0);
}

std::vector<double> holm(std::span<const double> p_values) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [p_values](std::size_t i) { return p_values[i]; });
    std::vector<double> out(p_values.size());
    double greatest = 0;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const auto left = static_cast<double>(order.size() - rank);
        greatest = std::max(greatest, std::min(1.0, left * p_values[order[rank]]));
        out[order[rank]] = greatest;
    }
    return out;
}

double sign_test(std::uint64_t plus, std::uint64_t minus) { return binomial_tail(plus, plus + minus, 0.5); }

namespace {

/// The rates of one entropy and of the others together; the others are taken to have lost at least half an episode.
bool stands_out(const LossCount& one, const LossCount& all) {
    if (all.packets <= one.packets) return false;
    const double own = static_cast<double>(one.episodes) / static_cast<double>(one.packets);
    const double rest = std::max(static_cast<double>(all.episodes - one.episodes), 0.5) /
                        static_cast<double>(all.packets - one.packets);
    return own >= path_rate_ratio * rest;
}

/// Of the entropies in `left`.
std::vector<double> adjusted_p(std::span<const LossCount> counts, std::span<const std::size_t> left,
                               const LossCount& all) {
    std::vector<double> p;
    p.reserve(left.size());
    for (const std::size_t i : left)
        p.push_back(binomial_tail(counts[i].episodes, all.episodes,
                                  static_cast<double>(counts[i].packets) / static_cast<double>(all.packets)));
    return holm(p);
}

LossCount total_of(std::span<const LossCount> counts, std::span<const std::size_t> left) {
    LossCount all;
    for (const std::size_t i : left) {
        all.packets += counts[i].packets;
        all.episodes += counts[i].episodes;
    }
    return all;
}

}  // namespace

std::vector<LossTest> test_losses(std::span<const LossCount> counts) {
    std::vector<LossTest> out(counts.size());
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i].packets >= least_path_packets) left.push_back(i);
    for (const std::size_t i : left) out[i].tested = left.size() > 1;
    if (left.size() < 2) return out;
    const std::size_t most_sick = std::max<std::size_t>(left.size() / 4, 1);
    for (std::size_t found = 0; left.size() > 1; ++found) {
        const LossCount all = total_of(counts, left);
        const std::vector<double> p = adjusted_p(counts, left, all);
        const auto least = static_cast<std::size_t>(std::ranges::min_element(p) - p.begin());
        for (std::size_t i = 0; i < left.size(); ++i)
            if (found == 0 || i == least) out[left[i]].p = std::min(out[left[i]].p, p[i]);
        const LossCount& one = counts[left[least]];
        if (p[least] > path_p_value || one.episodes < least_path_episodes || !stands_out(one, all)) break;
        if (found == most_sick) {
            // What more than a quarter have in common is no path.
            for (LossTest& test : out) test.sick = false;
            break;
        }
        out[left[least]].sick = true;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(least));
    }
    return out;
}

/// With rate 1, the widest of n gaps is the sum of independent waits of the rates 1 to n, and the quiet is r times as
/// long with the probability E[exp(-r widest)]: the product of i / (i + r) for i from 1 to n.
double quiet_probability(std::uint64_t gaps, std::uint64_t widest, std::uint64_t quiet) {
    if (gaps == 0 || quiet == 0) return 1;
    const double ratio = static_cast<double>(quiet) / static_cast<double>(std::max<std::uint64_t>(widest, 1));
    constexpr double negligible = 1e-9;
    double product = 1;
    for (std::uint64_t i = 1; i <= gaps && product > negligible; ++i)
        product *= static_cast<double>(i) / (static_cast<double>(i) + ratio);
    return product;
}

std::uint64_t least_episodes(std::uint64_t entropies) {
    if (entropies < 2) return 0;
    const auto n = static_cast<double>(entropies);
    std::uint64_t episodes = 1;
    while (n * std::pow(1 / n, static_cast<double>(episodes)) > path_p_value) ++episodes;
    return std::max(episodes, least_path_episodes);
}

}  // namespace metrics::answers
