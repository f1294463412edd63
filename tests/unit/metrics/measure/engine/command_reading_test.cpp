/// Commands on the flows of an engine: those that a reader written apart finds in the captures
/// (tests/unit/upper/*.tsv), on every way of packets through the engine.
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"
#include "tests/unit/metrics/figures/snapshot_text.h"

namespace {

using namespace metrics;

struct Expected {
    std::uint64_t commands = 0;
    std::uint64_t latency_ns = 0;
    std::array<std::uint64_t, command_part_count> parts_ns{};
    bool operator==(const Expected&) const = default;
};
using Kinds = std::map<std::string, Expected>;

std::ostream& operator<<(std::ostream& out, const Expected& kind) {
    out << kind.commands << " commands, " << kind.latency_ns << " ns:";
    for (const std::uint64_t part : kind.parts_ns) out << ' ' << part;
    return out;
}

/// The commands of the reader written apart.
std::vector<std::vector<std::string>> read_rows(const std::string& name) {
    std::ifstream file(support::pcaps() + "/../tests/unit/upper/" + name + ".tsv");
    std::vector<std::vector<std::string>> rows;
    bool titles = true;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        if (std::exchange(titles, false)) continue;
        std::vector<std::string>& cells = rows.emplace_back();
        std::istringstream row(line);
        for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    }
    return rows;
}

const std::vector<std::vector<std::string>>& rows_of(const std::string& name) {
    static std::map<std::string, std::vector<std::vector<std::string>>> known;
    const auto [at, fresh] = known.try_emplace(name);
    if (fresh) at->second = read_rows(name);
    return at->second;
}

/// Sums by kind.
Kinds expected_of(const std::string& name) {
    Kinds kinds;
    for (const std::vector<std::string>& cells : rows_of(name)) {
        constexpr std::size_t first_part = 12;
        Expected& kind = kinds[cells.at(1)];
        ++kind.commands;
        for (std::size_t i = 0; i < command_part_count; ++i) {
            const std::uint64_t part = std::stoull(cells.at(first_part + i));
            kind.parts_ns[i] += part;
            kind.latency_ns += part;
        }
    }
    return kinds;
}

struct Way {
    unsigned threads = 1;
    bool shortcut = true;
    bool commands = true;
};

Snapshot measure(const std::vector<support::KeptFrame>& frames, const Way& way = {}) {
    AnalyzerOptions options;
    options.engine.commands = way.commands;
    options.engine.shortcut = way.shortcut;
    options.threads = way.threads;
    Analyzer analyzer(options);
    std::uint64_t number = 0;
    for (const support::KeptFrame& kept : frames) {
        const wire::Frame frame = kept.frame(++number);
        analyzer.feed({&frame, 1}, true);
    }
    analyzer.finish();
    return analyzer.snapshot();
}

Kinds kinds_of(const Snapshot& snapshot) {
    Kinds kinds;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.commands || flow.commands->of_target) continue;
        for (const CommandKindFigures& figures : flow.commands->kinds) {
            if (figures.commands == 0) continue;
            Expected& kind = kinds[figures.kind];
            kind.commands += figures.commands;
            kind.latency_ns += figures.latency_ns.sum();
            for (std::size_t i = 0; i < command_part_count; ++i) kind.parts_ns[i] += figures.parts_ns[i].sum();
        }
    }
    return kinds;
}

const support::KeptCapture& capture_of(const std::string& name) {
    static const std::vector<support::KeptCapture> all = support::load_captures(SIZE_MAX);
    for (const support::KeptCapture& capture : all)
        if (capture.name.starts_with(name + ".")) return capture;
    throw std::runtime_error(name + ": no such capture");
}

class CommandsOf : public testing::TestWithParam<const char*> {};

TEST_P(CommandsOf, are_those_that_the_other_reader_finds) {
    const auto& frames = capture_of(GetParam()).frames;
    const Kinds expected = expected_of(GetParam());
    ASSERT_GT(expected.size(), 3u);
    EXPECT_EQ(kinds_of(measure(frames)), expected);
    EXPECT_EQ(kinds_of(measure(frames, {.shortcut = false})), expected) << "without the shortcut";
    EXPECT_EQ(kinds_of(measure(frames, {.threads = 3})), expected) << "by three threads";
}

