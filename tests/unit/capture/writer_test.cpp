#include "capture/files/writer.h"

#include <csignal>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "capture/files/output.h"
#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;
using namespace std::string_view_literals;

wire::Frame frame_of(std::string_view data, std::int64_t time_ns = 1'700'000'000'123'456'789) {
    wire::Frame frame;
    frame.bytes = std::as_bytes(std::span(data));
    frame.wire_length = static_cast<std::uint32_t>(data.size()) + 10;
    frame.time_ns = time_ns;
    return frame;
}

std::unique_ptr<Writer> open_for_test(const std::string& path, const WriterOptions& options) {
    auto writer = open_writer(path, options);
    EXPECT_TRUE(writer.ok());
    return std::move(writer).value();
}

/// The process may write no more than so many octets to a file, as on a disk that is full.
class FileLimit {
public:
    explicit FileLimit(rlim_t octets) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{octets, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

private:
    void (*handler_)(int);
    rlimit before_{};
};

TEST(Writer, a_file_whose_disk_is_full_ends_with_a_whole_block) {
    const std::string data(100, 'x');
    const InterfaceInfo card{.name = "eth0", .link_type = wire::LinkType::ethernet, .snaplen = 96};
    for (const FileFormat format : {FileFormat::pcap, FileFormat::pcapng})
        for (const std::size_t buffer : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 20})
            for (rlim_t limit = 3000; limit < 3140; limit += 7) {
                const Directory directory;
                const std::string path = directory / "full";
                {
                    const FileLimit full(limit);
                    auto writer = open_for_test(path, {.format = format, .buffer_octets = buffer});
                    for (int i = 0; i < 100; ++i)
                        if (writer->write(frame_of(data), card) != WriteStatus::ok) break;
                    EXPECT_FALSE(writer->close());
                    EXPECT_EQ(writer->octets() >= std::filesystem::file_size(path), true);
                }
                // The most that fits: a block has less than 140 octets.
                EXPECT_LE(std::filesystem::file_size(path), limit);
                EXPECT_GT(std::filesystem::file_size(path) + 140, limit);
                const Contents got = read_all(path);
                EXPECT_EQ(got.error, "") << path << ' ' << limit << ' ' << buffer;
                EXPECT_GT(got.frames.size(), 15U);
            }
}

TEST(PcapngWriter, keeps_all_that_was_read) {
    const Directory directory;
    const std::string path = directory / "copy.pcapng";
    const InterfaceInfo card{.name = "eth0",
                             .description = "the card",
                             .filter = "udp",
                             .os = "Linux",
                             .hardware = "mlx5",
                             .comment = "one\ntwo",
                             .link_type = wire::LinkType::ethernet,
                             .snaplen = 96,
                             .ticks_per_sec = 1'000'000'000,
                             .speed_bits_per_sec = 25'000'000'000,
                             .fcs_octets = 4};
    InterfaceInfo other = card;
    other.name = "any";
    other.ordinal = 1;
    other.link_type = wire::LinkType::linux_sll2;
    {
        auto writer = open_for_test(
            path, {.section = {.comment = "remark", .hardware = "iron", .os = "OS", .application = "app"}});
        wire::Frame frame = frame_of("hello");
        frame.comment = "why not";
        frame.direction = wire::Direction::inbound;
        ASSERT_EQ(writer->write(frame, card), WriteStatus::ok);
        frame = frame_of("sll");
        frame.interface = 1;
        frame.direction = wire::Direction::outbound;
        ASSERT_EQ(writer->write(frame, other), WriteStatus::ok);
        ASSERT_EQ(writer->write(frame_of(""), card), WriteStatus::ok);
        writer->count(card, {.received = 5, .kernel_dropped = 6, .interface_dropped = 7});
        ASSERT_TRUE(writer->close()) << writer->error().text();
        EXPECT_EQ(writer->octets(), std::filesystem::file_size(path));
    }
    const Contents got = read_all(path);
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    EXPECT_EQ(got.sections, (std::vector<SectionInfo>{{"remark", "iron", "OS", "app"}}));
    EXPECT_EQ(got.interfaces, (std::vector<InterfaceInfo>{card, other}));
    ASSERT_EQ(got.frames.size(), 3U);
    EXPECT_EQ(got.frames[0],
              (Kept{"hello", 15, 1, wire::Direction::inbound, 0, 1'700'000'000'123'456'789, 1, "why not"}));
    EXPECT_EQ(got.frames[1], (Kept{"sll", 13, 276, wire::Direction::outbound, 1, 1'700'000'000'123'456'789, 2, ""}));
    EXPECT_EQ(got.frames[2], (Kept{"", 10, 1, wire::Direction::unknown, 0, 1'700'000'000'123'456'789, 3, ""}));
    auto source = open_file(path);
    wire::Frame frame;
    while ((*source)->next(frame) == ReadStatus::frame) {
    }
    EXPECT_EQ((*source)->statistics(0), (Statistics{.received = 5, .kernel_dropped = 6, .interface_dropped = 7}));
    EXPECT_EQ((*source)->statistics(1), Statistics{});
}

