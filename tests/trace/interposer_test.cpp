// What the interposer records of programs, against what the programs say they did.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/core.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/unit/trace/folder.h"
#include "trace/ring/rings.h"

namespace trace {

namespace {

using Lines = std::vector<std::string>;
/// By queue: what was done with it, in this order.
using ByQueue = std::map<std::uint32_t, Lines>;

std::string without_last_word(const std::string& line) { return line.substr(0, line.rfind(' ')); }

/// A record in the words of the programs; empty for what they do not tell of.
std::string line_of(const Record& record) {
    const WorkRequest& work = record.work;
    switch (record.kind) {
        case RecordKind::post_send:
        case RecordKind::post_receive: {
            const bool shared = (work.flags & Flag::shared) != 0;
            return fmt::format("{} {} {} {} {} {} {} {} {}",
                               record.kind == RecordKind::post_send ? "send"
                               : shared                             ? "srq"
                                                                    : "receive",
                               record.number, work.id, work.opcode, work.bytes, work.status == 0 ? work.pieces : 0,
                               work.flags, work.status, work.of);
        }
        case RecordKind::completion:
            return fmt::format("done {} {} {} {} {} {} {}", record.number, work.id,
                               work.status == 0 ? static_cast<int>(work.opcode) : -1, work.bytes, work.status,
                               (work.flags & Flag::receive) != 0 ? 1 : 0, work.of);
        case RecordKind::poll_empty: return fmt::format("empty {}", record.number);
        case RecordKind::queue_pair:
            if (record.change.state == 0) return fmt::format("pair {} {}", record.number, record.change.send_capacity);
            if (record.change.state == 255) return fmt::format("gone {}", record.number);
            return {};
        default: return {};
    }
}

ByQueue said(const std::string& output) {
    ByQueue result;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string what;
        std::uint32_t number = 0;
        words >> what >> number;
        result[number].push_back(line);
    }
    return result;
}

ByQueue recorded(const std::vector<Record>& records) {
    ByQueue result;
    for (const Record& record : records)
        if (std::string line = line_of(record); !line.empty()) result[record.number].push_back(std::move(line));
    return result;
}

/// Lines of completions whose kind the program cannot expect anybody to know: `done NUMBER ID -1 0 STATUS -1 OF`.
bool is_same(const std::string& said, const std::string& recorded) {
    if (said == recorded) return true;
    const std::string open = said.substr(0, said.find_last_of(' '));
    if (!said.starts_with("done ") || !open.ends_with(" -1")) return false;
    const auto without_kind = [](const std::string& line) {
        const std::string most = without_last_word(line);
        return without_last_word(most) + line.substr(most.size());
    };
    return without_kind(said) == without_kind(recorded);
}

void expect_same(const ByQueue& said, const ByQueue& recorded) {
    ASSERT_FALSE(said.empty());
    for (const auto& [number, lines] : said) {
        const auto found = recorded.find(number);
        ASSERT_NE(found, recorded.end()) << "nothing of queue " << number;
        const Lines& have = found->second;
        for (std::size_t i = 0; i < std::min(lines.size(), have.size()); ++i)
            ASSERT_TRUE(is_same(lines[i], have[i]))
                << "line " << i << "\nsaid:     " << lines[i] << "\nrecorded: " << have[i];
        EXPECT_EQ(lines.size(), have.size()) << "queue " << number;
    }
    EXPECT_EQ(said.size(), recorded.size());
}

/// A traced program that runs.
class Traced {
public:
    struct Output {
        std::string said;
        std::string complaints;
        int status = 0;
    };
    Traced(
        const std::string& folder, Lines command, std::uint32_t records = 1U << 16,
        const std::function<void()>& in_child = [] {}) {
        int out[2];
        int complaints[2];
        if (pipe(out) != 0 || pipe(complaints) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            dup2(out[1], STDOUT_FILENO);
            dup2(complaints[1], STDERR_FILENO);
            for (const int end : {out[0], out[1], complaints[0], complaints[1]}) close(end);
            setenv("LD_PRELOAD", RDMASCOPE_INTERPOSER, 1);
            setenv(layout::variable::directory, folder.c_str(), 1);
            setenv(layout::variable::records, std::to_string(records).c_str(), 1);
            in_child();
            std::vector<char*> words;
            for (std::string& word : command) words.push_back(word.data());
            words.push_back(nullptr);
            execv(words[0], words.data());
            _exit(127);
        }
        close(out[1]);
        close(complaints[1]);
        readers_[0] = std::thread([this, end = out[0]] { read_all(end, output_.said); });
        readers_[1] = std::thread([this, end = complaints[0]] { read_all(end, output_.complaints); });
    }
    ~Traced() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            wait();
        }
    }
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

    pid_t pid() const { return pid_; }
    const Output& wait() {
        waitpid(pid_, &output_.status, 0);
        pid_ = -1;
        for (std::thread& reader : readers_) reader.join();
        return output_;
    }

