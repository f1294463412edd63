// Privileges, in child processes: what /proc/self/status says is what the kernel goes by.
#include "daemon/privileges.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <map>
#include <pwd.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace service {
namespace {

using testing::HasSubstr;

/// "CapEff" and the like of /proc/self/status.
using Status = std::map<std::string, std::string>;

Status status_of(const std::string& text) {
    Status out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
        out[line.substr(0, colon)] = begin == std::string::npos ? "" : line.substr(begin);
    }
    return out;
}

/// What `work` returns, of a child that may lose whatever it likes.
template <class Work>
std::string in_child(Work&& work) {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        const std::string text = work();
        std::size_t done = 0;
        while (done < text.size()) {
            const ssize_t wrote = ::write(ends[1], text.data() + done, text.size() - done);
            if (wrote <= 0) break;
            done += static_cast<std::size_t>(wrote);
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        out.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int state = 0;
    ::waitpid(child, &state, 0);
    return out;
}

std::string own_status() {
    std::ifstream file("/proc/self/status");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Empty after success.
std::string drop(const std::string& user, const Rights& rights) {
    const auto dropped = drop_privileges(user, rights);
    return dropped ? "" : dropped.error().text();
}

/// Drops, and says what is left; or `failed: REASON`.
std::string after_drop(const std::string& user, const Rights& rights) {
    return in_child([&] {
        const std::string reason = drop(user, rights);
        return reason.empty() ? own_status() : "failed: " + reason;
    });
}

// Numbers of capability.h, as masks; the kernel prints sixteen digits.
constexpr const char* none = "0000000000000000";
constexpr const char* net_raw = "0000000000002000";                  // bit 13
constexpr const char* net_raw_dac_read_search = "0000000000002004";  // bits 13 and 2
constexpr const char* net_raw_bpf_perfmon = "000000c000002000";      // bits 13, 38 and 39

class Privileges : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root";
        const std::string effective = status_of(own_status())["CapEff"];
        constexpr std::uint64_t needed =
            0xc0000021c4;  // dac_read_search, setgid, setuid, setpcap, net_raw, perfmon, bpf
        if ((std::stoull(effective, nullptr, 16) & needed) != needed)
            GTEST_SKIP() << "needs all of root's capabilities, has " << effective;
    }
};

TEST_F(Privileges, root_stays_root_with_one_capability) {
    Status status = status_of(after_drop("", {}));
    EXPECT_EQ(status["Uid"], "0\t0\t0\t0");
    EXPECT_EQ(status["CapEff"], net_raw);
    EXPECT_EQ(status["CapPrm"], net_raw);
    EXPECT_EQ(status["CapInh"], none);
    EXPECT_EQ(status["CapAmb"], none);
    EXPECT_EQ(status["CapBnd"], none);
    EXPECT_EQ(status["NoNewPrivs"], "1");
}

TEST_F(Privileges, trace_points_keep_two_more) {
    Status status = status_of(after_drop("", {.trace_points = true}));
    EXPECT_EQ(status["CapEff"], net_raw_bpf_perfmon);
    EXPECT_EQ(status["CapPrm"], net_raw_bpf_perfmon);
}

TEST_F(Privileges, rings_of_others_keep_one_more) {
    for (const char* user : {"", "nobody"}) {
        Status status = status_of(after_drop(user, {.everybodys_files = true}));
        EXPECT_EQ(status["CapEff"], net_raw_dac_read_search);
        EXPECT_EQ(status["CapPrm"], net_raw_dac_read_search);
    }
}

TEST_F(Privileges, another_user_keeps_it_too) {
    const passwd* nobody = ::getpwnam("nobody");
    ASSERT_NE(nobody, nullptr);
    const std::string uid = std::to_string(nobody->pw_uid);
    const std::string gid = std::to_string(nobody->pw_gid);
    Status status = status_of(after_drop("nobody", {}));
    EXPECT_EQ(status["Uid"], uid + "\t" + uid + "\t" + uid + "\t" + uid);
    EXPECT_EQ(status["Gid"], gid + "\t" + gid + "\t" + gid + "\t" + gid);
    EXPECT_THAT(status["Groups"], testing::AnyOf(gid, gid + " "));
    EXPECT_EQ(status["CapEff"], net_raw);
    EXPECT_EQ(status["CapPrm"], net_raw);
    EXPECT_EQ(status["CapInh"], none);
    EXPECT_EQ(status["CapAmb"], none);
    EXPECT_EQ(status["CapBnd"], none);
    EXPECT_EQ(status["NoNewPrivs"], "1");
}

