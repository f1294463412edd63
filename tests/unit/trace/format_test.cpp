// What format files say, of real kernels and made up; expected values were read off the files by eye.
#include "trace/perf/format.h"

#include <arpa/inet.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <vector>

#include "trace_events.h"

namespace trace {
namespace {

using test::RecordBytes;
using test::recorded_format;

TEST(TraceFormat, every_recorded_file_is_read_line_by_line) {
    // A second reading of the same lines, by a regular expression.
    const std::regex field_line(R"(\tfield:(.*);\toffset:(\d+);\tsize:(\d+);\tsigned:([01]);)");
    const std::regex id_line(R"(ID: (\d+))");
    std::size_t files = 0;
    std::size_t fields = 0;
    for (const auto& [path, text] : test::recorded_formats()) {
        const auto format = Format::parse(text);
        ASSERT_TRUE(format.ok()) << path << ": " << format.error().text();
        ++files;
        EXPECT_EQ(path.find("/" + format->name() + "/format"), path.size() - format->name().size() - 8) << path;
        std::istringstream lines(text);
        std::string line;
        std::size_t at = 0;
        while (std::getline(lines, line)) {
            std::smatch part;
            if (std::regex_match(line, part, id_line)) {
                EXPECT_EQ(std::to_string(format->id()), part[1].str());
            }
            if (!std::regex_match(line, part, field_line)) continue;
            ASSERT_LT(at, format->fields().size()) << path;
            const Field& field = format->fields()[at++];
            EXPECT_NE(part[1].str().find(field.name), std::string::npos) << path;
            EXPECT_EQ(part[1].str().find('[') != std::string::npos, field.array) << path << " " << field.name;
            EXPECT_EQ(std::to_string(field.offset), part[2].str()) << path << " " << field.name;
            EXPECT_EQ(std::to_string(field.size), part[3].str()) << path << " " << field.name;
            EXPECT_EQ(field.is_signed ? "1" : "0", part[4].str()) << path << " " << field.name;
            EXPECT_TRUE(field.is_number() || field.array) << path << " " << field.name;
            ++fields;
        }
        EXPECT_EQ(at, format->fields().size()) << path;
        EXPECT_NE(text.find(format->print_format()), std::string::npos) << path;
        EXPECT_FALSE(format->print_format().empty()) << path;
    }
    EXPECT_EQ(files, 190U);    // grep -c ===
    EXPECT_EQ(fields, 1698U);  // grep -c $'\tfield:'
}

TEST(TraceFormat, numbers_names_and_signs) {
    const Format format = recorded_format("rdma_core", "cq_poll");
    EXPECT_EQ(format.id(), 1514U);
    RecordBytes record(20);
    record.put<std::int32_t>(4, 272).put<std::uint32_t>(8, 7).put<std::int32_t>(12, 16).put<std::int32_t>(16, -12);
    EXPECT_EQ(Format::number(*format.find("common_pid"), record.bytes()), 272U);
    EXPECT_EQ(Format::number(*format.find("requested"), record.bytes()), 16U);
    EXPECT_EQ(static_cast<std::int64_t>(*Format::number(*format.find("rc"), record.bytes())), -12);
    EXPECT_EQ(format.describe(record.bytes()), "cq_id=7 requested=16 rc=-12");
    EXPECT_EQ(format.find("rc_"), nullptr);

    const Format alloc = recorded_format("rdma_core", "cq_alloc");
    const Field& context = *alloc.find("poll_ctx");
    EXPECT_EQ(context.name_of(0), "SOFTIRQ");
    EXPECT_EQ(context.name_of(3), "DIRECT");
    EXPECT_EQ(context.name_of(4), "");
    EXPECT_EQ(context.names.size(), 4U);
    // nvme_async_event names values by enumerators whose numbers are not listed.
    EXPECT_TRUE(recorded_format("nvme", "nvme_async_event").find("result")->names.empty());
}

TEST(TraceFormat, texts_are_where_the_record_says) {
    const Format format = recorded_format("rdma_cma", "cm_id_attach");
    RecordBytes record(80);
    record.put<std::uint32_t>(8, 9).put<std::uint32_t>(68, (6U << 16) | 72U).put_text(72, "mlx5_0");
    const Field& name = *format.find("devname");
    EXPECT_EQ(name.place, Field::Place::located);
    EXPECT_EQ(Format::text(name, record.bytes()), "mlx5_0");
    EXPECT_EQ(format.describe(record.bytes()), "cm_id=9 srcaddr=(none) dstaddr=(none) devname=mlx5_0");

    record.put<std::uint32_t>(68, (8U << 16) | 72U).put_text(72, std::string_view("a\0b\0\0\0\0", 8));
    EXPECT_EQ(Format::text(name, record.bytes()), "a");
    record.put<std::uint32_t>(68, (9U << 16) | 72U);
    EXPECT_EQ(Format::text(name, record.bytes()), "") << "beyond the end";
    record.put<std::uint32_t>(68, 0xffffffff);
    EXPECT_EQ(Format::text(name, record.bytes()), "");
    record.put<std::uint32_t>(68, (3U << 16) | 72U).put_text(72, "\x1b[m");
    EXPECT_NE(format.describe(record.bytes()).find("devname=\\x1b[m"), std::string::npos);
}

TEST(TraceFormat, relative_texts_count_from_behind_their_word) {
    const auto format = Format::parse(
        "name: made\nID: 1\nformat:\n\tfield:__rel_loc char[] what;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: "
        "\"\"\n");
    ASSERT_TRUE(format.ok());
    RecordBytes record(20);
    record.put<std::uint32_t>(8, (3U << 16) | 2U).put_text(14, "abc");  // 8 + 4 + 2
    EXPECT_EQ(Format::text(*format->find("what"), record.bytes()), "abc");
}

TEST(TraceFormat, addresses_read_as_the_kernel_prints_them) {
    const Format format = recorded_format("rdma_cma", "cm_event_handler");
    sockaddr_in source = {.sin_family = AF_INET, .sin_port = htons(42188), .sin_addr = {}, .sin_zero = {}};
    ASSERT_EQ(::inet_pton(AF_INET, "192.0.2.1", &source.sin_addr), 1);
    sockaddr_in6 target = {};
    target.sin6_family = AF_INET6;
    target.sin6_port = htons(18634);
    ASSERT_EQ(::inet_pton(AF_INET6, "2001:db8::2", &target.sin6_addr), 1);
    RecordBytes record(88);
    record.put<std::uint32_t>(8, 7).put<std::uint64_t>(16, 8).put<std::int32_t>(24, 28).put(28, source).put(56, target);
    EXPECT_EQ(format.describe(record.bytes()),
              "cm_id=7 tos=0 event=REJECTED status=28 srcaddr=192.0.2.1:42188 dstaddr=[2001:db8::2]:18634");
}

TEST(TraceFormat, a_short_record_has_no_values) {
    for (const auto& [path, text] : test::recorded_formats()) {
        const auto format = Format::parse(text);
        ASSERT_TRUE(format.ok());
        std::size_t end = 0;
        for (const Field& field : format->fields()) end = std::max<std::size_t>(end, field.offset + field.size);
        const RecordBytes record(end);
        for (std::size_t size = 0; size <= end; ++size) {
            const base::Bytes cut = record.bytes().first(size);
            for (const Field& field : format->fields()) {
                const bool there = field.offset + field.size <= size;
                EXPECT_EQ(Format::number(field, cut).has_value(), there && field.is_number()) << path << field.name;
            }
            static_cast<void>(format->describe(cut));
        }
    }
}

TEST(TraceFormat, what_is_no_format_file_is_refused_by_its_line) {
    const auto fault = [](std::string_view text) {
        const auto format = Format::parse(text);
        return format.ok() ? std::string() : format.error().text();
    };
    const std::string head = "name: x\nID: 3\nformat:\n";
    EXPECT_EQ(fault(head), "");
    EXPECT_NE(fault("").find("without a name"), std::string::npos);
    EXPECT_NE(fault("name: x\n").find("without a name and an ID"), std::string::npos);
    EXPECT_NE(fault("name: x\nID: x\n").find("line 2: an ID"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:int a").find("line 4: a field without `;`"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:int a;\toffset:0;\n").find("offset or size"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:a;\toffset:0;\tsize:4;\n").find("type or name"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:int a[;\toffset:0;\tsize:4;\n").find("type or name"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:int a;\toffset:65536;\tsize:4;\n").find("64 KiB"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:int a;\toffset:4294967295;\tsize:4294967295;\n").find("64 KiB"), std::string::npos);
    EXPECT_NE(fault(head + "\tfield:int a;\toffset:99999999999999999999;\tsize:4;\n").find("offset or"),
              std::string::npos);
    EXPECT_NE(fault(head + "\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\n").find("four bytes"), std::string::npos);
    std::string many = head;
    for (int i = 0; i < 1025; ++i) many += "\tfield:int a;\toffset:0;\tsize:4;\n";
    EXPECT_NE(fault(many).find("line 1028: more than 1024"), std::string::npos);
    EXPECT_NE(fault(std::string(300'000, 'x')).find("256 KiB"), std::string::npos);
}

TEST(TraceFormat, mutations_are_refused_or_read_but_do_no_harm) {
    std::mt19937 random(8);
    const RecordBytes record(96);
    for (const auto& [path, text] : test::recorded_formats()) {
        for (int round = 0; round < 20; ++round) {
            std::string changed = text.substr(0, random() % (text.size() + 1));
            for (auto n = random() % 8; n > 0 && !changed.empty(); --n)
                changed[random() % changed.size()] = "{}()[],;:\"\n\t 09aREC->"[random() % 22];
            const auto format = Format::parse(changed);
            if (format.ok()) static_cast<void>(format->describe(record.bytes()));
        }
    }
}

/// Every event with an id; nothing where one went away meanwhile: others make probes, and remove them.
std::optional<std::vector<std::filesystem::path>> events_of(const std::filesystem::path& root, std::error_code& fault) {
    std::vector<std::filesystem::path> found;
    for (std::filesystem::recursive_directory_iterator at(root, fault), end; !fault && at != end; at.increment(fault))
        if (at->path().filename() == "id") found.push_back(at->path().parent_path());
    if (fault) return std::nullopt;
    return found;
}

TEST(TraceFormat, this_kernels_own_files) {
    const std::filesystem::path root = "/sys/kernel/tracing/events";
    std::error_code fault;
    std::optional<std::vector<std::filesystem::path>> events;
    for (int tries = 0; tries < 100 && !(events = events_of(root, fault)); ++tries)
        if (fault != std::errc::no_such_file_or_directory || !std::filesystem::exists(root))
            GTEST_SKIP() << root << ": " << fault.message();
    ASSERT_TRUE(events) << fault.message();
    std::size_t files = 0;
    for (const std::filesystem::path& event : *events) {
        const auto format = Format::read(event / "format");
        std::ifstream id(event / "id");
        std::uint32_t number = 0;
        if (!format.ok() || !(id >> number)) {
            EXPECT_FALSE(std::filesystem::exists(event)) << (format.ok() ? event.string() : format.error().text());
            continue;
        }
        EXPECT_EQ(format->name(), event.filename());
        EXPECT_EQ(format->id(), number);
        ++files;
    }
    EXPECT_GT(files, 100U);
}

}  // namespace
}  // namespace trace
