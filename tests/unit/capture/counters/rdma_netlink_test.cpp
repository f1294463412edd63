// The kernel's answers about RDMA, put together by hand after the kernel's header rdma/rdma_netlink.h.
#include "capture/counters/rdma_netlink.h"

#include <cstring>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <random>
#include <rdma/rdma_netlink.h>

namespace capture::counters {
namespace {

std::string padded(std::string octets) {
    while (octets.size() % 4 != 0) octets += '\0';
    return octets;
}

template <class T>
std::string octets_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string attribute(unsigned type, const std::string& value) {
    const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), static_cast<std::uint16_t>(type)};
    return padded(octets_of(header) + value);
}
std::string u8(unsigned type, std::uint8_t value) { return attribute(type, octets_of(value)); }
std::string u32(unsigned type, std::uint32_t value) { return attribute(type, octets_of(value)); }
std::string u64(unsigned type, std::uint64_t value) { return attribute(type, octets_of(value)); }
std::string text(unsigned type, const std::string& value) { return attribute(type, value + '\0'); }
std::string nest(unsigned type, const std::string& value) { return attribute(type | NLA_F_NESTED, value); }

std::string message(unsigned command, const std::string& body) {
    nlmsghdr header = {};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + body.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = NLM_F_MULTI;
    return padded(octets_of(header) + body);
}

base::Bytes bytes(const std::string& octets) { return std::as_bytes(std::span(octets)); }

std::string of_device(const std::string& name) {
    return u32(RDMA_NLDEV_ATTR_DEV_INDEX, 2) + text(RDMA_NLDEV_ATTR_DEV_NAME, name);
}

std::string queue_pairs_answer() {
    const std::string user = u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1) + u32(RDMA_NLDEV_ATTR_RES_LQPN, 178) +
                             u32(RDMA_NLDEV_ATTR_RES_RQPN, 0x00abcdef) + u8(RDMA_NLDEV_ATTR_RES_TYPE, 2) +
                             u8(RDMA_NLDEV_ATTR_RES_STATE, 3) + u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, 17) +
                             u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, 18) + u32(RDMA_NLDEV_ATTR_RES_PID, 4711) +
                             u32(RDMA_NLDEV_ATTR_RES_PDN, 5);
    const std::string kernel = u32(RDMA_NLDEV_ATTR_RES_LQPN, 1) + u8(RDMA_NLDEV_ATTR_RES_TYPE, 1) +
                               u8(RDMA_NLDEV_ATTR_RES_STATE, 3) + text(RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
    return message(RDMA_NLDEV_CMD_RES_QP_GET,
                   of_device("mlx5_0") + nest(RDMA_NLDEV_ATTR_RES_QP, nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, kernel) +
                                                                          nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, user)));
}

std::string counters_answer() {
    const auto value = [](const std::string& name, std::uint64_t count) {
        return nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name) +
                                                              u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, count));
    };
    const auto pair = [](std::uint32_t number) {
        return nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, u32(RDMA_NLDEV_ATTR_RES_LQPN, number));
    };
    const std::string entry =
        u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1) + u32(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 4) +
        u32(RDMA_NLDEV_ATTR_RES_PID, 99) + nest(RDMA_NLDEV_ATTR_RES_QP, pair(178) + pair(179)) +
        nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, value("out_of_sequence", 8) + value("duplicate_request", 1ULL << 40));
    return message(RDMA_NLDEV_CMD_STAT_GET,
                   of_device("mlx5_0") +
                       nest(RDMA_NLDEV_ATTR_STAT_COUNTER, nest(RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY, entry))) +
           message(RDMA_NLDEV_CMD_STAT_GET, of_device("rxe0") + u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1) +
                                                nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, value("sent_pkts", 12)));
}

