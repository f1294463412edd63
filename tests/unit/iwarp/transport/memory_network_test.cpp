/// The network in memory, by hand: what arrives when, in which pieces, and what stops whom.
#include "iwarp/transport/memory_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/iwarp/transport/fake_stream.h"

namespace transport_test {
namespace {

using iwarp::ConnectionOptions;
using iwarp::transport::Impairment;
using iwarp::transport::MemoryNetwork;
using iwarp::verbs::Transport;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t simulated_ms = 1'000'000;

/// A client `a` and a server `b` on port 4791.
struct Pair {
    explicit Pair(const Impairment& impairment = {}) : network(MemoryNetwork::make(impairment)) {
        a = network->attach("a");
        b = network->attach("b");
        handle = b->listen("b", 4791, 16, {}, acceptor).handle;
    }
    std::shared_ptr<FakeStream> connect(std::uint16_t port = 4791, const ConnectionOptions& options = {}) {
        auto stream = std::make_shared<FakeStream>();
        a->connect(stream, "b", port, options);
        return stream;
    }
    /// Connected, on both sides.
    std::pair<std::shared_ptr<FakeStream>, std::shared_ptr<FakeStream>> connected() {
        auto stream = connect();
        network->run(1000 * simulated_ms);
        EXPECT_EQ(acceptor.streams.size(), 1u);
        return {stream, acceptor.streams.at(0)};
    }
    std::shared_ptr<MemoryNetwork> network;
    FakeAcceptor acceptor;
    std::unique_ptr<Transport> a, b;
    std::uint64_t handle = 0;
};

TEST(MemoryNetwork, ConnectsInARoundTripAndIsAcceptedHalfOneLater) {
    Pair pair({.delay_ns = 5 * simulated_ms, .emss = 1448});
    const auto client = pair.connect();
    EXPECT_FALSE(pair.network->run());
    EXPECT_TRUE(pair.network->run(14 * simulated_ms));
    EXPECT_THAT(client->times_of("connected"), ElementsAre(10 * simulated_ms));
    EXPECT_TRUE(pair.acceptor.peers.empty());
    EXPECT_TRUE(pair.network->run(5 * simulated_ms));
    ASSERT_EQ(pair.acceptor.streams.size(), 1u);
    EXPECT_THAT(pair.acceptor.streams[0]->times_of("connected"), ElementsAre(15 * simulated_ms));
    EXPECT_EQ(client->peer_name, "b:4791");
    EXPECT_EQ(pair.acceptor.streams[0]->peer_name, "a:49152");
    EXPECT_THAT(pair.acceptor.peers, ElementsAre("a:49152"));
    EXPECT_EQ(client->segment, 1448u);
}

TEST(MemoryNetwork, RefusesWhereNobodyListens) {
    Pair pair({.delay_ns = 2 * simulated_ms});
    const auto client = pair.connect(80);
    pair.network->run(100 * simulated_ms);
    EXPECT_THAT(client->times_of("failed"), ElementsAre(4 * simulated_ms));
    EXPECT_EQ(client->why, "Connection refused by b:80");
    auto lost = std::make_shared<FakeStream>();
    pair.a->connect(lost, "nowhere", 4791, {});
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(lost->why, "No such host: nowhere:4791");
    EXPECT_EQ(client.use_count(), 1);
}

TEST(MemoryNetwork, AConnectIsGivenUpAtItsTimeOut) {
    Pair pair({.delay_ns = 600 * simulated_ms});
    ConnectionOptions options;
    options.connect_timeout = std::chrono::milliseconds(1000);
    const auto client = pair.connect(4791, options);
    pair.network->run(10'000 * simulated_ms);
    EXPECT_THAT(client->times_of("failed"), ElementsAre(1000 * simulated_ms));
    EXPECT_EQ(client->why, "Connection timed out: b:4791");
    EXPECT_TRUE(pair.acceptor.peers.empty());
}

TEST(MemoryNetwork, AStreamThatNoLongerWantsAConnectionGetsNone) {
    Pair pair({.delay_ns = simulated_ms});
    const auto client = pair.connect();
    client->wanted = Closing::reset;
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(client->story(), "");
    EXPECT_EQ(client.use_count(), 1);
}

TEST(MemoryNetwork, ListeningKnowsItsPorts) {
    Pair pair;
    FakeAcceptor other;
    try {
        pair.b->listen("b", 4791, 1, {}, other);
        FAIL();
    } catch (const iwarp::Error& error) {
        EXPECT_STREQ(error.what(), "cannot listen on b:4791: Address already in use");
    }
    const auto any = pair.b->listen("b", 0, 1, {}, other);
    EXPECT_GE(any.port, 49152);
    EXPECT_EQ(any.address, "b");
    const auto client = pair.connect(any.port);
    pair.network->run();
    EXPECT_EQ(other.streams.size(), 1u);
    pair.b->stop_listening(any.handle);
    const auto late = pair.connect(any.port);
    pair.network->run();
    EXPECT_EQ(late->story(), "failed");
    EXPECT_EQ(client->story(), "connected");
}

TEST(MemoryNetwork, AnAcceptorThatDeclinesResetsTheConnection) {
    Pair pair;
    pair.acceptor.limit = 0;
    const auto client = pair.connect();
    pair.network->run();
    EXPECT_EQ(client->story(), "connected lost");
    EXPECT_EQ(client->why, "Connection reset by b:4791");
}

TEST(MemoryNetwork, OctetsComeAsTheyWereSent) {
    Pair pair;
    auto [client, server] = pair.connected();
    const auto octets = pattern(10);
    client->put(base::Bytes(octets).first(7));
    pair.a->attention(*client);
    pair.network->run();
    client->put(base::Bytes(octets).subspan(7));
    pair.a->attention(*client);
    pair.network->run();
    EXPECT_THAT(server->pieces, ElementsAre(7, 3));
    EXPECT_EQ(server->got, octets);
}

TEST(MemoryNetwork, NothingIsAskedWithoutAttention) {
    Pair pair;
    auto [client, server] = pair.connected();
    const int before = client->asked_for_output;
    client->put(pattern(10));
    client->wanted = Closing::half;
    client->deadline = 0;
    EXPECT_FALSE(pair.network->run(100 * simulated_ms));
    EXPECT_EQ(client->asked_for_output, before);
    pair.a->attention(*client);
    EXPECT_TRUE(pair.network->run(100 * simulated_ms));
    EXPECT_EQ(server->story(), "connected octets fin");
    EXPECT_EQ(client->story(), "connected tick");
}

TEST(MemoryNetwork, ChunksHaveTheirSize) {
    Pair pair({.chunk = 4});
    auto [client, server] = pair.connected();
    const auto octets = pattern(10);
    client->put(octets);
    pair.a->attention(*client);
    pair.network->run();
    EXPECT_THAT(server->pieces, ElementsAre(4, 4, 2));
    EXPECT_EQ(server->got, octets);
}

TEST(MemoryNetwork, RandomChunksFollowFromTheSeed) {
    std::vector<std::vector<std::size_t>> cut;
    for (const std::uint64_t seed : {7U, 7U, 8U}) {
        Pair pair({.chunk = 50, .random_chunks = true, .seed = seed});
        auto [client, server] = pair.connected();
        client->put(pattern(5000));
        pair.a->attention(*client);
        pair.network->run();
        EXPECT_EQ(server->got, pattern(5000));
        EXPECT_EQ(*std::ranges::max_element(server->pieces), 50u);  // 200 draws of 1..50: missed by 49/50 each, 2 %
        EXPECT_GT(server->pieces.size(), 100u);
        cut.push_back(server->pieces);
    }
    EXPECT_EQ(cut[0], cut[1]);
    EXPECT_NE(cut[0], cut[2]);
}

TEST(MemoryNetwork, DelayIsOneWay) {
    Pair pair({.delay_ns = 3 * simulated_ms});
    auto [client, server] = pair.connected();  // at 9 ms
    EXPECT_EQ(pair.network->now_ns(), 9 * simulated_ms);
    pair.network->advance(simulated_ms);
    server->echo = true;
    client->put(pattern(1));
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    EXPECT_THAT(server->times_of("octets"), ElementsAre(13 * simulated_ms));
    EXPECT_THAT(client->times_of("octets"), ElementsAre(16 * simulated_ms));
}

TEST(MemoryNetwork, JitterNeverReorders) {
    Pair pair({.chunk = 10, .delay_ns = simulated_ms, .jitter_ns = 5 * simulated_ms});
    auto [client, server] = pair.connected();
    const std::int64_t start = pair.network->now_ns();
    client->put(pattern(1000));
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(server->got, pattern(1000));
    const auto times = server->times_of("octets");
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_GE(times.front(), start + simulated_ms);
    EXPECT_LE(times.back(), start + 6 * simulated_ms);
    EXPECT_GT(times.back(), times.front());
}

TEST(MemoryNetwork, TheWindowHoldsTheSenderBack) {
    Pair pair({.chunk = 100, .delay_ns = simulated_ms, .window = 1000});
    auto [client, server] = pair.connected();
    const std::int64_t start = pair.network->now_ns();
    client->put(pattern(2500));
    pair.a->attention(*client);
    pair.network->run();
    EXPECT_EQ(client->sent_octets, 1000u);
    pair.network->run(100 * simulated_ms);
    // A window a millisecond: what was delivered at once makes room at once, there is no way back to wait for.
    EXPECT_EQ(server->times_of("octets").size(), 25u);
    EXPECT_EQ(server->times_of("octets")[9], start + simulated_ms);
    EXPECT_EQ(server->times_of("octets")[10], start + 2 * simulated_ms);
    EXPECT_EQ(server->times_of("octets")[24], start + 3 * simulated_ms);
    EXPECT_EQ(server->got, pattern(2500));
}

TEST(MemoryNetwork, APausedStreamHoldsTheSenderBack) {
    Pair pair({.chunk = 100, .window = 1000});
    auto [client, server] = pair.connected();
    server->pause_after = 300;
    client->put(pattern(2500));
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(server->got.size(), 300u);
    EXPECT_EQ(client->sent_octets, 1300u);
    server->pause_after = 0;
    server->paused = false;
    EXPECT_FALSE(pair.network->run(100 * simulated_ms));
    pair.b->attention(*server);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(server->got, pattern(2500));
}

TEST(MemoryNetwork, CorruptionChangesOneBitOfAPiece) {
    Pair pair({.chunk = 100, .corrupt = 1.0});
    auto [client, server] = pair.connected();
    const auto octets = pattern(1000);
    client->put(octets);
    pair.a->attention(*client);
    pair.network->run();
    ASSERT_EQ(server->got.size(), 1000u);
    for (std::size_t piece = 0; piece < 10; ++piece) {
        int bits = 0;
        for (std::size_t i = piece * 100; i < piece * 100 + 100; ++i)
            bits += std::popcount(std::to_integer<unsigned>(octets[i] ^ server->got[i]));
        EXPECT_EQ(bits, 1) << piece;
    }
}

TEST(MemoryNetwork, OctetsLandWhereAStreamHasRoom) {
    Pair pair({.chunk = 100, .direct = 16});
    auto [client, server] = pair.connected();
    server->room_left = 250;  // a target that ends within the third piece; less than 16 is left in it then
    client->put(pattern(400));
    pair.a->attention(*client);
    pair.network->run();
    EXPECT_EQ(server->got, pattern(400));
    EXPECT_EQ(server->direct, 250u);
    EXPECT_THAT(server->pieces, ElementsAre(50, 100));
}

TEST(MemoryNetwork, HalfCloseComesAfterTheOctetsAndLeavesTheOtherDirection) {
    Pair pair({.chunk = 100, .window = 300});
    auto [client, server] = pair.connected();
    client->put(pattern(1000));
    client->wanted = Closing::half;
    pair.a->attention(*client);
    pair.network->run(simulated_ms);
    EXPECT_EQ(server->story(), "connected octets fin");
    EXPECT_EQ(server->got, pattern(1000));
    server->put(pattern(500));
    server->wanted = Closing::full;
    pair.b->attention(*server);
    pair.network->run(simulated_ms);
    EXPECT_EQ(client->story(), "connected octets fin");
    EXPECT_EQ(client->got, pattern(500));
    EXPECT_EQ(server->transport_data, nullptr);
    EXPECT_NE(client->transport_data, nullptr);
    client->wanted = Closing::full;
    pair.a->attention(*client);
    pair.network->run(simulated_ms);
    EXPECT_EQ(client->transport_data, nullptr);
    EXPECT_EQ(client.use_count(), 1);
    EXPECT_EQ(server->story(), "connected octets fin");
}

TEST(MemoryNetwork, ResetComesAfterWhatWasUnderWay) {
    Pair pair({.delay_ns = simulated_ms});
    auto [client, server] = pair.connected();
    client->put(pattern(10));
    pair.a->attention(*client);
    pair.network->run();
    client->wanted = Closing::reset;
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(server->story(), "connected octets lost");
    EXPECT_EQ(server->why, "Connection reset by a:49152");
    EXPECT_EQ(client->story(), "connected");
    EXPECT_EQ(client.use_count(), 1);
    EXPECT_EQ(server->transport_data, nullptr);
}

TEST(MemoryNetwork, AResetReachesAPausedStream) {
    Pair pair({.delay_ns = simulated_ms});
    auto [client, server] = pair.connected();
    server->paused = true;
    pair.b->attention(*server);
    client->put(pattern(10));
    pair.a->attention(*client);
    pair.network->run();
    client->wanted = Closing::reset;
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(server->story(), "connected lost");
}

TEST(MemoryNetwork, WhatIsSentToNobodyIsAnsweredWithAReset) {
    Pair pair({.delay_ns = simulated_ms});
    auto [client, server] = pair.connected();
    server->wanted = Closing::full;
    pair.b->attention(*server);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(client->story(), "connected fin");
    client->put(pattern(10));
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    EXPECT_EQ(client->story(), "connected fin lost");
}

TEST(MemoryNetwork, ADeadlineIsKeptAndAnotherMayFollow) {
    Pair pair;
    auto [client, server] = pair.connected();
    client->deadline = 50 * simulated_ms;
    pair.a->attention(*client);
    pair.network->run(49 * simulated_ms);
    EXPECT_FALSE(client->has("tick"));
    pair.network->run(100 * simulated_ms);
    EXPECT_THAT(client->times_of("tick"), ElementsAre(50 * simulated_ms));
}

TEST(MemoryNetwork, ProgressMovesTheClockToWhatItsDeviceWaitsFor) {
    Pair pair({.delay_ns = 10 * simulated_ms});
    const auto client = pair.connect();
    EXPECT_FALSE(pair.a->progress(0));
    EXPECT_EQ(pair.network->now_ns(), 0);
    EXPECT_FALSE(pair.a->progress(15 * simulated_ms));
    EXPECT_EQ(pair.network->now_ns(), 15 * simulated_ms);
    EXPECT_TRUE(pair.a->progress(15 * simulated_ms));  // due since 20 ms, and no longer waited for than that
    EXPECT_EQ(pair.network->now_ns(), 20 * simulated_ms);
    EXPECT_EQ(client->story(), "connected");
    EXPECT_TRUE(pair.b->progress(1000 * simulated_ms));
    EXPECT_EQ(pair.network->now_ns(), 30 * simulated_ms);
}

TEST(MemoryNetwork, ATransportThatGoesResetsItsConnections) {
    Pair pair;
    auto [client, server] = pair.connected();
    pair.b.reset();
    pair.network->run(simulated_ms);
    EXPECT_EQ(client->story(), "connected lost");
    EXPECT_EQ(server->transport_data, nullptr);
    const auto late = pair.connect();
    pair.network->run(simulated_ms);
    EXPECT_EQ(late->story(), "failed");
}

TEST(MemoryNetwork, ARawPeerSpeaksWithAStream) {
    Pair pair({.chunk = 3, .delay_ns = simulated_ms});
    const auto raw = pair.network->connect_raw("b", 4791);
    EXPECT_TRUE(raw->connected());
    raw->send(pattern(5));
    pair.network->run(100 * simulated_ms);
    ASSERT_EQ(pair.acceptor.streams.size(), 1u);
    const auto server = pair.acceptor.streams[0];
    EXPECT_THAT(server->pieces, ElementsAre(3, 2));
    server->put(pattern(8, 2));
    server->wanted = Closing::half;
    pair.b->attention(*server);
    pair.network->run();
    EXPECT_TRUE(raw->take().empty());
    EXPECT_FALSE(raw->peer_closed());
    pair.network->run(simulated_ms);
    EXPECT_EQ(raw->take(), pattern(8, 2));
    EXPECT_TRUE(raw->take().empty());
    EXPECT_TRUE(raw->peer_closed());
    EXPECT_TRUE(raw->connected());
    raw->close();
    EXPECT_FALSE(raw->connected());
    pair.network->run(simulated_ms);
    EXPECT_EQ(server->story(), "connected octets fin");
}

TEST(MemoryNetwork, ARawPeerThatTakesNothingHoldsTheSenderBack) {
    Pair pair({.window = 100});
    const auto raw = pair.network->connect_raw("b", 4791);
    pair.network->run();
    const auto server = pair.acceptor.streams.at(0);
    server->put(pattern(250));
    pair.b->attention(*server);
    pair.network->run(simulated_ms);
    EXPECT_EQ(server->sent_octets, 100u);
    EXPECT_EQ(raw->take().size(), 100u);
    pair.network->run(simulated_ms);
    EXPECT_EQ(raw->take().size(), 100u);
    pair.network->run(simulated_ms);
    EXPECT_EQ(raw->take().size(), 50u);
}

TEST(MemoryNetwork, ARawPeerResetsAndIsReset) {
    Pair pair;
    auto raw = pair.network->connect_raw("b", 4791);
    auto dropped = pair.network->connect_raw("b", 4791);
    auto third = pair.network->connect_raw("b", 4791);
    EXPECT_TRUE(pair.network->connect_raw("b", 80)->peer_reset());
    EXPECT_FALSE(pair.network->connect_raw("b", 80)->connected());
    pair.network->run();
    raw->reset();
    dropped.reset();
    ASSERT_EQ(pair.acceptor.streams.size(), 3u);
    pair.acceptor.streams[2]->put(pattern(4));
    pair.b->attention(*pair.acceptor.streams[2]);
    pair.network->run();
    pair.acceptor.streams[2]->wanted = Closing::reset;
    pair.b->attention(*pair.acceptor.streams[2]);
    pair.network->run();
    EXPECT_EQ(pair.acceptor.streams[0]->story(), "connected lost");
    EXPECT_EQ(pair.acceptor.streams[1]->story(), "connected lost");
    EXPECT_TRUE(third->peer_reset());
    EXPECT_FALSE(third->connected());
    EXPECT_EQ(third->take(), pattern(4));
}

TEST(MemoryNetwork, RawPeersAreReachedByStreams) {
    Pair pair;
    pair.network->listen_raw("c", 7);
    EXPECT_THROW(pair.network->listen_raw("c", 7), iwarp::Error);
    EXPECT_EQ(pair.network->accept_raw("c", 7), nullptr);
    auto client = std::make_shared<FakeStream>();
    pair.a->connect(client, "c", 7, {});
    client->put(pattern(6));
    pair.network->run();
    const auto raw = pair.network->accept_raw("c", 7);
    ASSERT_NE(raw, nullptr);
    EXPECT_EQ(pair.network->accept_raw("c", 7), nullptr);
    EXPECT_EQ(raw->take(), pattern(6));
    raw->send(pattern(3));
    raw->close();
    pair.network->run();
    EXPECT_EQ(client->story(), "connected octets fin");
    EXPECT_EQ(client->peer_name, "c:7");
}

TEST(MemoryNetwork, TheTapSeesWhatACaptureWould) {
    Pair pair({.chunk = 4, .delay_ns = simulated_ms});
    std::vector<std::string> seen;
    std::vector<std::byte> octets;
    pair.network->tap([&](const MemoryNetwork::Passed& passed) {
        seen.push_back(std::to_string(passed.time_ns / simulated_ms) + " " + passed.from + ":" +
                       std::to_string(passed.from_port) + ">" + passed.to + ":" + std::to_string(passed.to_port) + " " +
                       std::to_string(passed.octets.size()) + (passed.fin ? " F" : "") + (passed.reset ? " R" : ""));
        octets.insert(octets.end(), passed.octets.begin(), passed.octets.end());
    });
    auto [client, server] = pair.connected();  // at 3 ms
    client->put(pattern(6));
    client->wanted = Closing::half;
    pair.a->attention(*client);
    pair.network->run(100 * simulated_ms);
    server->wanted = Closing::reset;
    pair.b->attention(*server);
    pair.network->run(100 * simulated_ms);
    EXPECT_THAT(
        seen, ElementsAre("3 a:49152>b:4791 4", "3 a:49152>b:4791 2", "3 a:49152>b:4791 0 F", "4 b:4791>a:49152 0 R"));
    EXPECT_EQ(octets, pattern(6));
}

TEST(MemoryNetwork, AnAlignedOutputIsAPieceOfItsOwn) {
    Pair pair;
    auto [client, server] = pair.connected();
    client->aligned = true;
    client->largest_output = 100;
    client->put(pattern(250));
    pair.a->attention(*client);
    pair.network->run();
    EXPECT_THAT(server->pieces, ElementsAre(100, 100, 50));
}

}  // namespace
}  // namespace transport_test
