#include <gtest/gtest.h>
#include <map>

#include "tests/model/model_analysis.h"
#include "tests/model/scenarios.h"

/// Thousands of QPs between the same two hosts, with nothing but PSNs to tell which two belong together.
namespace {

using namespace model;
using metrics::FlowSnapshot;

constexpr std::uint32_t connections = 10'000;
constexpr std::int64_t second_life_ns = 400'000'000;

std::vector<std::uint32_t> shuffled_numbers(std::uint32_t first, Random& random) {
    std::vector<std::uint32_t> numbers(connections);
    for (std::uint32_t i = 0; i < connections; ++i) numbers[i] = first + i;
    for (std::uint32_t i = connections; i-- > 1;) std::swap(numbers[i], numbers[random.below(i + 1)]);
    return numbers;
}

/// Every QPN on both hosts is used once in each life, with another partner and another PSN each time.
Plan many_connections(unsigned lives) {
    Plan plan = pair_plan();
    plan.connections.clear();
    Random random(17);
    for (unsigned life = 0; life < lives; ++life) {
        const std::vector<std::uint32_t> a = shuffled_numbers(0x1000, random);
        const std::vector<std::uint32_t> b = shuffled_numbers(0x1000, random);
        for (std::uint32_t i = 0; i < connections; ++i) {
            Connection connection = pair_plan().connections[0];
            connection.seed = random.next();
            for (End* end : {&connection.a, &connection.b}) {
                end->start_psn = static_cast<std::uint32_t>(random.below(1 << 24));
                end->application.mix = {{metrics::Operation::send, 700}};
                end->application.messages = 3 + random.below(4);
                end->application.depth = 2;
                end->application.start_ns =
                    life * second_life_ns + 1000 + static_cast<std::int64_t>(random.below(20'000'000));
            }
            connection.a.qpn = a[i];
            connection.b.qpn = b[i];
            if (random.below(2) == 0) connection.b.application.messages = 0;
            plan.connections.push_back(connection);
        }
    }
    return plan;
}

class PairingTest : public testing::TestWithParam<unsigned> {};

TEST_P(PairingTest, NoneIsWrongAndNearlyAllAreFound) {
    const History history = run(many_connections(GetParam()));
    // By direction, destination QPN and life: the source's QPN.
    std::map<std::tuple<std::string, std::uint32_t, bool>, std::uint32_t> partners;
    for (std::uint32_t side = 0; side < history.sides.size(); ++side)
        partners[{address_text(history.end(side).host, Framing::roce2_ipv4), history.end(side ^ 1).qpn,
                  side / 2 >= connections}] = history.end(side).qpn;
    for (const Tap tap : {tap_at(0), tap_at(1), middle_tap}) {
        const metrics::Snapshot snapshot = analyse(capture(history, tap, false), options_for(history));
        std::size_t found = 0;
        std::size_t wrong = 0;
        for (const FlowSnapshot& flow : snapshot.flows) {
            const auto partner_at = [&](std::int64_t time_ns) {
                const bool second = time_ns >= history.plan.epoch_ns + second_life_ns;
                return partners.at({to_text(flow.source.address), flow.destination.qpn.value_or(0), second});
            };
            if (!flow.source.qpn) continue;
            ++found;
            // Where the new PSNs happen to follow the old ones closely, two lives are one flow, with a partner of
            // either.
            const bool right =
                flow.source.qpn == partner_at(flow.first_ns) || flow.source.qpn == partner_at(flow.last_ns);
            const FlowSnapshot* other = flow.reverse ? snapshot.flow(*flow.reverse) : nullptr;
            if (!right ||
                (other != nullptr && (other->destination.qpn != flow.source.qpn || other->reverse != flow.id)))
                ++wrong;
        }
        EXPECT_EQ(wrong, 0u);
        EXPECT_LE(snapshot.flows.size(), history.sides.size());
        EXPECT_GE(snapshot.flows.size() * 100, history.sides.size() * 95);
        EXPECT_GE(found * 1000, snapshot.flows.size() * 995);
    }
}

INSTANTIATE_TEST_SUITE_P(Lives, PairingTest, testing::Values(1u, 2u));

}  // namespace