TEST(PcapngWriter, keeps_interfaces_apart_that_are_described_alike_and_sections) {
    const Directory directory;
    const InterfaceInfo one{.name = "eth0"};
    const InterfaceInfo two{.ordinal = 1, .name = "eth0"};
    const InterfaceInfo three{.ordinal = 2, .section = 1, .name = "eth0"};
    {
        auto writer = open_for_test(directory / "x", {.section = {.comment = "first", .os = "OS"}});
        ASSERT_EQ(writer->write(frame_of("a"), one), WriteStatus::ok);
        ASSERT_EQ(writer->write(frame_of("b"), two), WriteStatus::ok);
        writer->count(one, {.kernel_dropped = 1});
        writer->count(two, {.kernel_dropped = 2});
        ASSERT_TRUE(writer->begin_section({.comment = "second", .os = "OS"}));
        ASSERT_EQ(writer->write(frame_of("c"), three), WriteStatus::ok);
        writer->count(three, {.kernel_dropped = 4});
        ASSERT_TRUE(writer->close());
    }
    const Contents got = read_all(directory / "x");
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    EXPECT_EQ(got.sections,
              (std::vector<SectionInfo>{{"first", "", "OS", "rdmascope"}, {"second", "", "OS", "rdmascope"}}));
    ASSERT_EQ(got.interfaces.size(), 3U);
    EXPECT_EQ(got.interfaces[2].section, 1U);
    ASSERT_EQ(got.frames.size(), 3U);
    EXPECT_EQ(got.frames[1].interface, 1U);
    EXPECT_EQ(got.frames[2].interface, 2U);
    auto source = open_file(directory / "x");
    wire::Frame frame;
    while ((*source)->next(frame) == ReadStatus::frame) {
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*source)->statistics(i).kernel_dropped, std::uint64_t{1} << i);
}

TEST(PcapngWriter, keeps_each_comment_of_a_packet) {
    const Directory directory;
    {
        auto writer = open_for_test(directory / "x", {});
        for (const std::string_view comments : {"one"sv, "one\0two"sv, "\0"sv, "\0x"sv, ""sv}) {
            wire::Frame frame = frame_of("x");
            frame.comment = comments;
            ASSERT_EQ(writer->write(frame, {}), WriteStatus::ok);
        }
    }
    const Contents got = read_all(directory / "x");
    ASSERT_EQ(got.frames.size(), 5U) << got.error;
    const std::vector<std::string_view> expected{"one"sv, "one\0two\0"sv, "\0"sv, "\0x\0"sv, ""sv};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(got.frames[i].comment, expected[i]) << i;
}

TEST(PcapngWriter, names_itself_where_nobody_else_did) {
    const Directory directory;
    ASSERT_TRUE(open_for_test(directory / "x", {})->close());
    const Contents got = read_all(directory / "x");
    EXPECT_EQ(got.status, ReadStatus::end);
    EXPECT_EQ(got.sections.at(0).application, "rdmascope");
    EXPECT_NE(got.sections.at(0).os, "");
}

