/// What is asked at the control socket, and what is answered.
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "control/packed_snapshot.h"
#include "history/history.h"
#include "metrics/figures/snapshot_codec.h"
#include "tests/unit/daemon/server/control_socket.h"

namespace service {
namespace {

using test::ControlSocket;
using test::Json;
using test::Peer;

TEST_F(ControlSocket, AnswersTheSmallCommands) {
    fake.current.version = "1.2";
    fake.current.packets = 99;
    fake.current.interfaces.push_back({"eth0", true, 5, 2, std::nullopt, "udp port 4791", true});
    fake.current.needs_restart = {"capture.buffer"};
    open();
    Peer peer(path());
    const Json version = ask(peer, R"({"id":"v","command":"version"})");
    EXPECT_EQ(version["ok"], true);
    EXPECT_EQ(version["id"], "v");
    EXPECT_EQ(version["result"]["program"], "rdmascope");
    EXPECT_EQ(version["result"]["version"], "1.2");
    EXPECT_EQ(version["result"]["protocol_version"], 1);
    EXPECT_EQ(version["result"]["snapshot_version"], metrics::snapshot_version);

    const Json status = ask(peer, R"({"command":"status"})")["result"];
    EXPECT_EQ(status["packets"], 99);
    EXPECT_EQ(status["interfaces"][0]["name"], "eth0");
    EXPECT_EQ(status["interfaces"][0]["kernel_dropped"], 2);
    EXPECT_TRUE(status["interfaces"][0]["interface_dropped"].is_null());
    EXPECT_TRUE(status["last_recording"].is_null());
    EXPECT_TRUE(status["clickhouse"].is_null());
    EXPECT_EQ(status["control"]["clients"], 1);
    EXPECT_EQ(status["control"]["requests"], 2);

    fake.current.clickhouse = Status::Rows{.sent_intervals = 3, .dropped_intervals = 1, .spool_failures = 2};
    const Json rows = ask(peer, R"({"command":"status"})")["result"]["clickhouse"];
    EXPECT_EQ(rows["sent_intervals"], 3);
    EXPECT_EQ(rows["dropped_intervals"], 1);
    EXPECT_EQ(rows["spool_failures"], 2);

    const Json help = ask(peer, R"({"command":"help"})")["result"]["commands"];
    ASSERT_EQ(help.size(), 14U);
    for (const Json& command : help) EXPECT_FALSE(command["help"].get<std::string>().empty());

    EXPECT_EQ(ask(peer, R"({"command":"trigger","reason":"slow"})")["ok"], true);
    EXPECT_EQ(ask(peer, R"({"command":"trigger"})")["ok"], true);
    ASSERT_EQ(fake.triggered.size(), 2U);
    EXPECT_EQ(fake.triggered.front(), "slow");
    EXPECT_FALSE(fake.triggered.back().empty());
    fake.trigger_error = "no recorder is on";
    EXPECT_EQ(ask(peer, R"({"command":"trigger"})")["error"], "no recorder is on");

    const Json reloaded = ask(peer, R"({"command":"reload"})");
    EXPECT_EQ(reloaded["ok"], true);
    EXPECT_EQ(reloaded["result"]["needs_restart"][0], "capture.buffer");
    fake.reload_error = "line 3: no such key";
    EXPECT_NE(ask(peer, R"({"command":"reload"})")["error"].get<std::string>().find("line 3"), std::string::npos);

    EXPECT_NE(ask(peer, R"({"command":"history"})")["error"].get<std::string>().find("no history is kept"),
              std::string::npos);
    EXPECT_EQ(server->counters().errors, 3U);
}

TEST_F(ControlSocket, HistorySaysHowFarItGoesBack) {
    fake.directory = (folder.path / "history").string();
    history::HistoryOptions how;
    how.directory = fake.directory;
    auto writer = history::HistoryWriter::open(how);
    ASSERT_TRUE(writer) << writer.error().text();
    open();
    Peer peer(path());
    EXPECT_TRUE(ask(peer, R"({"command":"history"})")["result"]["first_ns"].is_null());
    constexpr std::int64_t begin = 1'700'000'000'000'000'000;
    for (int i = 0; i < 3; ++i) {
        history::HistoryInterval interval;
        interval.start_ns = begin + i * 1'000'000'000;
        interval.length_ns = 1'000'000'000;
        interval.difference.flows.push_back(test::flow(1, 5));
        ASSERT_TRUE((*writer)->append(interval));
    }
    const Json result = ask(peer, R"({"command":"history"})")["result"];
    EXPECT_EQ(result["directory"], fake.directory);
    EXPECT_EQ(result["first_ns"], begin);
    EXPECT_EQ(result["last_ns"], begin + 3'000'000'000);
    EXPECT_EQ(result["intervals"], 3);
    fake.directory = (folder.path / "nowhere").string();
    EXPECT_NE(ask(peer, R"({"command":"history"})")["error"].get<std::string>().find("nowhere"), std::string::npos);
}

TEST_F(ControlSocket, FlowsAreChosenSortedAndCut) {
    fake.flows = 5;  // of 10 to 14 packets
    open();
    Peer peer(path());
    const auto ids = [](const Json& answer) {
        std::vector<int> all;
        for (const Json& flow : answer["result"]["flows"]) all.push_back(flow["id"].get<int>());
        return all;
    };
    const Json all = ask(peer, R"({"command":"flows"})");
    EXPECT_EQ(ids(all), (std::vector<int>{1, 2, 3, 4, 5}));
    EXPECT_EQ(all["result"]["capture"]["packets"], 60);
    EXPECT_EQ(all["result"]["flows"][0]["source"]["name"], "storage-1");
    EXPECT_EQ(ids(ask(peer, R"({"command":"flows","sort":"packets","limit":2})")), (std::vector<int>{5, 4}));
    EXPECT_EQ(ids(ask(peer, R"({"command":"flows","sort":"-packets","limit":2})")), (std::vector<int>{1, 2}));
    EXPECT_EQ(ids(ask(peer, R"({"command":"flows","limit":1})")), (std::vector<int>{5}));
    EXPECT_EQ(ids(ask(peer, R"({"command":"flows","limit":0})")), (std::vector<int>{}));
    EXPECT_EQ(ids(ask(peer, R"({"command":"flows","flow":3})")), (std::vector<int>{3}));
    EXPECT_EQ(ask(peer, R"({"command":"flows","columns":["id","packets"],"flow":3})")["result"]["flows"],
              Json::parse(R"([{"id":3,"packets":12}])"));
    EXPECT_NE(ask(peer, R"({"command":"flows","flow":77})")["error"].get<std::string>().find("no flow 77"),
              std::string::npos);
    EXPECT_NE(ask(peer, R"({"command":"flows","columns":["pakets"]})")["error"].get<std::string>().find(
                  "did you mean 'packets'?"),
              std::string::npos);
    EXPECT_NE(ask(peer, R"({"command":"flows","sort":"latency_ns"})")["error"].get<std::string>().find("group"),
              std::string::npos);
}

TEST_F(ControlSocket, WhyAnswersTheFiveQuestions) {
    open();
    Peer peer(path());
    const Json answer = ask(peer, R"({"command":"why"})");
    ASSERT_EQ(answer["ok"], true);
    std::set<std::string> questions;
    for (const Json& one : answer["result"]["answers"]) questions.insert(one["question"].get<std::string>());
    EXPECT_EQ(questions, (std::set<std::string>{"bandwidth", "latency", "qp_cache", "congestion", "queue_depth"}));
    EXPECT_EQ(ask(peer, R"({"command":"why","flow":1})")["ok"], true);
    EXPECT_EQ(ask(peer, R"({"command":"why","flow":9})")["ok"], false);
}

TEST_F(ControlSocket, ASnapshotIsLossless) {
    fake.flows = 300;
    open();
    Peer peer(path());
    const Json head = ask(peer, R"({"id":4,"command":"snapshot"})");
    EXPECT_EQ(head["encoding"], "snapshot");
    EXPECT_EQ(head["id"], 4);
    const auto octets = head["octets"].get<std::size_t>();
    ASSERT_TRUE(turn([&] { return peer.read(), peer.text.size() >= octets; }));
    const auto got = control::unpack_snapshot(std::as_bytes(std::span(peer.text.data(), octets)),
                                              head["encoded_octets"].get<std::uint64_t>());
    ASSERT_TRUE(got) << got.error().text();
    std::vector<std::byte> sent;
    std::vector<std::byte> received;
    metrics::encode(*fake.snapshot(60'000'000'000).snapshot, sent);
    metrics::encode(*got, received);
    EXPECT_EQ(sent, received);
    peer.text.erase(0, octets);
    EXPECT_EQ(ask(peer, R"({"id":5,"command":"help"})")["id"], 5);
}

TEST_F(ControlSocket, ManyWhoAskAtOnceCostOneSnapshot) {
    open();
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 20; ++i) {
        peers.push_back(std::make_unique<Peer>(path()));
        peers.back()->say("{\"command\":\"flows\",\"max_age_ms\":60000}\n{\"command\":\"why\",\"max_age_ms\":60000}\n");
    }
    for (const auto& peer : peers) {
        EXPECT_EQ(line_of(*peer)["ok"], true);
        EXPECT_EQ(line_of(*peer)["ok"], true);
    }
    EXPECT_EQ(fake.taken, 1U);
}

}  // namespace
}  // namespace service
