// Time of a connection by state, on schedules by chance. What is expected is found a second way: each step of time by
// itself, from the whole schedule.
#include "upper/connection_time.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

using upper::CommandParts;
using upper::ConnectionTime;
using upper::IoState;

constexpr std::int64_t step_ns = 25'000;  ///< a quarter of the least time of an initiator that waits for room
constexpr std::int64_t begin_ns = 1'700'000'000'000'000'000;

struct PlannedCommand {
    std::int64_t asked = 0;               ///< all in steps
    std::array<std::int64_t, 5> parts{};  ///< request, target, data, target, response
    std::int64_t answered() const { return std::accumulate(parts.begin(), parts.end(), asked); }
};

struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool has(std::int64_t at) const { return begin <= at && at < end; }
};

struct CommandSchedule {
    std::int64_t limit = 1;
    std::vector<PlannedCommand> commands;  ///< by the times of their requests, no two at the same time as another event
    std::vector<Interval> repairs;
};

CommandSchedule schedule_by_chance(unsigned seed) {
    std::mt19937 engine(seed);
    const auto between = [&engine](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
    };
    CommandSchedule out;
    out.limit = between(1, 4);
    // Requests are at even steps, responses at odd ones.
    std::int64_t at = 0;
    while (out.commands.size() < 40) {
        const auto open =
            std::ranges::count_if(out.commands, [at](const PlannedCommand& one) { return one.answered() > at; });
        if (open < out.limit && between(0, 2) == 0) {
            PlannedCommand one;
            one.asked = at;
            for (std::int64_t& part : one.parts) part = between(0, 9);
            if (one.answered() % 2 == 0) ++one.parts[4];
            const bool is_shared = std::ranges::any_of(
                out.commands, [&one](const PlannedCommand& other) { return other.answered() == one.answered(); });
            if (!is_shared) out.commands.push_back(one);
        }
        at += between(0, 9) == 0 ? 60 : 2;
    }
    for (int i = 0; i < 6; ++i) {
        const std::int64_t from = between(0, at);
        out.repairs.push_back({from, from + between(1, 30)});
    }
    return out;
}

