// Counters of Ethernet interfaces, next to what ethtool(8) shows of them.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>

#include "../support.h"
#include "capture/counters/ethernet_counters.h"

namespace capture::counters {
namespace {

TEST(EthernetCounters, are_those_that_ethtool_shows) {
    std::size_t compared = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net")) {
        const std::string interface = entry.path().filename();
        std::FILE* const pipe = ::popen(("LC_ALL=C ethtool -S " + interface + " 2>/dev/null").c_str(), "r");
        ASSERT_NE(pipe, nullptr);
        std::vector<std::string> shown;
        std::smatch part;
        for (std::array<char, 512> some; std::fgets(some.data(), some.size(), pipe) != nullptr;) {
            const std::string line = some.data();
            if (std::regex_match(line, part, std::regex(R"(\s+(\S.*?): (\d+)\n)"))) shown.push_back(part[1]);
        }
        if (::pclose(pipe) != 0) continue;
        const auto counters = read_ethernet_counters(interface);
        ASSERT_TRUE(counters.ok()) << counters.error().text();
        std::vector<std::string> names;
        for (const EthernetCounter& counter : counters.value()) names.push_back(counter.name);
        EXPECT_EQ(names, shown) << interface;
        compared += names.size();
    }
    if (compared == 0) GTEST_SKIP() << "ethtool is not there, or no interface has counters";
}

TEST(EthernetCounters, that_cannot_be_read_are_told) {
    for (const char* name : {"", "nobody0", "a-name-that-is-too-long"})
        EXPECT_FALSE(read_ethernet_counters(name).ok()) << name;
    EXPECT_NE(
        read_ethernet_counters("nobody0").error().text().find("nobody0: its counters cannot be read: No such device"),
        std::string::npos);
    const auto loopback = read_ethernet_counters("lo");
    ASSERT_TRUE(loopback.ok()) << loopback.error().text();
    EXPECT_TRUE(loopback.value().empty());
}

TEST(CarryingInterfaces, by_device_and_port) {
    const test::Directory directory;
    const auto put = [&](const std::string& path, const std::string& content) {
        const std::filesystem::path file = directory / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    };
    put("mlx5_1/ports/1/gid_attrs/ndevs/0", "eth5\n");
    put("mlx5_0/ports/2/gid_attrs/ndevs/0", "eth3\n");
    put("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth2\n");
    put("mlx5_0/ports/1/gid_attrs/ndevs/1", "eth2\n");
    put("mlx5_0/ports/1/gid_attrs/ndevs/2", "eth2.17\n");
    put("mlx5_0/ports/1/gid_attrs/ndevs/3", "");
    put("ib0/ports/1/state", "4: ACTIVE\n");
    EXPECT_EQ(carrying_interfaces(directory.path()),
              (std::vector<CarryingInterface>{
                  {"mlx5_0", 1, "eth2"}, {"mlx5_0", 1, "eth2.17"}, {"mlx5_0", 2, "eth3"}, {"mlx5_1", 1, "eth5"}}));
    EXPECT_TRUE(carrying_interfaces(directory / "none").empty());
}

}  // namespace
}  // namespace capture::counters
