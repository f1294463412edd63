/// The restriction of system calls, in a child process: it cannot be undone.
#include "daemon/system_calls.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/// What is reported, one name a line, of a process that does `act` twice and has them refused; "failed" otherwise.
std::string reported_by(bool (*act)()) {
    int report[2];
    EXPECT_EQ(::pipe(report), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        bool done = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
        {
            const auto installed = SystemCallFilter::install([&report](const std::string& call) {
                const std::string line = call + '\n';
                static_cast<void>(!::write(report[1], line.data(), line.size()));
            });
            done = done && installed && act() && act();
        }
        if (!done) static_cast<void>(!::write(report[1], "failed", 6));
        ::_exit(0);
    }
    ::close(report[1]);
    std::string text;
    std::array<char, 256> octets{};
    for (ssize_t got = 0; (got = ::read(report[0], octets.data(), octets.size())) > 0;)
        text.append(octets.data(), static_cast<std::size_t>(got));
    ::close(report[0]);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    return text;
}

TEST_F(SystemCalls, ARefusedCallIsReportedOnceByItsName) {
    EXPECT_EQ(reported_by([] { return is_refused(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }), "ptrace\n");
    EXPECT_EQ(reported_by([] { return is_refused(::mount("none", "/mnt", "tmpfs", 0, nullptr)); }), "mount\n");
    constexpr long unknown = 9999;
    EXPECT_EQ(reported_by([] { return is_refused(::syscall(unknown)); }), "number 9999\n");
}

TEST_F(SystemCalls, ACallOfAnyThreadIsReported) {
    EXPECT_EQ(reported_by([] {
                  bool refused = false;
                  std::thread([&refused] { refused = is_refused(::symlinkat("/", AT_FDCWD, "/tmp/link")); }).join();
                  return refused;
              }),
              "symlinkat\n");
}

TEST_F(SystemCalls, WhatTheDaemonNeedsIsNotReported) {
    EXPECT_EQ(reported_by([] {
                  std::thread([] { std::this_thread::yield(); }).join();
                  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
              }),
              "");
}

}  // namespace
}  // namespace service
