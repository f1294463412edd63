#include "history/history.h"

#include <chrono>
#include <functional>
#include <gmock/gmock.h>
#include <span>
#include <sys/stat.h>
#include <thread>

#include "support.h"
#include "wire/crc32c.h"

namespace history {
namespace {
using namespace history::test;

TEST(History, gives_back_what_was_appended) {
    const Folder folder;
    {
        const auto to = writer(in(folder));
        for (std::uint64_t n = 1; n <= 20; ++n) ASSERT_TRUE(to->append(interval(n, false)));
        EXPECT_EQ(to->counters().intervals, 20u);
        EXPECT_EQ(to->counters().segments, 1u);
        EXPECT_EQ(to->counters().octets, std::filesystem::file_size(folder.segments().at(0)));
        EXPECT_EQ(to->frames_end(), 0u);
    }
    const auto from = reader(folder);
    const auto all = read(*from);
    ASSERT_EQ(numbers(all), from_to(1, 20));
    for (std::uint64_t n = 1; n <= 20; ++n) {
        const history::HistoryInterval expected = interval(n, false);
        const history::HistoryInterval& one = all[n - 1];
        EXPECT_EQ(one.start_ns, expected.start_ns);
        EXPECT_EQ(one.length_ns, expected.length_ns);
        EXPECT_EQ(one.crc_verified, expected.crc_verified);
        EXPECT_EQ(metrics::test::text_of(one.difference), metrics::test::text_of(expected.difference));
    }
    const auto extent = from->extent();
    ASSERT_TRUE(extent);
    EXPECT_EQ(extent->first_ns, begin_ns + 10 * second);
    EXPECT_EQ(extent->last_ns, begin_ns + 210 * second);
    EXPECT_EQ(extent->intervals, 20u);
    EXPECT_EQ(from->damaged_records(), 0u);
    EXPECT_EQ(writer(in(folder))->frames_end(), 2000u);
}

TEST(History, is_gone_on_with) {
    const Folder folder;
    for (std::uint64_t n = 1; n <= 5; ++n) {
        const auto to = writer(in(folder));
        EXPECT_EQ(to->frames_end(), 100 * (n - 1));
        EXPECT_EQ(to->counters().repaired_octets, 0u);
        ASSERT_TRUE(to->append(interval(n)));
    }
    EXPECT_EQ(folder.segments().size(), 1u);
    EXPECT_EQ(numbers(*reader(folder)), from_to(1, 5));
}

TEST(History, gives_what_overlaps_a_range) {
    const Folder folder;
    const auto to = writer(in(folder));
    for (std::uint64_t n = 0; n < 10; ++n) ASSERT_TRUE(to->append(interval(n)));
    const auto from = reader(folder);
    const auto at = [](std::int64_t seconds) { return begin_ns + seconds * second; };
    EXPECT_EQ(numbers(*from, at(20), at(40)), from_to(2, 3));
    EXPECT_EQ(numbers(*from, at(20) - 1, at(40) + 1), from_to(1, 4));
    EXPECT_EQ(numbers(*from, at(95), always), from_to(9, 9));
    EXPECT_TRUE(numbers(*from, at(100), always).empty());
    EXPECT_TRUE(numbers(*from, INT64_MIN, at(0)).empty());
    EXPECT_TRUE(numbers(*from, at(50), at(50)).empty());
    unsigned asked = 0;
    const auto ended = from->read(INT64_MIN, always, [&asked](history::HistoryInterval&&) { return ++asked < 3; });
    ASSERT_TRUE(ended.ok());
    EXPECT_FALSE(*ended);
    EXPECT_EQ(asked, 3u);
    const auto merged = from->merged(at(20), at(40));
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged->whole.capture.packets, 5u);       // 2 + 3
    EXPECT_EQ(merged->whole.flows.at(0).packets, 13u);  // 4 + 9
    EXPECT_EQ(from->merged(at(500), at(600))->whole.flows.size(), 0u);
}

/// By several threads, where there are several processors.
TEST(History, merged_at_once_is_what_is_merged_one_by_one) {
    const Folder folder;
    const auto to = writer(in(folder));
    metrics::Snapshot expected;
    for (std::uint64_t n = 1; n <= 300; ++n) {
        history::HistoryInterval one = interval(n);
        one.difference.flows[0].id = n % 7 + 1;
        one.difference.flows[0].destination.qpn = n % 7;
        one.difference.flows[0].first_ns = one.start_ns;
        one.difference.flows[0].last_ns = one.start_ns + 10 * second;
        one.difference.flows[0].message_bytes.record(n);
        one.crc_verified = true;
        metrics::merge(expected, one.difference);
        ASSERT_TRUE(to->append(one));
    }
    const auto from = reader(folder);
    const auto merged = from->merged(INT64_MIN, always);
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged->intervals, 300u);
    EXPECT_TRUE(merged->crc_verified);
    EXPECT_EQ(metrics::test::text_of(merged->whole), metrics::test::text_of(expected));
    // Bounded: the one that paused longest goes.
    const auto few = from->merged(INT64_MIN, always, 6);
    ASSERT_TRUE(few.ok());
    EXPECT_LE(few->whole.flows.size(), 6u);
    EXPECT_GT(few->whole.capture.flows_evicted, 0u);
    EXPECT_EQ(few->whole.capture.packets, expected.capture.packets);
    EXPECT_NE(few->whole.flow(300 % 7 + 1), nullptr);
}

