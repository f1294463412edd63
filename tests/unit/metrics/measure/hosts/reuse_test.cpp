/// Reuse against a plain LRU stack, and against patterns of which the distance is known by hand.
#include "metrics/measure/hosts/reuse.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <random>
#include <set>

namespace metrics {
namespace {

constexpr std::uint64_t first_use = ~std::uint64_t{0};

Address host(std::uint8_t last) {
    Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

struct Use {
    std::uint8_t client = 1;
    std::uint32_t qpn = 0;
    std::uint32_t key = 0;
    std::uint64_t at = 0;
    std::uint32_t length = 0;
    std::int64_t time_ns = 0;
    std::uint64_t turnaround_ns = 0;
};

/// Deals uses to trackers by the pair of hosts, as the analyzer does; the server is host 100.
class Field {
public:
    explicit Field(unsigned trackers, std::size_t max_keys = 1 << 16) {
        for (unsigned i = 0; i < trackers; ++i) trackers_.push_back(std::make_unique<ReuseTracker>(max_keys));
    }
    void use(const Use& use) {
        const auto [last, fresh] = last_.try_emplace({use.client, use.qpn}, first_use);
        ReuseTracker& tracker = *trackers_[use.client % trackers_.size()];
        const std::uint32_t handle = tracker.access(host(use.client), host(100),
                                                    {use.time_ns, clock_, last->second, use.key, use.at, use.length});
        last->second = clock_++;
        if (use.turnaround_ns != 0) tracker.turnaround(host(100), handle, use.turnaround_ns);
    }
    HostSnapshot server() const {
        ReuseTotals totals;
        for (const auto& tracker : trackers_) totals.add(*tracker);
        std::vector<HostSnapshot> hosts;
        totals.describe(hosts);
        EXPECT_EQ(hosts.size(), 1u);
        return hosts.empty() ? HostSnapshot{} : hosts[0];
    }
    ReuseTracker& tracker(unsigned i) { return *trackers_[i]; }

private:
    std::vector<std::unique_ptr<ReuseTracker>> trackers_;
    std::map<std::pair<std::uint8_t, std::uint32_t>, std::uint64_t> last_;
    std::uint64_t clock_ = 0;
};

TEST(Reuse, TakingTurnsIsAsFarAsThereAreOthers) {
    for (const std::uint32_t count : {1u, 2u, 10u, 100u, 3000u}) {
        Field field{1};
        for (std::uint32_t i = 0; i < count * 50; ++i) field.use({.qpn = i % count});
        const ReuseFigures figures = field.server().queue_pairs;
        EXPECT_EQ(figures.accesses, count * 50);
        EXPECT_EQ(figures.distinct, count);
        ASSERT_EQ(figures.bins.size(), 1u);
        EXPECT_EQ(figures.bins[0].count, count * 49);
        // Between two uses of one there is each of the others.
        EXPECT_NEAR(figures.bins[0].distance, count - 1.0, 0.01 * count);
    }
}

TEST(Reuse, FollowsTheLruStackOfRandomUses) {
    std::mt19937 random{3};
    constexpr unsigned keys = 400;
    std::discrete_distribution<unsigned> pick{[&] {
        std::vector<double> weights(keys);
        for (unsigned i = 0; i < keys; ++i) weights[i] = 1.0 / (i + 1);  // some are used much, most are not
        return std::discrete_distribution<unsigned>{weights.begin(), weights.end()};
    }()};
    Field field{1};
    std::list<unsigned> stack;
    double exact = 0;
    unsigned reused = 0;
    for (unsigned i = 0; i < 60000; ++i) {
        const unsigned key = pick(random);
        field.use({.qpn = key});
        unsigned depth = 0;
        auto at = stack.begin();
        for (; at != stack.end() && *at != key; ++at) ++depth;
        if (at != stack.end()) {
            stack.erase(at);
            exact += depth;
            ++reused;
        }
        stack.push_front(key);
    }
    const ReuseFigures figures = field.server().queue_pairs;
    double sum = 0;
    std::uint64_t count = 0;
    double before = -1;
    for (const ReuseBin& bin : figures.bins) {
        EXPECT_GT(bin.distance, before) << "ascending";
        before = bin.distance;
        sum += bin.distance * static_cast<double>(bin.count);
        count += bin.count;
    }
    EXPECT_EQ(count, reused);
    EXPECT_NEAR(sum / reused, exact / reused, 0.1 * exact / reused);
}

TEST(Reuse, DoesNotDependOnWhoTracksWhichHosts) {
    std::mt19937 random{9};
    std::vector<Use> uses;
    for (unsigned i = 0; i < 20000; ++i)
        uses.push_back({.client = static_cast<std::uint8_t>(random() % 16),
                        .qpn = static_cast<std::uint32_t>(random() % 20),
                        .key = static_cast<std::uint32_t>(1 + random() % 5),
                        .at = random() % 64 * 4096,
                        .length = static_cast<std::uint32_t>(random() % 20000),
                        .time_ns = i * 7000,
                        .turnaround_ns = 1000 + random() % 100});
    std::vector<HostSnapshot> found;
    for (const unsigned trackers : {1u, 2u, 5u, 16u}) {
        Field field{trackers};
        for (const Use& use : uses) field.use(use);
        found.push_back(field.server());
    }
    for (const auto member : {&HostSnapshot::queue_pairs, &HostSnapshot::remote_keys, &HostSnapshot::pages})
        for (std::size_t i = 1; i < found.size(); ++i) {
            const ReuseFigures& one = found[0].*member;
            const ReuseFigures& other = found[i].*member;
            EXPECT_EQ(one.accesses, other.accesses);
            EXPECT_EQ(one.distinct, other.distinct);
            EXPECT_EQ(one.working_set_mean, other.working_set_mean);
            EXPECT_EQ(one.working_set_max, other.working_set_max);
            ASSERT_EQ(one.bins.size(), other.bins.size());
            for (std::size_t bin = 0; bin < one.bins.size(); ++bin) {
                EXPECT_EQ(one.bins[bin].count, other.bins[bin].count);
                EXPECT_EQ(one.bins[bin].distance, other.bins[bin].distance);
                EXPECT_EQ(one.bins[bin].turnaround_ns, other.bins[bin].turnaround_ns);
            }
        }
    EXPECT_EQ(found[0].queue_pairs.accesses, 20000u);
    EXPECT_EQ(found[0].remote_keys.distinct, 16u * 5);
}

TEST(Reuse, WorkingSetsAreCountedPerWindow) {
    Field field{2};
    std::map<std::int64_t, std::set<std::pair<std::uint8_t, std::uint32_t>>> truth;
    std::mt19937 random{4};
    for (unsigned i = 0; i < 5000; ++i) {
        const Use use{
            .client = static_cast<std::uint8_t>(random() % 4),
            .qpn = static_cast<std::uint32_t>(random() % (1 + i / 50)),
            .time_ns = 1'700'000'000'000'000'000 + std::int64_t{i} * 1'000'000 + (i > 2500 ? 3'000'000'000 : 0)};
        field.use(use);
        truth[use.time_ns / 10'000'000].insert({use.client, use.qpn});
    }
    std::size_t most = 0;
    double sum = 0;
    for (const auto& [_, keys] : truth) {
        most = std::max(most, keys.size());
        sum += static_cast<double>(keys.size());
    }
    const ReuseFigures figures = field.server().queue_pairs;
    EXPECT_EQ(figures.working_set_max, most);
    EXPECT_DOUBLE_EQ(figures.working_set_mean, sum / static_cast<double>(truth.size()));
}

TEST(Reuse, ALongCaptureKeepsTheGreatestWindow) {
    Field field{1};
    for (std::uint32_t qpn = 0; qpn < 77; ++qpn) field.use({.qpn = qpn, .time_ns = 500'000'000'000 + qpn});
    for (std::int64_t i = 0; i < 20000; ++i) field.use({.qpn = 1, .time_ns = i * 100'000'000});  // 2000 s
    EXPECT_EQ(field.server().queue_pairs.working_set_max, 77u);
}

TEST(Reuse, PagesOfLongMessagesAreSampled) {
    Field field{1};
    field.use({.key = 5, .at = 4095, .length = 2});  // two pages
    EXPECT_EQ(field.server().pages.accesses, 2u);
    field.use({.key = 5, .at = 0, .length = 3 * 4096});
    EXPECT_EQ(field.server().pages.accesses, 5u);
    EXPECT_EQ(field.server().pages.distinct, 3u);
    field.use({.key = 6, .at = ~std::uint64_t{0} - 100, .length = 0xffffffff});  // wraps, a million pages
    EXPECT_EQ(field.server().pages.accesses, 9u);
    field.use({.key = 6, .at = 0, .length = 0});
    EXPECT_EQ(field.server().pages.accesses, 9u);
    field.use({.key = 0, .at = 0, .length = 100});  // a SEND names no memory
    EXPECT_EQ(field.server().pages.accesses, 9u);
    EXPECT_EQ(field.server().remote_keys.distinct, 2u);
}

TEST(Reuse, TurnaroundGoesToTheRowOfItsDistance) {
    Field field{1};
    // One queue pair used again at once, and 64 that take turns, which answer slower.
    for (std::uint32_t round = 0; round < 50; ++round)
        for (std::uint32_t qpn = 0; qpn < 64; ++qpn) {
            field.use({.qpn = qpn, .turnaround_ns = 5000});
            field.use({.qpn = qpn, .turnaround_ns = 1000});
        }
    const ReuseFigures figures = field.server().queue_pairs;
    ASSERT_EQ(figures.bins.size(), 2u);
    EXPECT_LT(figures.bins[0].distance, 1);
    EXPECT_EQ(figures.bins[0].turnaround_ns.count(), 50u * 64);
    EXPECT_EQ(figures.bins[0].turnaround_ns.max(), 1000u);
    EXPECT_NEAR(figures.bins[1].distance, 63, 2);
    EXPECT_EQ(figures.bins[1].turnaround_ns.count(), 49u * 64) << "a first use has no distance";
    EXPECT_EQ(figures.bins[1].turnaround_ns.min(), 5000u);
}

TEST(Reuse, MemoryIsBoundedAndEvictionIsCounted) {
    Field field{1, 256};
    std::mt19937 random{2};
    for (unsigned i = 0; i < 20000; ++i)
        field.use({.key = static_cast<std::uint32_t>(1 + random() % 100000), .length = 1});
    const std::size_t octets = field.tracker(0).octets();
    EXPECT_GT(field.tracker(0).evicted(), 10000u);
    for (unsigned i = 0; i < 20000; ++i)
        field.use({.key = static_cast<std::uint32_t>(random() | 1),
                   .at = std::uint64_t{random()} << 32,
                   .length = static_cast<std::uint32_t>(random()),
                   .time_ns = static_cast<std::int64_t>(std::uint64_t{random()} << 32 | random())});
    EXPECT_LE(field.tracker(0).octets(), octets + 3 * 4 * 2048);
}

}  // namespace
}  // namespace metrics
