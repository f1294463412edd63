// Counters of RDMA devices, from a folder made like the kernel's.
#include "capture/counters/device_counters.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace capture::counters {
namespace {

class DeviceCounters : public testing::Test {
protected:
    void SetUp() override {
        root_ = testing::TempDir() + "rdmascope-counters-XXXXXX";
        ASSERT_NE(mkdtemp(root_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void put(const std::string& path, const std::string& content) const {
        const std::filesystem::path file = root_ + "/" + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    }
    std::string read() const {
        std::string lines;
        for (const DeviceCounterValue& counter : read_device_counters(root_))
            lines += counter.device + " " + std::to_string(counter.port) + " " + counter.name + " " +
                     std::to_string(counter.value) + "\n";
        return lines;
    }
    std::string root_;
};

TEST_F(DeviceCounters, come_by_device_port_and_name) {
    put("mlx5_1/ports/1/counters/port_xmit_data", "17\n");
    put("mlx5_0/ports/2/hw_counters/out_of_buffer", "3\n");
    put("mlx5_0/ports/1/hw_counters/rnr_nak_retry_err", "18446744073709551615\n");
    put("mlx5_0/ports/1/counters/port_rcv_data", "4\n");
    put("efa_0/hw_counters/alloc_pd_err", "1\n");
    EXPECT_EQ(read(),
              "efa_0 0 alloc_pd_err 1\n"
              "mlx5_0 1 port_rcv_data 4\n"
              "mlx5_0 1 rnr_nak_retry_err 18446744073709551615\n"
              "mlx5_0 2 out_of_buffer 3\n"
              "mlx5_1 1 port_xmit_data 17\n");
}

TEST_F(DeviceCounters, what_is_no_counter_is_left_out) {
    put("rxe0/ports/1/hw_counters/lifespan", "10\n");
    put("rxe0/ports/1/hw_counters/sent_pkts", "N/A (no PMA)\n");
    put("rxe0/ports/1/hw_counters/rcvd_pkts", "");
    put("rxe0/ports/1/hw_counters/retry_exceeded_err", "-1\n");
    put("rxe0/ports/1/hw_counters/duplicate_request", "2\n");
    put("rxe0/ports/1/counters/duplicate_request", "9\n");
    std::filesystem::create_directories(root_ + "/rxe0/ports/1/hw_counters/folder");
    EXPECT_EQ(read(), "rxe0 1 duplicate_request 2\n");
}

TEST_F(DeviceCounters, none_where_there_are_no_devices) {
    EXPECT_EQ(read(), "");
    EXPECT_TRUE(read_device_counters(root_ + "/nothing").empty());
}

}  // namespace
}  // namespace capture::counters
