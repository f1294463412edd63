// A ring between the process that writes it and readers that believe nothing.
#include "trace/ring/ring.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/unit/trace/folder.h"
#include "trace/ring/ring_reader.h"

namespace trace {

namespace {

using test::Folder;

Record post(std::int64_t time_ns, std::uint64_t id, std::uint32_t number = 7) {
    Record record;
    record.time_ns = time_ns;
    record.number = number;
    record.kind = RecordKind::post_send;
    record.work.id = id;
    return record;
}

/// A ring with its file, in a folder of its own.
class RingTest : public ::testing::Test {
protected:
    void open(std::uint32_t capacity = layout::least_capacity, std::uint64_t session = 0) {
        ASSERT_EQ(ring_->open(folder_.path().c_str(), capacity, session), 0);
    }
    ~RingTest() override { ring_->forget(); }

    RingReader reader() {
        auto opened = RingReader::open(folder_.only());
        if (!opened) ADD_FAILURE() << opened.error().error.text();
        return std::move(opened).value();
    }
    static std::vector<Record> all(RingReader& reader, std::int64_t now_ns) {
        std::vector<Record> records;
        reader.look(now_ns);
        while (const Record* record = reader.head()) {
            records.push_back(*record);
            reader.pop();
        }
        return records;
    }
    /// Overwrites octets of the file, as a process may that owns it.
    void damage(std::uint64_t offset, const void* octets, std::size_t size) {
        const int file = ::open(folder_.only().c_str(), O_WRONLY | O_CLOEXEC);
        ASSERT_GE(file, 0);
        EXPECT_EQ(pwrite(file, octets, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
        ::close(file);
    }

    Folder folder_;
    std::unique_ptr<Ring> ring_ = std::make_unique<Ring>();
};

TEST_F(RingTest, GivesBackWhatWasPutInWithThePidOfTheProcess) {
    open();
    Lane* const lane = ring_->claim();
    ASSERT_NE(lane, nullptr);
    for (std::uint64_t i = 0; i < 100; ++i) lane->put(post(1000 + static_cast<std::int64_t>(i), i));
    RingReader reading = reader();
    const auto records = all(reading, 5000);
    ASSERT_EQ(records.size(), 100U);
    for (std::uint64_t i = 0; i < 100; ++i) {
        EXPECT_EQ(records[i].work.id, i);
        EXPECT_EQ(records[i].process, static_cast<std::uint32_t>(getpid()));
    }
    EXPECT_TRUE(all(reading, 6000).empty());
    EXPECT_EQ(reading.lost(), 0U);
}

TEST_F(RingTest, KnowsWhoWritesIt) {
    open(1024, 77);
    EXPECT_EQ(ring_->device("rxe0"), 0);
    EXPECT_EQ(ring_->device("siw1"), 1);
    EXPECT_EQ(ring_->device("rxe0"), 0);
    RingReader reading = reader();
    EXPECT_EQ(reading.session(), 77U);
    EXPECT_EQ(reading.process().pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(reading.process().user, geteuid());
    EXPECT_EQ(reading.process().devices, (std::vector<std::string>{"rxe0", "siw1"}));
    // This program's own name; what it was called with follows.
    EXPECT_NE(reading.process().command.find(program_invocation_short_name), std::string::npos)
        << reading.process().command;
    EXPECT_TRUE(reading.is_alive());
}

TEST_F(RingTest, TheOldestAreOverwrittenAndCounted) {
    open(layout::least_capacity);
    Lane* const lane = ring_->claim();
    constexpr std::uint64_t total = 1000;
    for (std::uint64_t i = 0; i < total; ++i) lane->put(post(static_cast<std::int64_t>(i), i));
    RingReader reading = reader();
    const auto records = all(reading, 5000);
    ASSERT_FALSE(records.empty());
    ASSERT_EQ(records.front().kind, RecordKind::lost);
    // What is reported as lost and what is there are all the records.
    EXPECT_EQ(records.front().count + records.size() - 1, total);
    EXPECT_EQ(reading.lost(), records.front().count);
    EXPECT_GE(records.size() - 1, layout::least_capacity / 2);
    for (std::size_t i = 1; i < records.size(); ++i) EXPECT_EQ(records[i].work.id, records.front().count + i - 1);
}

TEST_F(RingTest, MergesThreadsInTheOrderOfTime) {
    open();
    Lane* const one = ring_->claim();
    Lane* const other = ring_->claim();
    ASSERT_NE(one, other);
    for (const std::int64_t time_ns : {10, 40, 50, 90}) one->put(post(time_ns, 1));
    for (const std::int64_t time_ns : {20, 30, 60, 95}) other->put(post(time_ns, 2));
    RingReader reading = reader();
    std::vector<std::int64_t> times;
    for (const Record& record : all(reading, 1000)) times.push_back(record.time_ns);
    EXPECT_EQ(times, (std::vector<std::int64_t>{10, 20, 30, 40, 50, 60, 90, 95}));
}

TEST_F(RingTest, HoldsBackWhatMayGetEarlierCompany) {
    open();
    Lane* const lane = ring_->claim();
    constexpr std::int64_t now_ns = 1'000'000'000'000;
    RingReader reading = reader();
    const std::int64_t idle = reading.look(now_ns);
    EXPECT_LT(idle, now_ns);
    EXPECT_GT(idle, now_ns - 1'000'000);
    lane->begin(now_ns - 10'000'000);
    EXPECT_EQ(reading.look(now_ns), now_ns - 10'000'001);
    lane->end();
    EXPECT_EQ(reading.look(now_ns), idle);
    // A thread that is stopped within a call holds up no other thread for long.
    lane->begin(now_ns - 10'000'000'000);
    EXPECT_EQ(reading.look(now_ns), idle);
}

TEST_F(RingTest, AThreadsLaneGoesToTheNext) {
    open();
    Lane* const lane = ring_->claim();
    Ring::give_back(*lane);
    EXPECT_EQ(ring_->claim(), lane);
    for (std::uint32_t i = 1; i < Ring::lanes; ++i) EXPECT_NE(ring_->claim(), nullptr) << i;
    EXPECT_EQ(ring_->claim(), nullptr);
    ring_->lose();
    ring_->lose();
    RingReader reading = reader();
    const auto records = all(reading, 1000);
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].kind, RecordKind::lost);
    EXPECT_EQ(records[0].count, 2U);
}

TEST_F(RingTest, ThreadsAtFullSpeedAgainstAReader) {
    open(1U << 12);
    constexpr std::uint64_t each = 300'000;
    constexpr std::uint32_t threads = 3;
    std::atomic<std::uint32_t> running = threads;
    std::vector<std::thread> writers;
    RingReader reading = reader();
    for (std::uint32_t number = 0; number < threads; ++number)
        writers.emplace_back([&, number] {
            Lane* const lane = ring_->claim();
            for (std::uint64_t i = 0; i < each; ++i) {
                Record record = post(static_cast<std::int64_t>(i), i, number);
                // Every word of a record is of the same record, or it is torn.
                record.work.bytes = i * 3;
                record.work.remote_address = ~i;
                record.work.remote_key = static_cast<std::uint32_t>(i * 7);
                lane->put(record);
            }
            Ring::give_back(*lane);
            --running;
        });
    std::vector<std::uint64_t> next(threads, 0);
    std::uint64_t seen = 0;
    std::uint64_t torn = 0;
    std::uint64_t told_lost = 0;
    std::uint64_t backwards = 0;
    for (bool last = false; !last;) {
        last = running == 0;
        reading.look(static_cast<std::int64_t>(each));
        while (const Record* record = reading.head()) {
            if (record->kind == RecordKind::lost) {
                told_lost += record->count;
            } else {
                const std::uint64_t i = record->work.id;
                torn += record->work.bytes != i * 3 || record->work.remote_address != ~i ||
                        record->work.remote_key != static_cast<std::uint32_t>(i * 7) ||
                        record->time_ns != static_cast<std::int64_t>(i) || record->number >= threads;
                if (record->number < threads) {
                    backwards += i < next[record->number];
                    next[record->number] = i + 1;
                }
                ++seen;
            }
            reading.pop();
        }
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(torn, 0U);
    EXPECT_EQ(backwards, 0U);
    EXPECT_EQ(seen + told_lost, each * threads);
    EXPECT_EQ(reading.lost(), told_lost);
    EXPECT_GT(seen, 0U);
}

TEST_F(RingTest, AnotherRingOfThisProcessEndsTheFirst) {
    open();
    RingReader first = reader();
    const auto second = std::make_unique<Ring>();
    ASSERT_EQ(second->open(folder_.path().c_str(), layout::least_capacity, 0), 0);
    first.look(1000);
    EXPECT_FALSE(first.is_alive());
    second->forget();
}

TEST_F(RingTest, WhatProcessesLeftBehindIsRemovedAfterAWhile) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    struct stat space {};
    ASSERT_EQ(stat("/proc/self/ns/pid", &space), 0);
    const auto left = [&](std::uint64_t pid_namespace, pid_t pid, int age_sec) {
        const std::string path = folder_ / fmt::format("{}-{}-1-1.ring", pid_namespace, pid);
        std::ofstream(path).put('x');
        const timespec when{time(nullptr) - age_sec, 0};
        const timespec times[2] = {when, when};
        EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
        open();
        ring_->forget();
        const bool stays = std::filesystem::exists(path);
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
            std::filesystem::remove(entry.path());
        return stays;
    };
    EXPECT_FALSE(left(space.st_ino, child, 100));
    EXPECT_TRUE(left(space.st_ino, child, 0)) << "somebody may want to read it";
    EXPECT_TRUE(left(space.st_ino, getppid(), 100)) << "that process runs";
    EXPECT_TRUE(left(space.st_ino + 1, child, 100)) << "nobody knows of that process here";
}

TEST_F(RingTest, NoFolderIsAnError) {
    EXPECT_EQ(ring_->open((folder_ / "none").c_str(), 1024, 0), ENOENT);
    EXPECT_FALSE(ring_->is_open());
    EXPECT_EQ(folder_.files(), 0U);
}

TEST_F(RingTest, AHeaderThatLiesIsRefused) {
    open();
    layout::Header good;
    {
        const int file = ::open(folder_.only().c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_EQ(pread(file, &good, sizeof good, 0), static_cast<ssize_t>(sizeof good));
        ::close(file);
    }
    const auto refused = [&](auto change) {
        layout::Header bad = good;
        change(bad);
        damage(0, &bad, sizeof bad);
        return !RingReader::open(folder_.only()).ok();
    };
    EXPECT_FALSE(refused([](layout::Header&) {}));
    EXPECT_TRUE(refused([](layout::Header& h) { h.magic[0] = 'x'; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.version = 2; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.record_octets = 32; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.lanes = 0; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.lanes = 0xffffffff; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.capacity = 0; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.capacity = 300; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.capacity = 1U << 31; }));
    EXPECT_TRUE(refused([](layout::Header& h) { h.capacity *= 2; })) << "longer than the file";
}

TEST_F(RingTest, TextOfAProcessDoesNoHarm) {
    open();
    layout::Header header;
    header.magic = layout::magic;
    header.version = layout::version;
    header.record_octets = sizeof(Record);
    header.lanes = Ring::lanes;
    header.capacity = layout::least_capacity;
    header.devices = 1'000'000;
    header.command.fill('\x1b');
    for (layout::Name& name : header.device_names) name.fill('n');
    damage(0, &header, sizeof header);
    const RingReader reading = reader();
    EXPECT_EQ(reading.process().command, std::string(layout::Header{}.command.size(), '?'));
    ASSERT_EQ(reading.process().devices.size(), layout::most_devices);
    EXPECT_EQ(reading.process().devices.back(), std::string(64, 'n'));
}

TEST_F(RingTest, CountsThatJumpAreSurvived) {
    open();
    Lane* const lane = ring_->claim();
    for (std::uint64_t i = 0; i < 50; ++i) lane->put(post(static_cast<std::int64_t>(i), i));
    RingReader reading = reader();
    EXPECT_EQ(all(reading, 1000).size(), 50U);
    const std::uint64_t written_at = layout::lane_headers_at + offsetof(layout::LaneHeader, written);
    for (const std::uint64_t lie :
         {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{10}, std::uint64_t{300}}) {
        damage(written_at, &lie, sizeof lie);
        EXPECT_LE(all(reading, 2000).size(), layout::least_capacity + 1U) << lie;
        EXPECT_GT(reading.lost(), 0U);
    }
}

/// What a process claims to have lost does not become a number of the daemon that no process can have made.
TEST_F(RingTest, CountsThatNoProcessCanHaveMadeEndTheReading) {
    const std::uint64_t written_at = layout::lane_headers_at + offsetof(layout::LaneHeader, written);
    const std::uint64_t unplaced_at = offsetof(layout::Header, unplaced);
    constexpr std::uint64_t bound = std::uint64_t{1} << 26;
    for (const std::uint64_t place : {written_at, unplaced_at})
        for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{1} << 62}) {
            open();
            Lane* const lane = ring_->claim();
            lane->put(post(1, 1));
            RingReader reading = reader();
            if (before != 0) damage(place, &before, sizeof before);
            all(reading, 1000);
            EXPECT_FALSE(reading.take_damage()) << "nobody has seen what was before";
            EXPECT_LE(reading.lost(), bound);
            const std::uint64_t lie = ~std::uint64_t{0} - 5;
            damage(place, &lie, sizeof lie);
            all(reading, 2000);
            const auto damaged = reading.take_damage();
            ASSERT_TRUE(damaged) << place << ", " << before;
            EXPECT_NE(damaged->text().find("than its process can have made"), std::string::npos) << damaged->text();
            EXPECT_FALSE(reading.take_damage()) << "reported once";
            EXPECT_FALSE(reading.is_alive());
            EXPECT_LE(reading.lost(), bound);
            all(reading, 3000);
            EXPECT_LE(reading.lost(), bound);
            ring_->forget();
            std::filesystem::remove(folder_.only());
            ring_ = std::make_unique<Ring>();
        }
}

TEST_F(RingTest, AProcessMayWriteForLongBetweenTwoLooks) {
    open();
    ring_->claim()->put(post(1, 1));
    RingReader reading = reader();
    all(reading, 1000);
    const std::uint64_t written_at = layout::lane_headers_at + offsetof(layout::LaneHeader, written);
    const std::uint64_t much = 60'000'000;  // in a second, at 17 ns each
    damage(written_at, &much, sizeof much);
    all(reading, 1000 + 1'000'000'000);
    EXPECT_FALSE(reading.take_damage());
    EXPECT_GT(reading.lost(), much - 1000);
}

TEST_F(RingTest, RecordsThatAreNoneAreCountedAsLost) {
    open();
    Lane* const lane = ring_->claim();
    for (std::uint64_t i = 0; i < 3; ++i) lane->put(post(static_cast<std::int64_t>(i), i));
    Record garbage;
    std::memset(static_cast<void*>(&garbage), 0xee, sizeof garbage);
    damage(layout::records_at(Ring::lanes) + sizeof(Record), &garbage, sizeof garbage);
    RingReader reading = reader();
    std::uint64_t lost = 0;
    std::uint64_t posts = 0;
    for (const Record& record : all(reading, 1000)) {
        if (record.kind == RecordKind::lost) lost += record.count;
        if (record.kind == RecordKind::post_send) ++posts;
    }
    EXPECT_EQ(lost, 1U);
    EXPECT_EQ(posts, 2U);
}

TEST_F(RingTest, AFileThatIsCutWhileItIsReadIsItsEnd) {
    open();
    Lane* const lane = ring_->claim();
    lane->put(post(1, 1));
    RingReader reading = reader();
    EXPECT_EQ(all(reading, 1000).size(), 1U);
    // A copy is cut, since cutting our own mapping would hit this very process.
    const std::string copy = folder_ / "copy.ring";
    std::filesystem::copy_file(reading.path(), copy);
    auto cut = RingReader::open(copy);
    ASSERT_TRUE(cut.ok());
    std::filesystem::resize_file(copy, layout::records_at(Ring::lanes));
    EXPECT_TRUE(all(*cut, 1000).empty());
    EXPECT_FALSE(cut->is_alive());
    std::filesystem::resize_file(copy, 100);
    EXPECT_TRUE(all(*cut, 1000).empty());
    EXPECT_FALSE(RingReader::open(copy).ok());
}

TEST_F(RingTest, NoRegularFileIsARing) {
    const std::string fifo = folder_ / "pipe.ring";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_FALSE(RingReader::open(fifo).ok());
    EXPECT_FALSE(RingReader::open(folder_.path()).ok());
    std::filesystem::create_symlink("/etc/hostname", folder_ / "link.ring");
    EXPECT_FALSE(RingReader::open(folder_ / "link.ring").ok());
}

}  // namespace

}  // namespace trace
