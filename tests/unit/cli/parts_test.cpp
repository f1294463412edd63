// The small parts of the command line: suggestions, the progress bar, the expression of a file.
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/similar.h"
#include "cli/console.h"
#include "cli/dump/color.h"
#include "cli/host_names.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/text_output.h"

namespace cli {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

TEST(Similar, counts_letters_added_dropped_changed_and_swapped) {
    EXPECT_EQ(base::distance("dump", "dump"), 0U);
    EXPECT_EQ(base::distance("dump", "dmup"), 1U);
    EXPECT_EQ(base::distance("dump", "dum"), 1U);
    EXPECT_EQ(base::distance("dump", "pump"), 1U);
    EXPECT_EQ(base::distance("kitten", "sitting"), 3U);
    EXPECT_EQ(base::distance("", "abc"), 3U);
}

TEST(Similar, proposes_only_what_is_near) {
    const std::string_view known[] = {"dump", "help"};
    EXPECT_EQ(base::nearest("dmup", known), "dump");
    EXPECT_EQ(base::nearest("du", known), "dump");
    EXPECT_EQ(base::nearest("tshark", known), "");
    EXPECT_EQ(base::did_you_mean("dupm", known), ", did you mean 'dump'?");
    EXPECT_EQ(base::did_you_mean("xyz", known), "");
}

TEST(Progress, a_bar_that_fits) {
    const capture::FileSource::Progress half{500'000'000, 1'000'000'000};
    const std::string bar = progress_bar(half, 1000, 2.0, 99);
    EXPECT_THAT(bar, HasSubstr("50 %"));
    EXPECT_THAT(bar, HasSubstr("250 MB/s"));
    EXPECT_THAT(bar, HasSubstr("2.00 s left"));
    EXPECT_THAT(bar, HasSubstr("477 MiB of 954 MiB"));
    EXPECT_THAT(progress_bar(half, 1000, 2.0, 79), HasSubstr("477 MiB of 954 MiB"));
    EXPECT_THAT(progress_bar(half, 1000, 2.0, 79), HasSubstr("2.00 s left"));
    const std::string wide = progress_bar(half, 1000, 2.0, 119);
    EXPECT_EQ(std::count(wide.begin(), wide.end(), '='), 20);
    const std::string intervals = progress_bar(1000, 4000, "intervals", 2.0, 79);
    EXPECT_THAT(intervals, HasSubstr("25 %  1,000 of 4,000 intervals  6.00 s left"));
    EXPECT_EQ(std::count(intervals.begin(), intervals.end(), '='), 7) << "a quarter of 28 or more columns";
    for (unsigned columns = 0; columns < 120; ++columns)
        EXPECT_LE(progress_bar(half, 1000, 2.0, columns).size(), columns);
}

TEST(Progress, a_stream_has_no_end_to_show) {
    const std::string bar = progress_bar({500'000, {}}, 1000, 0.0, 99);
    EXPECT_THAT(bar, HasSubstr("1000 packets"));
    EXPECT_THAT(bar, HasSubstr("488 KiB"));
}

TEST(Expression, a_file_without_its_comments) {
    const std::string path = testing::TempDir() + "/expression.txt";
    std::ofstream(path) << "udp # RoCEv2\nand port 4791 # its port\n";
    const auto read = expression_of("", path);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(capture::PacketFilter::compile(*read, {}).ok());
    EXPECT_THAT(*read, testing::Not(HasSubstr("RoCEv2")));
    std::remove(path.c_str());
    EXPECT_THAT(expression_of("", path).error().text(), HasSubstr("No such file"));
}

std::string name_of(const HostNames& names, const std::string& octets) {
    std::string out;
    names.append(out, base::Bytes(reinterpret_cast<const std::byte*>(octets.data()), octets.size()));
    return out;
}

TEST(HostNames, reads_hosts) {
    HostNames names;
    names.add_line("# 192.0.2.9 nobody");
    names.add_line("192.0.2.1\tnode1.example  node1 # the first");
    names.add_line("  192.0.2.1 another");
    names.add_line("2001:db8::1 node1-six");
    names.add_line("not-an-address name");
    names.add_line("192.0.2.2");
    names.add_line("192.0.2.3 evil\x1b[31m");
    EXPECT_EQ(name_of(names, "\xc0\x00\x02\x01"s), "node1.example");
    EXPECT_EQ(name_of(names, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"s), "node1-six");
    for (const char last : {'\2', '\3', '\11'}) EXPECT_EQ(name_of(names, "\xc0\x00\x02"s + last), "");
}

TEST(Color, marks_words_and_leaves_the_rest) {
    std::string text = "kept NAK\na > b RC NAK x [truncated: y] CNPX SNAK qp CE\nplain\n";
    dump::color_lines(text, 9);
    EXPECT_EQ(
        text,
        "kept NAK\na > b RC \x1b[31mNAK\x1b[0m x \x1b[2m[truncated: y]\x1b[0m CNPX SNAK qp \x1b[33mCE\x1b[0m\nplain\n");
}

TEST(TextOutput, a_full_disk_is_told_with_the_place) {
    const int full = ::open("/dev/full", O_WRONLY);
    ASSERT_GE(full, 0);
    TextOutput output(full);
    output.text() += "a line\n";
    EXPECT_FALSE(output.flush());
    EXPECT_THAT(output.error(), HasSubstr("the disk is full (after 0 bytes)"));
    EXPECT_FALSE(output.reader_is_gone());
    ::close(full);
}

TEST(Console, a_file_gets_no_colour) {
    const int file = ::open("/dev/null", O_WRONLY);
    EXPECT_FALSE(wants_color(file));
    ::close(file);
}

}  // namespace
}  // namespace cli
