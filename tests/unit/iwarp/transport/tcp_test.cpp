/// Streams over the loopback interface's TCP, against each other and against plain sockets.
#include "iwarp/transport/tcp.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/resource.h>

#include "tests/unit/iwarp/transport/fake_stream.h"
#include "tests/unit/iwarp/transport/raw_socket.h"

namespace transport_test {
namespace {

using iwarp::ConnectionOptions;
using iwarp::transport::Listening;
using iwarp::transport::TcpOptions;
using iwarp::transport::TcpTransport;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t ms = 1'000'000;

struct Loopback {
    explicit Loopback(const TcpOptions& options = {}) : client(options), server(options) {
        listening = server.listen("127.0.0.1", 0, 4096, {}, acceptor);
    }
    std::string name() const { return "127.0.0.1:" + std::to_string(listening.port); }
    std::shared_ptr<FakeStream> connect(const ConnectionOptions& options = {}) {
        auto stream = std::make_shared<FakeStream>();
        client.connect(stream, "127.0.0.1", listening.port, options);
        return stream;
    }
    /// Both sides' turns until `done`; half a minute is for ever.
    template <class Done>
    bool drive(const Done& done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            const bool moved = client.progress(0);
            server.progress(moved ? 0 : ms);
        }
        return true;
    }
    /// A connected stream on each side.
    std::pair<std::shared_ptr<FakeStream>, std::shared_ptr<FakeStream>> connected() {
        const std::size_t before = acceptor.streams.size();
        auto stream = connect();
        EXPECT_TRUE(drive([&] { return stream->has("connected") && acceptor.streams.size() > before; }));
        return {stream, acceptor.streams.at(before)};
    }
    /// A plain socket, and the server's stream.
    std::shared_ptr<FakeStream> connected(RawSocket& raw) {
        const std::size_t before = acceptor.streams.size();
        EXPECT_TRUE(raw.connect(listening.port));
        EXPECT_TRUE(drive([&] { return acceptor.streams.size() > before; }));
        return acceptor.streams.at(before);
    }
    FakeAcceptor acceptor;
    TcpTransport client, server;
    Listening listening;
};

TEST(Tcp, ConnectsAndSaysWithWhom) {
    Loopback loopback;
    EXPECT_EQ(loopback.listening.address, "127.0.0.1");
    EXPECT_NE(loopback.listening.port, 0);
    auto [client, server] = loopback.connected();
    EXPECT_EQ(client->peer_name, loopback.name());
    EXPECT_THAT(server->peer_name, StartsWith("127.0.0.1:"));
    EXPECT_EQ(loopback.acceptor.peers.at(0), server->peer_name);
    EXPECT_GE(client->segment, 536u);  // the least of any path, RFC 9293 section 3.7.1
    EXPECT_EQ(loopback.server.counters().accepted, 1u);
    EXPECT_EQ(loopback.server.connections(), 1u);
}

TEST(Tcp, SpeaksInternetProtocolSix) {
    TcpTransport transport;
    FakeAcceptor acceptor;
    Listening listening;
    try {
        listening = transport.listen("[::1]", 0, 16, {}, acceptor);
    } catch (const iwarp::Error& error) {
        GTEST_SKIP() << error.what();
    }
    EXPECT_EQ(listening.address, "::1");
    auto client = std::make_shared<FakeStream>();
    transport.connect(client, "::1", listening.port, {});
    for (int i = 0; i < 1000 && acceptor.streams.empty(); ++i) transport.progress(10 * ms);
    EXPECT_EQ(client->peer_name, "[::1]:" + std::to_string(listening.port));
    ASSERT_EQ(acceptor.peers.size(), 1u);
    EXPECT_THAT(acceptor.peers[0], StartsWith("[::1]:"));
}

TEST(Tcp, TriesTheAddressesOfANameInTurn) {
    addrinfo* known = nullptr;
    if (getaddrinfo("localhost", nullptr, nullptr, &known) != 0) GTEST_SKIP() << "this machine has no localhost";
    freeaddrinfo(known);
    Loopback loopback;  // localhost may be ::1 first, where nobody listens
    auto client = std::make_shared<FakeStream>();
    loopback.client.connect(client, "localhost", loopback.listening.port, {});
    EXPECT_TRUE(loopback.drive([&] { return client->has("connected"); })) << client->why;
}

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
    EXPECT_LE(server->got.size(), 100'000u + TcpOptions{}.staging_octets);
    EXPECT_LT(client->sent_octets, octets.size());
    server->pause_after = 0;
    server->paused = false;
    loopback.server.attention(*server);
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.got.size() >= octets.size(); }));
    EXPECT_TRUE(server->got == octets);
}

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

