/// What a trace file says of processes reaches the book, once and as it changes; what is recorded faster than anybody
/// reads holds up nobody.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "observe/trace_input.h"
#include "tests/unit/metrics/measure/posts/records.h"
#include "trace/file/trace_file.h"
#include "trace/ring/ring.h"

namespace {

using namespace observe;
using trace::Process;
using verbs_test::change;
using verbs_test::to_init;

wire::trace::Record made_by(std::uint32_t process, std::int64_t time_ns) {
    wire::trace::Record out = change(time_ns, 5, to_init);
    out.process = process;
    return out;
}

std::string command_of(const metrics::posts::QueuePairTable& book, std::uint32_t process) {
    std::string out = "no queue pair";
    book.for_each([&](metrics::posts::QueuePairTable::Handle, const metrics::posts::QueuePair& life) {
        if (life.process == process) out = book.figures(life).process.command;
    });
    return out;
}

class TraceFileInput : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path); }
    std::string path =
        (std::filesystem::temp_directory_path() / ("rdmascope-input-" + std::to_string(::getpid()))).string();
};

TEST_F(TraceFileInput, EveryProcessIsKnownByTheNameItHasThen) {
    constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
    const Process first{41, 1000, 100, "sh", "", {}};
    const Process second{42, 1000, 200, "ib_write_bw", "", {}};
    Process again = first;  // exec(2)
    again.command = "ib_read_bw";
    auto writer = trace::TraceFileWriter::open(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(std::vector{made_by(41, 1), made_by(42, 2)}, {first, second}));
    ASSERT_TRUE(writer->write(std::vector{made_by(41, 1000)}, {again, second}));
    ASSERT_TRUE(writer->close(0));

    auto opened = open_trace_file(path);
    ASSERT_TRUE(opened) << opened.error().text();
    const std::unique_ptr<TraceInput> input = std::move(opened).value();
    metrics::posts::QueuePairTable book;
    EXPECT_TRUE(input->read_until(10, book));
    EXPECT_EQ(command_of(book, 42), "ib_write_bw");
    EXPECT_TRUE(input->read_until(end, book));
    EXPECT_EQ(command_of(book, 41), "ib_read_bw");
    EXPECT_EQ(command_of(book, 42), "ib_write_bw");
    EXPECT_EQ(book.records(), 3u);
}

/// A program that never stops: of many threads, whose counts go up faster than anybody reads. What they record is there
/// from the beginning.
class NeverEndingTrace : public testing::Test {
protected:
    static constexpr std::uint32_t capacity = 1U << 16;
    static constexpr double records_per_ns = 0.02;

    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "rdmascope-endless-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
        ::setenv("RDMASCOPE_TRACE_DIR", folder.c_str(), 1);
        ASSERT_EQ(ring.open(folder.c_str(), capacity, 0), 0);
        for (int i = 0; i < 16; ++i) {
            lanes.push_back(ring.claim());
            ASSERT_NE(lanes.back(), nullptr);
            for (std::uint32_t n = 0; n < capacity; ++n) lanes.back()->put(verbs_test::post(1, 5, 7));
        }
        auto opened = open_live_trace({});
        ASSERT_TRUE(opened) << opened.error().text();
        input = std::move(opened).value();
        ASSERT_NE(input, nullptr);
        writer = std::jthread([this](const std::stop_token& stop) { go_on(stop); });
    }
    void TearDown() override {
        writer = {};
        ::unsetenv("RDMASCOPE_TRACE_DIR");
        std::filesystem::remove_all(folder);
    }
    void go_on(const std::stop_token& stop) {
        using Clock = std::chrono::steady_clock;
        const auto begun = Clock::now();
        const auto end = begun + std::chrono::seconds(120);
        for (std::uint64_t told = 0; !stop.stop_requested() && Clock::now() < end;) {
            const double since_ns = std::chrono::duration<double, std::nano>(Clock::now() - begun).count();
            for (const auto due = static_cast<std::uint64_t>(since_ns * records_per_ns); told < due; told += 16)
                for (trace::Lane* const lane : lanes) lane->publish();
        }
        gave_up = !stop.stop_requested();
    }

    std::filesystem::path folder;
    trace::Ring ring;  // its mapping outlives it, as in any program
    std::vector<trace::Lane*> lanes;
    std::unique_ptr<TraceInput> input;
    std::atomic<bool> gave_up = false;  ///< else the test would last for ever
    std::jthread writer;
    metrics::posts::QueuePairTable book;
};

TEST_F(NeverEndingTrace, ReadingEndsAndTheRestIsCountedAsLost) {
    EXPECT_TRUE(input->read_until(0, book));
    EXPECT_FALSE(gave_up) << "reading ended only with the program";
    const std::uint64_t first = book.records();
    EXPECT_GT(first, 0U);
    EXPECT_TRUE(input->read_until(0, book));
    EXPECT_EQ(book.records(), first) << "it is the packets' turn";
    input->at_leisure();
    EXPECT_TRUE(input->read_until(0, book));
    EXPECT_FALSE(gave_up);
    EXPECT_GT(book.records(), first) << "nobody else wants the time";
    EXPECT_GT(book.records_lost(), 0U);
}

TEST_F(NeverEndingTrace, TheLastReadingEndsToo) {
    EXPECT_TRUE(input->read_until(std::numeric_limits<std::int64_t>::max(), book));
    EXPECT_FALSE(gave_up);
    EXPECT_GT(book.records(), 0U);
}

}  // namespace
