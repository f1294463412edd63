#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

#include "tests/unit/trace/folder.h"
#include "trace/file/trace_file.h"

namespace trace {

namespace {

using test::Folder;

Record record(std::uint64_t id, RecordKind kind = RecordKind::post_send) {
    Record result;
    result.kind = kind;
    result.time_ns = static_cast<std::int64_t>(id) * 10;
    result.process = 42;
    result.work.id = id;
    return result;
}

std::vector<Record> records(std::uint64_t count) {
    std::vector<Record> result;
    for (std::uint64_t i = 0; i < count; ++i) result.push_back(record(i));
    return result;
}

const Process writer_process{42, 1000, 123, "ib_write_bw -R", "c0ffee", {"rxe0"}};

std::string octets_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& octets) {
    std::ofstream(path, std::ios::binary).write(octets.data(), static_cast<std::streamsize>(octets.size()));
}

/// A file of a process, two batches of records, and its end.
std::string good_file(const Folder& folder) {
    const std::string path = folder / "good";
    auto writer = TraceFileWriter::open(path);
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE(writer->write(records(3), {writer_process}));
    EXPECT_TRUE(writer->write(records(2), {writer_process}));
    EXPECT_TRUE(writer->close(9));
    return path;
}

struct Whole {
    std::vector<Record> records;
    std::string error;
    bool complete = false;
};
Whole read_all(TraceFileReader& reader) {
    Whole all;
    for (;;) {
        const auto batch = reader.next();
        if (!batch) {
            all.error = batch.error().text();
            break;
        }
        if (batch->empty()) break;
        all.records.insert(all.records.end(), batch->begin(), batch->end());
    }
    all.complete = reader.is_complete();
    return all;
}

TEST(TraceFile, GivesBackWhatWasWritten) {
    const Folder folder;
    const std::string path = folder / "trace";
    auto writer = TraceFileWriter::open(path);
    ASSERT_TRUE(writer.ok());
    // More than fits into one block, which holds a MiB.
    const std::vector<Record> many = records(40'000);
    Process later{43, 0, 456, std::string(2000, 'x'), "", {}};
    ASSERT_TRUE(writer->write(many, {writer_process}));
    ASSERT_TRUE(writer->write(records(10), {writer_process, later}));
    later.devices.push_back("siw1");
    ASSERT_TRUE(writer->write({}, {writer_process, later}));
    ASSERT_TRUE(writer->close(7));
    EXPECT_EQ(writer->records(), 40'010U);
    EXPECT_EQ(writer->octets(), std::filesystem::file_size(path));

    auto reader = TraceFileReader::open(path);
    ASSERT_TRUE(reader.ok());
    const Whole all = read_all(*reader);
    EXPECT_EQ(all.error, "");
    EXPECT_TRUE(all.complete);
    EXPECT_EQ(reader->lost(), 7U);
    ASSERT_EQ(all.records.size(), 40'010U);
    EXPECT_EQ(std::memcmp(all.records.data(), many.data(), many.size() * sizeof(Record)), 0);
    ASSERT_EQ(reader->processes().size(), 2U);
    EXPECT_EQ(reader->processes()[0], writer_process);
    EXPECT_EQ(reader->processes()[1].command, std::string(Process::longest_command, 'x'));
    EXPECT_EQ(reader->processes()[1].devices, std::vector<std::string>{"siw1"});
}

TEST(TraceFile, AProcessIsKnownBeforeItsFirstRecord) {
    const Folder folder;
    auto reader = TraceFileReader::open(good_file(folder));
    ASSERT_TRUE(reader.ok());
    EXPECT_TRUE(reader->processes().empty());
    const auto first = reader->next();
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->size(), 3U);
    ASSERT_EQ(reader->processes().size(), 1U);
    EXPECT_EQ(reader->processes()[0], writer_process);
}

// The octets by the page docs/trace.md, put together by hand.
TEST(TraceFile, LiesInTheFileAsThePageSays) {
    const Folder folder;
    const std::string octets = octets_of(good_file(folder));
    EXPECT_EQ(octets.substr(0, 8), "rdmatrc\n");
    EXPECT_EQ(octets.substr(8, 8), std::string("\1\0\0\0\x40\0\0\0", 8));
    const std::size_t text = 16 + 2 + 14 + 2 + 6 + 2 + 2 + 4;
    std::string described("\1\0\0\0", 4);
    described += std::string({static_cast<char>(text), 0, 0, 0});
    described += std::string("\x2a\0\0\0\xe8\3\0\0\x7b\0\0\0\0\0\0\0", 16);
    described += std::string("\x0e\0ib_write_bw -R\6\0c0ffee\1\0\4\0rxe0", 32);
    EXPECT_EQ(octets.substr(32, 8 + text), described);
    EXPECT_EQ(octets.substr(32 + 8 + text, 8), std::string("\2\0\0\0\xc0\0\0\0", 8));
    const std::string end("\3\0\0\0\x10\0\0\0\5\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0", 24);
    EXPECT_EQ(octets.substr(octets.size() - 24), end);
    EXPECT_EQ(octets.size(), 32 + 8 + text + 8 + 3 * 64 + 8 + 2 * 64 + 24);
}

TEST(TraceFile, EveryTruncationIsSurvivedAndToldOf) {
    const Folder folder;
    const std::string whole = octets_of(good_file(folder));
    const std::string path = folder / "cut";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write_file(path, whole.substr(0, size));
        auto reader = TraceFileReader::open(path);
        if (size < 32) {
            EXPECT_FALSE(reader.ok()) << size;
            continue;
        }
        ASSERT_TRUE(reader.ok()) << size;
        const Whole all = read_all(*reader);
        EXPECT_FALSE(all.complete) << size;
        // Cut between two blocks it just has no end; cut elsewhere, that is said with the place.
        const bool between = size == 32 || size == 32 + 56 || size == 32 + 56 + 200 || size == 32 + 56 + 200 + 136;
        EXPECT_EQ(all.error.empty(), between) << size << " " << all.error;
        EXPECT_EQ(all.records.size(), size < 32 + 56 + 200 ? 0U : size < 32 + 56 + 200 + 136 ? 3U : 5U) << size;
        EXPECT_TRUE(read_all(*reader).records.empty()) << "nothing comes after an error";
    }
}

TEST(TraceFile, EveryChangedOctetIsSurvived) {
    const Folder folder;
    const std::string whole = octets_of(good_file(folder));
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const char change : {'\x01', '\x80', '\xff'}) {
            std::string damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ change);
            auto reader = TraceFileReader::read(fmemopen(damaged.data(), damaged.size(), "rb"), "damaged");
            if (!reader) continue;
            const Whole all = read_all(*reader);
            EXPECT_LE(all.records.size(), 5U);
            EXPECT_LE(reader->processes().size(), 2U);
        }
}

