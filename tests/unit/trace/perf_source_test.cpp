// Trace events of the running kernel: system calls that the test makes itself, so that it knows how many there are.
#include "trace/perf/perf_source.h"

#include <csignal>
#include <ctime>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "trace/kernel/kernel_events.h"
#include "trace/perf/tracefs.h"
#include "trace_events.h"

namespace trace {
namespace {

std::int64_t real_ns() {
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// System calls that do nothing, numbered by their argument.
void call(int first, int times) {
    for (int i = first; i < first + times; ++i) static_cast<void>(::syscall(SYS_getpgid, i));
}

class PerfSourceTest : public testing::Test {
protected:
    /// A record of every such call of this process, with its argument as wr_id; nullptr where the machine permits none.
    std::unique_ptr<PerfSource> open(PerfOptions options = {}) {
        const auto tracefs = Tracefs::find();
        if (!tracefs) return why_ = tracefs.error().text(), nullptr;
        auto format = Format::read(tracefs.value().format_path("syscalls:sys_enter_getpgid"));
        if (!format) return why_ = format.error().text(), nullptr;
        const Field argument = *format->find("pid");
        const Converter convert = [argument](const EventSample& sample, Record& into) {
            into.kind = RecordKind::post_send;
            into.work.id = Format::number(argument, sample.record).value_or(0);
            return true;
        };
        std::vector<PerfEvent> events;
        events.push_back({"syscalls:sys_enter_getpgid", std::move(*format), convert});
        auto source = PerfSource::open(std::move(events), options);
        if (!source) return why_ = source.error().text(), nullptr;
        return std::move(*source);
    }
    static std::vector<Record> read_all(PerfSource& source, std::size_t step = 64) {
        std::vector<Record> all;
        std::vector<Record> some(step);
        for (;;) {
            const TraceBatch batch = source.next(some, 60);
            if (batch.status != TraceStatus::records) return all;
            all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(batch.count));
        }
    }
    std::string why_;
};

TEST_F(PerfSourceTest, every_call_is_a_record_at_its_time) {
    const auto source = open({.process = ::getpid()});
    if (source == nullptr) GTEST_SKIP() << why_;
    const std::int64_t before = real_ns();
    call(1000, 500);
    const std::int64_t after = real_ns();
    const std::vector<Record> records = read_all(*source, 7);
    ASSERT_EQ(records.size(), 500U);
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].work.id, 1000 + i);
        EXPECT_EQ(records[i].process, static_cast<std::uint32_t>(::getpid()));
        EXPECT_EQ(records[i].thread, static_cast<std::uint32_t>(::gettid()));
        // The clocks' distance is measured to a fraction of what one reading takes.
        EXPECT_GE(records[i].time_ns, before - 2'000);
        EXPECT_LE(records[i].time_ns, after + 2'000);
        if (i > 0) {
            EXPECT_GE(records[i].time_ns, records[i - 1].time_ns);
        }
    }
    EXPECT_EQ(source->lost(), 0U);
    ASSERT_EQ(source->events().size(), 1U);
    EXPECT_EQ(source->events()[0].count, 500U);
    EXPECT_TRUE(source->events()[0].recorded);
}

TEST_F(PerfSourceTest, threads_made_later_are_followed_and_processors_merged) {
    const auto source = open({.process = ::getpid()});
    if (source == nullptr) GTEST_SKIP() << why_;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) threads.emplace_back(call, 10'000 * i, 200);
    for (std::thread& thread : threads) thread.join();
    const std::vector<Record> records = read_all(*source);
    ASSERT_EQ(records.size(), 1200U);
    std::map<std::uint32_t, std::uint64_t> next;  // by thread
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (i > 0) {
            EXPECT_GE(records[i].time_ns, records[i - 1].time_ns);
        }
        const auto [at, first] = next.emplace(records[i].thread, records[i].work.id);
        EXPECT_EQ(records[i].work.id, at->second++);
    }
    EXPECT_EQ(next.size(), 6U);
}

TEST_F(PerfSourceTest, what_a_slow_reader_loses_is_counted) {
    const auto source = open({.ring_octets = 4096, .process = ::getpid()});
    if (source == nullptr) GTEST_SKIP() << why_;
    // Each processor has a ring of its own: the last call must be where the losses were.
    cpu_set_t all;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    call(0, 5000);
    std::vector<Record> records = read_all(*source);
    call(0, 1);  // the kernel reports a loss with the next record that it can write
    for (const Record& record : read_all(*source)) records.push_back(record);
    ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
    std::uint64_t taken = 0;
    std::uint64_t lost = 0;
    for (const Record& record : records) {
        taken += record.kind == RecordKind::post_send ? 1 : 0;
        lost += record.kind == RecordKind::lost ? record.count : 0;
    }
    EXPECT_GT(lost, 0U);
    EXPECT_EQ(source->lost(), lost);
    EXPECT_EQ(taken + lost, 5001U);
}