TEST(History, is_readable_whatever_the_clock_did) {
    const Folder folder;
    const auto to = writer(in(folder));
    // An hour back in the middle, and years ahead for a while.
    ASSERT_TRUE(to->append(interval(1, begin_ns)));
    ASSERT_TRUE(to->append(interval(2, begin_ns + 10 * second)));
    ASSERT_TRUE(to->append(interval(3, begin_ns - 3600 * second)));
    ASSERT_TRUE(to->append(interval(4, begin_ns + 3650 * day)));
    ASSERT_TRUE(to->append(interval(5, begin_ns + 5 * second)));
    ASSERT_TRUE(to->append(interval(6, INT64_MAX - 1)));
    ASSERT_TRUE(to->append(interval(7, INT64_MIN)));
    const auto from = reader(folder);
    EXPECT_EQ(numbers(*from), (std::vector<std::uint64_t>{7, 3, 1, 5, 2, 4, 6}));
    EXPECT_EQ(numbers(*from, begin_ns, begin_ns + 60 * second), (std::vector<std::uint64_t>{1, 5, 2}));
    EXPECT_EQ(numbers(*from, begin_ns - 3600 * second, begin_ns), (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(from->extent()->first_ns, INT64_MIN);
    EXPECT_EQ(from->extent()->last_ns, INT64_MAX);
}

TEST(History, is_cut_into_segments_and_bounded_by_size) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.segment_octets = 2000;
    options.max_octets = 10'000;
    const auto to = writer(options);
    std::uint64_t removed = 0;
    for (std::uint64_t n = 1; n <= 200; ++n) {
        ASSERT_TRUE(to->append(interval(n)));
        const auto paths = folder.segments();
        std::uint64_t octets = 0;
        for (const std::string& path : paths) {
            EXPECT_LE(std::filesystem::file_size(path), 2000u);
            octets += std::filesystem::file_size(path);
        }
        ASSERT_LE(octets, 10'000u);
        ASSERT_EQ(to->counters().octets, octets);
        ASSERT_EQ(to->counters().segments, paths.size());
        ASSERT_GE(to->counters().removed_segments, removed);
        removed = to->counters().removed_segments;
        // The youngest are there, without a hole.
        const auto kept = numbers(*reader(folder));
        ASSERT_EQ(kept, from_to(n + 1 - kept.size(), n));
        if (n > 100) {
            ASSERT_GE(octets, 5000u);
        }
    }
    EXPECT_GT(removed, 3u);
    to->set_bounds(4000, options.max_age_ns);
    ASSERT_TRUE(to->append(interval(201)));
    EXPECT_LE(to->counters().octets, 4000u);
    EXPECT_GE(to->counters().segments, 1u);
}

TEST(History, one_interval_above_all_bounds_stays) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.max_octets = 100;
    const auto to = writer(options);
    for (std::uint64_t n = 1; n <= 3; ++n) ASSERT_TRUE(to->append(interval(n, false)));
    EXPECT_EQ(numbers(*reader(folder)), from_to(3, 3));
}

class HistoryAge : public testing::Test {
protected:
    HistoryAge() {
        options_ = in(folder_);
        options_.max_age_ns = static_cast<std::uint64_t>(day);
    }
    /// An interval of ten minutes.
    void append(std::int64_t start_ns) {
        history::HistoryInterval one = interval(++n_, start_ns);
        one.length_ns = 600 * static_cast<std::uint64_t>(second);
        ASSERT_TRUE(to_->append(one));
    }
    void append_row(std::int64_t start_ns, unsigned count) {
        for (unsigned i = 0; i < count; ++i) append(start_ns + 600 * second * i);
    }

    Folder folder_;
    history::HistoryOptions options_;
    std::unique_ptr<history::HistoryWriter> to_;
    std::uint64_t n_ = 0;
};

TEST_F(HistoryAge, bounds_it) {
    to_ = writer(options_);
    append_row(begin_ns, 10 * 144);
    const auto extent = reader(folder_)->extent();
    ASSERT_TRUE(extent);
    EXPECT_EQ(extent->last_ns, begin_ns + 10 * day);
    EXPECT_LE(extent->first_ns, begin_ns + 9 * day);            // a day is there,
    EXPECT_GT(extent->first_ns, begin_ns + 9 * day - day / 5);  // and little more
}

TEST_F(HistoryAge, also_after_a_long_pause) {
    to_ = writer(options_);
    append_row(begin_ns, 100);
    to_.reset();
    to_ = writer(options_);
    append_row(begin_ns + 30 * day, 18);
    EXPECT_EQ(numbers(*reader(folder_)), from_to(101, 118));
}

TEST_F(HistoryAge, is_not_believed_of_a_clock_that_jumps_ahead_and_back) {
    to_ = writer(options_);
    append_row(begin_ns, 100);
    for (unsigned i = 0; i < 5; ++i) append(begin_ns + 3650 * day + i * 600 * second);
    append_row(begin_ns + 105 * 600 * second, 10);
    EXPECT_EQ(to_->counters().removed_segments, 0u);
    EXPECT_EQ(reader(folder_)->extent()->intervals, 115u);
    // What claims to be of the future goes when a day was recorded after it.
    append_row(begin_ns + 115 * 600 * second, 300);
    EXPECT_LT(reader(folder_)->extent()->last_ns, begin_ns + 100 * day);
}

TEST_F(HistoryAge, of_a_clock_that_jumps_back_makes_nothing_older) {
    to_ = writer(options_);
    append_row(begin_ns, 50);
    append_row(0, 20);  // 1970
    EXPECT_EQ(to_->counters().removed_segments, 0u);
    append_row(begin_ns + 70 * 600 * second, 50);
    EXPECT_EQ(to_->counters().removed_segments, 0u);
    EXPECT_EQ(reader(folder_)->extent()->intervals, 120u);
}

TEST(History, has_one_writer) {
    const Folder folder;
    auto first = writer(in(folder));
    const auto second_writer = history::HistoryWriter::open(in(folder));
    ASSERT_FALSE(second_writer.ok());
    EXPECT_EQ(second_writer.error().path, folder.path());
    EXPECT_EQ(second_writer.error().message, "is being written by process " + std::to_string(getpid()) +
                                                 ": stop that, or keep this history in another directory");
    first.reset();
    EXPECT_TRUE(history::HistoryWriter::open(in(folder)).ok());
}

TEST(History, goes_on_in_a_new_segment_if_its_files_are_removed) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.directory = folder / "history";
    const auto to = writer(options);
    ASSERT_TRUE(to->append(interval(1)));
    const std::uint64_t size = to->counters().octets;
    std::filesystem::remove(options.directory + "/00000001.rdmahist");
    ASSERT_TRUE(to->append(interval(2)));
    EXPECT_EQ(numbers(*history::HistoryReader::open(options.directory).value()), from_to(2, 2));
    EXPECT_LT(to->counters().octets, 2 * size) << "the removed segment still counts";
    std::filesystem::remove_all(options.directory);
    ASSERT_TRUE(to->append(interval(3)));
    EXPECT_EQ(numbers(*history::HistoryReader::open(options.directory).value()), from_to(3, 3));
    EXPECT_EQ(to->counters().segments, 1u);
    EXPECT_EQ(to->counters().lost_intervals, 0u);
    EXPECT_FALSE(history::HistoryWriter::open(options).ok());  // the new folder is locked as well
}