TEST(Tcp, ARefusedConnectionHasWords) {
    TcpTransport transport;
    RawSocket taken;
    const std::uint16_t port = taken.listen(1);
    taken.close();  // the system does not give the port to the next at once
    auto client = std::make_shared<FakeStream>();
    transport.connect(client, "127.0.0.1", port, {});
    EXPECT_EQ(client->story(), "");  // not before progress()
    for (int i = 0; i < 1000 && client->events.empty(); ++i) transport.progress(10 * ms);
    EXPECT_EQ(client->story(), "failed");
    EXPECT_EQ(client->why, "Connection refused by 127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(client->failure, iwarp::Failure::refused);
    EXPECT_EQ(client.use_count(), 1);
    EXPECT_EQ(transport.connections(), 0u);
}

TEST(Tcp, WhoListensLateIsWaitedForIfAskedFor) {
    Loopback loopback;
    const std::uint16_t port = loopback.listening.port;
    loopback.server.stop_listening(loopback.listening.handle);
    loopback.server.progress(0);
    ConnectionOptions options;
    options.refused_patience = std::chrono::milliseconds(60'000);
    auto client = loopback.connect(options);
    for (int i = 0; i < 10; ++i) loopback.client.progress(20 * ms);
    EXPECT_EQ(client->story(), "");
    loopback.listening = loopback.server.listen("127.0.0.1", port, 16, {}, loopback.acceptor);
    EXPECT_TRUE(loopback.drive([&] { return !client->events.empty(); }));
    EXPECT_EQ(client->story(), "connected");

    loopback.server.stop_listening(loopback.listening.handle);
    loopback.server.progress(0);
    options.refused_patience = std::chrono::milliseconds(50);
    auto late = loopback.connect(options);
    const std::int64_t start = loopback.client.now_ns();
    EXPECT_TRUE(loopback.drive([&] { return !late->events.empty(); }));
    EXPECT_EQ(late->story(), "failed");
    EXPECT_EQ(late->failure, iwarp::Failure::refused);
    EXPECT_GE(late->times_of("failed")[0], start + 50 * ms);
}

TEST(Tcp, AConnectIsGivenUpAtItsTimeOut) {
    RawSocket full;
    const std::uint16_t port = full.listen(0);
    // A queue of connections that nobody accepts is full after a few; the next ones' SYNs are dropped.
    std::vector<RawSocket> queue(4);
    for (RawSocket& one : queue) {
        fcntl(one.number(), F_SETFL, O_NONBLOCK);
        one.connect(port);
    }
    TcpTransport transport;
    auto client = std::make_shared<FakeStream>();
    ConnectionOptions options;
    options.connect_timeout = std::chrono::milliseconds(50);
    const std::int64_t start = transport.now_ns();
    transport.connect(client, "127.0.0.1", port, options);
    for (int i = 0; i < 1000 && client->events.empty(); ++i) transport.progress(30 * ms);
    ASSERT_EQ(client->story(), "failed");
    EXPECT_EQ(client->why, "Connection timed out: 127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(client->failure, iwarp::Failure::timed_out);
    EXPECT_GE(client->times_of("failed")[0], start + 50 * ms);
}

TEST(Tcp, AConnectThatIsNoLongerWantedIsDropped) {
    Loopback loopback;
    auto client = loopback.connect();
    client->wanted = Closing::reset;
    EXPECT_TRUE(loopback.drive([&] { return client.use_count() == 1; }));
    EXPECT_EQ(client->story(), "");
}

TEST(Tcp, CongestionControlIsChosenByName) {
    Loopback loopback;
    ConnectionOptions options;
    options.congestion_control = "reno";  // in every kernel
    auto good = loopback.connect(options);
    options.congestion_control = "horse-drawn";
    auto bad = loopback.connect(options);
    EXPECT_TRUE(loopback.drive([&] { return !good->events.empty() && !bad->events.empty(); }));
    EXPECT_EQ(good->story(), "connected");
    EXPECT_EQ(bad->story(), "failed");
    EXPECT_THAT(bad->why, HasSubstr("horse-drawn"));
    FakeAcceptor acceptor;
    EXPECT_THROW(loopback.server.listen("127.0.0.1", 0, 1, options, acceptor), iwarp::Error);
}

TEST(Tcp, TheSourceOfAConnectionCanBeSaid) {
    Loopback loopback;
    ConnectionOptions options;
    options.source = "127.0.0.2";
    auto client = loopback.connect(options);
    EXPECT_TRUE(loopback.drive([&] { return !client->events.empty() && !loopback.acceptor.streams.empty(); }));
    const std::string local = loopback.client.local(*client);
    EXPECT_THAT(local, StartsWith("127.0.0.2:"));
    EXPECT_EQ(loopback.acceptor.streams.front()->peer_name, local);
    EXPECT_EQ(loopback.server.local(*loopback.acceptor.streams.front()), client->peer_name);

    options.source = "192.0.2.1";  // TEST-NET-1: no machine has it
    auto nowhere = loopback.connect(options);
    EXPECT_TRUE(loopback.drive([&] { return !nowhere->events.empty(); }));
    EXPECT_EQ(nowhere->story(), "failed");
    EXPECT_EQ(nowhere->failure, iwarp::Failure::unreachable);
}

TEST(Tcp, APortInUseHasWords) {
    Loopback loopback;
    FakeAcceptor acceptor;
    try {
        loopback.client.listen("127.0.0.1", loopback.listening.port, 16, {}, acceptor);
        FAIL();
    } catch (const iwarp::Error& error) {
        EXPECT_EQ(std::string(error.what()), "cannot listen on " + loopback.name() + ": Address already in use");
    }
}

TEST(Tcp, NobodyIsThereAfterListeningStops) {
    Loopback loopback;
    auto [client, server] = loopback.connected();
    loopback.server.stop_listening(loopback.listening.handle);
    auto late = loopback.connect();
    EXPECT_TRUE(loopback.drive([&] { return !late->events.empty(); }));
    EXPECT_EQ(late->story(), "failed");
    client->put(pattern(10));
    loopback.client.attention(*client);  // the connection that was there goes on
    EXPECT_TRUE(loopback.drive([&, &other = *server] { return other.got.size() == 10; }));
}

TEST(Tcp, AnAcceptorThatDeclinesResets) {
    Loopback loopback;
    loopback.acceptor.limit = 0;
    auto client = loopback.connect();
    EXPECT_TRUE(loopback.drive([&] { return client->has("lost"); }));
    EXPECT_EQ(client->why, "Connection reset by " + loopback.name());
    EXPECT_EQ(loopback.server.counters().declined, 1u);
    EXPECT_EQ(loopback.server.connections(), 0u);
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
    // Of the peer and of time it tells as ever.
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

TEST(Tcp, AThousandConnections) {
    TcpTransport raises_the_limit;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
    const std::size_t count = std::min<std::size_t>(1000, (limit.rlim_cur - 100) / 2);
    Loopback loopback;
    loopback.acceptor.prepare = [](FakeStream& stream) { stream.echo = true; };
    std::vector<std::shared_ptr<FakeStream>> clients;
    for (std::size_t i = 0; i < count; ++i) {
        clients.push_back(loopback.connect());
        clients.back()->put(pattern(3000, static_cast<std::uint32_t>(i)));
    }
    const auto done = [&] {
        return std::ranges::all_of(clients, [](const auto& one) { return one->got.size() == 3000; });
    };
    EXPECT_TRUE(loopback.drive(done));
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(clients[i]->got == pattern(3000, static_cast<std::uint32_t>(i))) << i;
    EXPECT_EQ(loopback.server.counters().accepted, count);
    for (const auto& client : clients) {
        client->wanted = Closing::reset;
        loopback.client.attention(*client);
    }
    EXPECT_TRUE(loopback.drive([&] { return loopback.server.connections() == 0; }));
    EXPECT_EQ(loopback.client.connections(), 0u);
}

/// Lets `left` more descriptors be opened, until it goes.
class FewDescriptors {
public:
    explicit FewDescriptors(std::size_t left) {
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit low = before_;
        const int next = dup(0);
        ::close(next);
        low.rlim_cur = static_cast<rlim_t>(next) + 64;
        setrlimit(RLIMIT_NOFILE, &low);
        for (int one = dup(0); one >= 0; one = dup(0)) taken_.emplace_back(one);
        while (left-- > 0 && !taken_.empty()) taken_.pop_back();
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;
    ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
    std::vector<iwarp::transport::Descriptor> taken_;
};

TEST(Tcp, WithoutDescriptorsConnectionsAreResetAndCounted) {
    TcpOptions options;
    options.raise_descriptor_limit = false;
    Loopback loopback(options);
    std::vector<RawSocket> raw(10);
    {
        const FewDescriptors few(3);
        for (RawSocket& one : raw) ASSERT_TRUE(one.connect(loopback.listening.port));
        EXPECT_TRUE(loopback.drive(
            [&] { return loopback.server.counters().accepted + loopback.server.counters().without_descriptor == 10; }));
        EXPECT_EQ(loopback.server.counters().accepted, 3u);
        EXPECT_EQ(loopback.server.counters().without_descriptor, 7u);
        // Nor is there one for a connection of its own.
        auto client = loopback.connect();
        EXPECT_TRUE(loopback.drive([&] { return !client->events.empty(); }));
        EXPECT_EQ(client->why, "Too many open files: " + loopback.name());
        std::size_t reset = 0;
        for (RawSocket& one : raw) {
            one.take();
            reset += one.error == ECONNRESET ? 1U : 0U;
        }
        EXPECT_EQ(reset, 7u);
    }
    RawSocket again;  // and it goes on
    EXPECT_NE(loopback.connected(again), nullptr);
}

TEST(Tcp, WithoutEvenAReserveItWaitsForADescriptor) {
    TcpOptions options;
    options.raise_descriptor_limit = false;
    std::unique_ptr<TcpTransport> server;
    {
        const FewDescriptors few(1);  // for epoll alone
        server = std::make_unique<TcpTransport>(options);
        EXPECT_THROW(TcpTransport{options}, iwarp::Error);
    }
    FakeAcceptor acceptor;
    const Listening listening = server->listen("127.0.0.1", 0, 16, {}, acceptor);
    RawSocket raw;
    {
        const FewDescriptors none(0);
        ASSERT_TRUE(raw.connect(listening.port));
        for (int i = 0; i < 10; ++i) server->progress(ms);
        EXPECT_TRUE(acceptor.streams.empty());
    }
    for (int i = 0; i < 1000 && acceptor.streams.empty(); ++i) server->progress(100 * ms);
    EXPECT_EQ(acceptor.streams.size(), 1u);
    EXPECT_EQ(server->counters().without_descriptor, 0u);
}

}  // namespace
}  // namespace transport_test