TEST_F(PerfSourceTest, it_ends_with_the_process) {
    int gate[2] = {};
    ASSERT_EQ(::pipe(gate), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char go = 0;
        static_cast<void>(!::read(gate[0], &go, 1));
        call(7, 100);
        ::_exit(0);
    }
    const auto source = open({.process = child});
    ASSERT_EQ(::write(gate[1], "g", 1), 1);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(gate[0]);
    ::close(gate[1]);
    if (source == nullptr) GTEST_SKIP() << why_;
    call(0, 50);  // ours are not its
    std::vector<Record> records(1000);
    const TraceBatch batch = source->next(records, 1000);
    ASSERT_EQ(batch.status, TraceStatus::records);
    EXPECT_EQ(batch.count, 100U);
    EXPECT_EQ(records[99].work.id, 106U);
    EXPECT_EQ(source->next(records, 1000).status, TraceStatus::end);
    EXPECT_EQ(source->next(records, 1000).status, TraceStatus::end);
}

TEST_F(PerfSourceTest, a_listener_hears_what_is_no_record) {
    std::vector<std::string> heard;
    PerfOptions options{.process = ::getpid()};
    options.listener = [&](const EventSample&, std::string_view name, std::string_view text) {
        heard.push_back(std::string(name) + " " + std::string(text));
    };
    KernelTraceOptions kernel{.events = {"syscalls:sys_enter_getpgi?"}, .perf = options};
    const auto source = open_kernel_trace(kernel);
    if (!source.ok()) GTEST_SKIP() << source.error().text();
    call(4321, 1);
    std::vector<Record> records(10);
    EXPECT_EQ((*source.value()).next(records, 60).status, TraceStatus::timeout);
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_NE(heard[0].find("syscalls:sys_enter_getpgid "), std::string::npos);
    EXPECT_NE(heard[0].find(" pid=4321"), std::string::npos) << heard[0];
    EXPECT_FALSE((*source.value()).events()[0].recorded);
}

TEST(Tracefs, what_is_missing_is_said) {
    const auto nowhere = Tracefs::find("/nonexistent");
    ASSERT_FALSE(nowhere.ok());
    EXPECT_NE(nowhere.error().text().find("mount -t tracefs"), std::string::npos);
    const auto kernel = open_kernel_trace({.events = {"no_such_group"}, .tracefs = {}, .perf = {}});
    ASSERT_FALSE(kernel.ok());
    if (Tracefs::find().ok()) {
        EXPECT_NE(kernel.error().text().find("no event `no_such_group`"), std::string::npos);
        EXPECT_TRUE(kernel.error().text().find("modprobe rdma_cm") != std::string::npos ||
                    kernel.error().text().find("has the groups") != std::string::npos);
    }
}

TEST(Tracefs, events_are_found_by_pattern) {
    std::string root = testing::TempDir() + "rdmascope-tracefs-XXXXXX";
    ASSERT_NE(::mkdtemp(root.data()), nullptr);
    for (const char* event : {"rdma_core/cq_poll", "rdma_core/cq_free", "rdma_cma/cm_qp_create", "sched/sched_switch"})
        std::filesystem::create_directories(root + "/events/" + event);
    std::ofstream(root + "/events/rdma_core/enable") << "0\n";
    const auto tracefs = Tracefs::find(root);
    ASSERT_TRUE(tracefs.ok());
    using Names = std::vector<std::string>;
    EXPECT_EQ(tracefs.value().events({"rdma_core"}), (Names{"rdma_core:cq_free", "rdma_core:cq_poll"}));
    EXPECT_EQ(tracefs.value().events({"rdma_*:c?_p*", "sched:*"}), (Names{"rdma_core:cq_poll", "sched:sched_switch"}));
    EXPECT_EQ(tracefs.value().events(rdma_event_groups()).size(), 3U);
    EXPECT_EQ(tracefs.value().format_path("rdma_core:cq_poll"), root + "/events/rdma_core/cq_poll/format");
    const auto refused = tracefs.value().change_uprobes("p:x/y z");
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("CONFIG_UPROBE_EVENTS"), std::string::npos);
    std::filesystem::remove_all(root);
}

TEST_F(PerfSourceTest, a_process_that_is_not_there) {
    const auto source = open({.process = 0x3fffffff});
    EXPECT_EQ(source, nullptr);
    if (why_.find("1073741823") == std::string::npos) GTEST_SKIP() << why_;
    EXPECT_NE(why_.find("no such process"), std::string::npos) << why_;
}

}  // namespace
}  // namespace trace
