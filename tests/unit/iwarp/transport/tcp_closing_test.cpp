/// How connections over TCP end: one direction at a time, by a reset of either side, and with their transport.
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

#include "tests/unit/iwarp/transport/tcp_loopback.h"

namespace transport_test {
namespace {

using testing::StartsWith;

TEST(Tcp, HalfCloseLeavesTheOtherDirection) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    client->put(pattern(1'000'000));
    client->wanted = Closing::half;
    loopback.client.attention(*client);
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.has("fin"); }));
    EXPECT_EQ(server->story(), "connected octets fin");
    EXPECT_TRUE(server->got == pattern(1'000'000));
    server->put(pattern(2'000'000));
    server->wanted = Closing::full;
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&, &one = *client] { return one.has("fin"); }));
    EXPECT_TRUE(client->got == pattern(2'000'000));
    EXPECT_EQ(client->story(), "connected octets fin");
    EXPECT_EQ(server->transport_data, nullptr);
    EXPECT_EQ(loopback.server.connections(), 0u);
    client->wanted = Closing::full;
    loopback.client.attention(*client);
    EXPECT_TRUE(loopback.drive([&] { return loopback.client.connections() == 0; }));
    EXPECT_EQ(client.use_count(), 1);
}

TEST(Tcp, AResetReachesThePeer) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    client->wanted = Closing::reset;
    client->put(pattern(100));  // not sent any more
    loopback.client.attention(*client);
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.has("lost"); }));
    EXPECT_EQ(server->story(), "connected lost");
    EXPECT_EQ(server->why, "Connection reset by " + server->peer_name);
    EXPECT_EQ(client->story(), "connected");
    EXPECT_EQ(loopback.client.connections() + loopback.server.connections(), 0u);
    EXPECT_EQ(client->transport_data, nullptr);
}

TEST(Tcp, WhatCameBeforeAResetIsRead) {
    Loopback loopback;
    RawSocket raw;
    const auto server = loopback.connected(raw);
    raw.send(pattern(1000));
    raw.reset();
    EXPECT_TRUE(loopback.drive([&] { return server->has("lost"); }));
    EXPECT_EQ(server->story(), "connected octets lost");
    EXPECT_TRUE(server->got == pattern(1000));
}

TEST(Tcp, SendingIntoAResetIsALossAndNotTheEndOfTheProcess) {
    Loopback loopback;
    RawSocket raw;
    const auto server = loopback.connected(raw);
    raw.send(pattern(1000));
    raw.reset();
    server->put(pattern(1000));
    loopback.server.attention(*server);  // sends before it reads
    EXPECT_TRUE(loopback.drive([&] { return server->has("lost"); }));
    EXPECT_EQ(server->story(), "connected octets lost");
    EXPECT_TRUE(server->got == pattern(1000));
    EXPECT_THAT(server->why, StartsWith("Connection reset by 127.0.0.1:"));
}

TEST(Tcp, APausedStreamHearsOfAReset) {
    Loopback loopback;
    RawSocket raw;
    const auto server = loopback.connected(raw);
    server->paused = true;
    raw.send(pattern(1000));
    raw.reset();
    EXPECT_TRUE(loopback.drive([&] { return server->has("lost"); }));
    EXPECT_EQ(server->story(), "connected lost");
}

TEST(Tcp, AResetAfterTheFinIsALoss) {
    Loopback loopback;
    RawSocket raw;
    const auto server = loopback.connected(raw);
    raw.finish();
    EXPECT_TRUE(loopback.drive([&] { return server->has("fin"); }));
    raw.reset();
    EXPECT_TRUE(loopback.drive([&] { return server->has("lost"); }));
    EXPECT_EQ(server->story(), "connected fin lost");
}

TEST(Tcp, AnOrderlyCloseIsNoResetThoughOctetsWereNotRead) {
    Loopback loopback;
    RawSocket raw;
    const auto server = loopback.connected(raw);
    server->paused = true;
    raw.send(pattern(100'000));
    server->put(pattern(500));
    server->wanted = Closing::full;
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&] { return loopback.server.connections() == 0; }));
    ASSERT_TRUE(raw.readable_within(30'000));
    EXPECT_EQ(raw.take(), pattern(500));
    ASSERT_TRUE(raw.readable_within(30'000));
    raw.take();
    EXPECT_TRUE(raw.end) << raw.error;
}

TEST(Tcp, ATransportThatGoesResetsItsConnections) {
    Loopback loopback;
    auto client = std::make_shared<FakeStream>();
    {
        TcpTransport brief;
        brief.connect(client, "127.0.0.1", loopback.listening.port, {});
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!client->has("connected") && std::chrono::steady_clock::now() < end) brief.progress(ms);
        EXPECT_TRUE(loopback.drive([&] { return loopback.acceptor.streams.size() == 1; }));
    }
    EXPECT_EQ(client->transport_data, nullptr);
    EXPECT_EQ(client.use_count(), 1);
    EXPECT_TRUE(loopback.drive([&] { return loopback.acceptor.streams[0]->has("lost"); }));
}

}  // namespace
}  // namespace transport_test