TEST(History, counts_what_is_lost_while_its_folder_cannot_be_made_again) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.directory = folder / "history";
    const auto to = writer(options);
    ASSERT_TRUE(to->append(interval(1)));
    std::filesystem::remove_all(options.directory);
    write(options.directory, "a file in the way");
    const auto lost = to->append(interval(2));
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().path, options.directory);
    EXPECT_EQ(to->counters().lost_intervals, 1u);
    std::filesystem::remove(options.directory);
    ASSERT_TRUE(to->append(interval(3)));
    EXPECT_EQ(numbers(*history::HistoryReader::open(options.directory).value()), from_to(3, 3));
}

TEST(History, does_not_write_beside_another_process_that_has_made_the_removed_folder) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.directory = folder / "history";
    const auto to = writer(options);
    ASSERT_TRUE(to->append(interval(1)));
    std::filesystem::remove_all(options.directory);
    auto other = writer(options);
    for (std::uint64_t lost = 1; lost <= 2; ++lost) {
        const auto refused = to->append(interval(2));
        ASSERT_FALSE(refused.ok());
        EXPECT_TRUE(refused.error().message.starts_with("is being written by process ")) << refused.error().text();
        EXPECT_EQ(to->counters().lost_intervals, lost);
    }
    other.reset();
    ASSERT_TRUE(to->append(interval(3)));
    EXPECT_EQ(numbers(*history::HistoryReader::open(options.directory).value()), from_to(3, 3));
}

