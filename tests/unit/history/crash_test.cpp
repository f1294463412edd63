/// What happens at any octet: the process killed, the disk full, the file damaged.
#include <csignal>
#include <fcntl.h>
#include <random>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "support.h"

namespace history {
namespace {
using namespace history::test;

/// Three intervals, and where the file ended after each.
struct Sample {
    std::string octets;
    std::vector<std::size_t> ends;
};
Sample sample() {
    const Folder folder;
    Sample made;
    const auto to = writer(in(folder));
    for (std::uint64_t n = 1; n <= 3; ++n) {
        EXPECT_TRUE(to->append(interval(n)));
        made.octets = content(folder.segments().at(0));
        made.ends.push_back(made.octets.size());
    }
    return made;
}

TEST(HistoryCrash, a_segment_that_ends_at_any_octet_is_read_and_gone_on_with) {
    const Sample whole = sample();
    for (std::size_t length = 0; length <= whole.octets.size(); ++length) {
        SCOPED_TRACE(length);
        const Folder folder;
        const std::string path = folder / "00000001.rdmahist";
        write(path, whole.octets.substr(0, length));
        std::uint64_t intact = 0;
        for (const std::size_t end : whole.ends) intact += end <= length ? 1u : 0u;

        const auto from = reader(folder);
        ASSERT_EQ(numbers(*from), from_to(1, intact));
        ASSERT_EQ(from->damaged_records(), 0u);  // it may yet be written
        const auto to = writer(in(folder));
        ASSERT_NE(to, nullptr);
        constexpr std::size_t header = 24;
        const std::size_t good = intact != 0 ? whole.ends[intact - 1] : length < header ? 0 : header;
        ASSERT_EQ(to->counters().repaired_octets, length - good);
        ASSERT_EQ(to->frames_end(), 100 * intact);
        ASSERT_TRUE(to->append(interval(intact + 1)));
        ASSERT_TRUE(to->append(interval(intact + 2)));
        ASSERT_EQ(numbers(*from), from_to(1, intact + 2));
        ASSERT_EQ(from->damaged_records(), 0u);
    }
}

TEST(HistoryCrash, zeros_that_a_power_cut_left_are_cut_off) {
    const Sample whole = sample();
    for (const std::size_t begin : {whole.ends[1], whole.ends[1] + 10, whole.ends[1] + 60, whole.ends[2]}) {
        const Folder folder;
        std::string octets = whole.octets.substr(0, begin);
        octets.resize(whole.octets.size() + 4096);
        write(folder / "00000001.rdmahist", octets);
        const auto to = writer(in(folder));
        const std::uint64_t intact = begin == whole.ends[2] ? 3 : 2;
        EXPECT_EQ(to->counters().repaired_octets, octets.size() - whole.ends[intact - 1]);
        ASSERT_TRUE(to->append(interval(intact + 1)));
        EXPECT_EQ(numbers(*reader(folder)), from_to(1, intact + 1));
    }
}

TEST(HistoryCrash, a_damaged_octet_costs_one_record) {
    const Sample whole = sample();
    for (std::size_t at = 24; at < whole.ends[1]; ++at) {
        SCOPED_TRACE(at);
        const Folder folder;
        std::string octets = whole.octets;
        octets[at] = static_cast<char>(octets[at] ^ (1 << at % 8));
        write(folder / "00000001.rdmahist", octets);
        const auto from = reader(folder);
        const std::uint64_t hurt = at < whole.ends[0] ? 1 : 2;
        ASSERT_EQ(numbers(*from), (std::vector<std::uint64_t>{hurt == 1 ? 2u : 1u, 3u}));
        ASSERT_EQ(from->damaged_records(), 1u);
        ASSERT_TRUE(writer(in(folder))->append(interval(4)));
        ASSERT_EQ(numbers(*from), (std::vector<std::uint64_t>{hurt == 1 ? 2u : 1u, 3u, 4u}));
    }
}

TEST(HistoryCrash, records_behind_a_damaged_file_header_are_found) {
    const Sample whole = sample();
    const Folder folder;
    std::string octets = whole.octets;
    octets[3] = 'x';
    write(folder / "00000001.rdmahist", octets);
    ASSERT_TRUE(writer(in(folder))->append(interval(4)));
    const auto from = reader(folder);
    EXPECT_EQ(numbers(*from), from_to(1, 4));
    EXPECT_EQ(from->damaged_records(), 1u);
    EXPECT_EQ(content(folder.segments().at(0)), octets);
}

TEST(HistoryCrash, any_octets_are_survived) {
    const Sample whole = sample();
    std::mt19937_64 random(3);
    for (unsigned round = 0; round < 300; ++round) {
        const Folder folder;
        std::string octets = whole.octets;
        for (std::uint64_t changes = 1 + random() % 6; changes != 0; --changes)
            octets[random() % octets.size()] = static_cast<char>(random());
        if (round % 3 == 0) octets.insert(random() % octets.size(), whole.octets.substr(random() % octets.size(), 77));
        write(folder / "00000001.rdmahist", octets);
        const auto from = reader(folder);
        EXPECT_TRUE(from->read(INT64_MIN, always, [](history::HistoryInterval&&) { return true; }).ok());
        ASSERT_TRUE(writer(in(folder))->append(interval(9)));
    }
}

/// Limits the size of files while it lives; what goes on in this process is small.
class FullDisk {
public:
    explicit FullDisk(rlim_t octets) {
        former_action_ = std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &former_);
        const rlimit tight{octets, former_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &former_);
        std::signal(SIGXFSZ, former_action_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    rlimit former_{};
    void (*former_action_)(int) = nullptr;
};

TEST(HistoryCrash, a_full_disk_costs_what_did_not_fit) {
    const Folder folder;
    const auto to = writer(in(folder));
    ASSERT_TRUE(to->append(interval(1)));
    const std::string path = folder.segments().at(0);
    const std::size_t size = std::filesystem::file_size(path);
    const auto from = reader(folder);
    for (const std::size_t room : {0u, 1u, 51u, 52u, 60u}) {
        base::Result<void> kept;
        {
            const FullDisk full(size + room);
            kept = to->append(interval(2));
        }
        ASSERT_FALSE(kept) << room;
        EXPECT_EQ(kept.error().path, path);
        EXPECT_EQ(kept.error().message, "an interval could not be written: File too large");
        EXPECT_EQ(std::filesystem::file_size(path), size);
        EXPECT_EQ(numbers(*from), from_to(1, 1));
    }
    EXPECT_EQ(to->counters().lost_intervals, 5u);
    EXPECT_EQ(to->counters().octets, size);
    ASSERT_TRUE(to->append(interval(3)));
    EXPECT_EQ(numbers(*from), (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(from->damaged_records(), 0u);
}

TEST(HistoryCrash, a_segment_that_cannot_be_begun_leaves_nothing_behind) {
    const Folder folder;
    const auto to = writer(in(folder));
    base::Result<void> kept;
    {
        const FullDisk full(10);
        kept = to->append(interval(1));
    }
    EXPECT_FALSE(kept);
    EXPECT_TRUE(folder.segments().empty());
    ASSERT_TRUE(to->append(interval(2)));
    EXPECT_EQ(numbers(*reader(folder)), from_to(2, 2));
}

/// A file system with room for little, in a mount namespace of this process's own.
class SmallDisk {
public:
    explicit SmallDisk(const Folder& at) : path_(at.path()) {
        is_there_ = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    ::mount("none", path_.c_str(), "tmpfs", 0, "size=256k") == 0;
    }
    ~SmallDisk() {
        if (is_there_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool is_there() const { return is_there_; }
    /// Somebody else takes all that is left.
    void fill() const {
        const int file = ::open((path_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        const std::string some(4096, 'x');
        while (::write(file, some.data(), some.size()) > 0) continue;
        ::close(file);
    }

private:
    std::string path_;
    bool is_there_ = false;
};

history::HistoryInterval ten_minutes(std::uint64_t n, bool small) {
    history::HistoryInterval one = interval(n, begin_ns + 600 * second * static_cast<std::int64_t>(n), small);
    one.length_ns = 600 * static_cast<std::uint64_t>(second);
    return one;
}

TEST(HistoryCrash, on_a_full_disk_the_old_gives_way_to_the_young) {
    const Folder folder;
    const SmallDisk disk(folder);
    if (!disk.is_there()) GTEST_SKIP() << "no small disk can be mounted here";
    history::HistoryOptions options = in(folder);
    options.max_age_ns = static_cast<std::uint64_t>(day);
    const auto to = writer(options);
    std::uint64_t n = 0;
    while (to->counters().removed_segments < 3) ASSERT_TRUE(to->append(ten_minutes(++n, true)));
    do {
        disk.fill();
        ASSERT_LT(n, 10'000U) << "nothing fails";
    } while (to->append(ten_minutes(++n, true)));
    // From here on it is as full as before, with room for what it gives up itself. That is less than a day's.
    const std::uint64_t before = to->counters().intervals;
    for (int i = 0; i < 1000; ++i) static_cast<void>(to->append(ten_minutes(++n, true)));
    EXPECT_GT(to->counters().intervals, before + 500);
}

TEST(HistoryCrash, on_a_full_disk_a_smaller_bound_makes_room) {
    const Folder folder;
    const SmallDisk disk(folder);
    if (!disk.is_there()) GTEST_SKIP() << "no small disk can be mounted here";
    history::HistoryOptions options = in(folder);
    options.segment_octets = 8192;
    const auto to = writer(options);
    std::uint64_t n = 0;
    while (to->counters().segments < 8) ASSERT_TRUE(to->append(ten_minutes(++n, false)));
    disk.fill();
    while (to->append(ten_minutes(++n, false))) ASSERT_LT(n, 10'000U);
    to->set_bounds(to->counters().octets / 2, options.max_age_ns);
    const auto kept = to->append(ten_minutes(++n, false));
    EXPECT_TRUE(kept) << kept.error().text();
    EXPECT_EQ(to->counters().lost_intervals, 1U);
    EXPECT_EQ(numbers(*reader(folder)).back(), n);
}

/// Appends until it is killed, and says by the pipe what append() has returned from.
[[noreturn]] void append_for_ever(const Folder& folder, int pipe) {
    history::HistoryOptions options = in(folder);
    options.segment_octets = 20'000;
    auto opened = history::HistoryWriter::open(options);
    if (!opened.ok()) _exit(1);
    const auto to = std::move(opened).value();
    for (std::uint64_t n = to->frames_end() / 100 + 1;; ++n) {
        if (!to->append(interval(n))) _exit(2);
        if (::write(pipe, &n, sizeof n) != sizeof n) _exit(3);
    }
}

TEST(HistoryCrash, a_killed_writer_loses_nothing_that_was_appended) {
    const Folder folder;
    std::mt19937_64 random(5);
    std::uint64_t appended = 0;
    for (unsigned round = 0; round < 25; ++round) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) append_for_ever(folder, ends[1]);
        ::close(ends[1]);
        const std::uint64_t wanted = appended + 1 + random() % 100;
        std::uint64_t n = 0;
        while (appended < wanted && ::read(ends[0], &n, sizeof n) == sizeof n) appended = n;
        // Anywhere in the next append.
        usleep(static_cast<useconds_t>(random() % 500));
        kill(child, SIGKILL);
        while (::read(ends[0], &n, sizeof n) == sizeof n) appended = n;
        ::close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
        const auto from = reader(folder);
        const auto seen = numbers(*from);
        ASSERT_GE(seen.size(), appended);
        ASSERT_LE(seen.size(), appended + 1);
        ASSERT_EQ(seen, from_to(1, seen.size()));
        EXPECT_EQ(from->damaged_records(), 0u);
        appended = seen.size();
    }
    EXPECT_GT(appended, 100u);
}

}  // namespace
}  // namespace history