TEST_P(CommandsOf, are_on_the_flow_of_the_side_that_asks) {
    const Snapshot snapshot = measure(capture_of(GetParam()).frames);
    std::size_t asking = 0;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.commands) continue;
        ASSERT_TRUE(flow.reverse);
        const FlowSnapshot* const reverse = snapshot.flow(*flow.reverse);
        ASSERT_TRUE(reverse != nullptr && reverse->commands);
        EXPECT_EQ(reverse->commands->protocol, flow.commands->protocol);
        EXPECT_NE(reverse->commands->of_target, flow.commands->of_target);
        asking += flow.commands->of_target ? 0 : 1;
    }
    EXPECT_GT(asking, 0u);
}

/// Phases of a connection sum to its wall time, and parts of commands to their latency, in nanoseconds.
TEST_P(CommandsOf, spend_all_of_their_time) {
    const Snapshot snapshot = measure(capture_of(GetParam()).frames);
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.commands || flow.commands->of_target) continue;
        EXPECT_EQ(flow.commands->wall_ns(),
                  static_cast<std::uint64_t>(flow.commands->last_ns - flow.commands->first_ns));
        const CommandTotals totals = totals_of(*flow.commands);
        std::uint64_t parts = 0;
        for (const std::uint64_t part : totals.parts_ns) parts += part;
        EXPECT_EQ(parts, totals.latency_ns.sum());
    }
}

/// Nothing else is another by it.
TEST_P(CommandsOf, change_no_other_figure) {
    const auto& frames = capture_of(GetParam()).frames;
    Snapshot with = measure(frames);
    Snapshot without = measure(frames, {.commands = false});
    for (Snapshot* const snapshot : {&with, &without}) {
        snapshot->memory_octets = 0;
        for (FlowSnapshot& flow : snapshot->flows) flow.commands.reset();
    }
    EXPECT_EQ(test::text_of(with), test::text_of(without));
}

INSTANTIATE_TEST_SUITE_P(Captures, CommandsOf,
                         testing::Values("nvme-rdma-rxe", "nfs-rdma-rxe", "nfs-rdma-siw", "iser-rxe", "srp-rxe"));

/// `tshark -Y 'infiniband.bth.opcode == 12 || infiniband.reth.r_key'`: 120 READs and WRITEs. The first WRITE has no
/// bytes and no key, and passes in frame 4, before any SEND.
TEST(Commands, operations_before_the_first_send_count) {
    for (const unsigned threads : {1u, 3u})
        for (const bool shortcut : {true, false}) {
            const Snapshot snapshot = measure(capture_of("srp-rxe").frames, {.threads = threads, .shortcut = shortcut});
            std::size_t connections = 0;
            for (const FlowSnapshot& flow : snapshot.flows) {
                if (!flow.commands || flow.commands->of_target) continue;
                ++connections;
                EXPECT_EQ(flow.commands->operations, 120u);
                EXPECT_EQ(flow.commands->probes, 1u);
            }
            EXPECT_EQ(connections, 1u);
        }
}

TEST(Commands, are_found_nowhere_else) {
    for (const char* name : {"rxe-write-bw-64k", "rxe-send-bw-64k", "rxe-read-bw-64k"})
        for (const FlowSnapshot& flow : measure(capture_of(name).frames).flows) EXPECT_FALSE(flow.commands) << name;
}

