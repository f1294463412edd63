// The log: what a line looks like, what is escaped, what is left out.
#include "daemon/log.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "daemon/line_limit.h"

namespace service {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr std::uint64_t log_second = 1'000'000'000;

/// What `work` writes to standard error.
template <class Work>
std::string logged(Work&& work) {
    testing::internal::CaptureStderr();
    work();
    return testing::internal::GetCapturedStderr();
}

TEST(LineLimit, passes_so_many_within_a_second) {
    LineLimit limit(3);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(limit.ask("a", 100 + i).passes);
    for (std::uint64_t i = 0; i < 5; ++i) EXPECT_FALSE(limit.ask("a", 200 + i).passes);
    EXPECT_TRUE(limit.ask("b", 300).passes);
    EXPECT_FALSE(limit.ask("a", 100 + log_second - 1).passes);
    const LineLimit::Answer next = limit.ask("a", 100 + log_second);
    EXPECT_TRUE(next.passes);
    EXPECT_EQ(next.left_out, 6U);
    EXPECT_EQ(limit.ask("a", 101 + log_second).left_out, 0U);
}

TEST(LineLimit, a_quiet_time_is_not_saved_up) {
    LineLimit limit(2);
    EXPECT_TRUE(limit.ask("a", 0).passes);
    unsigned passed = 0;
    for (std::uint64_t i = 0; i < 100; ++i) passed += limit.ask("a", 1000 * log_second + i).passes ? 1 : 0;
    EXPECT_EQ(passed, 2U);
}

TEST(LineLimit, tells_at_the_end_what_was_not_told) {
    LineLimit limit(1);
    limit.ask("quiet", 0);
    for (int i = 0; i < 4; ++i) limit.ask("loud", 0);
    ASSERT_EQ(limit.rest().size(), 1U);
    EXPECT_EQ(limit.rest().front().kind, "loud");
    EXPECT_EQ(limit.rest().front().left_out, 3U);
}

TEST(LineLimit, kinds_are_bounded) {
    LineLimit limit(1);
    unsigned passed = 0;
    for (unsigned i = 0; i < 10'000; ++i) passed += limit.ask("kind " + std::to_string(i), 5).passes ? 1 : 0;
    EXPECT_EQ(passed, LineLimit::max_kinds);
    EXPECT_EQ(limit.rest().size(), 1U);
}

TEST(LineLimit, a_new_limit_is_in_force_at_once) {
    LineLimit limit(1);
    limit.ask("a", 0);
    EXPECT_FALSE(limit.ask("a", 1).passes);
    limit.set_limit(2);
    EXPECT_TRUE(limit.ask("a", 2).passes);
}

TEST(Log, a_line_has_time_and_level) {
    ::unsetenv("JOURNAL_STREAM");
    const std::string lines = logged([] {
        Log log(Level::debug, 100);
        log.error("a", "first");
        log.warning("a", "second {} %s %v");
        log.info("a", "third");
        log.debug("a", "fourth");
    });
    const std::string time = "[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]Z ";
    EXPECT_THAT(lines, MatchesRegex(time + "error first\n" + time + "warning second \\{\\} %s %v\n" + time +
                                    "info third\n" + time + "debug fourth\n"));
}

TEST(Log, its_time_is_utc) {
    ::unsetenv("JOURNAL_STREAM");
    const char* zone = std::getenv("TZ");
    const std::string before = zone != nullptr ? zone : "";
    ::setenv("TZ", "XXX-13", 1);
    ::tzset();
    // time() may be a tick late compared with the clock that stamps lines.
    const auto now = [] { return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()); };
    const std::time_t from = now();
    const std::string line = logged([] { Log(Level::info, 10).info("a", "x"); });
    const std::time_t to = now();
    zone != nullptr ? ::setenv("TZ", before.c_str(), 1) : ::unsetenv("TZ");
    ::tzset();
    std::tm read{};
    ASSERT_NE(::strptime(line.c_str(), "%Y-%m-%dT%H:%M:%S", &read), nullptr) << line;
    EXPECT_GE(::timegm(&read), from);
    EXPECT_LE(::timegm(&read), to);
}

TEST(Log, the_journal_gets_priorities) {
    const auto write = [](bool matches) {
        return logged([matches] {
            struct stat file {};
            ASSERT_EQ(::fstat(STDERR_FILENO, &file), 0);
            ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", file.st_dev, file.st_ino + (matches ? 0 : 1)).c_str(), 1);
            Log log(Level::debug, 100);
            log.error("a", "first");
            log.warning("a", "second");
            log.info("a", "third");
            log.debug("a", "fourth");
        });
    };
    // syslog(3): LOG_ERR is 3, LOG_WARNING 4, LOG_INFO 6, LOG_DEBUG 7.
    EXPECT_EQ(write(true), "<3>first\n<4>second\n<6>third\n<7>fourth\n");
    // A daemon started by hand in a terminal of a service's own: the variable is there, its stream is not.
    EXPECT_THAT(write(false), HasSubstr("Z error first\n"));
    ::unsetenv("JOURNAL_STREAM");
}

TEST(Log, tells_what_its_level_says_and_counts_no_other) {
    const std::string lines = logged([] {
        Log log(Level::warning, 1);
        for (int i = 0; i < 10; ++i) log.info("a", "not told");
        log.warning("a", "told");
        log.set_level(Level::debug);
        log.debug("b", "told now");
    });
    EXPECT_THAT(lines, testing::Not(HasSubstr("not told")));
    EXPECT_THAT(lines, HasSubstr("warning told\n"));
    EXPECT_THAT(lines, HasSubstr("debug told now\n"));
    EXPECT_THAT(lines, testing::Not(HasSubstr("left out")));
}

TEST(Log, news_of_a_kind_does_not_leave_out_its_warnings) {
    const std::string lines = logged([] {
        Log log(Level::info, 2);
        for (int i = 0; i < 10; ++i) log.info("a", "news");
        log.warning("a", "a warning");
        log.error("a", "an error");
    });
    EXPECT_THAT(lines, HasSubstr("warning a warning"));
    EXPECT_THAT(lines, HasSubstr("error an error"));
    EXPECT_THAT(lines, HasSubstr("a: 8 more lines were left out"));
}

TEST(Log, what_comes_from_the_wire_stays_in_its_line) {
    const std::string lines = logged([] {
        Log(Level::info, 10).info("a", std::string_view("x\ny\x1b[31m\0z\x7f \xc2\x9b caf\xc3\xa9 \xff\r", 23));
    });
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
    EXPECT_THAT(lines, HasSubstr(R"(info x\ny\x1b[31m\x00z\x7f \xc2\x9b caf)"
                                 "\xc3\xa9"
                                 R"( \xff\x0d)"
                                 "\n"));
}

TEST(Log, a_line_is_bounded) {
    const std::string lines = logged([] { Log(Level::info, 10).info("a", std::string(1'000'000, 'x')); });
    EXPECT_LT(lines.size(), 5000U);
    EXPECT_THAT(lines, HasSubstr("xxx...\n"));
}

TEST(Log, what_was_left_out_is_said_at_the_end) {
    const std::string lines = logged([] {
        Log log(Level::info, 2);
        // However slow the machine: of 100'000 lines more than 2 fall into one second.
        for (int i = 0; i < 100'000; ++i) log.error("disk", "full");
    });
    std::uint64_t full = 0;
    std::uint64_t left_out = 0;
    for (std::size_t at = 0; (at = lines.find("error full", at)) != std::string::npos; ++at) ++full;
    for (std::size_t at = 0; (at = lines.find("full (", at)) != std::string::npos; ++at)
        left_out += std::stoull(lines.substr(at + 6));
    const std::size_t last = lines.find("warning disk: ");
    ASSERT_NE(last, std::string::npos) << lines;
    left_out += std::stoull(lines.substr(last + 14));
    EXPECT_EQ(full + left_out, 100'000U) << lines;
}

TEST(Log, threads_write_whole_lines) {
    const std::string lines = logged([] {
        Log log(Level::info, 1'000'000);
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([&log, thread] {
                for (int i = 0; i < 500; ++i) log.info("kind " + std::to_string(thread), "0123456789");
            });
        for (std::thread& each : threads) each.join();
    });
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2000);
    std::size_t whole = 0;
    for (std::size_t at = 0; (at = lines.find("Z info 0123456789\n", at)) != std::string::npos; ++at) ++whole;
    EXPECT_EQ(whole, 2000U);
}

TEST(FindLevel, knows_four) {
    EXPECT_EQ(find_level("error"), Level::error);
    EXPECT_EQ(find_level("warning"), Level::warning);
    EXPECT_EQ(find_level("info"), Level::info);
    EXPECT_EQ(find_level("debug"), Level::debug);
    for (const char* other : {"", "warn", "Error", "trace"}) EXPECT_FALSE(find_level(other)) << other;
}

}  // namespace
}  // namespace service
