#include "base/descriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <type_traits>

namespace base {
namespace {

Descriptor open_null() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

static_assert(!std::is_copy_constructible_v<Descriptor> && !std::is_copy_assignable_v<Descriptor>);
static_assert(std::is_nothrow_move_constructible_v<Descriptor> && std::is_nothrow_move_assignable_v<Descriptor>);

TEST(Descriptor, IsNoneWithoutAnOpenFile) {
    EXPECT_FALSE(Descriptor());
    EXPECT_EQ(Descriptor().number(), -1);
    EXPECT_FALSE(Descriptor(::open("/dev/null/none", O_RDONLY | O_CLOEXEC)));
    EXPECT_EQ(errno, ENOTDIR);
}

TEST(Descriptor, ClosesInItsDestructor) {
    int number = -1;
    {
        const Descriptor file = open_null();
        ASSERT_TRUE(file);
        number = file.number();
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, ZeroIsADescriptor) {
    Descriptor zero(0);
    EXPECT_TRUE(zero);
    EXPECT_EQ(zero.release(), 0);
}

TEST(Descriptor, MovesItsFile) {
    Descriptor from = open_null();
    const int number = from.number();
    Descriptor to(std::move(from));
    EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(to.number(), number);
    Descriptor last = open_null();
    const int closed = last.number();
    last = std::move(to);
    EXPECT_EQ(last.number(), number);
    EXPECT_FALSE(is_open(closed));
    EXPECT_TRUE(is_open(number));
}

TEST(Descriptor, StaysOpenWhenItIsMovedIntoItself) {
    Descriptor file = open_null();
    Descriptor& same = file;
    file = std::move(same);
    EXPECT_TRUE(is_open(file.number()));
}

TEST(Descriptor, ReleasesItsFileToTheCaller) {
    int number = -1;
    {
        Descriptor file = open_null();
        number = file.release();
        EXPECT_FALSE(file);
    }
    EXPECT_TRUE(is_open(number));
    ::close(number);
}

TEST(Descriptor, ResetClosesTheFormerFile) {
    Descriptor file = open_null();
    const int first = file.number();
    Descriptor other = open_null();
    const int second = other.number();
    file.reset(other.release());
    EXPECT_EQ(file.number(), second);
    EXPECT_FALSE(is_open(first));
    file.reset();
    EXPECT_FALSE(file);
    EXPECT_FALSE(is_open(second));
}

TEST(Descriptor, LeavesErrnoAsItIs) {
    Descriptor closed(1 << 20);  // close() fails with EBADF
    errno = ENOENT;
    closed.reset();
    EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace base