TEST(PcapngWriter, text_too_long_for_an_option_is_cut) {
    const Directory directory;
    {
        auto writer = open_for_test(directory / "x", {});
        const std::string longest(70'000, 'c');
        wire::Frame frame = frame_of("x");
        frame.comment = longest;
        ASSERT_EQ(writer->write(frame, {.name = longest}), WriteStatus::ok);
    }
    const Contents got = read_all(directory / "x");
    ASSERT_EQ(got.status, ReadStatus::end) << got.error;
    EXPECT_EQ(got.frames.at(0).comment.size(), 65'535U);
    EXPECT_EQ(got.interfaces.at(0).name.size(), 65'535U);
}

TEST(PcapWriter, precision_follows_the_source_unless_told) {
    const Directory directory;
    struct Case {
        TimePrecision precision;
        std::uint64_t ticks_per_sec;
        std::int64_t time_ns;
    };
    for (const Case& each : {Case{TimePrecision::automatic, 1'000'000, 1'700'000'000'123'456'000},
                             Case{TimePrecision::automatic, 1'000'000'000, 1'700'000'000'123'456'789},
                             Case{TimePrecision::micro, 1'000'000'000, 1'700'000'000'123'456'000},
                             Case{TimePrecision::nano, 1'000'000, 1'700'000'000'123'456'789}}) {
        {
            auto writer = open_for_test(directory / "x",
                                        {.format = FileFormat::pcap, .precision = each.precision, .snaplen = 96});
            ASSERT_EQ(writer->write(frame_of("hello"), {.ticks_per_sec = each.ticks_per_sec, .fcs_octets = 4}),
                      WriteStatus::ok);
            ASSERT_TRUE(writer->close());
        }
        const Contents got = read_all(directory / "x");
        EXPECT_EQ(got.frames.at(0), (Kept{"hello", 15, 1, wire::Direction::unknown, 0, each.time_ns, 1, ""}));
        EXPECT_EQ(got.interfaces.at(0).snaplen, 96U);
        EXPECT_EQ(got.interfaces.at(0).fcs_octets, 4);
    }
}

TEST(PcapWriter, holds_one_link_type) {
    const Directory directory;
    auto writer = open_for_test(directory / "x", {.format = FileFormat::pcap});
    wire::Frame frame = frame_of("x");
    ASSERT_EQ(writer->write(frame, {}), WriteStatus::ok);
    frame.link_type = wire::LinkType::infiniband;
    EXPECT_EQ(writer->write(frame, {.link_type = wire::LinkType::infiniband}), WriteStatus::error);
    EXPECT_THAT(writer->error().text(), HasSubstr("write pcapng"));
    EXPECT_FALSE(writer->close());
    EXPECT_EQ(read_all(directory / "x").frames.size(), 1U) << "what came before is kept";
}

class Formats : public testing::TestWithParam<FileFormat> {};
INSTANTIATE_TEST_SUITE_P(Both, Formats, testing::Values(FileFormat::pcap, FileFormat::pcapng),
                         [](const auto& which) { return which.param == FileFormat::pcap ? "pcap" : "pcapng"; });

TEST_P(Formats, without_frames_there_is_a_file_with_its_interface) {
    const Directory directory;
    {
        auto writer = open_for_test(directory / "x", {.format = GetParam()});
        ASSERT_TRUE(writer->describe({.link_type = wire::LinkType::raw}));
        ASSERT_TRUE(writer->close());
    }
    const Contents got = read_all(directory / "x");
    EXPECT_EQ(got.status, ReadStatus::end) << got.error;
    EXPECT_EQ(got.interfaces.at(0).link_type, wire::LinkType::raw);
}

TEST_P(Formats, packet_buffered_frames_are_there_at_once) {
    const Directory directory;
    auto writer = open_for_test(directory / "x", {.format = GetParam(), .packet_buffered = true});
    for (std::size_t i = 1; i < 4; ++i) {
        ASSERT_EQ(writer->write(frame_of("hello"), {}), WriteStatus::ok);
        EXPECT_EQ(read_all(directory / "x").frames.size(), i);
    }
}

TEST_P(Formats, any_buffer_size_writes_the_same) {
    const Directory directory;
    std::string reference;
    for (const std::size_t octets : {std::size_t{1} << 20, std::size_t{1}, std::size_t{100}, std::size_t{4096}}) {
        auto writer = open_for_test(directory / "x", {.format = GetParam(), .buffer_octets = octets});
        for (std::size_t i = 0; i < 300; ++i) {
            const std::string data(i * 7, 'x');
            ASSERT_EQ(writer->write(frame_of(data), {}), WriteStatus::ok);
        }
        ASSERT_TRUE(writer->close());
        if (reference.empty()) reference = load(directory / "x");
        EXPECT_TRUE(load(directory / "x") == reference) << octets;
    }
}

TEST_P(Formats, full_disk_is_told) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
    auto writer = open_for_test("/dev/full", {.format = GetParam(), .buffer_octets = 64});
    WriteStatus status = WriteStatus::ok;
    for (int i = 0; i < 10 && status == WriteStatus::ok; ++i)
        status = writer->write(frame_of("hello hello hello hello"), {});
    EXPECT_EQ(status, WriteStatus::error);
    EXPECT_THAT(writer->error().text(), HasSubstr("/dev/full: writing failed after 0 bytes: No space left"));
    EXPECT_EQ(writer->write(frame_of("x"), {}), WriteStatus::error);
    EXPECT_FALSE(writer->close());

    auto at_close = open_for_test("/dev/full", {.format = GetParam()});
    ASSERT_EQ(at_close->write(frame_of("hello"), {}), WriteStatus::ok);
    EXPECT_FALSE(at_close->close());
    EXPECT_THAT(at_close->error().text(), HasSubstr("No space left"));
}

TEST(Writer, what_cannot_be_created_is_told) {
    const Directory directory;
    const auto writer = open_writer(directory / "no/such/place");
    ASSERT_FALSE(writer.ok());
    EXPECT_THAT(writer.error().text(), HasSubstr("No such file or directory"));
}

TEST(Writer, format_by_name) {
    EXPECT_EQ(format_of_name("x.pcap"), FileFormat::pcap);
    EXPECT_EQ(format_of_name("x.cap"), FileFormat::pcap);
    EXPECT_EQ(format_of_name("x.pcapng"), FileFormat::pcapng);
    EXPECT_EQ(format_of_name("-"), FileFormat::pcapng);
}

TEST(Writer, same_file_is_seen_through_links) {
    const Directory directory;
    save(directory / "a", "x");
    save(directory / "b", "x");
    std::filesystem::create_symlink(directory / "a", directory / "link");
    EXPECT_TRUE(same_file(directory / "a", directory / "link"));
    EXPECT_FALSE(same_file(directory / "a", directory / "b"));
    EXPECT_FALSE(same_file(directory / "a", directory / "missing"));
}

}  // namespace
}  // namespace capture::test