TEST(TraceFile, BlocksOfAKindFromTheFutureArePassedOver) {
    const Folder folder;
    const std::string whole = octets_of(good_file(folder));
    std::string longer = whole.substr(0, 32) + std::string("\x63\0\0\0\3\0\0\0abc", 11) + whole.substr(32);
    auto reader = TraceFileReader::read(fmemopen(longer.data(), longer.size(), "rb"), "longer");
    ASSERT_TRUE(reader.ok());
    const Whole all = read_all(*reader);
    EXPECT_EQ(all.error, "");
    EXPECT_EQ(all.records.size(), 5U);
}

TEST(TraceFile, SaysWhatIsWrong) {
    const Folder folder;
    const std::string whole = octets_of(good_file(folder));
    const auto complaint = [](std::string octets) -> std::string {
        auto reader = TraceFileReader::read(fmemopen(octets.data(), octets.size(), "rb"), "x");
        if (!reader) return reader.error().text();
        return read_all(*reader).error;
    };
    const auto with = [&whole](std::size_t at, const std::string& octets) {
        std::string changed = whole;
        return changed.replace(at, octets.size(), octets);
    };
    EXPECT_NE(complaint(with(0, "pcap")).find("is no trace"), std::string::npos);
    EXPECT_NE(complaint(with(8, "\2")).find("version 2"), std::string::npos);
    EXPECT_NE(complaint(with(12, "\x20")).find("records of 32 bytes"), std::string::npos);
    EXPECT_NE(complaint(with(32 + 6, "\x7f")).find("are the most"), std::string::npos);
    EXPECT_NE(complaint(with(32 + 56 + 4, "\xbf")).find("191 bytes of records"), std::string::npos);
    EXPECT_NE(complaint(with(32 + 56 + 8 + 16, "\x77")).find("unknown kind 119"), std::string::npos);
    EXPECT_NE(complaint(with(whole.size() - 16, "\4")).find("announces 4 records, and there were 5"),
              std::string::npos);
    EXPECT_NE(TraceFileReader::open(folder / "none").error().text().find("none: cannot be opened: No such file"),
              std::string::npos);
    EXPECT_FALSE(TraceFileReader::open(folder.path()).ok());
    EXPECT_FALSE(TraceFileWriter::open(folder / "no/such").ok());
}

TEST(TraceFile, CommandsOfOthersDoTheTerminalNoHarm) {
    const Folder folder;
    const std::string path = folder / "trace";
    {
        auto writer = TraceFileWriter::open(path);
        ASSERT_TRUE(writer->write(records(1), {{1, 2, 3, "a\x1b]0;b", "", {}}}));
        ASSERT_TRUE(writer->close(0));
    }
    auto reader = TraceFileReader::open(path);
    read_all(*reader);
    EXPECT_EQ(reader->processes().at(0).command, "a?]0;b");
}

}  // namespace

}  // namespace trace
