#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/preload_harness.h"

// What a program asks of the device before it does anything with it.
namespace {

using preload_test::Connection;
using preload_test::Side;

struct Opened {
    Opened() {
        int count = 0;
        list = ibv_get_device_list(&count);
        EXPECT_EQ(count, 1);
        context = ibv_open_device(list[0]);
    }
    ~Opened() {
        EXPECT_EQ(ibv_close_device(context), 0);
        ibv_free_device_list(list);
    }
    ibv_device** list = nullptr;
    ibv_context* context = nullptr;
};

TEST(PreloadDevice, IsOneRnic) {
    Opened device;
    ASSERT_NE(device.list[0], nullptr);
    EXPECT_EQ(device.list[1], nullptr);
    EXPECT_STREQ(ibv_get_device_name(device.list[0]), "rdmascope0");
    EXPECT_EQ(device.list[0]->node_type, IBV_NODE_RNIC);
    EXPECT_EQ(device.list[0]->transport_type, IBV_TRANSPORT_IWARP);
    ibv_device_attr attributes{};
    ASSERT_EQ(ibv_query_device(device.context, &attributes), 0);
    EXPECT_EQ(attributes.node_guid, ibv_get_device_guid(device.list[0]));
    EXPECT_NE(attributes.node_guid, 0U);
    EXPECT_EQ(attributes.phys_port_cnt, 1);
    EXPECT_EQ(attributes.max_sge_rd, 1);  // RFC 5040 section 4.4: one sink
    EXPECT_EQ(attributes.atomic_cap, IBV_ATOMIC_HCA);
}

TEST(PreloadDevice, OpensOnlyItself) {
    ibv_device other{};
    EXPECT_EQ(ibv_open_device(&other), nullptr);
    EXPECT_EQ(errno, ENODEV);
}

TEST(PreloadDevice, ExtendedAnswerFitsWhatTheCallerHasRoomFor) {
    Opened device;
    ibv_device_attr_ex whole{};
    ASSERT_EQ(ibv_query_device_ex(device.context, nullptr, &whole), 0);
    EXPECT_EQ(whole.phys_port_cnt_ex, 1U);
    EXPECT_NE(whole.completion_timestamp_mask, 0U);
    // An older program's structure ends sooner; what lies after it is its own.
    verbs_context* const extended = verbs_get_ctx(device.context);
    ibv_device_attr_ex shorter{};
    std::memset(&shorter, 0x5a, sizeof shorter);
    constexpr std::size_t size = offsetof(ibv_device_attr_ex, tm_caps);
    ASSERT_EQ(extended->query_device_ex(device.context, nullptr, &shorter, size), 0);
    EXPECT_EQ(shorter.orig_attr.max_sge_rd, 1);
    EXPECT_EQ(shorter.phys_port_cnt_ex, 0x5a5a5a5aU);
}

TEST(PreloadDevice, HasOnePort) {
    Opened device;
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(device.context, 1, &port), 0);
    EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
    EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
    EXPECT_EQ(port.pkey_tbl_len, 1);
    EXPECT_EQ(ibv_query_port(device.context, 0, &port), EINVAL);
    EXPECT_EQ(ibv_query_port(device.context, 2, &port), EINVAL);
}

TEST(PreloadDevice, GidsAreTheAddressesOfThisMachine) {
    // Counted by getifaddrs, as they stand in the table: 16 octets each.
    std::multiset<std::string> expected;
    ifaddrs* list = nullptr;
    ASSERT_EQ(getifaddrs(&list), 0);
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & 1 /* IFF_UP */) == 0) continue;
        std::string octets(16, '\0');
        if (entry->ifa_addr->sa_family == AF_INET) {
            octets[10] = octets[11] = static_cast<char>(0xff);
            std::memcpy(octets.data() + 12, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, 4);
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            std::memcpy(octets.data(), &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr, 16);
        } else {
            continue;
        }
        expected.insert(octets);
    }
    freeifaddrs(list);

    Opened device;
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(device.context, 1, &port), 0);
    std::multiset<std::string> found;
    for (int i = 0; i < port.gid_tbl_len; ++i) {
        ibv_gid gid{};
        ASSERT_EQ(ibv_query_gid(device.context, 1, i, &gid), 0);
        found.emplace(reinterpret_cast<const char*>(gid.raw), sizeof gid.raw);
        ibv_gid_entry entry{};
        ASSERT_EQ(ibv_query_gid_ex(device.context, 1, static_cast<std::uint32_t>(i), &entry, 0), 0);
        EXPECT_EQ(std::memcmp(&entry.gid, &gid, sizeof gid), 0);
    }
    EXPECT_EQ(found, expected);
    std::vector<ibv_gid_entry> table(found.size());
    EXPECT_EQ(ibv_query_gid_table(device.context, table.data(), table.size(), 0), static_cast<ssize_t>(found.size()));
    EXPECT_EQ(ibv_query_gid_table(device.context, table.data(), table.size() - 1, 0), -EINVAL);
    ibv_gid gid{};
    EXPECT_EQ(ibv_query_gid(device.context, 1, port.gid_tbl_len, &gid), -1);
    EXPECT_EQ(ibv_query_gid(device.context, 1, -1, &gid), -1);
    EXPECT_EQ(ibv_query_gid(device.context, 2, 0, &gid), -1);
}

