/// Clients of the control socket that speak in pieces, talk nonsense, vanish or do not read, and how many there may be.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/descriptor.h"
#include "tests/unit/daemon/server/control_socket.h"

namespace service {
namespace {

using test::Clock;
using test::ControlSocket;
using test::Json;
using test::patience;
using test::Peer;

TEST_F(ControlSocket, RequestsMayComeInPiecesAndInHeaps) {
    open();
    Peer peer(path());
    for (const char octet : std::string("{\"id\":1,\"command\":\"help\"}\r\n")) {
        peer.say(std::string(1, octet));
        server->progress(0);
    }
    EXPECT_EQ(line_of(peer)["id"], 1);
    std::string heap;
    for (int i = 0; i < 500; ++i) heap += fmt::format("{{\"id\":{},\"command\":\"version\"}}\n\n", i);
    EXPECT_EQ(peer.say(heap), heap.size());
    for (int i = 0; i < 500; ++i) ASSERT_EQ(line_of(peer)["id"], i);
    EXPECT_EQ(server->counters().requests, 501U);
}

TEST_F(ControlSocket, ClientsThatAskWithoutEndAndReadNothingHaveTheirTurnAndNoMore) {
    ServerOptions wanted;
    wanted.slice_ns = 0;  // one request a call
    open(wanted);
    fake.flows = 20;
    constexpr std::size_t greedy = 20;
    std::string heap;
    for (int i = 0; i < 200; ++i) heap += "{\"command\":\"why\"}\n";
    std::vector<std::unique_ptr<Peer>> peers;
    for (std::size_t i = 0; i < greedy; ++i) {
        peers.push_back(std::make_unique<Peer>(path()));
        ASSERT_EQ(peers.back()->say(heap), heap.size());
    }
    ASSERT_TRUE(turn([&] { return server->counters().accepted == greedy; }));
    const std::uint64_t before = server->counters().requests;
    constexpr std::uint64_t turns = 40;
    for (std::uint64_t i = 0; i < turns; ++i) {
        server->progress(0);
        ASSERT_LE(server->counters().requests, before + i + 1);
    }
    // One that comes later and asks once waits for one turn of each of the others.
    Peer modest(path());
    modest.say("{\"command\":\"version\"}\n");
    std::size_t waited = 0;
    while (!modest.has_line() && waited < 10 * greedy) {
        server->progress(0);
        modest.read();
        ++waited;
    }
    EXPECT_LE(waited, greedy + 5);
    for (const auto& peer : peers) {
        peer->read();
        EXPECT_TRUE(peer->has_line());
    }
}

TEST_F(ControlSocket, WhatAllClientsHaveYetToReadIsBounded) {
    ServerOptions wanted;
    wanted.max_owed = std::size_t{512} << 10;
    open(wanted);
    fake.flows = 5000;
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 4; ++i) {
        peers.push_back(std::make_unique<Peer>(path()));
        peers.back()->say("{\"command\":\"flows\"}\n");
    }
    ASSERT_TRUE(turn([&] { return server->counters().requests == 4; }));
    for (int i = 0; i < 20; ++i) server->progress(0);
    Peer other(path());
    const Json refused = ask(other, R"({"command":"version"})");
    EXPECT_EQ(refused["ok"], false);
    EXPECT_NE(refused["error"].get<std::string>().find("memory is bounded"), std::string::npos) << refused;
    peers.clear();
    ASSERT_TRUE(turn([&] { return server->counters().clients == 1; }));
    EXPECT_EQ(ask(other, R"({"command":"version"})")["ok"], true);
}

TEST_F(ControlSocket, GarbageIsAnsweredAndALineTooLongEndsIt) {
    ServerOptions wanted;
    wanted.max_line = 1000;
    open(wanted);
    Peer peer(path());
    peer.say(std::string("\0\xff\xfe garbage\n{\"command\":\"status\"\n", 32));
    EXPECT_EQ(line_of(peer)["ok"], false);
    EXPECT_EQ(line_of(peer)["ok"], false);
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
    EXPECT_EQ(ask(peer, "{\"command\":\"version\",\"id\":\"" + std::string(900, 'x') + "\"}")["ok"], true);

    Peer other(path());
    other.say(std::string(5000, 'x'));
    EXPECT_NE(line_of(other)["error"].get<std::string>().find("at most 1000 bytes"), std::string::npos);
    EXPECT_TRUE(ends(other));
    Peer whole(path());  // the same where the newline is there already
    whole.say(std::string(1001, ' ') + "\n");
    EXPECT_EQ(line_of(whole)["ok"], false);
    EXPECT_TRUE(ends(whole));
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
}

TEST_F(ControlSocket, WhoHasSaidAllStillGetsItsAnswers) {
    fake.flows = 1500;
    open();
    Peer peer(path());
    peer.say("{\"id\":1,\"command\":\"flows\"}\n{\"id\":2,\"command\":\"version\"}");  // no newline after the last
    peer.end_sending();
    EXPECT_EQ(line_of(peer)["result"]["flows"].size(), 1500U);
    EXPECT_EQ(line_of(peer)["id"], 2);
    EXPECT_TRUE(ends(peer));
    EXPECT_TRUE(turn([&] { return server->counters().clients == 0; }));
}

TEST_F(ControlSocket, WhoHangsUpAtOnceHasItsWishAllTheSame) {
    open();
    Peer peer(path());
    peer.say("{\"command\":\"flows\"}\n{\"command\":\"trigger\",\"reason\":\"gone\"}\n");
    peer.hang_up();
    EXPECT_TRUE(turn([&] { return fake.triggered.size() == 1; }));
    EXPECT_TRUE(turn([&] { return server->counters().accepted == 1 && server->counters().clients == 0; }));
    EXPECT_EQ(fake.taken, 0U);  // no client was there to read flows
}

TEST_F(ControlSocket, SlowAndVanishingClientsCostTheOthersNothing) {
    fake.flows = 1500;  // some MB: more than a socket holds
    open();
    Peer slow(path());
    Peer vanishing(path());
    for (int i = 0; i < 50; ++i) slow.say("{\"command\":\"flows\"}\n");
    vanishing.say("{\"command\":\"flows\"}\n{\"command\":\"snapshot\"}\n");
    EXPECT_TRUE(turn([&] { return vanishing.read(), !vanishing.text.empty(); }));
    vanishing.hang_up();
    Peer good(path());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(ask(good, R"({"command":"version"})")["ok"], true);
    EXPECT_TRUE(turn([&] { return server->counters().clients == 2; }));
    // The slow one has its fifty answers in the end, whole.
    for (int i = 0; i < 3; ++i) ASSERT_EQ(line_of(slow)["result"]["flows"].size(), 1500U);
}

TEST_F(ControlSocket, WhoTakesNothingIsClosed) {
    ServerOptions wanted;
    wanted.slow_ns = 50'000'000;
    open(wanted);
    fake.flows = 1500;
    Peer idle(path());
    EXPECT_EQ(ask(idle, R"({"command":"version"})")["ok"], true);
    Peer slow(path());
    slow.say("{\"command\":\"flows\"}\n");
    EXPECT_TRUE(turn([&] { return server->counters().closed_slow == 1; }));
    EXPECT_EQ(ask(idle, R"({"command":"version"})")["ok"], true);  // to have nothing to say is no fault
}

TEST_F(ControlSocket, ThereIsAnEndToClients) {
    open();
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 64; ++i) {
        peers.push_back(std::make_unique<Peer>(path()));
        ASSERT_EQ(ask(*peers.back(), R"({"command":"version"})")["ok"], true);
    }
    Peer one_more(path());
    EXPECT_NE(line_of(one_more)["error"].get<std::string>().find("control.max_clients is 64"), std::string::npos);
    EXPECT_TRUE(ends(one_more));
    EXPECT_EQ(server->counters().refused, 1U);
    peers.pop_back();
    EXPECT_TRUE(turn([&] { return server->counters().clients == 63; }));
    Peer again(path());
    EXPECT_EQ(ask(again, R"({"command":"version"})")["ok"], true);
}

