/// Pairs are found by PSNs alone, and never wrongly where it is said that they are sure. The truth is the simulation's.
#include "metrics/measure/flow/psn_pairing.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace metrics {
namespace {

constexpr std::uint32_t psn_mask = 0xffffff;

Address host(std::uint8_t last) {
    Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

FlowKey flow_key(std::uint8_t from, std::uint8_t to, std::uint32_t qpn, Service service = Service::rc) {
    FlowKey key;
    key.source = host(from);
    key.destination = host(to);
    key.selector = qpn;
    key.service = service;
    return key;
}

/// One direction of a queue pair: requests on one flow, answers on the other.
struct Sender {
    FlowIndex flow = 0;      ///< that its requests travel on
    FlowIndex answers = 0;   ///< that its answers travel on
    std::uint32_t next = 0;  ///< PSNs
    std::uint32_t unanswered = 0;
    std::uint32_t left = 0;
};

struct Outcome {
    unsigned sure = 0;  ///< findings of 0.99 and more
    unsigned sure_wrong = 0;
    unsigned guesses = 0;  ///< the first finding below 0.99 of each flow
    unsigned guesses_wrong = 0;
    double guessed = 0;  ///< sum of their confidence
    unsigned flows = 0;
};

struct Plan {
    unsigned pairs = 100;
    unsigned requests = 60;  ///< of each direction
    unsigned window = 64;
    unsigned unseen_first = 0;  ///< requests sent before the capture began
    double missed = 0;          ///< share of frames that are not captured
    bool random_start = true;
    bool both_ways = true;
    std::size_t remembered = 1 << 20;
    std::uint32_t seed = 1;
};

class Simulation {
public:
    explicit Simulation(const Plan& plan) : plan_(plan), engine_(plan.seed), pairing_(plan.remembered) {
        for (unsigned i = 0; i < plan.pairs; ++i) {
            keys_.push_back(flow_key(1, 2, 1000 + i));
            keys_.push_back(flow_key(2, 1, 70000 + i));
            add(2 * i, 2 * i + 1);
            if (plan.both_ways) add(2 * i + 1, 2 * i);
        }
        outcome_.flows = 2 * plan.pairs;
        done_.resize(outcome_.flows);
        guessed_.resize(outcome_.flows);
    }

    Outcome run() {
        for (std::int64_t now = 0; !active_.empty(); now += 1000) {
            const std::size_t which = random_() % active_.size();
            Sender& sender = senders_[active_[which]];
            const bool full = sender.unanswered == plan_.window || sender.left == 0;
            if (sender.unanswered != 0 && (full || random_() % 3 == 0))
                answer(sender, now);
            else
                request(sender, now);
            if (sender.left == 0 && sender.unanswered == 0) {
                active_[which] = active_.back();
                active_.pop_back();
            }
        }
        return outcome_;
    }

private:
    void add(FlowIndex flow, FlowIndex answers) {
        const std::uint32_t start = plan_.random_start ? random_() & psn_mask : 0;
        active_.push_back(static_cast<unsigned>(senders_.size()));
        senders_.push_back({flow, answers, start, 0, plan_.requests});
    }
    bool captured() { return std::uniform_real_distribution{0.0, 1.0}(engine_) >= plan_.missed; }

    void request(Sender& sender, std::int64_t now) {
        const std::uint32_t psn = sender.next;
        sender.next = (sender.next + 1) & psn_mask;
        ++sender.unanswered;
        --sender.left;
        const bool before = plan_.requests - sender.left <= plan_.unseen_first;
        if (!done_[sender.flow] && !before && captured())
            pairing_.request(keys_[sender.flow], sender.flow, psn, 1, now);
    }
    void answer(Sender& sender, std::int64_t now) {
        const std::uint32_t count = 1 + random_() % sender.unanswered;
        const std::uint32_t psn = (sender.next - sender.unanswered + count - 1) & psn_mask;
        sender.unanswered -= count;
        if (done_[sender.answers] || !captured()) return;
        judge(sender, pairing_.answer(keys_[sender.answers], sender.answers, psn, now));
    }
    void judge(const Sender& sender, const PsnPairing::Finding& finding) {
        if (finding.requester == no_flow) return;
        const bool wrong = finding.requester != sender.flow;
        if (finding.confidence < 0.99) {
            if (guessed_[sender.answers]) return;
            guessed_[sender.answers] = true;
            ++outcome_.guesses;
            outcome_.guesses_wrong += wrong;
            outcome_.guessed += finding.confidence;
            return;
        }
        ++outcome_.sure;
        outcome_.sure_wrong += wrong;
        for (const FlowIndex flow : {finding.requester, sender.answers}) {
            pairing_.forget(keys_[flow], flow);
            done_[flow] = true;
        }
    }

    Plan plan_;
    std::mt19937 engine_;
    std::uint32_t random_() { return static_cast<std::uint32_t>(engine_()); }
    PsnPairing pairing_;
    std::vector<FlowKey> keys_;
    std::vector<Sender> senders_;
    std::vector<unsigned> active_;
    std::vector<bool> done_;
    std::vector<bool> guessed_;
    Outcome outcome_;
};

Outcome run(const Plan& plan) { return Simulation{plan}.run(); }

TEST(PsnPairing, OneAnswerIsAHypothesisAndTwoAreEnough) {
    PsnPairing pairing{1024};
    pairing.request(flow_key(1, 2, 17), 0, 100, 1, 0);
    pairing.request(flow_key(1, 2, 17), 0, 101, 1, 10);
    const auto first = pairing.answer(flow_key(2, 1, 18), 1, 100, 20);
    EXPECT_EQ(first.requester, 0u);
    EXPECT_NEAR(first.confidence, 0.9, 0.01);
    const auto again = pairing.answer(flow_key(2, 1, 18), 1, 100, 25);
    EXPECT_NEAR(again.confidence, 0.9, 0.01) << "the same PSN once more proves nothing";
    const auto second = pairing.answer(flow_key(2, 1, 18), 1, 101, 30);
    EXPECT_EQ(second.requester, 0u);
    EXPECT_GT(second.confidence, 0.99);
}

TEST(PsnPairing, OnlyTheOppositeDirectionOfTheSameHostsAndServiceCounts) {
    PsnPairing pairing{1024};
    pairing.request(flow_key(2, 1, 5), 0, 100, 1, 0);                // the same direction as the answer
    pairing.request(flow_key(3, 2, 6), 1, 100, 1, 0);                // other hosts
    pairing.request(flow_key(1, 2, 7, Service::xrc), 2, 100, 1, 0);  // another service
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 9, 100, 20).requester, no_flow);
    pairing.request(flow_key(1, 2, 8), 3, 100, 1, 21);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 9, 100, 30).requester, 3u);
}