TEST(History, makes_its_directory) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.directory = folder / "a/b/history";
    ASSERT_TRUE(writer(options)->append(interval(1)));
    EXPECT_TRUE(std::filesystem::exists(folder / "a/b/history/00000001.rdmahist"));
    write(folder / "file", "x");
    options.directory = folder / "file/history";
    const auto refused = history::HistoryWriter::open(options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().path, options.directory);
}

TEST(History, says_what_is_no_history) {
    const Folder folder;
    const auto message = [](const std::string& path) {
        const auto opened = history::HistoryReader::open(path);
        EXPECT_FALSE(opened.ok());
        return opened.ok() ? std::string{} : opened.error().text();
    };
    EXPECT_EQ(message(folder / "none"), folder /
                                            "none: there is no such directory; `rdmascope daemon --history DIR` "
                                            "keeps a history in one");
    EXPECT_EQ(message(folder.path()), folder.path() + ": is no history: there are no *.rdmahist files in it");
    write(folder / "file", "x");
    EXPECT_EQ(message(folder / "file"), folder / "file: is no directory; a history is one, of *.rdmahist files");
    const auto to = writer(in(folder));  // has not written yet
    EXPECT_FALSE(reader(folder)->extent());
}

TEST(History, segments_of_a_later_version_are_told_and_left_alone) {
    const Folder folder;
    ASSERT_TRUE(writer(in(folder))->append(interval(1)));
    std::string octets = content(folder.segments().at(0));
    octets[8] = 9;
    const auto crc = wire::crc32c(std::as_bytes(std::span(octets.data(), 20)));
    for (unsigned i = 0; i < 4; ++i) octets[20 + i] = static_cast<char>(crc >> 8 * i & 0xff);
    write(folder.segments().at(0), octets);
    const auto from = reader(folder);
    const auto done = from->read(0, always, [](history::HistoryInterval&&) { return true; });
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().message, "was written by a later version (format 9; this one reads up to 1)");
    ASSERT_TRUE(writer(in(folder))->append(interval(2)));
    EXPECT_EQ(content(folder.segments().at(0)), octets);
    EXPECT_EQ(folder.segments().size(), 2u);
}

TEST(History, other_files_are_none_of_its_business) {
    const Folder folder;
    ASSERT_TRUE(writer(in(folder))->append(interval(1)));
    for (const char* name : {"1.rdmahist", "x0000001.rdmahist", "00000001.rdmahist.old", "00000x02.rdmahist", "notes"})
        write(folder / name, "no history");
    EXPECT_EQ(numbers(*reader(folder)), from_to(1, 1));
    EXPECT_EQ(reader(folder)->damaged_records(), 0u);
}

