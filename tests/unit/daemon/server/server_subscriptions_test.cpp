/// A subscriber at the control socket gets what happened since, and the number of what it missed.
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>

#include "tests/unit/daemon/server/control_socket.h"

namespace service {
namespace {

using namespace std::chrono_literals;
using test::Clock;
using test::ControlSocket;
using test::Json;
using test::Peer;

TEST_F(ControlSocket, SubscribersAreToldWhatHappened) {
    fake.packets_a_step = 7;
    open();
    Peer peer(path());
    const Json begun =
        ask(peer, R"({"id":"s","command":"subscribe","what":"flows","interval_ms":100,"columns":["id","packets"]})");
    EXPECT_EQ(begun["result"]["subscribed"], "flows");
    for (int number = 1; number <= 3; ++number) {
        const Json update = line_of(peer);
        EXPECT_EQ(update["id"], "s");
        EXPECT_EQ(update["update"], "flows");
        EXPECT_EQ(update["number"], number);
        // The fake counts seven packets for every flow, and a millisecond, each time that it is looked at.
        const auto looks = update["interval"]["length_ns"].get<std::uint64_t>() / 1'000'000;
        EXPECT_GE(looks, number == 1 ? 1U : 0U);
        Json expected = Json::array();
        for (int id = 1; looks != 0 && id <= 2; ++id) expected.push_back({{"id", id}, {"packets", 7 * looks}});
        EXPECT_EQ(update["result"]["flows"], expected);
    }
    // Other requests are answered in between, and one line is one thing.
    peer.say("{\"id\":\"v\",\"command\":\"version\"}\n");
    EXPECT_TRUE(turn([&] { return peer.read(), peer.text.find("\"id\":\"v\"") != std::string::npos; }));
    peer.say("{\"id\":\"u\",\"command\":\"unsubscribe\"}\n");
    EXPECT_TRUE(turn([&] { return peer.read(), peer.text.find("{\"ended\":1}") != std::string::npos; }));
    peer.text.clear();
    const auto until = Clock::now() + 350ms;
    while (Clock::now() < until) server->progress(10);
    peer.read();
    EXPECT_EQ(peer.text, "");
}

TEST_F(ControlSocket, WhyAndStatusCanBeSubscribedTo) {
    open();
    Peer peer(path());
    EXPECT_EQ(ask(peer, R"({"id":1,"command":"subscribe","what":"why","interval_ms":100})")["ok"], true);
    const Json why = line_of(peer);
    EXPECT_EQ(why["update"], "why");
    EXPECT_GE(why["result"]["answers"].size(), 5U);
    peer.say(
        "{\"command\":\"unsubscribe\",\"what\":\"why\"}\n{\"id\":2,\"command\":\"subscribe\",\"what\":\"status\","
        "\"interval_ms\":100}\n");
    EXPECT_TRUE(turn([&] { return peer.read(), peer.text.find("\"update\":\"status\"") != std::string::npos; }));
    EXPECT_EQ(ask(peer, R"({"command":"subscribe","what":"status","columns":["id"]})").is_null(), false);
}

TEST_F(ControlSocket, SubscriptionsThatCannotBeAreRefused) {
    open();
    Peer peer(path());
    EXPECT_EQ(ask(peer, R"({"command":"subscribe","what":"status","columns":["id"]})")["ok"], false);
    EXPECT_EQ(ask(peer, R"({"command":"subscribe","what":"flows","columns":["idd"]})")["ok"], false);
    EXPECT_EQ(ask(peer, R"({"command":"subscribe","what":"flows","sort":"idd"})")["ok"], false);
    for (int i = 0; i < 8; ++i)
        ASSERT_EQ(ask(peer, R"({"command":"subscribe","what":"status","interval_ms":3600000})")["ok"], true);
    EXPECT_NE(
        ask(peer, R"({"command":"subscribe","what":"status","interval_ms":3600000})")["error"].get<std::string>().find(
            "are enough"),
        std::string::npos);
    EXPECT_EQ(ask(peer, R"({"command":"unsubscribe"})")["result"]["ended"], 8);
}

TEST_F(ControlSocket, ASubscriberThatDoesNotReadMissesUpdatesAndIsTold) {
    fake.flows = 500;  // more than a socket holds
    fake.packets_a_step = 1;
    ServerOptions wanted;
    wanted.max_waiting = 10'000;
    open(wanted);
    Peer peer(path());
    ASSERT_EQ(ask(peer, R"({"command":"subscribe","what":"flows","interval_ms":100})")["ok"], true);
    EXPECT_TRUE(turn([&] { return server->counters().skipped >= 3; }));
    const Json first = line_of(peer);
    EXPECT_EQ(first["number"], 1);
    EXPECT_EQ(first["skipped"], 0);
    std::uint64_t lines = 1;
    Json next = line_of(peer);
    while (next["skipped"] == 0 && ++lines < 20) next = line_of(peer);
    EXPECT_GE(next["skipped"].get<unsigned>(), 3U);
    // What was not reported is reported now: nothing is lost to the difference.
    EXPECT_GE(next["result"]["flows"][0]["packets"].get<unsigned>(), 1U);
    EXPECT_EQ(next["result"]["flows"].size(), 500U);
}

}  // namespace
}  // namespace service
