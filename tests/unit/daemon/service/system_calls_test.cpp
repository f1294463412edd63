/// The restriction of system calls, in a child process: it cannot be undone.
#include "daemon/system_calls.h"

#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace service {
namespace {

/// Whether `holds` does in a process with restricted system calls.
bool holds_restricted(bool (*holds)()) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool restricted = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_system_calls().ok();
        ::_exit(restricted && holds() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_refused(long result) { return result < 0 && errno == EPERM; }

class SystemCalls : public ::testing::Test {
protected:
    void SetUp() override {
        if (!restricts_system_calls()) GTEST_SKIP() << "this build does not restrict system calls";
    }
};

TEST_F(SystemCalls, NoProgramCanBeStarted) {
    EXPECT_TRUE(holds_restricted([] {
        char program[] = "/bin/true";
        char* arguments[] = {program, nullptr};
        return is_refused(::execv(program, arguments));
    }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::fork()); }));
}

TEST_F(SystemCalls, OtherProcessesAndTheMachineAreOutOfReach) {
    EXPECT_TRUE(holds_restricted([] { return is_refused(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::kill(::getppid(), 0)); }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::mount("none", "/mnt", "tmpfs", 0, nullptr)); }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::setuid(::getuid())); }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::chroot("/")); }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::symlink("/", "/tmp/link")); }));
    EXPECT_TRUE(holds_restricted([] { return is_refused(::socket(AF_VSOCK, SOCK_STREAM, 0)); }));
}

TEST_F(SystemCalls, WhatTheDaemonNeedsWorks) {
    EXPECT_TRUE(holds_restricted([] {
        int done = 0;
        std::thread([&done] { done = 1; }).join();
        return done == 1;
    }));
    EXPECT_TRUE(holds_restricted([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0; }));
    EXPECT_TRUE(holds_restricted(
        [] { return ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno == EAFNOSUPPORT; }));
}

}  // namespace
}  // namespace service