TEST(PsnPairing, TwoCandidatesMeanWait) {
    PsnPairing pairing{1024};
    for (std::uint32_t psn = 0; psn < 10; ++psn) {
        pairing.request(flow_key(1, 2, 1), 0, psn, 1, psn);
        pairing.request(flow_key(1, 2, 2), 1, psn, 1, psn);
    }
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 2, 4, 20).requester, no_flow);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 2, 9, 30).requester, no_flow);
    // From now on only the second goes on.
    for (std::uint32_t psn = 10; psn < 20; ++psn) pairing.request(flow_key(1, 2, 2), 1, psn, 1, psn);
    for (std::uint32_t psn = 10; psn < 16; ++psn) pairing.answer(flow_key(2, 1, 18), 2, psn, 40);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 2, 16, 50).requester, 1u);
}

TEST(PsnPairing, AReadIsFoundByItsFirstAndItsLastResponses) {
    PsnPairing pairing{1024};
    // 1 GiB of responses of 1024 octets, across the wrap.
    pairing.request(flow_key(1, 2, 1), 0, 0xffff00, 1 << 20, 0);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 1, 0xffff00, 20).requester, 0u);
    EXPECT_GT(pairing.answer(flow_key(2, 1, 18), 1, (0xffff00 + (1 << 20) - 1) & psn_mask, 20).confidence, 0.85);
}

TEST(PsnPairing, WhatIsForgottenIsNoCandidateAndItsIndexIsFree) {
    PsnPairing pairing{1024};
    pairing.request(flow_key(1, 2, 1), 0, 100, 1, 0);
    pairing.forget(flow_key(1, 2, 1), 0);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 1, 100, 10).requester, no_flow);
    pairing.request(flow_key(1, 2, 1), 0, 500, 1, 20);  // another life of the same index and key
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 1, 100, 30).requester, no_flow);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 19), 2, 500, 30).requester, 0u);
    pairing.forget(flow_key(2, 1, 19), 2);
    pairing.request(flow_key(1, 2, 1), 0, 501, 1, 40);
    // The new flow at the answerer's index knows nothing of the hit of the old one.
    EXPECT_LT(pairing.answer(flow_key(2, 1, 20), 2, 501, 50).confidence, 0.95);
}