private:
    static void read_all(int end, std::string& to) {
        std::array<char, 65536> piece{};
        for (ssize_t got = 0; (got = read(end, piece.data(), piece.size())) > 0;)
            to.append(piece.data(), static_cast<std::size_t>(got));
        close(end);
    }
    pid_t pid_ = -1;
    std::thread readers_[2];
    Output output_;
};

class InterposerTest : public ::testing::Test {
protected:
    /// All that is in the rings, to the end of those whose processes have ended.
    std::vector<Record> drain() {
        rings_.look_again();
        std::vector<Record> all;
        std::vector<Record> some(10000);
        for (std::size_t count = 0; (count = rings_.next(some)) > 0;)
            all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
        return all;
    }
    const Traced::Output& finished(Traced& program) {
        const Traced::Output& output = program.wait();
        EXPECT_EQ(output.status, 0);
        return output;
    }
    static Lines program(const std::string& mode, unsigned count) {
        return {RDMASCOPE_PROGRAM, mode, std::to_string(count)};
    }
    static std::size_t count(const std::vector<Record>& records, RecordKind kind) {
        return static_cast<std::size_t>(std::ranges::count(records, kind, &Record::kind));
    }

    test::Folder folder_;
    Rings rings_{{folder_.path()}};
};

TEST_F(InterposerTest, ThreadsOnTwoDevicesRecordByRecord) {
    Traced traced(folder_.path(), program("threads", 6000));
    const Traced::Output& output = finished(traced);
    EXPECT_EQ(output.complaints, "");
    const auto records = drain();
    EXPECT_EQ(rings_.lost(), 0U);
    const ByQueue truth = said(output.said);
    EXPECT_EQ(truth.size(), 4U);
    expect_same(truth, recorded(records));
    EXPECT_GT(count(records, RecordKind::post_send), 20000U);
    EXPECT_GT(count(records, RecordKind::poll_empty), 100U);
    std::set<std::uint32_t> threads;
    std::map<std::uint32_t, std::set<unsigned>> devices;
    std::int64_t last_ns = 0;
    for (const Record& record : records) {
        threads.insert(record.thread);
        devices[record.number].insert(record.device);
        EXPECT_GE(record.time_ns, last_ns);
        last_ns = record.time_ns;
    }
    EXPECT_EQ(threads.size(), 4U);
    for (const auto& [number, of] : devices) EXPECT_EQ(of.size(), 1U) << number;
    ASSERT_EQ(rings_.processes().size(), 1U);
    EXPECT_EQ(rings_.processes()[0].devices, (Lines{"fake0", "fake1"}));
    EXPECT_EQ(rings_.processes()[0].command, std::string(RDMASCOPE_PROGRAM) + " threads 6000");
    EXPECT_EQ(folder_.files(), 0U) << "the ring of a process that has ended is removed";
}

TEST_F(InterposerTest, ExtendedVerbs) {
    Traced traced(folder_.path(), program("extended", 500));
    const Traced::Output& output = finished(traced);
    const auto records = drain();
    expect_same(said(output.said), recorded(records));
    for (const Record& record : records)
        if (record.kind == RecordKind::post_send && record.work.opcode == 0 /* IBV_WR_RDMA_WRITE */) {
            EXPECT_EQ(record.work.remote_address, 4096 * record.work.id);
            EXPECT_EQ(record.work.remote_key, 9U);
        }
}

