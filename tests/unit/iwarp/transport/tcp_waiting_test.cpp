/// What a transport over TCP waits for: deadlines, and what its descriptor shows to programs that wait themselves.
#include <cstdint>
#include <gtest/gtest.h>
#include <poll.h>

#include "tests/unit/iwarp/transport/tcp_loopback.h"

namespace transport_test {
namespace {

TEST(Tcp, DeadlinesAreKept) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    const std::int64_t due = loopback.client.now_ns() + 20 * ms;
    client->deadline = due;
    server->deadline = loopback.server.now_ns() - 1;  // past already
    loopback.client.attention(*client);
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&, &one = *client, &other = *server] { return one.has("tick") && other.has("tick"); }));
    EXPECT_GE(client->times_of("tick")[0], due);
    EXPECT_EQ(client->story(), "connected tick");
}

TEST(Tcp, ADeadlineThatMovesIsKeptWhereItIsNow) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    client->deadline = loopback.client.now_ns() + 3'600'000 * ms;
    loopback.client.attention(*client);
    loopback.client.progress(0);
    const std::int64_t due = loopback.client.now_ns() + 10 * ms;
    client->deadline = due;
    loopback.client.attention(*client);
    for (int i = 0; i < 1000 && !client->has("tick"); ++i) loopback.client.progress(1000 * ms);
    EXPECT_GE(client->times_of("tick").at(0), due);
}

bool readable(int descriptor, int wait_ms) {
    pollfd one{descriptor, POLLIN, 0};
    return poll(&one, 1, wait_ms) > 0;
}

TEST(Tcp, TheDescriptorTellsWhenThereIsSomethingToDo) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    const int descriptor = loopback.client.descriptor();
    ASSERT_GE(descriptor, 0);
    const auto settle = [&] {
        for (int i = 0; i < 100; ++i) loopback.client.progress(0);
    };
    settle();
    EXPECT_FALSE(readable(descriptor, 0));
    // A call from above.
    client->put(pattern(10));
    loopback.client.attention(*client);
    EXPECT_TRUE(readable(descriptor, 30'000));
    settle();
    EXPECT_FALSE(readable(descriptor, 0));
    // A deadline.
    client->deadline = loopback.client.now_ns() + 5 * ms;
    loopback.client.attention(*client);
    settle();
    EXPECT_TRUE(readable(descriptor, 30'000));
    settle();
    EXPECT_TRUE(client->has("tick"));
    EXPECT_FALSE(readable(descriptor, 0));
    // The peer.
    server->put(pattern(10));
    loopback.server.attention(*server);
    loopback.server.progress(0);
    EXPECT_TRUE(readable(descriptor, 30'000));
    settle();
    EXPECT_EQ(client->got, pattern(10));
}

TEST(Tcp, WhoSeesToPostsItselfIsNotToldOfThem) {
    TcpOptions options;
    options.descriptor_tells_posts = false;
    Loopback loopback(options);
    auto [client, server] = loopback.connected();
    const int descriptor = loopback.client.descriptor();
    for (int i = 0; i < 100; ++i) loopback.client.progress(0);
    EXPECT_FALSE(loopback.client.work_waits());
    client->put(pattern(10));
    loopback.client.attention(*client);
    EXPECT_TRUE(loopback.client.work_waits());
    EXPECT_FALSE(readable(descriptor, 0));
    const auto& there = server;
    EXPECT_TRUE(loopback.drive([&] { return there->got.size() == 10; }));
    EXPECT_FALSE(loopback.client.work_waits());
    // Events of the peer and of time are reported as before.
    server->put(pattern(10));
    loopback.server.attention(*server);
    loopback.server.progress(0);
    EXPECT_TRUE(readable(descriptor, 30'000));
    for (int i = 0; i < 100; ++i) loopback.client.progress(0);
    client->deadline = loopback.client.now_ns() + 5 * ms;
    loopback.client.attention(*client);
    loopback.client.progress(0);
    EXPECT_TRUE(readable(descriptor, 30'000));
}

}  // namespace
}  // namespace transport_test
