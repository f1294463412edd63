// sd_notify(3), read at the other end of its socket.
#include "daemon/systemd/notify.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace service::systemd {
namespace {

class Notify : public testing::Test {
protected:
    void SetUp() override {
        directory_ = testing::TempDir() + "/rdmascope-notify-XXXXXX";
        ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
        path_ = directory_ + "/socket";
        socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        ASSERT_LT(path_.size(), sizeof address.sun_path);
        path_.copy(address.sun_path, path_.size());
        ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    }
    void TearDown() override {
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
        ::close(socket_);
        ::unlink(path_.c_str());
        ::rmdir(directory_.c_str());
    }
    /// The next message; "" if there is no message.
    std::string receive() {
        char buffer[1024];
        const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
        return got < 0 ? "" : std::string(buffer, static_cast<std::size_t>(got));
    }

    std::string directory_;
    std::string path_;
    int socket_ = -1;
};

TEST_F(Notify, says_what_the_protocol_has) {
    ready("capturing on eth0");
    EXPECT_EQ(receive(), "READY=1\nSTATUS=capturing on eth0");
    status("5 flows");
    EXPECT_EQ(receive(), "STATUS=5 flows");
    watchdog();
    EXPECT_EQ(receive(), "WATCHDOG=1");
    reloading();
    EXPECT_THAT(receive(), testing::MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+"));
    stopping();
    EXPECT_EQ(receive(), "STOPPING=1");
    EXPECT_EQ(receive(), "");
}

TEST_F(Notify, a_status_is_no_other_assignment) {
    status("eth0\nMAINPID=1\x1b");
    EXPECT_EQ(receive(), "STATUS=eth0 MAINPID=1 ");
}

TEST_F(Notify, the_watchdog_wants_a_sign_in_half_its_time) {
    EXPECT_FALSE(watchdog_period_ns());
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    EXPECT_EQ(watchdog_period_ns(), 15'000'000'000U);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    EXPECT_EQ(watchdog_period_ns(), 15'000'000'000U);
    ::setenv("WATCHDOG_PID", std::to_string(::getppid()).c_str(), 1);
    EXPECT_FALSE(watchdog_period_ns());
    ::unsetenv("WATCHDOG_PID");
    ::setenv("WATCHDOG_USEC", "soon", 1);
    EXPECT_FALSE(watchdog_period_ns());
}

TEST_F(Notify, without_systemd_nothing_happens) {
    ::unsetenv("NOTIFY_SOCKET");
    ready("x");
    watchdog();
    EXPECT_EQ(receive(), "");
    ::setenv("NOTIFY_SOCKET", (path_ + "-gone").c_str(), 1);
    ready("x");
    stopping();
    EXPECT_EQ(receive(), "");
}

}  // namespace
}  // namespace service::systemd