TEST_F(InterposerTest, SharedQueuesWindowsStatesAndConnections) {
    Traced traced(folder_.path(), program("objects", 1));
    const Traced::Output& output = finished(traced);
    const auto records = drain();
    expect_same(said(output.said), recorded(records));
    std::vector<Record> changes;
    std::vector<Record> connections;
    for (const Record& record : records) {
        if (record.kind == RecordKind::queue_pair) changes.push_back(record);
        if (record.kind == RecordKind::connection) connections.push_back(record);
    }
    ASSERT_EQ(changes.size(), 8U) << "made, ready to receive, ready to send, gone; on two devices";
    const QueuePairChange& ready = changes[2].change;
    EXPECT_EQ(ready.state, 3U /* IBV_QPS_RTS */);
    EXPECT_EQ(ready.type, 2U /* IBV_QPT_RC */);
    EXPECT_EQ(ready.peer_number, 0x4711U);
    EXPECT_EQ(ready.peer_lid, 12U);
    EXPECT_EQ(ready.port, 1U);
    EXPECT_EQ(ready.gid_index, 3U);
    EXPECT_THAT(ready.peer_gid, ::testing::Each(0xab));
    EXPECT_EQ(ready.send_capacity, 128U) << "as granted";
    EXPECT_EQ(ready.shared_receive_queue, 41U);
    ASSERT_EQ(connections.size(), 2U);
    const ConnectionChange& connection = connections[0].connection;
    EXPECT_EQ(connections[0].number, changes[0].number);
    EXPECT_EQ(connection.event, 9U /* RDMA_CM_EVENT_ESTABLISHED */);
    EXPECT_EQ(connection.family, 4U) << "a mapped address is IPv4";
    EXPECT_THAT(std::vector<int>(connection.local.begin(), connection.local.begin() + 4),
                ::testing::ElementsAre(192, 0, 2, 1));
    EXPECT_THAT(std::vector<int>(connection.peer.begin(), connection.peer.begin() + 4),
                ::testing::ElementsAre(192, 0, 2, 9));
    EXPECT_EQ(connection.local_port, 4711U);
    EXPECT_EQ(connection.peer_port, 18515U);
}

TEST_F(InterposerTest, AChildHasARingOfItsOwn) {
    Traced traced(folder_.path(), program("fork", 2000));
    const auto parent = static_cast<std::uint32_t>(traced.pid());
    const Traced::Output& output = finished(traced);
    const auto records = drain();
    expect_same(said(output.said), recorded(records));
    std::map<std::uint32_t, std::set<std::uint32_t>> processes;
    for (const Record& record : records) processes[record.number].insert(record.process);
    ASSERT_EQ(processes.size(), 2U);
    EXPECT_EQ(processes.begin()->second, std::set<std::uint32_t>{parent});
    EXPECT_FALSE(processes.rbegin()->second.contains(parent));
    EXPECT_EQ(processes.rbegin()->second.size(), 1U);
    ASSERT_EQ(rings_.processes().size(), 2U);
    EXPECT_EQ(rings_.processes()[1].devices, (Lines{"fake0", "fake1"})) << "numbers are those of the parent";
    EXPECT_EQ(folder_.files(), 0U);
}

TEST_F(InterposerTest, AProgramWithoutVerbsLeavesNothing) {
    Traced traced(folder_.path(), {"/bin/sh", "-c", "echo hello; ls / >/dev/null"});
    EXPECT_EQ(finished(traced).said, "hello\n");
    Traced other(folder_.path(), program("nothing", 0));
    EXPECT_EQ(finished(other).said, "");
    EXPECT_EQ(folder_.files(), 0U);
}

TEST_F(InterposerTest, ThreadsThatEndGiveTheirLanesBack) {
    // 30 threads at a time, 4 times: more than there are lanes.
    Traced traced(folder_.path(), program("short-threads", 4), 1U << 14);
    const Traced::Output& output = finished(traced);
    const auto records = drain();
    EXPECT_EQ(rings_.lost(), 0U);
    EXPECT_EQ(said(output.said).size(), 120U);
    expect_same(said(output.said), recorded(records));
}

TEST_F(InterposerTest, MoreThreadsThanLanesLoseRecordsAndAreCounted) {
    constexpr unsigned threads = 100;
    Traced traced(folder_.path(), program("many-threads", threads), 1U << 10);
    const Traced::Output& output = finished(traced);
    EXPECT_EQ(said(output.said).size(), threads);
    const auto records = drain();
    std::uint64_t told_lost = 0;
    for (const Record& record : records)
        if (record.kind == RecordKind::lost) told_lost += record.count;
    // Each thread does one thing that is recorded, and none ends before all have.
    EXPECT_EQ(count(records, RecordKind::queue_pair), 64U);
    EXPECT_EQ(told_lost, threads - 64U);
    EXPECT_EQ(rings_.lost(), told_lost);
}