TEST(PreloadDevice, HasTheFullPartition) {
    Opened device;
    __be16 pkey = 0;
    ASSERT_EQ(ibv_query_pkey(device.context, 1, 0, &pkey), 0);
    EXPECT_EQ(pkey, htobe16(0xffff));
    EXPECT_EQ(ibv_query_pkey(device.context, 1, 1, &pkey), -1);
    EXPECT_EQ(ibv_get_pkey_index(device.context, 1, htobe16(0xffff)), 0);
    EXPECT_EQ(ibv_get_pkey_index(device.context, 1, htobe16(1)), -1);
}

TEST(PreloadDevice, ClockIsTheOneOfTheSystem) {
    Opened device;
    timespec before{};
    clock_gettime(CLOCK_MONOTONIC, &before);
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    ASSERT_EQ(ibv_query_rt_values_ex(device.context, &values), 0);
    timespec after{};
    clock_gettime(CLOCK_MONOTONIC, &after);
    const auto ns = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
    EXPECT_LE(ns(before), ns(values.raw_clock));
    EXPECT_LE(ns(values.raw_clock), ns(after));
}

TEST(PreloadDevice, WhatIwarpHasNotSaysSo) {
    Side side({});
    ibv_ah_attr address{};
    EXPECT_EQ(ibv_create_ah(side.pd, &address), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_gid group{};
    EXPECT_EQ(ibv_attach_mcast(side.qp, &group, 0), EOPNOTSUPP);
    EXPECT_EQ(ibv_import_device(0), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_reg_dmabuf_mr(side.pd, 0, 4096, 0, 0, 0), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_parent_domain_init_attr parent{};
    parent.pd = side.pd;
    EXPECT_EQ(ibv_alloc_parent_domain(side.context, &parent), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_qp_init_attr datagram{};
    datagram.send_cq = datagram.recv_cq = side.cq;
    datagram.qp_type = IBV_QPT_UD;
    EXPECT_EQ(ibv_create_qp(side.pd, &datagram), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

// ibv_close_device(3) "does not release all the resources allocated using context".
TEST(PreloadDevice, ClosedOneStaysForWhatIsLeftOfIt) {
    int descriptor = -1;
    {
        Connection connection;
        Side& left = connection.passive;
        descriptor = left.context->async_fd;
        left.close_device();
        std::vector<std::string> others;  // in the memory of what is freed
        for (std::size_t size = 256; size < 2048; size += 16) others.emplace_back(size, 'A');
        EXPECT_NE(fcntl(descriptor, F_GETFD), -1);
        ibv_qp_attr error{};
        error.qp_state = IBV_QPS_ERR;
        ASSERT_EQ(ibv_modify_qp(connection.active.qp, &error, IBV_QP_STATE), 0);
        EXPECT_TRUE(preload_test::eventually([&] { return left.state() == IBV_QPS_ERR; }));
        ASSERT_EQ(left.receive(3, 0, 8), 0);
        EXPECT_EQ(left.completion().wr_id, 3U);
    }
    EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

TEST(PreloadDevice, ChildOfAForkHasNone) {
    Connection connection;
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int wrong = 0;
        dup2(report[1], STDERR_FILENO);
        if (ibv_alloc_pd(connection.active.context) != nullptr || errno != EPERM) wrong |= 1;
        if (ibv_dereg_mr(connection.active.mr) != EPERM) wrong |= 2;
        ibv_wc completion{};
        if (ibv_poll_cq(connection.active.cq, 1, &completion) != -1) wrong |= 4;
        if (connection.active.receive(1, 0, 8) != EPERM) wrong |= 8;
        ibv_async_event event{};
        if (ibv_get_async_event(connection.active.context, &event) != -1) wrong |= 16;
        _exit(wrong);
    }
    close(report[1]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::string said(4096, '\0');
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(read(report[0], said.data(), said.size()), 0)));
    close(report[0]);
    EXPECT_NE(said.find("fork()"), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << "it says so once: " << said;
    // The parent goes on as if nothing had been.
    ASSERT_EQ(connection.passive.receive(7, 0, 8), 0);
    ibv_sge from = connection.active.piece(0, 8);
    ASSERT_EQ(connection.active.send(connection.active.request(IBV_WR_SEND, 1, &from, 1)), 0);
    EXPECT_EQ(connection.passive.completion().wr_id, 7U);
}

}  // namespace
