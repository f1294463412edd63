/// Octets over TCP: in bulk and in pieces, into a stream's own room, held back, and in segments of their own.
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "tests/unit/iwarp/transport/tcp_loopback.h"

namespace transport_test {
namespace {

TEST(Tcp, CarriesBulkBothWays) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    const auto there = pattern(24'000'000, 1);
    const auto back = pattern(17'000'001, 2);
    client->put(there);
    server->put(back);
    client->piece_octets = 1446;
    server->piece_octets = 70'000;
    client->largest_output = 200'000;
    server->largest_output = 300'001;
    loopback.client.attention(*client);
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&, &one = *client, &other = *server] {
        return one.got.size() >= back.size() && other.got.size() >= there.size();
    }));
    EXPECT_TRUE(server->got == there);
    EXPECT_TRUE(client->got == back);
}

TEST(Tcp, ManyPiecesNeedNotBeOneCall) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    const auto octets = pattern(5000);
    client->put(octets);
    client->piece_octets = 1;  // more than the system takes at once
    loopback.client.attention(*client);
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.got.size() >= octets.size(); }));
    EXPECT_TRUE(server->got == octets);
}

TEST(Tcp, ReceivesWhereTheStreamHasRoom) {
    Loopback loopback;
    loopback.acceptor.prepare = [](FakeStream& stream) { stream.room_left = 5'000'000; };
    auto [client, server] = loopback.connected();
    const auto octets = pattern(6'000'000);
    client->put(octets);
    loopback.client.attention(*client);
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.got.size() >= octets.size(); }));
    EXPECT_TRUE(server->got == octets);
    // All of the room, but what is left of it when it is less than is asked for.
    EXPECT_GE(server->direct, 5'000'000u - TcpOptions{}.direct_octets);
    EXPECT_EQ(loopback.server.counters().direct_octets, server->direct);
    EXPECT_EQ(loopback.server.counters().staged_octets, octets.size() - server->direct);
}

TEST(Tcp, APausedStreamHoldsTheSenderBack) {
    Loopback loopback;
    loopback.acceptor.prepare = [](FakeStream& stream) { stream.pause_after = 100'000; };
    auto [client, server] = loopback.connected();
    const auto octets = pattern(64'000'000);  // more than the socket's buffers hold
    client->put(octets);
    client->largest_output = 100'000;
    loopback.client.attention(*client);
    // Until the sender stands still.
    std::size_t last = 1;
    EXPECT_TRUE(loopback.drive(
        [&, &one = *client] { return std::exchange(last, one.sent_octets) == one.sent_octets && last > 0; }));
    for (int i = 0; i < 50; ++i) {
        loopback.client.progress(0);
        loopback.server.progress(ms);
    }
    EXPECT_GE(server->got.size(), 100'000u);
    EXPECT_LE(server->got.size(), 100'000u + TcpOptions{}.bulk_octets);
    EXPECT_LT(client->sent_octets, octets.size());
    server->pause_after = 0;
    server->paused = false;
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.got.size() >= octets.size(); }));
    EXPECT_TRUE(server->got == octets);
}

TEST(Tcp, AnAlignedOutputIsASegmentOfItsOwn) {
    Loopback loopback;
    RawSocket raw;
    const auto server = loopback.connected(raw);
    constexpr std::uint32_t outputs = 200;
    server->put(pattern(outputs * 100));
    server->largest_output = 100;
    server->aligned = true;
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&] { return server->to_send.empty(); }));
    std::size_t got = 0;
    while (got < outputs * 100 && raw.readable_within(30'000)) got += raw.take().size();
    EXPECT_EQ(got, outputs * 100);
    tcp_info info{};
    socklen_t size = sizeof info;
    ASSERT_EQ(getsockopt(raw.number(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    if (size < offsetof(tcp_info, tcpi_data_segs_in) + sizeof info.tcpi_data_segs_in)
        GTEST_SKIP() << "TCP_INFO has only " << size << " bytes here, as under qemu-user";
    EXPECT_GE(info.tcpi_data_segs_in, outputs);  // two in one would make it fewer
}

TEST(Tcp, ASmallConversationGoesOnBesideABulkTransfer) {
    Loopback loopback;
    auto [bulk, bulk_server] = loopback.connected();
    auto [small, small_server] = loopback.connected();
    small_server->echo = true;
    const std::size_t octets = 300'000'000;
    bulk->put(std::vector<std::byte>(octets));
    small->put(pattern(1));
    loopback.client.attention(*bulk);
    loopback.client.attention(*small);
    EXPECT_TRUE(loopback.drive([&, &one = *small] { return one.got.size() == 1; }));
    EXPECT_LT(bulk_server->got.size(), octets / 2);
}

}  // namespace
}  // namespace transport_test