TEST_F(InterposerTest, ASlowReaderLosesTheOldestAndAKilledProgramIsReadToItsEnd) {
    Traced traced(folder_.path(), program("for-ever", 1), 1U << 12);
    while (rings_.processes().empty()) {
        rings_.look_again();
        std::array<Record, 10> some;
        rings_.next(some);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::vector<Record> records = drain();
    EXPECT_GT(rings_.lost(), 0U) << "nobody read for longer than the ring lasts";
    kill(traced.pid(), SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(traced.wait().status));
    const auto rest = drain();
    records.insert(records.end(), rest.begin(), rest.end());
    EXPECT_EQ(folder_.files(), 0U);
    // Ids are counted up by the program; where some are missing, the stream says how many.
    std::uint64_t expected = 0;
    bool first = true;
    std::size_t posts = 0;
    std::uint64_t gap = 0;
    for (const Record& record : records) {
        if (record.kind == RecordKind::lost) gap += record.count;
        if (record.kind != RecordKind::post_send) continue;
        if (!first) {
            ASSERT_EQ(record.work.id, expected + gap) << "after " << posts << " posts";
        }
        expected = record.work.id + 1;
        gap = 0;
        first = false;
        ++posts;
    }
    EXPECT_GT(posts, 1000U);
}

TEST_F(InterposerTest, WhereNoRingCanBeMadeTheProgramGoesOn) {
    Traced traced(folder_ / "none", program("threads", 500));
    const Traced::Output& output = finished(traced);
    EXPECT_EQ(said(output.said).size(), 4U);
    EXPECT_THAT(output.complaints, ::testing::StartsWith("rdmascope: process "));
    EXPECT_EQ(std::ranges::count(output.complaints, '\n'), 1) << output.complaints;
    EXPECT_THAT(output.complaints, ::testing::HasSubstr("No such file or directory"));
}

TEST_F(InterposerTest, ALimitOnFilesHarmsNobody) {
    Traced traced(folder_.path(), program("threads", 500), 1U << 16, [] {
        const rlimit limit{1U << 20, 1U << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
    });
    const Traced::Output& output = finished(traced);
    EXPECT_EQ(said(output.said).size(), 4U);
    EXPECT_THAT(output.complaints, ::testing::HasSubstr("File too large"));
    EXPECT_EQ(folder_.files(), 0U);
}

TEST_F(InterposerTest, AFullFileSystemHarmsNobody) {
    // The file has room for the header only: writing a thread's records would be a SIGBUS.
    const std::string script = fmt::format(
        "mount -t tmpfs -o size=100k none '{0}' || exit 77; LD_PRELOAD='{1}' RDMASCOPE_TRACE_DIR='{0}' exec '{2}' "
        "threads 500",
        folder_.path(), RDMASCOPE_INTERPOSER, RDMASCOPE_PROGRAM);
    Traced traced(folder_.path(), {"/bin/sh", "-c", "exec unshare -m sh -c \"$0\"", script}, 1U << 16,
                  [] { unsetenv("LD_PRELOAD"); });
    const Traced::Output& output = traced.wait();
    if (!WIFEXITED(output.status) || WEXITSTATUS(output.status) == 77 || WEXITSTATUS(output.status) == 1)
        GTEST_SKIP() << "no file system may be mounted here: " << output.complaints;
    EXPECT_EQ(output.status, 0) << output.complaints;
    EXPECT_EQ(said(output.said).size(), 4U);
}

TEST_F(InterposerTest, ALibraryThatIsLoadedLaterAndLookedIntoByHand) {
    Traced traced(folder_.path(), {RDMASCOPE_LATE_PROGRAM, RDMASCOPE_FAKE_VERBS});
    const Traced::Output& output = finished(traced);
    const auto records = drain();
    ByQueue have = recorded(records);
    ASSERT_EQ(have.size(), 1U);
    // Its making went past us; by its first post it was asked what it is.
    Lines& lines = have.begin()->second;
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("pair "); });
    expect_same(said(output.said), have);
    const auto change = std::ranges::find_if(records, [](const Record& record) {
        return record.kind == RecordKind::queue_pair && record.change.peer_number == 99;
    });
    ASSERT_NE(change, records.end());
    EXPECT_EQ(change->change.send_capacity, 16U);
    EXPECT_EQ(rings_.processes()[0].devices, Lines{"fake1"});
}

// What one thread has put in place must not be taken by another for what was there before.
TEST_F(InterposerTest, ThreadsThatComeToANewDeviceAtOnce) {
    constexpr unsigned rounds = 180;
    Traced traced(folder_.path(), {RDMASCOPE_LATE_PROGRAM, RDMASCOPE_FAKE_VERBS, std::to_string(rounds)});
    finished(traced);
    unsigned receives = 0;
    for (const Record& record : drain()) receives += record.kind == RecordKind::post_receive ? 1 : 0;
    EXPECT_EQ(receives, 4 * rounds);
}

TEST_F(InterposerTest, ALibraryInBetweenThatGivesNoVersionsIsNotPassedOver) {
    Traced traced(folder_.path(), program("objects", 1), 1U << 10,
                  [] { setenv("LD_PRELOAD", RDMASCOPE_INTERPOSER ":" RDMASCOPE_UNVERSIONED_VERBS, 1); });
    const Traced::Output& output = finished(traced);
    EXPECT_EQ(output.complaints, "in between\nin between\n") << "two devices are opened";
    expect_same(said(output.said), recorded(drain()));
}

}  // namespace

}  // namespace trace
