/// Frames by the control socket: a recording, and what passes now.
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/unit/daemon/server/control_socket.h"

namespace service {
namespace {

using namespace std::chrono_literals;
using test::Clock;
using test::ControlSocket;
using test::Json;
using test::Peer;

TEST_F(ControlSocket, ARecordingFollowsItsLineAndEndsTheConnection) {
    fake.pieces = {std::string(3'000'000, 'a'), "\n{}\n", "end"};
    open();
    Peer peer(path());
    // What is asked for after it has no answer: an answer could not be distinguished from frames.
    peer.say("{\"id\":1,\"command\":\"version\"}\n{\"id\":2,\"command\":\"recording\"}\n{\"command\":\"version\"}\n");
    EXPECT_EQ(line_of(peer)["id"], 1);
    const Json head = line_of(peer);
    EXPECT_EQ(head["id"], 2);
    EXPECT_EQ(head["ok"], true);
    EXPECT_EQ(head["encoding"], "pcapng");
    EXPECT_TRUE(ends(peer));
    EXPECT_EQ(peer.text, std::string(3'000'000, 'a') + "\n{}\nend");
    EXPECT_EQ(fake.frames_asked, std::vector{control::FramesOf::recorder});
    EXPECT_EQ(fake.streams_gone, 1U);
}

TEST_F(ControlSocket, FramesComeAsTheyAreMadeAndCostNothingInBetween) {
    fake.more_frames = true;
    open();
    Peer peer(path());
    EXPECT_EQ(ask(peer, R"({"command":"frames"})")["encoding"], "pcapng");
    EXPECT_EQ(fake.frames_asked, std::vector{control::FramesOf::now});
    const unsigned before = fake.reads;
    const auto begun = Clock::now();
    while (Clock::now() < begun + 500ms) server->progress(100);
    EXPECT_LE(fake.reads - before, 60U) << "a silent stream is looked at fifty times a second";
    EXPECT_GE(fake.reads - before, 5U);
    fake.pieces = {"frame"};
    EXPECT_TRUE(turn([&] { return peer.read(), peer.text == "frame"; })) << peer.text;
    Peer other(path());
    EXPECT_EQ(ask(other, R"({"command":"version"})")["ok"], true) << "others are served meanwhile";
    peer.hang_up();
    EXPECT_TRUE(turn([&] { return fake.streams_gone == 1; }));
    EXPECT_EQ(server->counters().clients, 1U);
}

TEST_F(ControlSocket, WhoEndsSendingIsStillSentFrames) {
    fake.more_frames = true;
    open();
    Peer peer(path());
    peer.say("{\"command\":\"frames\"}\n");
    peer.end_sending();
    EXPECT_EQ(line_of(peer)["ok"], true);
    fake.pieces = {"late"};
    EXPECT_TRUE(turn([&] { return peer.read(), peer.text == "late"; }));
    peer.hang_up();
    EXPECT_TRUE(turn([&] { return fake.streams_gone == 1; }));
}

TEST_F(ControlSocket, FramesThatNobodyTakesAreNotMade) {
    fake.pieces.assign(100, std::string(1 << 20, 'x'));
    fake.more_frames = true;
    ServerOptions wanted;
    wanted.slow_ns = 300'000'000;
    open(wanted);
    Peer peer(path());
    peer.say("{\"command\":\"frames\"}\n");
    ASSERT_TRUE(turn([&] { return fake.streams_gone == 1; }));
    EXPECT_LE(fake.reads, 8U) << "a megabyte or two wait for it, not a hundred";
    EXPECT_EQ(server->counters().closed_slow, 1U);
}

TEST_F(ControlSocket, FramesThatThereAreNotAreRefusedAndTheConnectionGoesOn) {
    fake.frames_error = "the flight recorder is off";
    open();
    Peer peer(path());
    const Json answer = ask(peer, R"({"command":"recording"})");
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(answer["error"], "the flight recorder is off");
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
}

}  // namespace
}  // namespace service
