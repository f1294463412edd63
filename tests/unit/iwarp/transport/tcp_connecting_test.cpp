/// How connections over TCP come about, or do not: addresses, refusals, time outs, and who listens.
#include <chrono>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <netdb.h>
#include <string>
#include <vector>

#include "tests/unit/iwarp/transport/tcp_loopback.h"

namespace transport_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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
    Loopback loopback;  // localhost may be ::1 first, where no process listens
    auto client = std::make_shared<FakeStream>();
    loopback.client.connect(client, "localhost", loopback.listening.port, {});
    EXPECT_TRUE(loopback.drive([&] { return client->has("connected"); })) << client->why;
}

TEST(Tcp, ARefusedConnectionHasWords) {
    TcpTransport transport;
    RawSocket taken;
    const std::uint16_t port = taken.listen(1);
    taken.reset();  // the system does not give the port to the next at once
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
    // A queue of connections that are not accepted is full after a few; the next ones' SYNs are dropped.
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

}  // namespace
}  // namespace transport_test
