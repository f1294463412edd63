#include "trace/process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trace {

namespace {

const std::string container_id(64, 'a');

// The paths as the runtimes make them, from their documentation.
TEST(ContainerOf, KnowsTheRuntimes) {
    EXPECT_EQ(container_of("0::/system.slice/docker-" + container_id + ".scope"), container_id);
    EXPECT_EQ(container_of("12:memory:/docker/" + container_id), container_id);
    EXPECT_EQ(
        container_of("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0d1b.slice/cri-containerd-" +
                     container_id + ".scope"),
        container_id);
    EXPECT_EQ(container_of("0::/kubepods/besteffort/pod7f/" + container_id), container_id);
    EXPECT_EQ(container_of("0::/machine.slice/libpod-" + container_id + ".scope/container"), container_id);
    EXPECT_EQ(container_of("0::/kubepods.slice/crio-" + container_id + ".scope"), container_id);
    EXPECT_EQ(container_of("0::/lxc.payload.web1/init.scope"), "web1");
    EXPECT_EQ(container_of("0::/machine.slice/machine-db.scope/payload"), "db");
}

TEST(ContainerOf, FindsNoneWhereThereIsNone) {
    EXPECT_EQ(container_of(""), "");
    EXPECT_EQ(container_of("0::/"), "");
    EXPECT_EQ(container_of("0::/user.slice/user-1000.slice/session-2.scope"), "");
    EXPECT_EQ(container_of("0::/system.slice/" + container_id.substr(1)), "") << "63 digits";
    EXPECT_EQ(container_of("0::/system.slice/x" + container_id), "") << "part of something longer";
    EXPECT_EQ(container_of("0::/system.slice/docker-" + std::string(64, 'g')), "") << "no hexadecimal digits";
}

TEST(ContainerOf, TakesTheInnermost) {
    const std::string inner(64, 'b');
    EXPECT_EQ(container_of("0::/docker/" + container_id + "/docker/" + inner), inner);
}

TEST(FindProcess, KnowsOurselves) {
    const auto pid = static_cast<std::uint32_t>(getpid());
    EXPECT_EQ(find_process({pid, 0, 0, geteuid()}), pid);
    EXPECT_EQ(find_process({pid, 0, 1, geteuid()}), std::nullopt) << "started at another time";
    EXPECT_EQ(find_process({pid, 0, 0, geteuid() + 4242}), std::nullopt) << "somebody else's file";
    struct stat space {};
    ASSERT_EQ(stat("/proc/self/ns/pid", &space), 0);
    EXPECT_EQ(find_process({pid, space.st_ino, 0, geteuid()}), pid);
    EXPECT_EQ(find_process({pid, space.st_ino + 1, 0, geteuid()}), std::nullopt) << "another namespace";
}

TEST(IsRunning, AZombieIsNot) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(is_running(static_cast<std::uint32_t>(child), 0));
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(is_running(static_cast<std::uint32_t>(child), 0));
    EXPECT_TRUE(is_running(static_cast<std::uint32_t>(getpid()), 0));
}

TEST(Harmless, ReplacesControlCharactersAndCuts) {
    EXPECT_EQ(harmless("a\x1b[2Jb\n", 100), "a?[2Jb?");
    EXPECT_EQ(harmless(std::string_view("ab\0cd", 5), 100), "ab");
    EXPECT_EQ(harmless("abcdef", 3), "abc");
    EXPECT_EQ(harmless("\xc3\xbc", 100), "\xc3\xbc");
}

}  // namespace

}  // namespace trace