TEST(History, what_others_put_into_its_folder_is_not_opened) {
    const Folder folder;
    ASSERT_TRUE(writer(in(folder))->append(interval(1)));
    const std::string victim = folder / "victim";
    write(victim, "secret");
    const auto refusals = [&](const std::string& name) {
        const auto opened = history::HistoryWriter::open(in(folder));
        EXPECT_FALSE(opened.ok()) << name;
        std::error_code code;
        std::filesystem::remove_all(folder / name, code);
        EXPECT_EQ(content(victim), "secret");
        return opened.ok() ? std::string{} : opened.error().text();
    };
    const auto put = [&](const std::string& name, const std::function<void(const char*)>& make) {
        std::filesystem::remove_all(folder / name);
        make((folder / name).c_str());
        return refusals(name);
    };
    const auto link = [&](const char* at) { std::filesystem::create_symlink(victim, at); };
    const auto hard_link = [&](const char* at) { std::filesystem::create_hard_link(victim, at); };
    const auto fifo = [](const char* at) { ::mkfifo(at, 0666); };
    const auto directory = [](const char* at) { std::filesystem::create_directory(at); };
    EXPECT_THAT(put("lock", link), testing::HasSubstr("is a symbolic link"));
    EXPECT_THAT(put("lock", hard_link), testing::HasSubstr("hard link"));
    EXPECT_THAT(put("lock", fifo), testing::HasSubstr("is a FIFO"));
    EXPECT_THAT(put("lock", directory), testing::HasSubstr("is a directory"));
    for (const std::string name : {"00000000.rdmahist", "00000009.rdmahist"}) {
        EXPECT_THAT(put(name, link), testing::HasSubstr("is a symbolic link"));
        EXPECT_THAT(put(name, fifo), testing::HasSubstr("is a FIFO"));
        EXPECT_THAT(put(name, directory), testing::HasSubstr("is a directory"));
    }
    // What is too short for a segment goes; its other name and its content stay.
    hard_link((folder / "00000009.rdmahist").c_str());
    EXPECT_TRUE(history::HistoryWriter::open(in(folder)).ok());
    EXPECT_FALSE(std::filesystem::exists(folder / "00000009.rdmahist"));
    EXPECT_EQ(content(victim), "secret");
    // Readers do not wait either.
    fifo((folder / "00000000.rdmahist").c_str());
    const auto read = reader(folder)->read(0, always, [](history::HistoryInterval&&) { return true; });
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().text(), testing::HasSubstr("is a FIFO"));
}

TEST(History, a_sparse_segment_takes_no_time) {
    const Folder folder;
    ASSERT_TRUE(writer(in(folder))->append(interval(1)));
    const std::string sparse = folder / "00000000.rdmahist";
    write(sparse, "");
    std::filesystem::resize_file(sparse, std::uintmax_t{1} << 40);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(numbers(*reader(folder)), from_to(1, 1));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST(History, the_search_for_records_ends_when_it_is_asked_to) {
    const Folder folder;
    ASSERT_TRUE(writer(in(folder))->append(interval(1)));
    write(folder / "00000000.rdmahist", std::string(4 << 20, 'x'));
    int asked = 0;
    const auto stop_at_tenth = [&asked] { return ++asked < 10; };
    auto opened = history::HistoryReader::open(folder.path(), stop_at_tenth);
    ASSERT_TRUE(opened.ok());
    EXPECT_FALSE((*opened)->extent());
    EXPECT_LT(asked, 20);
    asked = 0;
    history::HistoryOptions options = in(folder);
    options.go_on = stop_at_tenth;
    const auto stopped = history::HistoryWriter::open(options);
    ASSERT_FALSE(stopped.ok());
    EXPECT_THAT(stopped.error().text(), testing::HasSubstr("was stopped"));
    EXPECT_LT(asked, 20);
}

TEST(History, segments_may_go_while_it_is_read) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.segment_octets = 1000;
    const auto to = writer(options);
    for (std::uint64_t n = 1; n <= 60; ++n) ASSERT_TRUE(to->append(interval(n)));
    const auto paths = folder.segments();
    ASSERT_GT(paths.size(), 3u);
    std::vector<std::uint64_t> seen;
    const auto from = reader(folder);
    const auto done = from->read(INT64_MIN, always, [&](history::HistoryInterval&& one) {
        seen.push_back(one.frames_end / 100);
        std::filesystem::remove(paths[1]);
        return true;
    });
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(seen.front(), 1u);
    EXPECT_EQ(seen.back(), 60u);
    EXPECT_LT(seen.size(), 60u);
    EXPECT_EQ(from->damaged_records(), 0u);
}

TEST(History, is_read_while_it_is_written) {
    const Folder folder;
    history::HistoryOptions options = in(folder);
    options.segment_octets = 5000;
    auto to = writer(options);
    ASSERT_TRUE(to->append(interval(1)));
    std::thread writing([&to] {
        for (std::uint64_t n = 2; n <= 500; ++n) static_cast<void>(to->append(interval(n)));
    });
    const auto from = reader(folder);
    std::size_t seen = 0;
    while (seen < 500) {
        const auto now = numbers(*from);
        EXPECT_EQ(now, from_to(1, now.size()));
        EXPECT_GE(now.size(), seen);
        EXPECT_EQ(from->damaged_records(), 0u);
        if (now.size() < seen || testing::Test::HasFailure()) break;
        seen = now.size();
    }
    writing.join();
    EXPECT_EQ(to->counters().intervals, 499u + 1u);
}

}  // namespace
}  // namespace history
