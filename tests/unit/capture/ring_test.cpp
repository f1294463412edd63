#include <gmock/gmock.h>
#include <set>

#include "capture/files/output.h"
#include "capture/files/ring_writer.h"
#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

std::set<std::string> names_in(const Directory& directory) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
        names.insert(entry.path().filename().string());
    return names;
}

/// Writes frames of 1000 octets, numbered in their first octet, a second apart; says how many were kept.
int fill(const std::string& path, RingOptions options, int frames, std::size_t* failed_commands = nullptr) {
    std::int64_t now = 1'700'000'000;
    options.now_sec = [&now] { return now; };
    auto opened = RingWriter::open(path, options, {.format = FileFormat::pcap});
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    RingWriter& ring = **opened;
    int kept = 0;
    for (; kept < frames; ++kept, ++now) {
        std::string data(1000, 'x');
        data[0] = static_cast<char>(kept);
        wire::Frame frame;
        frame.bytes = std::as_bytes(std::span(data));
        frame.wire_length = 1000;
        const WriteStatus status = ring.write(frame, {});
        EXPECT_NE(status, WriteStatus::error) << ring.error().text();
        if (status == WriteStatus::finished) break;
    }
    EXPECT_TRUE(ring.close());
    const std::size_t failed = ring.wait_for_commands();
    if (failed_commands != nullptr) *failed_commands = failed;
    return kept;
}

std::vector<int> marks(const std::string& path) {
    std::vector<int> found;
    for (const Kept& frame : read_all(path).frames) found.push_back(frame.bytes[0]);
    return found;
}

using Names = std::set<std::string>;
using Marks = std::vector<int>;

TEST(Ring, by_size_numbers_from_the_second_file) {
    const Directory directory;
    fill(directory / "x", {.max_octets = 2000}, 5);
    EXPECT_EQ(names_in(directory), (Names{"x", "x1", "x2"}));
    EXPECT_EQ(marks(directory / "x"), (Marks{0, 1}));
    EXPECT_EQ(marks(directory / "x1"), (Marks{2, 3}));
    EXPECT_EQ(marks(directory / "x2"), (Marks{4}));
}

TEST(Ring, by_size_and_count_overwrites_from_the_first) {
    const Directory directory;
    fill(directory / "x", {.max_octets = 1000, .files = 11}, 13);
    EXPECT_EQ(names_in(directory).size(), 11U);
    EXPECT_EQ(marks(directory / "x00"), (Marks{11}));
    EXPECT_EQ(marks(directory / "x01"), (Marks{12}));
    EXPECT_EQ(marks(directory / "x10"), (Marks{10}));
}

TEST(Ring, of_one_keeps_its_name) {
    const Directory directory;
    fill(directory / "x", {.max_octets = 1000, .files = 1}, 3);
    EXPECT_EQ(names_in(directory), (Names{"x"}));
    EXPECT_EQ(marks(directory / "x"), (Marks{2}));
}

TEST(Ring, by_time_follows_strftime) {
    const Directory directory;
    EXPECT_EQ(fill(directory / "x-%s", {.seconds = 2}, 5), 5);
    EXPECT_EQ(names_in(directory), (Names{"x-1700000000", "x-1700000002", "x-1700000004"}));
    EXPECT_EQ(marks(directory / "x-1700000002"), (Marks{2, 3}));
}

TEST(Ring, by_time_without_a_date_overwrites) {
    const Directory directory;
    fill(directory / "x", {.seconds = 2}, 5);
    EXPECT_EQ(names_in(directory), (Names{"x"}));
    EXPECT_EQ(marks(directory / "x"), (Marks{4}));
}

TEST(Ring, by_time_and_count_ends) {
    const Directory directory;
    EXPECT_EQ(fill(directory / "x-%s", {.files = 2, .seconds = 2}, 9), 4);
    EXPECT_EQ(names_in(directory), (Names{"x-1700000000", "x-1700000002"}));
}

TEST(Ring, by_time_and_size_numbers_within_a_slice) {
    const Directory directory;
    fill(directory / "x-%s", {.max_octets = 1000, .seconds = 3}, 4);
    EXPECT_EQ(names_in(directory), (Names{"x-1700000000", "x-17000000001", "x-17000000002", "x-1700000003"}));
}

TEST(Ring, by_time_size_and_count_overwrites_within_a_slice) {
    const Directory directory;
    EXPECT_EQ(fill(directory / "x-%s.", {.max_octets = 1000, .files = 2, .seconds = 4}, 5), 5);
    EXPECT_EQ(names_in(directory), (Names{"x-1700000000.0", "x-1700000000.1", "x-1700000004.0"}));
    EXPECT_EQ(marks(directory / "x-1700000000.0"), (Marks{2}));
    EXPECT_EQ(marks(directory / "x-1700000000.1"), (Marks{3}));
}

TEST(Ring, of_time_ends_with_its_last_file_though_no_frame_comes) {
    struct Case {
        RingOptions options;
        std::int64_t seconds;
        bool over;
    };
    const Directory directory;
    for (const Case& each : {Case{{.files = 1, .seconds = 5}, 4, false}, Case{{.files = 1, .seconds = 5}, 5, true},
                             Case{{.files = 2, .seconds = 5}, 100, false}, Case{{.seconds = 5}, 100, false},
                             Case{{.max_octets = 9, .files = 1, .seconds = 5}, 100, false}}) {
        std::int64_t now = 1'700'000'000;
        RingOptions options = each.options;
        options.now_sec = [&now] { return now; };
        auto opened = RingWriter::open(directory / "x", options, {.format = FileFormat::pcap});
        ASSERT_TRUE(opened.ok()) << opened.error().text();
        now += each.seconds;
        EXPECT_EQ((*opened)->end_if_over(), each.over) << each.options.files << " files, " << each.seconds << " s";
        EXPECT_EQ((*opened)->write({}, {}) == WriteStatus::finished, each.over);
        EXPECT_TRUE((*opened)->close());
    }
}

