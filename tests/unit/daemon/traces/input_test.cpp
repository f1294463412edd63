/// What a trace file says of processes reaches the book, once and as it changes.
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

#include "capture/trace/file.h"
#include "daemon/traces/trace_input.h"
#include "tests/unit/metrics/verbs/records.h"

namespace {

using namespace service;
using capture::trace::Process;
using verbs_test::change;
using verbs_test::to_init;

wire::trace::Record made_by(std::uint32_t process, std::int64_t time_ns) {
    wire::trace::Record out = change(time_ns, 5, to_init);
    out.process = process;
    return out;
}

std::string command_of(const metrics::verbs::TraceBook& book, std::uint32_t process) {
    std::string out = "no queue pair";
    book.for_each([&](metrics::verbs::TraceBook::Handle, const metrics::verbs::QueuePair& life) {
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
    auto writer = capture::trace::TraceFileWriter::open(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(std::vector{made_by(41, 1), made_by(42, 2)}, {first, second}));
    ASSERT_TRUE(writer->write(std::vector{made_by(41, 1000)}, {again, second}));
    ASSERT_TRUE(writer->close(0));

    std::string error;
    const auto input = open_trace_file(path, error);
    ASSERT_NE(input, nullptr) << error;
    metrics::verbs::TraceBook book;
    EXPECT_EQ(input->give(book, 10), "");
    EXPECT_EQ(command_of(book, 42), "ib_write_bw");
    EXPECT_EQ(input->give(book, end), "");
    EXPECT_EQ(command_of(book, 41), "ib_read_bw");
    EXPECT_EQ(command_of(book, 42), "ib_write_bw");
    EXPECT_EQ(book.records(), 3u);
}

}  // namespace