TEST_F(Privileges, what_is_left_is_enough_to_open_an_interface_again_and_for_nothing_else) {
    EXPECT_EQ(in_child([] {
                  if (const std::string reason = drop("nobody", {}); !reason.empty()) return reason;
                  const int packets = ::socket(AF_PACKET, SOCK_RAW, 0);
                  std::string text = packets >= 0 ? "packets" : "no packets";
                  text += ::open("/etc/shadow", O_RDONLY) < 0 && errno == EACCES ? ", no shadow" : ", shadow";
                  text += ::setuid(0) < 0 && errno == EPERM ? ", no root" : ", root";
                  return text;
              }),
              "packets, no shadow, no root");
}

TEST_F(Privileges, groups_of_root_are_left_behind) {
    const std::string out = in_child([] {
        const gid_t extra = 54321;
        if (::setgroups(1, &extra) != 0) return std::string("no groups");
        const std::string reason = drop("nobody", {});
        return reason.empty() ? own_status() : reason;
    });
    EXPECT_THAT(status_of(out)["Groups"], testing::Not(HasSubstr("54321"))) << out;
}

TEST_F(Privileges, who_is_not_root_but_has_capabilities_loses_the_others) {
    // As a service with AmbientCapabilities= begins: a user of its own, four capabilities in all sets.
    const std::string out = in_child([] {
        ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
        if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)
            return std::string("no user");
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2]{};
        const std::uint32_t low = (1U << CAP_NET_RAW) | (1U << CAP_NET_ADMIN);
        const std::uint32_t high = (1U << (CAP_BPF - 32)) | (1U << (CAP_PERFMON - 32));
        data[0] = {low, low, low};
        data[1] = {high, high, high};
        if (::syscall(SYS_capset, &header, data) != 0) return std::string("no capset");
        constexpr std::array<unsigned long, 4> given{CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON};
        for (const unsigned long each : given)
            if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, each, 0, 0) != 0) return std::string("no ambient set");
        const std::string reason = drop("", {});
        return reason.empty() ? own_status() : "failed: " + reason;
    });
    Status status = status_of(out);
    EXPECT_EQ(status["Uid"], "65534\t65534\t65534\t65534") << out;
    EXPECT_EQ(status["CapEff"], net_raw);
    EXPECT_EQ(status["CapPrm"], net_raw);
    EXPECT_EQ(status["CapInh"], none);
    EXPECT_EQ(status["CapAmb"], none);
    EXPECT_EQ(status["NoNewPrivs"], "1");
}

TEST_F(Privileges, who_has_nothing_has_nothing_to_lose) {
    const std::string out = in_child([] {
        if (::setresuid(65534, 65534, 65534) != 0) return std::string("no user");
        const std::string reason = drop("nobody", {.trace_points = true});
        return reason.empty() ? own_status() : "failed: " + reason;
    });
    EXPECT_EQ(status_of(out)["CapEff"], none) << out;
    EXPECT_EQ(status_of(out)["NoNewPrivs"], "1") << out;
}

TEST_F(Privileges, a_user_that_does_not_exist_changes_nothing) {
    const std::string out = in_child([] {
        const std::string before = status_of(own_status())["CapEff"];
        const std::string reason = drop("no-such-user-here", {});
        return (status_of(own_status())["CapEff"] == before ? "unchanged: " : "changed: ") + reason;
    });
    EXPECT_THAT(out, testing::StartsWith("unchanged: there is no user 'no-such-user-here'"));
    EXPECT_THAT(out, HasSubstr("service.user"));
}

TEST_F(Privileges, only_root_can_become_another) {
    const std::string out = in_child([] {
        if (::setresuid(65534, 65534, 65534) != 0) return std::string("no user");
        return drop("root", {});
    });
    EXPECT_THAT(out, HasSubstr("cannot become user 'root'"));
}

TEST_F(Privileges, names_are_those_of_capabilities_7) {
    EXPECT_EQ(in_child([] {
                  std::string text = drop("", {.trace_points = true});
                  for (const std::string& name : effective_capabilities()) text += name + " ";
                  return text;
              }),
              "cap_net_raw cap_perfmon cap_bpf ");
}

}  // namespace
}  // namespace service
