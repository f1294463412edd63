// All counters of a machine, from a folder made like the kernel's and interfaces made up by the test.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "../support.h"
#include "capture/counters/counter_reading.h"

namespace capture::counters {
namespace {

class CounterReadings : public testing::Test {
protected:
    void put(const std::string& path, const std::string& content) const {
        const std::filesystem::path file = directory_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    }
    std::vector<CounterReading> read() const {
        return read_counters(
            directory_.path(), [this](const std::string& interface) -> base::Result<std::vector<EthernetCounter>> {
                if (interface == "eth2")
                    return std::vector<EthernetCounter>{{"rx_packets", 99}, {"rx_prio3_pause", pauses_}};
                return base::Failure{base::Error{"gone", interface}};
            });
    }
    static std::string words(const std::vector<CounterReading>& readings) {
        std::string all;
        for (const CounterReading& r : readings)
            all += r.device + " " + std::to_string(r.port) + " " + r.name + " " + std::to_string(r.value) + " " +
                   std::string(name_of(r.meaning.fact)) + "\n";
        return all;
    }
    test::Directory directory_ = {};
    std::uint64_t pauses_ = 5;
};

TEST_F(CounterReadings, devices_and_the_interfaces_under_them) {
    put("mlx5_0/ports/1/counters/port_xmit_data", "100\n");
    put("mlx5_0/ports/1/hw_counters/out_of_buffer", "4294967290\n");
    put("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth2\n");
    put("mlx5_0/ports/1/gid_attrs/ndevs/1", "eth9\n");
    put("mlx5_1/ports/1/gid_attrs/ndevs/0", "eth2\n");
    const auto before = read();
    EXPECT_EQ(words(before),
              "eth2 0 rx_prio3_pause 5 pause_received\n"
              "mlx5_0 1 out_of_buffer 4294967290 out_of_buffer\n"
              "mlx5_0 1 port_xmit_data 100 octets_sent\n");
    put("mlx5_0/ports/1/counters/port_xmit_data", "350\n");
    put("mlx5_0/ports/1/hw_counters/out_of_buffer", "4\n");
    put("mlx5_0/ports/1/hw_counters/np_cnp_sent", "8\n");
    pauses_ = 7;
    const auto more = growth(before, read());
    // The pause counter, CNPs that were not there before, ten out-of-buffers round the end of 32 bits, 250 words.
    EXPECT_EQ(more, (std::vector<std::optional<std::uint64_t>>{2, std::nullopt, 10, 250}));
    pauses_ = 1;
    EXPECT_EQ(growth(before, read())[0], std::nullopt) << "the driver was loaded again";
}

TEST_F(CounterReadings, none_where_there_are_no_devices) {
    EXPECT_TRUE(read().empty());
    EXPECT_TRUE(growth({}, {}).empty());
}

}  // namespace
}  // namespace capture::counters
