// Probes of this very program, hit by a child of the test: what the kernel delivers is what was passed to them.
#include "trace/uprobe/probe_source.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probed.h"

namespace trace {
namespace {

class ProbeSourceTest : public testing::Test {
protected:
    /// The probes of this program whose names begin so, in `process`; nullptr where the machine permits none.
    std::unique_ptr<ProbeSource> open(const std::string& begin, int process) {
        if (!test::has_probes()) return why_ = "built without <sys/sdt.h>", nullptr;
        const auto file = base::ElfFile::open(std::filesystem::read_symlink("/proc/self/exe"));
        if (!file.ok()) return why_ = file.error().text(), nullptr;
        const auto probes = read_usdt_probes(file.value());
        std::vector<ProbePoint> points;
        for (const UsdtProbe& probe : probes.value())
            if ((probe.provider + ":" + probe.name).starts_with(begin))
                points.push_back(point_of(probe, file.value(), warnings_));
        ProbeOptions options;
        options.perf.process = process;
        options.perf.listener = [this](const EventSample&, std::string_view name, std::string_view text) {
            heard_.push_back(std::string(name) + " " + std::string(text));
        };
        auto source = ProbeSource::open(points, options);
        if (!source.ok()) return why_ = source.error().text(), nullptr;
        return std::move(source.value());
    }
    /// Runs `work` in a child once the probes that begin so are there; its records.
    template <class Work>
    std::vector<Record> trace(const std::string& begin, Work work) {
        int gate[2] = {};
        if (::pipe(gate) != 0) return {};
        const pid_t child = ::fork();
        if (child == 0) {
            char go = 0;
            static_cast<void>(!::read(gate[0], &go, 1));
            ::_exit(work());
        }
        source_ = open(begin, child);
        static_cast<void>(!::write(gate[1], "g", 1));
        ::waitpid(child, &status_, 0);
        ::close(gate[0]);
        ::close(gate[1]);
        std::vector<Record> all;
        std::vector<Record> some(100);
        while (source_ != nullptr) {
            const TraceBatch batch = source_->next(some, 500);
            if (batch.status != TraceStatus::records) break;
            all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(batch.count));
        }
        return all;
    }
    std::vector<std::string> warnings_ = {};
    std::vector<std::string> heard_ = {};
    std::unique_ptr<ProbeSource> source_ = nullptr;
    std::string why_ = {};
    int status_ = -1;
};

TEST_F(ProbeSourceTest, arguments_come_as_they_were_passed) {
    trace("scopetest:values", [] {
        for (std::uint32_t i = 0; i < 3; ++i)
            test::hit_values(
                {4'000'000'000U + i, static_cast<std::int16_t>(-2 - static_cast<int>(i)), (1ULL << 63) + i});
        return 0;
    });
    if (source_ == nullptr) GTEST_SKIP() << why_;
    EXPECT_TRUE(warnings_.empty()) << warnings_[0];
    // Constants are no fields: 5 and -7 cost nothing to know.
    EXPECT_EQ(heard_, (std::vector<std::string>{"scopetest:values a1=4000000000 a2=-2 a3=9223372036854775808",
                                                "scopetest:values a1=4000000001 a2=-3 a3=9223372036854775809",
                                                "scopetest:values a1=4000000002 a2=-4 a3=9223372036854775810"}));
    ASSERT_EQ(source_->events().size(), 1U);
    EXPECT_EQ(source_->events()[0].count, 3U);
    EXPECT_FALSE(source_->events()[0].recorded);
}

TEST_F(ProbeSourceTest, a_semaphore_is_raised) {
    trace("scopetest:guarded", [] { return test::hit_guarded(77) ? 3 : 4; });
    if (source_ == nullptr) GTEST_SKIP() << why_;
    EXPECT_EQ(WEXITSTATUS(status_), 3);
    EXPECT_EQ(heard_, std::vector<std::string>{"scopetest:guarded a1=77"});
    source_.reset();
    EXPECT_FALSE(test::hit_guarded(78)) << "it is lowered again";
}

TEST_F(ProbeSourceTest, the_stacks_probes_are_records) {
    const std::vector<Record> records = trace("rdmascope:", [] {
        test::hit_post(21, 0xfedcba9876543210, 0, 4096);
        test::hit_post(21, 7, 6, 8);
        test::hit_completion(21, 0xfedcba9876543210, 0, 0, 0);
        test::hit_completion(22, 8, 3, 8, 64);
        test::hit_completion(22, 9, 200, 200, 0);
        return 0;
    });
    if (source_ == nullptr) GTEST_SKIP() << why_;
    ASSERT_EQ(records.size(), 5U);
    EXPECT_EQ(records[0].kind, RecordKind::post_send);
    EXPECT_EQ(records[0].number, 21U);
    EXPECT_EQ(records[0].work.id, 0xfedcba9876543210);
    EXPECT_EQ(records[0].work.opcode, 2);  // IBV_WR_SEND
    EXPECT_EQ(records[0].work.bytes, 4096U);
    EXPECT_EQ(records[1].work.opcode, 5);  // IBV_WR_ATOMIC_CMP_AND_SWP
    EXPECT_EQ(records[2].kind, RecordKind::completion);
    EXPECT_EQ(records[2].work.status, 0);
    EXPECT_EQ(records[2].work.opcode, 0);    // IBV_WC_SEND
    EXPECT_EQ(records[3].work.status, 5);    // IBV_WC_WR_FLUSH_ERR
    EXPECT_EQ(records[3].work.opcode, 128);  // IBV_WC_RECV
    EXPECT_EQ(records[3].work.flags, Flag::receive);
    EXPECT_EQ(records[3].work.bytes, 64U);
    EXPECT_EQ(records[4].work.status, 19) << "a number that the stack does not have: IBV_WC_FATAL_ERR";
    EXPECT_TRUE(source_->events()[0].recorded);
}

TEST_F(ProbeSourceTest, definitions_go_with_the_source_and_those_left_behind_with_the_next) {
    const auto tracefs = Tracefs::find();
    if (!tracefs.ok()) GTEST_SKIP() << tracefs.error().text();
    const auto defined = [&] {
        std::ifstream file(tracefs.value().root() + "/uprobe_events");
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const std::string ours = "rdmascope_" + std::to_string(::getpid()) + "_";
    source_ = open("scopetest:guarded", ::getpid());
    if (source_ == nullptr) GTEST_SKIP() << why_;
    EXPECT_NE(defined().find(ours), std::string::npos);
    source_.reset();
    EXPECT_EQ(defined().find(ours), std::string::npos);

    // Looked at while the child lives: once it is dead, any tracer of this machine may tidy up after it.
    int ready[2] = {};
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto abandoned = open("scopetest:guarded", 0);
        static_cast<void>(!::write(ready[1], "r", 1));
        ::pause();
        ::_exit(0);
    }
    char go = 0;
    ASSERT_EQ(::read(ready[0], &go, 1), 1);
    const std::string theirs = "rdmascope_" + std::to_string(child) + "_";
    EXPECT_NE(defined().find(theirs), std::string::npos);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    source_ = open("scopetest:guarded", ::getpid());
    EXPECT_EQ(defined().find(theirs), std::string::npos);
}

TEST(ProbeErrors, say_which_probe_and_why) {
    const auto none = ProbeSource::open({}, {});
    ASSERT_FALSE(none.ok());
    const auto missing = ProbeSource::open({{.name = "x:y", .path = "/nonexistent", .offset = 1}}, {});
    ASSERT_FALSE(missing.ok());
    if (!Tracefs::find().ok()) GTEST_SKIP() << missing.error().text();
    EXPECT_NE(missing.error().text().find("/nonexistent: No such file"), std::string::npos) << missing.error().text();
    const auto wrong = ProbeSource::open(
        {{.name = "x:y", .path = "/proc/self/exe", .offset = 64, .fetch = {{"a1", "%nothing:u32"}}}}, {});
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().text().find("x:y of /proc/self/exe"), std::string::npos) << wrong.error().text();
}

}  // namespace
}  // namespace trace