TEST(PsnPairing, AnOldRequestIsNoCandidate) {
    PsnPairing pairing{1024};
    pairing.request(flow_key(1, 2, 1), 0, 100, 1, 0);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 1, 100, 5'000'000'000).requester, no_flow);
    // Time may go back, too.
    pairing.request(flow_key(1, 2, 1), 0, 101, 1, -5'000'000'000);
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 1, 101, -5'000'000'000 + 10).requester, 0u);
}

TEST(PsnPairing, ACoincidenceIsGivenUp) {
    PsnPairing pairing{1024};
    pairing.request(flow_key(1, 2, 1), 0, 100, 1, 0);
    // The answers' own requests start after the first answer.
    EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 2, 100, 10).requester, 0u);
    PsnPairing::Finding found;
    for (std::uint32_t psn = 0x500000; psn < 0x500008; ++psn) {
        pairing.request(flow_key(1, 2, 9), 1, psn, 1, 20);
        found = pairing.answer(flow_key(2, 1, 18), 2, psn, 30);
    }
    EXPECT_EQ(found.requester, 1u);
}

TEST(PsnPairing, AQueuePairHasOneOtherHalf) {
    PsnPairing pairing{1024};
    for (std::uint32_t psn = 0; psn < 4; ++psn) {
        pairing.request(flow_key(1, 2, 1), 0, psn, 1, psn);
        EXPECT_EQ(pairing.answer(flow_key(2, 1, 18), 1, psn, 10).requester, 0u);
    }
    for (std::uint32_t psn = 0; psn < 4; ++psn)
        EXPECT_EQ(pairing.answer(flow_key(2, 1, 19), 2, psn, 20).requester, no_flow);
}

TEST(PsnPairing, AFewQueuePairsAreFoundAtOnce) {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        const Outcome outcome = run({.pairs = 8, .seed = seed});
        EXPECT_EQ(outcome.sure_wrong, 0u);
        EXPECT_EQ(outcome.sure, 8u) << seed;
    }
}

TEST(PsnPairing, TenThousandQueuePairsBetweenTwoHosts) {
    const Outcome outcome = run({.pairs = 10000});
    EXPECT_EQ(outcome.sure_wrong, 0u);
    EXPECT_GE(outcome.sure, 9900u);
}

TEST(PsnPairing, TenThousandQueuePairsOfWhichFramesAreMissing) {
    for (const double missed : {0.02, 0.2}) {
        const Outcome outcome = run({.pairs = 10000, .missed = missed, .seed = 7});
        EXPECT_LE(outcome.sure_wrong, outcome.sure / 1000);
        EXPECT_GE(outcome.sure, 9500u);
        // A hypothesis is wrong about as often as its confidence says.
        EXPECT_LE(outcome.guesses_wrong, 2 * (outcome.guesses - outcome.guessed) + 10);
    }
}

TEST(PsnPairing, ACaptureThatBeginsInTheMiddle) {
    const Outcome outcome = run({.pairs = 10000, .requests = 200, .unseen_first = 64, .both_ways = false, .seed = 3});
    EXPECT_LE(outcome.sure_wrong, outcome.sure / 1000);
    EXPECT_GE(outcome.sure, 9900u);
}

TEST(PsnPairing, QueuePairsThatAllStartAtZero) {
    const Outcome outcome = run({.pairs = 200, .requests = 400, .random_start = false, .both_ways = false, .seed = 5});
    EXPECT_LE(outcome.sure_wrong, outcome.sure / 50);
}

TEST(PsnPairing, LittleMemoryMakesItSlowerButNotWrong) {
    const Outcome outcome = run({.pairs = 1000, .requests = 300, .remembered = 1 << 12, .seed = 11});
    EXPECT_LE(outcome.sure_wrong, 1u);
    EXPECT_GE(outcome.sure, 500u);
}

TEST(PsnPairing, WindowsAcrossTheWrap) {
    for (std::uint32_t start = psn_mask - 5; start != 3; start = (start + 1) & psn_mask) {
        PsnPairing pairing{1024};
        PsnPairing::Finding found;
        for (std::uint32_t i = 0; i < 6; ++i) {
            pairing.request(flow_key(1, 2, 1), 0, (start + i) & psn_mask, 1, i);
            found = pairing.answer(flow_key(2, 1, 18), 1, (start + i) & psn_mask, i);
        }
        EXPECT_EQ(found.requester, 0u);
        EXPECT_GT(found.confidence, 0.99);
    }
}

TEST(PsnPairing, MemoryIsBounded) {
    PsnPairing pairing{1 << 12};
    std::mt19937 engine{1};
    const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
    std::size_t before = 0;
    for (unsigned i = 0; i < 200000; ++i) {
        const FlowIndex flow = random() % 512;
        const FlowKey key = flow_key(static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random()), i);
        const auto now = static_cast<std::int64_t>(std::uint64_t{random()} << 32 | random());
        if (random() % 2 == 0)
            pairing.request(key, flow, random(), random(), now);
        else
            pairing.answer(key, flow, random(), now);
        if (random() % 4 == 0) pairing.forget(key, flow);
        if (i == 100000) before = pairing.octets();
    }
    EXPECT_EQ(pairing.octets(), before);
}

}  // namespace
}  // namespace metrics
