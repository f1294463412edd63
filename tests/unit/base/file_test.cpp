#include "base/file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "base/descriptor.h"

namespace base {
namespace {

class File : public ::testing::Test {
protected:
    File() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rdmascope-file.XXXXXX").string();
        descriptor_.reset(::mkstemp(pattern.data()));
        path_ = pattern;
    }
    ~File() override { ::unlink(path_.c_str()); }
    void fill(const std::string& octets) const { std::ofstream(path_, std::ios::binary) << octets; }

    std::string path_;
    Descriptor descriptor_;
};

TEST_F(File, IsReadWhole) {
    std::string octets(100'000, 'x');
    octets[50'000] = '\0';
    fill(octets);
    EXPECT_EQ(read_file(path_), octets);
}

TEST_F(File, ThatIsOpenIsRemovedWhenItHasNoName) {
    EXPECT_FALSE(is_removed(descriptor_.number()));
    ::unlink(path_.c_str());
    EXPECT_TRUE(is_removed(descriptor_.number()));
    EXPECT_FALSE(is_removed(-1)) << "nothing is known of it";
}

TEST_F(File, OfProcThatHasNoSizeIsReadWhole) {
    const auto maps = read_file("/proc/self/maps");
    ASSERT_TRUE(maps);
    EXPECT_NE(maps->find("[stack]"), std::string::npos);
}

TEST_F(File, IsReadUpToABound) {
    fill("0123456789");
    EXPECT_EQ(read_file(path_, 4), "0123");
    EXPECT_EQ(read_file(path_, 10), "0123456789");
    const Descriptor endless(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(read_file(endless.number(), 5000), std::string(5000, '\0'));
}

TEST_F(File, ThatCannotBeReadIsNone) {
    EXPECT_FALSE(read_file(path_ + "/none"));
    EXPECT_EQ(errno, ENOTDIR);
    EXPECT_FALSE(read_file("/proc"));
    EXPECT_EQ(errno, EISDIR);
    EXPECT_FALSE(read_file("/dev/zero", 5000));
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(File, FirstLineHasNoEnd) {
    fill("one\ntwo\n");
    EXPECT_EQ(first_line(path_), "one");
    fill("one");
    EXPECT_EQ(first_line(path_), "one");
    fill("");
    EXPECT_EQ(first_line(path_), "");
    EXPECT_EQ(first_line(path_ + ".none"), "");
}

TEST_F(File, IsWritten) {
    EXPECT_TRUE(write_all(descriptor_.number(), "one "));
    EXPECT_TRUE(write_all(descriptor_.number(), ""));
    EXPECT_TRUE(write_all(descriptor_.number(), "two"));
    EXPECT_EQ(read_file(path_), "one two");
}

// A pipe takes what it has room for, again and again.
TEST_F(File, WritingGoesOnWhereItStopped) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const Descriptor out(ends[0]);
    Descriptor in(ends[1]);
    const std::string octets(1'000'000, 'p');
    std::string got;
    std::thread reader([&] {
        std::array<char, 10'000> part{};
        for (ssize_t size = 0; (size = ::read(out.number(), part.data(), part.size())) > 0;)
            got.append(part.data(), static_cast<std::size_t>(size));
    });
    EXPECT_TRUE(write_all(in.number(), octets));
    in.reset();
    reader.join();
    EXPECT_EQ(got, octets);
}

TEST_F(File, WritingSaysWhatFailed) {
    const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    EXPECT_FALSE(write_all(full.number(), "x"));
    EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace base
