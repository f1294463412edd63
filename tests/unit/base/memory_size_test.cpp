#include "base/memory_size.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

class MemorySizeTest : public testing::Test {
protected:
    MemorySizeTest() { std::filesystem::remove_all(root_); }
    ~MemorySizeTest() override { std::filesystem::remove_all(root_); }
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }

    const std::string root_ = testing::TempDir() + "memory_size." + std::to_string(getpid());
};

TEST_F(MemorySizeTest, WithoutGroupsItIsTheMachines) {
    const auto machine =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    EXPECT_EQ(base::memory_size(root_), machine);
    write("/proc/self/cgroup", "0::/a\n");
    write("/sys/fs/cgroup/a/memory.max", "max\n");
    EXPECT_EQ(base::memory_size(root_), machine);
}

TEST_F(MemorySizeTest, TheLeastLimitOfAllGroupsHolds) {
    write("/proc/self/cgroup", "1:name=x:/b\n0::/outer/inner\n");
    write("/sys/fs/cgroup/outer/inner/memory.max", "9000000\n");
    EXPECT_EQ(base::memory_size(root_), 9'000'000u);
    write("/sys/fs/cgroup/outer/memory.max", "8000000\n");
    EXPECT_EQ(base::memory_size(root_), 8'000'000u);
    write("/sys/fs/cgroup/memory.max", "7000000\n");
    EXPECT_EQ(base::memory_size(root_), 7'000'000u);
}

}  // namespace
