// Many rings as one stream.
#include "trace/ring/rings.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/unit/trace/folder.h"
#include "trace/ring/ring.h"
#include "trace/ring/trace_directory.h"

namespace trace {

namespace {

using test::Folder;

/// A process that makes a ring and records what the test asks for, then waits to be killed.
class Writer {
public:
    Writer(const Folder& folder, std::vector<std::int64_t> times, std::uint64_t session = 0, uid_t user = 0) {
        int ready[2];
        if (pipe(ready) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            if (user != 0 && (setgid(user) != 0 || setuid(user) != 0)) _exit(1);
            static Ring ring;
            if (ring.open(folder.path().c_str(), layout::least_capacity, session) != 0) _exit(1);
            ring.device("rxe0");
            Lane* const lane = ring.claim();
            for (const std::int64_t time_ns : times) {
                Record record;
                record.kind = RecordKind::post_send;
                record.time_ns = time_ns;
                lane->put(record);
            }
            if (write(ready[1], "r", 1) != 1) _exit(1);
            for (;;) pause();
        }
        char got = 0;
        if (read(ready[0], &got, 1) != 1) ADD_FAILURE() << "the writer is not ready";
        close(ready[0]);
        close(ready[1]);
    }
    ~Writer() { end(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void end() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

private:
    pid_t pid_ = -1;
};

std::vector<Record> all(Rings& rings) {
    rings.look_again();
    std::vector<Record> result;
    std::array<Record, 3> some;
    for (std::size_t count = 0; (count = rings.next(some)) > 0;)
        result.insert(result.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    return result;
}

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

TEST(Rings, MergesProcessesInTheOrderOfTime) {
    const Folder folder;
    const Writer one(folder, {10, 40, 50, 90});
    const Writer other(folder, {20, 30, 60, 95});
    Rings rings({folder.path()});
    const std::vector<Record> records = all(rings);
    ASSERT_EQ(records.size(), 8U);
    const std::array<std::int64_t, 8> times{10, 20, 30, 40, 50, 60, 90, 95};
    for (std::size_t i = 0; i < times.size(); ++i) {
        EXPECT_EQ(records[i].time_ns, times[i]);
        const bool first = times[i] == 10 || times[i] == 40 || times[i] == 50 || times[i] == 90;
        EXPECT_EQ(records[i].process, first ? one.pid() : other.pid()) << times[i];
    }
    ASSERT_EQ(rings.processes().size(), 2U);
    EXPECT_EQ(rings.processes()[0].pid, one.pid());
    EXPECT_EQ(rings.processes()[1].pid, other.pid());
    EXPECT_EQ(rings.processes()[0].devices, std::vector<std::string>{"rxe0"});
    EXPECT_TRUE(all(rings).empty());
    EXPECT_EQ(rings.open(), 2U);
}

TEST(Rings, AKilledProcessIsReadToItsEndAndItsRingIsRemoved) {
    const Folder folder;
    Rings rings({folder.path()});
    Writer writer(folder, {now_ns(), now_ns() + 1'000'000'000});
    std::size_t records = all(rings).size();
    EXPECT_EQ(rings.open(), 1U);
    writer.end();
    records += all(rings).size();
    EXPECT_EQ(records, 2U) << "also what was stamped with a time that is yet to come";
    EXPECT_EQ(rings.open(), 0U);
    EXPECT_EQ(folder.files(), 0U);
    EXPECT_EQ(rings.processes().size(), 1U) << "who it was is still known";
}

TEST(Rings, WhoOnlyLooksOnRemovesNothing) {
    const Folder folder;
    Writer writer(folder, {1, 2, 3});
    writer.end();
    Rings looking({folder.path(), {}, false});
    EXPECT_EQ(all(looking).size(), 3U);
    EXPECT_EQ(folder.files(), 1U);
    EXPECT_TRUE(all(looking).empty()) << "nor does it read it twice";
    Rings removing({folder.path()});
    EXPECT_EQ(all(removing).size(), 3U);
    EXPECT_EQ(folder.files(), 0U);
}

TEST(Rings, ASessionSeesItsOwnAlone) {
    const Folder folder;
    const Writer mine(folder, {1, 2}, 5);
    const Writer others(folder, {1, 2, 3}, 6);
    Rings rings({folder.path(), 5});
    EXPECT_EQ(all(rings).size(), 2U);
    EXPECT_EQ(folder.files(), 2U);
}

TEST(Rings, FindsRingsThatComeLaterAtOnce) {
    const Folder folder;
    Rings rings({folder.path()});
    EXPECT_TRUE(all(rings).empty());
    const Writer writer(folder, {1});
    // Without look_again: by the folder's own notice.
    std::array<Record, 4> some;
    EXPECT_EQ(rings.next(some), 1U);
}

TEST(Rings, WhatIsNoRingIsNamedAndDoesNotStopTheOthers) {
    const Folder folder;
    std::array<char, 5000> junk{};
    const int file = open((folder / "junk.ring").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(write(file, junk.data(), junk.size()), static_cast<ssize_t>(junk.size()));
    close(file);
    const Writer writer(folder, {1});
    Rings rings({folder.path()});
    EXPECT_EQ(all(rings).size(), 1U);
    all(rings);
    ASSERT_EQ(rings.refusals().size(), 1U);
    EXPECT_NE(rings.refusals()[0].text().find("junk.ring: is no ring"), std::string::npos)
        << rings.refusals()[0].text();
}

TEST(Rings, OneTooManyIsReadWhenAnotherOneHasEnded) {
    const Folder folder;
    Writer first(folder, {1, 2});
    Rings rings({.directory = folder.path(), .most = 1});
    EXPECT_EQ(all(rings).size(), 2U);
    const Writer second(folder, {3, 4, 5});
    EXPECT_TRUE(all(rings).empty());
    EXPECT_TRUE(all(rings).empty());
    ASSERT_EQ(rings.refused(), 1U) << "told once";
    EXPECT_NE(rings.refusals()[0].text().find("one ring too many"), std::string::npos);
    first.end();
    all(rings);
    EXPECT_EQ(all(rings).size(), 3U);
    EXPECT_EQ(rings.refused(), 1U);
}

TEST(Rings, NoUserTakesAllPlaces) {
    if (getuid() != 0) GTEST_SKIP() << "only root may make files of other users";
    const Folder folder;
    std::vector<std::unique_ptr<Writer>> writers;
    ASSERT_EQ(chmod(folder.path().c_str(), 01777), 0);
    const auto add = [&](uid_t user, std::size_t count) {
        const std::vector<std::int64_t> times{1};
        for (std::size_t i = 0; i < count; ++i) writers.push_back(std::make_unique<Writer>(folder, times, 0, user));
    };
    add(65533, 12);
    Rings rings({.directory = folder.path(), .remove = false, .most = 8});
    const auto open_of = [&](uid_t user) {
        return std::ranges::count_if(rings.processes(), [user](const Process& one) { return one.user == user; });
    };
    all(rings);
    EXPECT_EQ(open_of(65533), 4) << "half of all";
    ASSERT_NE(rings.refused(), 0U);
    EXPECT_NE(rings.refusals()[0].text().find("one ring too many of its user"), std::string::npos);
    add(65532, 12);
    all(rings);
    EXPECT_EQ(open_of(65532), 2) << "half of the rest";
    add(65531, 1);
    all(rings);
    EXPECT_EQ(open_of(65531), 1);
    EXPECT_EQ(open_of(65533), 4);
}

TEST(Rings, ARingThatLiesIsLeftAndNamed) {
    const Folder folder;
    const Writer writer(folder, {1});
    Rings rings({.directory = folder.path(), .remove = false});
    all(rings);
    const std::uint64_t lie = ~std::uint64_t{0};
    const int file = open(folder.only().c_str(), O_WRONLY | O_CLOEXEC);
    const off_t at = layout::lane_headers_at + offsetof(layout::LaneHeader, written);
    ASSERT_EQ(pwrite(file, &lie, sizeof lie, at), static_cast<ssize_t>(sizeof lie));
    close(file);
    all(rings);
    all(rings);  // the ring has ended by then
    EXPECT_EQ(rings.open(), 0U);
    EXPECT_LE(rings.lost(), 10U);
    ASSERT_EQ(rings.refused(), 1U);
    EXPECT_NE(rings.refusals()[0].text().find("not read any further"), std::string::npos);
}

/// Nothing is lost by a moment without file descriptors, and the last ones are not taken from others.
TEST(Rings, WithoutDescriptorsToSpareTheyAreReadLater) {
    const Folder folder;
    const Writer writer(folder, {1, 2, 3});
    Rings rings({folder.path()});
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit tight = before;
    tight.rlim_cur = 64;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    std::vector<int> others;
    for (int one = 0; one < 50 && one >= 0; others.push_back(one)) one = dup(STDIN_FILENO);
    EXPECT_TRUE(all(rings).empty());
    EXPECT_TRUE(all(rings).empty());
    EXPECT_EQ(rings.open(), 0U);
    const int spare = dup(STDIN_FILENO);
    EXPECT_GE(spare, 0) << "there are some left";
    close(spare);
    for (const int one : others) close(one);
    EXPECT_EQ(all(rings).size(), 3U);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(rings.refused(), 1U) << "told once";
    EXPECT_NE(rings.refusals()[0].text().find("too many files are open"), std::string::npos)
        << rings.refusals()[0].text();
}

TEST(Rings, AFolderThatIsNotThereYet) {
    const Folder folder;
    Rings rings({folder / "later"});
    EXPECT_TRUE(all(rings).empty());
    EXPECT_EQ(rings.open(), 0U);
}

class TraceDirectoryTest : public ::testing::Test {
protected:
    /// In a child with this environment, on a machine without a folder of all users or with that one: the answer and
    /// its path.
    static std::pair<int, std::string> in_child(const std::function<void()>& prepare, bool make,
                                                const std::string& everybodys = "/nonexistent") {
        int ends[2];
        if (pipe(ends) != 0) std::abort();
        const pid_t child = fork();
        if (child == 0) {
            prepare();
            std::array<char, 4096> path{};
            const int code = trace_directory(path.data(), path.size(), make, everybodys.c_str());
            const std::string text = std::to_string(code) + " " + path.data();
            _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
        }
        close(ends[1]);
        std::array<char, 5000> text{};
        const ssize_t size = read(ends[0], text.data(), text.size());
        close(ends[0]);
        waitpid(child, nullptr, 0);
        const std::string answer(text.data(), static_cast<std::size_t>(size > 0 ? size : 0));
        const std::size_t blank = answer.find(' ');
        return {std::stoi(answer), answer.substr(blank + 1)};
    }
};

TEST_F(TraceDirectoryTest, TheVariableGoesFirst) {
    const auto answer = in_child([] { setenv("RDMASCOPE_TRACE_DIR", "/some/where", 1); }, true);
    EXPECT_EQ(answer, (std::pair{0, std::string("/some/where")}));
}

TEST_F(TraceDirectoryTest, ThatOfAllUsersGoesNextButForALink) {
    const Folder folder;
    std::filesystem::create_directories(folder / "all");
    std::filesystem::create_directory_symlink(folder / "all", folder / "link");
    const auto prepare = [&] {
        unsetenv("RDMASCOPE_TRACE_DIR");
        setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
    };
    EXPECT_EQ(in_child(prepare, true, folder / "all"), (std::pair{0, std::string(folder / "all")}));
    EXPECT_EQ(in_child(prepare, true, folder / "link"), (std::pair{0, std::string(folder / "rdmascope/trace")}));
}

TEST_F(TraceDirectoryTest, MakesAPrivateOneOfTheUser) {
    const Folder folder;
    const auto prepare = [&] {
        unsetenv("RDMASCOPE_TRACE_DIR");
        setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
    };
    const std::string path = folder / "rdmascope/trace";
    EXPECT_EQ(in_child(prepare, true), (std::pair{0, path}));
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    EXPECT_EQ(in_child(prepare, false), (std::pair{0, path}));
}

TEST_F(TraceDirectoryTest, WhatOthersMayWriteToIsRefused) {
    const Folder folder;
    std::filesystem::create_directories(folder / "rdmascope/trace");
    std::filesystem::permissions(folder / "rdmascope/trace", std::filesystem::perms::all);
    const auto [code, path] = in_child(
        [&] {
            unsetenv("RDMASCOPE_TRACE_DIR");
            setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
        },
        true);
    EXPECT_NE(path, folder / "rdmascope/trace");
}

}  // namespace

}  // namespace trace