TEST(RdmaNetlink, devices_and_ports) {
    const std::string answer =
        message(RDMA_NLDEV_CMD_GET, of_device("mlx5_0") + u32(RDMA_NLDEV_ATTR_PORT_INDEX, 2) +
                                        text(RDMA_NLDEV_ATTR_FW_VERSION, "16.35.2000") +
                                        text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce")) +
        message(RDMA_NLDEV_CMD_GET, u32(RDMA_NLDEV_ATTR_DEV_INDEX, 3) + text(RDMA_NLDEV_ATTR_DEV_NAME, "siw0"));
    EXPECT_EQ(parse_devices(bytes(answer)),
              (std::vector<RdmaDevice>{{2, "mlx5_0", 2, "16.35.2000", "roce"}, {3, "siw0", 0, "", ""}}));
    EXPECT_TRUE(parse_ports(bytes(answer)).empty()) << "another command's";
    const std::string ports = message(RDMA_NLDEV_CMD_PORT_GET,
                                      of_device("mlx5_0") + u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1) +
                                          u8(RDMA_NLDEV_ATTR_PORT_STATE, 4) + text(RDMA_NLDEV_ATTR_NDEV_NAME, "eth2"));
    EXPECT_EQ(parse_ports(bytes(ports)), (std::vector<RdmaPort>{{2, "mlx5_0", 1, 4, "eth2"}}));
}

TEST(RdmaNetlink, queue_pairs_and_whose_they_are) {
    const auto pairs = parse_queue_pairs(bytes(queue_pairs_answer()));
    ASSERT_EQ(pairs.size(), 2U);
    EXPECT_EQ(pairs[0], (QueuePairResource{"mlx5_0", 0, 1, 0, 0, 0, 1, 3, 0, "ib_core"}));
    EXPECT_EQ(pairs[1], (QueuePairResource{"mlx5_0", 1, 178, 0xabcdef, 17, 18, 2, 3, 4711, ""}));
}

TEST(RdmaNetlink, counters_of_queue_pairs_and_of_a_port) {
    const auto sets = parse_counters(bytes(counters_answer()));
    ASSERT_EQ(sets.size(), 2U);
    EXPECT_EQ(sets[0],
              (QueuePairCounters{
                  "mlx5_0", 1, 4, 99, {178, 179}, {{"out_of_sequence", 8}, {"duplicate_request", 1ULL << 40}}}));
    EXPECT_EQ(sets[1], (QueuePairCounters{"rxe0", 1, 0, 0, {}, {{"sent_pkts", 12}}}));
}

TEST(RdmaNetlink, answers_that_are_cut_short_or_wrong_do_no_harm) {
    const std::string whole = queue_pairs_answer() + counters_answer();
    const auto parse_all = [](const std::string& octets) {
        return parse_devices(bytes(octets)).size() + parse_ports(bytes(octets)).size() +
               parse_queue_pairs(bytes(octets)).size() + parse_counters(bytes(octets)).size();
    };
    EXPECT_EQ(parse_all(whole), 4U);
    for (std::size_t octets = 0; octets < whole.size(); ++octets) EXPECT_LT(parse_all(whole.substr(0, octets)), 4U);
    std::mt19937 random(9);
    for (int round = 0; round < 20'000; ++round) {
        std::string changed = whole;
        for (auto n = 1 + random() % 4; n > 0; --n) changed[random() % changed.size()] = static_cast<char>(random());
        static_cast<void>(parse_all(changed));
    }
}

TEST(RdmaNetlink, the_kernel_itself) {
    auto netlink = RdmaNetlink::open();
    if (!netlink.ok()) {
        EXPECT_NE(netlink.error().text().find("modprobe ib_core"), std::string::npos);
        GTEST_SKIP() << netlink.error().text();
    }
    const auto devices = netlink.value().devices();
    ASSERT_TRUE(devices.ok()) << devices.error().text();
    for (const RdmaDevice& device : devices.value()) {
        const auto ports = netlink.value().ports(device);
        ASSERT_TRUE(ports.ok()) << ports.error().text();
        EXPECT_EQ(ports.value().size(), device.ports);
        const auto pairs = netlink.value().queue_pairs(device);
        ASSERT_TRUE(pairs.ok()) << pairs.error().text();
        for (const QueuePairResource& pair : pairs.value()) EXPECT_EQ(pair.device, device.name);
    }
}

}  // namespace
}  // namespace capture::counters