/// Two halves of a capture: the difference to the first and the first make the whole.
TEST(Commands, of_an_interval_and_of_those_before_are_all) {
    const auto& frames = capture_of("nvme-rdma-rxe").frames;
    AnalyzerOptions options;
    options.engine.commands = true;
    Analyzer analyzer(options);
    Snapshot first;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const wire::Frame frame = frames[i].frame(i + 1);
        analyzer.feed({&frame, 1}, true);
        if (i == frames.size() / 2) first = analyzer.snapshot();
    }
    analyzer.finish();
    const Snapshot whole = analyzer.snapshot();
    const Snapshot second = difference(first, whole);
    const Kinds before = kinds_of(first);
    const Kinds after = kinds_of(second);
    EXPECT_GT(before.at("read").commands, 50u);
    EXPECT_GT(after.at("read").commands, 50u);
    EXPECT_EQ(before.at("read").commands + after.at("read").commands, 372u);
    Snapshot sum = first;
    merge(sum, second);
    EXPECT_EQ(kinds_of(sum), expected_of("nvme-rdma-rxe"));
}

/// When the commands that are open after a frame were asked.
std::vector<std::int64_t> open_after(const std::string& name, std::uint64_t frame) {
    std::vector<std::int64_t> begins_ns;
    for (const auto& cells : rows_of(name))
        if (std::stoull(cells.at(5)) <= frame && std::stoull(cells.at(10)) > frame)
            begins_ns.push_back(std::stoll(cells.at(11)));
    std::ranges::sort(begins_ns);
    return begins_ns;
}

std::uint64_t waiting_long(const Snapshot& snapshot) {
    std::uint64_t count = 0;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.commands || flow.commands->of_target) continue;
        count += flow.commands->open_long;
        for (const CommandKindFigures& kind : flow.commands->kinds)
            if (!kind.housekeeping) count += kind.unanswered_long;
    }
    return count;
}

/// The capture is cut where most commands are open; a frame without RDMA comes later.
TEST(Commands, that_waited_long_are_counted_one_by_one) {
    const std::string name = "nvme-rdma-rxe";
    const auto& frames = capture_of(name).frames;
    std::uint64_t cut = 0;
    for (const auto& cells : rows_of(name)) {
        const std::uint64_t frame = std::stoull(cells.at(5));
        if (open_after(name, frame).size() > open_after(name, cut).size()) cut = frame;
    }
    const std::vector<std::int64_t> begins_ns = open_after(name, cut);
    ASSERT_GT(begins_ns.size(), 5u);
    constexpr std::int64_t limit_ns = 5'000'000'000;
    for (std::size_t i = 0; i < begins_ns.size(); ++i) {
        AnalyzerOptions options;
        options.engine.commands = true;
        Analyzer analyzer(options);
        for (std::uint64_t number = 1; number <= cut; ++number) {
            const wire::Frame frame = frames[number - 1].frame(number);
            analyzer.feed({&frame, 1}, true);
        }
        support::KeptFrame silent{std::vector<std::byte>(60), 60};
        for (const std::int64_t after_ns : {0, 1}) {
            silent.time_ns = begins_ns[i] + limit_ns + after_ns;
            const wire::Frame frame = silent.frame(cut + 1 + static_cast<std::uint64_t>(after_ns));
            analyzer.feed({&frame, 1}, true);
            const auto asked_before = std::ranges::count_if(
                begins_ns, [&](std::int64_t begin_ns) { return begin_ns < begins_ns[i] + after_ns; });
            EXPECT_EQ(waiting_long(analyzer.snapshot()), static_cast<std::uint64_t>(asked_before));
        }
        const std::uint64_t open = waiting_long(analyzer.snapshot());
        analyzer.finish();
        EXPECT_EQ(waiting_long(analyzer.snapshot()), open) << "as unanswered";
    }
}

/// A command that waits is part of an interval in which nothing passes.
TEST(Commands, that_wait_are_in_every_interval) {
    FlowSnapshot flow;
    flow.id = 1;
    flow.packets = 2;
    flow.commands.emplace().oldest_open_ns = 1'000'000'000;
    Snapshot earlier;
    earlier.flows = {flow};
    Snapshot later = earlier;
    EXPECT_EQ(difference(earlier, later).flows.size(), 1u);
    later.flows[0].commands->oldest_open_ns.reset();
    earlier.flows[0].commands->oldest_open_ns.reset();
    EXPECT_EQ(difference(earlier, later).flows.size(), 0u);
}

}  // namespace