TEST_F(ControlSocket, ADescriptorThatCannotBeHadIsWaitedFor) {
    open();
    Peer first(path());
    ASSERT_EQ(ask(first, R"({"command":"version"})")["ok"], true);
    Peer waiting(path());
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const base::Descriptor lowest(::dup(0));
    const rlimit none{static_cast<rlim_t>(lowest.number()), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 10; ++i) server->progress(1);
    EXPECT_EQ(ask(first, R"({"command":"version"})")["ok"], true);
    EXPECT_EQ(server->counters().accepted, 1U);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(ask(waiting, R"({"command":"version"})")["ok"], true);
}

TEST_F(ControlSocket, AnotherThreadCanEndTheWait) {
    open();
    std::thread waker([&] { server->wake(); });
    server->progress(-1);
    waker.join();
}

TEST_F(ControlSocket, ItsDescriptorTellsWhenThereIsSomethingToDo) {
    open();
    Peer peer(path());
    peer.say("{\"id\":1,\"command\":\"subscribe\",\"what\":\"status\",\"interval_ms\":100}\n");
    const auto deadline = Clock::now() + patience;
    while (peer.text.find("\"number\":2") == std::string::npos && Clock::now() < deadline) {
        pollfd one{server->descriptor(), POLLIN, 0};
        ASSERT_EQ(::poll(&one, 1, 10'000), 1);
        server->progress(0);
        peer.read();
    }
    EXPECT_NE(peer.text.find("\"number\":2"), std::string::npos);
}

}  // namespace
}  // namespace service