/// Times at the limit after which the next request came soon enough.
std::vector<Interval> times_held_up(const CommandSchedule& schedule) {
    std::vector<Interval> out;
    std::vector<std::pair<std::int64_t, const PlannedCommand*>> events;
    for (const PlannedCommand& one : schedule.commands) {
        events.emplace_back(one.asked, &one);
        events.emplace_back(one.answered(), &one);
    }
    std::ranges::sort(events);
    std::int64_t open = 0;
    Interval span;
    bool is_unsure = false;
    std::int64_t until_ns = 0;
    for (const auto& [at, command] : events) {
        if (at == command->asked) {
            if (is_unsure && at * step_ns <= until_ns) out.push_back(span);
            is_unsure = false;
            if (++open == schedule.limit) span.begin = at;
        } else if (open-- == schedule.limit) {
            span.end = at;
            is_unsure = true;
            until_ns = at * step_ns + std::max<std::int64_t>(100'000, (at - command->asked) * step_ns / 8);
        }
    }
    return out;
}

IoState phase_of(const PlannedCommand& command, std::int64_t at) {
    constexpr std::array states{IoState::request, IoState::target, IoState::data, IoState::target, IoState::response};
    std::int64_t end = command.asked;
    std::size_t part = 0;
    while (at >= end) end += command.parts[part++];
    return states[part - 1];
}

std::array<std::uint64_t, upper::io_state_count> expected_of(const CommandSchedule& schedule) {
    std::array<std::uint64_t, upper::io_state_count> out{};
    const std::vector<Interval> held_up = times_held_up(schedule);
    std::int64_t end = 0;
    for (const PlannedCommand& one : schedule.commands) end = std::max(end, one.answered());
    const auto holds = [](const std::vector<Interval>& spans, std::int64_t at) {
        return std::ranges::any_of(spans, [at](const Interval& span) { return span.has(at); });
    };
    for (std::int64_t at = schedule.commands.front().asked; at < end; ++at) {
        const auto oldest = std::ranges::find_if(
            schedule.commands, [at](const PlannedCommand& one) { return one.asked <= at && at < one.answered(); });
        IoState state = IoState::host;
        if (oldest != schedule.commands.end())
            state = holds(schedule.repairs, at) ? IoState::repair
                    : holds(held_up, at)        ? IoState::limit
                                                : phase_of(*oldest, at);
        out[static_cast<std::size_t>(state)] += static_cast<std::uint64_t>(step_ns);
    }
    return out;
}

/// Requests and responses in their order; commands are added in the order of requests, as soon as they are answered.
class TimeReplay {
public:
    explicit TimeReplay(const CommandSchedule& schedule) : schedule_(schedule) {
        for (const Interval& span : schedule.repairs) {
            upper::Repair& repair = repairs_.begin(time_of(span.begin));
            repair.end_ns = time_of(span.end);
            repair.is_sure = true;
        }
    }
    void run() {
        std::int64_t end = 0;
        for (const PlannedCommand& one : schedule_.commands) end = std::max(end, one.answered());
        for (std::int64_t at = 0; at <= end; ++at)
            for (const PlannedCommand& one : schedule_.commands) {
                if (one.asked == at) ask(at);
                if (one.answered() == at) answer(one, at);
            }
        time.end(time_of(end), repairs_);
        take_host_times();
        check();
    }

    ConnectionTime time;
    std::vector<std::uint64_t> host_ns;

private:
    static std::int64_t time_of(std::int64_t at) { return begin_ns + at * step_ns; }

    void ask(std::int64_t at) {
        time.ask(time_of(at), repairs_);
        if (++open_ >= schedule_.limit && !time.is_at_limit()) time.reach_limit(time_of(at));
        check();
    }
    void answer(const PlannedCommand& command, std::int64_t at) {
        --open_;
        if (time.is_at_limit() && open_ < schedule_.limit)
            time.leave_limit(time_of(at), static_cast<std::uint64_t>((at - command.asked) * step_ns), repairs_);
        for (; added_ < schedule_.commands.size() && schedule_.commands[added_].answered() <= at; ++added_) {
            const PlannedCommand& one = schedule_.commands[added_];
            CommandParts parts;
            for (std::size_t i = 0; i < parts.ns.size(); ++i)
                parts.ns[i] = static_cast<std::uint64_t>(one.parts[i] * step_ns);
            time.add(time_of(one.asked), parts, repairs_);
            check();
        }
        take_host_times();
    }
    void take_host_times() {
        while (const auto ns = time.take_host_next_ns()) host_ns.push_back(*ns);
    }
    void check() const {
        const auto sum = std::accumulate(time.state_ns().begin(), time.state_ns().end(), std::uint64_t{0});
        const auto wall = time.first_ns() ? static_cast<std::uint64_t>(time.last_ns() - *time.first_ns()) : 0;
        EXPECT_EQ(sum, wall);
    }

    const CommandSchedule& schedule_;
    upper::Repairs repairs_;
    std::int64_t open_ = 0;
    std::size_t added_ = 0;
};

TEST(ConnectionTime, sums_to_the_time_on_schedules_by_chance) {
    std::array<std::uint64_t, upper::io_state_count> all{};
    for (unsigned seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        const CommandSchedule schedule = schedule_by_chance(seed);
        TimeReplay replay(schedule);
        replay.run();
        const auto expected = expected_of(schedule);
        EXPECT_EQ(replay.time.state_ns(), expected);
        EXPECT_EQ(std::accumulate(replay.host_ns.begin(), replay.host_ns.end(), std::uint64_t{0}),
                  expected[static_cast<std::size_t>(IoState::host)]);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] += expected[i];
        if (HasFailure()) return;
    }
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_GT(all[i], 0u) << name_of(static_cast<IoState>(i));
}

/// Times in any order, as a damaged file may have them.
TEST(ConnectionTime, sums_to_the_time_whatever_the_order) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 engine(seed);
        const auto between = [&engine](std::int64_t least, std::int64_t most) {
            return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
        };
        ConnectionTime time;
        upper::Repairs repairs;
        for (int i = 0; i < 500; ++i) {
            const std::int64_t at = between(-1000, 1000) * 1000;
            switch (between(0, 4)) {
                case 0: time.reach_limit(at); break;
                case 1: time.leave_limit(at, static_cast<std::uint64_t>(between(0, 1'000'000)), repairs); break;
                case 2: time.ask(at, repairs); break;
                case 3: {
                    upper::Repair& repair = repairs.begin(at);
                    repair.end_ns = at + between(-10, 100'000);
                    repair.is_sure = true;
                    break;
                }
                default: {
                    CommandParts parts;
                    for (std::uint64_t& part : parts.ns) part = static_cast<std::uint64_t>(between(0, 50'000));
                    time.add(at, parts, repairs);
                }
            }
        }
        time.end(0, repairs);
        ASSERT_TRUE(time.first_ns());
        EXPECT_EQ(std::accumulate(time.state_ns().begin(), time.state_ns().end(), std::uint64_t{0}),
                  static_cast<std::uint64_t>(time.last_ns() - *time.first_ns()));
    }
}

}  // namespace
