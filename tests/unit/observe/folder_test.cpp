/// Where programs of every user leave their rings, and where else.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/trace_folder.h"

namespace {

using namespace observe;
namespace fs = std::filesystem;

class TraceFolder : public testing::Test {
protected:
    void SetUp() override {
        ::unsetenv("RDMASCOPE_TRACE_DIR");
        std::string name = (fs::temp_directory_path() / "rdmascope-folder-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root = name;
        ::setenv("XDG_RUNTIME_DIR", root.c_str(), 1);
    }
    void TearDown() override {
        ::unsetenv("RDMASCOPE_TRACE_DIR");
        ::unsetenv("XDG_RUNTIME_DIR");
        fs::remove_all(root);
    }
    static unsigned mode_of(const fs::path& path) {
        struct stat found {};
        return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
    }
    fs::path root;
};

TEST_F(TraceFolder, is_made_for_everybody_whatever_the_umask) {
    const mode_t before = ::umask(0077);
    const auto made = open_trace_folder(root / "run" / "trace");
    ::umask(before);
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(*made, root / "run" / "trace");
    EXPECT_EQ(mode_of(*made), 01777u);
    EXPECT_EQ(mode_of(root / "run"), 0755u) << "or nobody else comes there";
    ASSERT_TRUE(open_trace_folder(*made).ok()) << "once more";
    EXPECT_EQ(mode_of(*made), 01777u);
}

TEST_F(TraceFolder, that_is_there_is_opened_for_everybody) {
    fs::create_directories(root / "run" / "trace");
    ASSERT_EQ(::chmod((root / "run" / "trace").c_str(), 0700), 0);
    const auto made = open_trace_folder(root / "run" / "trace");
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(mode_of(*made), 01777u);
}

TEST_F(TraceFolder, is_this_user_s_own_where_the_machine_s_cannot_be_made) {
    const auto made = open_trace_folder("/proc/rdmascope/trace");
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(*made, root / "rdmascope" / "trace");
    EXPECT_EQ(mode_of(*made), 0700u);
}

TEST_F(TraceFolder, is_this_user_s_own_where_others_could_not_come_to_the_machine_s) {
    fs::create_directories(root / "run");
    ASSERT_EQ(::chmod((root / "run").c_str(), 0750), 0);
    const auto made = open_trace_folder(root / "run" / "trace");
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(*made, root / "rdmascope" / "trace");
    EXPECT_EQ(mode_of(root / "run"), 0750u);
}

/// Who may make links in a folder that others write to could lead root anywhere.
TEST_F(TraceFolder, is_never_reached_by_a_link) {
    fs::create_directories(root / "elsewhere");
    ASSERT_EQ(::chmod((root / "elsewhere").c_str(), 0700), 0);
    fs::create_directories(root / "run");
    fs::create_directory_symlink(root / "elsewhere", root / "run" / "trace");
    const auto made = open_trace_folder(root / "run" / "trace");
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(*made, root / "rdmascope" / "trace");
    EXPECT_EQ(mode_of(root / "elsewhere"), 0700u);
}

TEST_F(TraceFolder, is_the_one_that_was_asked_for) {
    ::setenv("RDMASCOPE_TRACE_DIR", root.c_str(), 1);
    const auto made = open_trace_folder(root / "run" / "trace");
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(*made, root);
    EXPECT_FALSE(fs::exists(root / "run"));
}

TEST_F(TraceFolder, that_was_asked_for_and_is_not_there_is_an_error) {
    ::setenv("RDMASCOPE_TRACE_DIR", (root / "none").c_str(), 1);
    const auto made = open_trace_folder(root / "run" / "trace");
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.error().text(), testing::HasSubstr((root / "none").string() + ": is no folder"));
}

}  // namespace
