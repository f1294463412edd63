/// The way of the commonest iWARP segments gives the figures of the general one, whatever came before, and so does
/// every connection that others are interleaved with.
#include <array>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "tests/model/analyzers.h"
#include "tests/model/conversations.h"
#include "tests/model/talk.h"

namespace {

using namespace model;

class CommonSegmentTest : public testing::TestWithParam<Talk> {};

TEST_P(CommonSegmentTest, GivesTheFiguresOfTheGeneralOne) {
    constexpr unsigned steps = 3000;
    constexpr unsigned every = 10;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Conversations conversations(GetParam(), seed);
        for (unsigned step = 1; step <= steps; ++step) {
            conversations.step();
            if (step % every == 0) conversations.compare();
            ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step;
        }
    }
}

/// ε is bounded by the sender's least round trip, whenever that was learnt: here between two segments of which the
/// second needs no rule.
TEST(CommonSegment, KnowsTheRoundTripOfToday) {
    Analyzers analyzers(Talk{}, 1);
    std::array<std::uint32_t, 2> next{1000, 5000};
    const auto feed = [&](std::size_t end, std::int64_t after_ns, std::vector<std::byte> octets, std::uint32_t known) {
        Segment segment;
        segment.source_host = static_cast<std::uint32_t>(end);
        segment.destination_host = static_cast<std::uint32_t>(1 - end);
        segment.source_port = static_cast<std::uint16_t>(4000 + end);
        segment.destination_port = static_cast<std::uint16_t>(4001 - end);
        segment.sequence = next[end];
        segment.acknowledgment = known;
        next[end] += static_cast<std::uint32_t>(octets.size());
        segment.octets = std::move(octets);
        analyzers.feed(emit(segment, talk_begins_ns + after_ns), wire::Direction::unknown);
    };
    const std::vector<std::byte> write = fpdu(metrics::Operation::write, 100, 1, 0, 0, true);
    feed(0, 0, mpa_start(false), 5000);
    feed(1, 1'000'000, mpa_start(true), next[0]);
    feed(0, 1'000'000'000, write, next[1]);
    feed(1, 1'020'000'000, {}, next[0]);
    feed(0, 1'030'000'000, write, next[1]);  // a reaction of 10 ms
    feed(0, 1'030'000'900, write, next[1]);
    feed(1, 1'030'001'000, fpdu(metrics::Operation::write, 100, 1, 0, 0, false), next[0] - 2 * 120);
    feed(0, 1'030'001'300, {}, next[1]);
    analyzers.compare();
    feed(0, 1'030'001'700, write, next[1]);
    analyzers.compare();
}

constexpr Talk writes{.name = "Writes"};
constexpr Talk all_kinds{.name = "AllKinds", .kinds = 3, .both = true, .news = 6};
constexpr Talk trains{.name = "Trains", .kinds = 2, .both = true, .connections = 6, .news = 6};

Talk with(Talk talk, const char* name, std::uint32_t Talk::*what, std::uint32_t once_in) {
    talk.name = name;
    talk.*what = once_in;
    return talk;
}

Talk everything() {
    Talk out = all_kinds;
    out.name = "Everything";
    for (const auto what : {&Talk::several, &Talk::cut, &Talk::windows, &Talk::late, &Talk::stray, &Talk::pauses})
        out.*what = 20;
    out.narrow = 2;
    for (const auto what : {&Talk::marks, &Talk::losses, &Talk::unseen, &Talk::again, &Talk::doubled, &Talk::probes,
                            &Talk::drops, &Talk::damage, &Talk::ends, &Talk::unsorted})
        out.*what = 120;
    return out;
}

INSTANTIATE_TEST_SUITE_P(
    Conversations, CommonSegmentTest,
    testing::Values(
        writes, Talk{.name = "Sends", .kinds = 2}, Talk{.name = "SendsOfBoth", .kinds = 2, .both = true}, all_kinds,
        with(all_kinds, "Several", &Talk::several, 4), with(all_kinds, "Cut", &Talk::cut, 4),
        with(all_kinds, "Windows", &Talk::windows, 6),
        with(with(with(all_kinds, "", &Talk::windows, 6), "", &Talk::again, 12), "NarrowWindows", &Talk::narrow, 1),
        with(all_kinds, "Unsorted", &Talk::unsorted, 8), with(all_kinds, "Marks", &Talk::marks, 6),
        with(all_kinds, "Losses", &Talk::losses, 40), with(all_kinds, "Unseen", &Talk::unseen, 20),
        with(all_kinds, "Again", &Talk::again, 40), with(writes, "Late", &Talk::late, 20),
        with(with(with(all_kinds, "", &Talk::late, 20), "", &Talk::losses, 40), "Disorder", &Talk::again, 40),
        with(all_kinds, "Doubled", &Talk::doubled, 20), with(all_kinds, "Stray", &Talk::stray, 8),
        with(all_kinds, "Probes", &Talk::probes, 20), with(all_kinds, "Leaps", &Talk::leaps, 30),
        with(all_kinds, "Damage", &Talk::damage, 200),
        with(with(with(with(all_kinds, "", &Talk::losses, 20), "", &Talk::late, 20), "", &Talk::ends, 60), "Offload",
             &Talk::offload, 1),
        with(with(all_kinds, "", &Talk::marks, 6), "Pauses", &Talk::pauses, 1),
        with(with(with(all_kinds, "", &Talk::losses, 3), "", &Talk::late, 10), "ManyHoles", &Talk::again, 20),
        with(all_kinds, "Drops", &Talk::drops, 30), with(all_kinds, "Far", &Talk::far, 131'064),
        with(all_kinds, "Anew", &Talk::ends, 60), trains, with(trains, "TrainsAnew", &Talk::ends, 60),
        with(trains, "TrainsUnseen", &Talk::unseen, 20), with(trains, "TrainsWithLosses", &Talk::losses, 40),
        Talk{.name = "Evictions", .kinds = 2, .both = true, .connections = 12, .max_flows = 16, .news = 6},
        everything()),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