/// Kept frames until the ring refuses to write over `x/NAME`, which is being read.
int kept_beside(const std::string& name, const char* pattern, RingOptions options) {
    const Directory directory;
    save(directory / name, "a capture");
    std::int64_t now = 1'700'000'000;
    options.now_sec = [&now] { return now; };
    options.sources = {file_id(directory / name).value()};
    int kept = 0;
    std::string refusal;
    auto opened = RingWriter::open(directory / pattern, options, {.format = FileFormat::pcap});
    if (!opened.ok()) {
        refusal = opened.error().text();
    } else {
        const std::string data(1000, 'x');
        wire::Frame frame;
        frame.bytes = std::as_bytes(std::span(data));
        frame.wire_length = 1000;
        for (; kept < 100 && (*opened)->write(frame, {}) == WriteStatus::ok; ++kept) ++now;
        refusal = (*opened)->error().text();
        EXPECT_FALSE((*opened)->close());
    }
    EXPECT_THAT(refusal, HasSubstr("being read")) << name;
    EXPECT_THAT(refusal, HasSubstr(name));
    EXPECT_EQ(std::filesystem::file_size(directory / name), 9U) << name;
    return kept;
}

TEST(Ring, never_writes_over_what_is_being_read) {
    EXPECT_EQ(kept_beside("x-1700000000", "x-%s", {.seconds = 60}), 0) << "the first name";
    EXPECT_EQ(kept_beside("x-1700000004", "x-%s", {.seconds = 2}), 4) << "the third";
    EXPECT_EQ(kept_beside("x2", "x", {.max_octets = 1000}), 2) << "a frame a file";
    EXPECT_EQ(kept_beside("x-17000000001", "x-%s", {.max_octets = 1000, .seconds = 60}), 1);
}

TEST(Ring, command_is_run_on_what_was_rotated_out) {
    const Directory directory;
    std::size_t failed = 9;
    fill(directory / "x", {.max_octets = 2000, .command = "gzip"}, 5, &failed);
    EXPECT_EQ(failed, 0U);
    EXPECT_EQ(names_in(directory), (Names{"x.gz", "x1.gz", "x2"}));
    EXPECT_EQ(marks(directory / "x1.gz"), (Marks{2, 3}));
}

TEST(Ring, command_is_no_shell_and_its_failure_is_counted) {
    const Directory directory;
    std::size_t failed = 0;
    fill(directory / "x", {.max_octets = 1000, .command = "true; true"}, 3, &failed);
    EXPECT_EQ(failed, 2U);
}

TEST(Ring, every_file_describes_the_interface) {
    const Directory directory;
    auto ring = RingWriter::open(directory / "x", {.max_octets = 1}, {.format = FileFormat::pcapng});
    ASSERT_TRUE(ring.ok());
    const InterfaceInfo interface { .name = "eth0", .ticks_per_sec = 1'000'000'000 };
    ASSERT_TRUE((*ring)->describe(interface));
    wire::Frame frame;
    ASSERT_EQ((*ring)->write(frame, interface), WriteStatus::ok);
    ASSERT_EQ((*ring)->write(frame, interface), WriteStatus::ok);
    ASSERT_TRUE((*ring)->close());
    for (const char* name : {"x", "x1", "x2"}) {
        const Contents got = read_all(directory / name);
        EXPECT_EQ(got.interfaces, std::vector<InterfaceInfo>{interface}) << name << got.error;
    }
}

TEST(Ring, what_cannot_be_is_told) {
    EXPECT_FALSE(RingWriter::open("-", {.max_octets = 1}, {}).ok());
    EXPECT_FALSE(RingWriter::open("", {.max_octets = 1}, {}).ok());
    EXPECT_FALSE(RingWriter::open("/no/such/place", {.max_octets = 1}, {}).ok());
    const Directory directory;
    auto ring = RingWriter::open(directory / "sub%s", {.seconds = 1}, {});
    ASSERT_TRUE(ring.ok());
    EXPECT_TRUE((*ring)->close());
}

TEST(Ring, sizes_are_read_as_tcpdump_reads_them) {
    const auto size = [](std::string_view text) {
        const auto parsed = parse_file_size(text);
        return parsed.ok() ? *parsed : 0;
    };
    EXPECT_EQ(size("1"), 1'000'000U);
    EXPECT_EQ(size("3k"), 3072U);
    EXPECT_EQ(size("3K"), 3072U);
    EXPECT_EQ(size("2m"), 2U << 20);
    EXPECT_EQ(size("2M"), 2U << 20);
    EXPECT_EQ(size("1g"), 1U << 30);
    EXPECT_EQ(size("1G"), 1U << 30);
    for (const char* wrong : {"", "0", "-1", "x", "1x", "1kk", "99999999999999999999", "9999999999999g"})
        EXPECT_EQ(size(wrong), 0U) << wrong;
    EXPECT_THAT(parse_file_size("1x").error().text(), HasSubstr("the units are k, m and g"));
}

}  // namespace
}  // namespace capture::test
