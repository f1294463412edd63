#include "daemon/control/server.h"

#include <array>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

#include "daemon/control/address.h"
#include "daemon/control/packed_snapshot.h"
#include "daemon/descriptor.h"
#include "daemon/history/history.h"
#include "metrics/snapshot_codec.h"
#include "tests/unit/daemon/control/fake.h"

namespace service {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using test::Fake;

constexpr auto patience = 20s;

/// A client that does as it is told, without any of the house's client.
class Peer {
public:
    explicit Peer(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_un address = address_of(path);
        connected_ = ::connect(socket_.get(), generic(address), sizeof address) == 0;
        ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    }
    bool connected() const { return connected_; }
    int descriptor() const { return socket_.get(); }
    /// As much as fits into the socket.
    std::size_t say(std::string_view octets) const {
        const ssize_t sent = ::send(socket_.get(), octets.data(), octets.size(), MSG_NOSIGNAL);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void hang_up() { socket_.close(); }
    void end_sending() const { ::shutdown(socket_.get(), SHUT_WR); }
    /// Takes what there is.
    void read() {
        std::array<char, 65536> octets;
        for (int i = 0; i < 64; ++i) {
            const ssize_t got = ::recv(socket_.get(), octets.data(), octets.size(), 0);
            if (got > 0) {
                text.append(octets.data(), static_cast<std::size_t>(got));
                continue;
            }
            ended = ended || got == 0 || (errno != EAGAIN && errno != EINTR);
            return;
        }
    }
    bool has_line() const { return text.find('\n') != std::string::npos; }
    std::string take_line() {
        const std::size_t end = text.find('\n');
        std::string line = text.substr(0, end);
        text.erase(0, end + 1);
        return line;
    }

    std::string text = {};
    bool ended = false;

private:
    Descriptor socket_;
    bool connected_ = false;
};

class ControlSocket : public ::testing::Test {
protected:
    void open(ServerOptions wanted = {}) {
        options = std::move(wanted);
        if (options.path.empty()) options.path = path();
        auto opened = ControlServer::open(options, fake);
        ASSERT_TRUE(opened) << opened.error();
        server = std::move(opened).value();
    }
    std::string path() const { return (folder.path / "control.sock").string(); }

    /// Turns the server until `done` or until patience ends.
    template <class Done>
    bool turn(Done done) {
        const auto deadline = Clock::now() + patience;
        while (!done()) {
            if (Clock::now() > deadline) return false;
            server->progress(1);
        }
        return true;
    }
    Json line_of(Peer& peer) {
        EXPECT_TRUE(turn([&] { return peer.read(), peer.has_line() || peer.ended; }));
        if (!peer.has_line()) return {};
        const std::string line = peer.take_line();
        Json all = Json::parse(line, nullptr, false);
        EXPECT_FALSE(all.is_discarded()) << line.substr(0, 300);
        return all;
    }
    Json ask(Peer& peer, const std::string& request) {
        peer.say(request + "\n");
        return line_of(peer);
    }
    bool ends(Peer& peer) {
        return turn([&] { return peer.read(), peer.ended; });
    }

    test::Folder folder;
    Fake fake;
    ServerOptions options;
    std::unique_ptr<ControlServer> server;
};

TEST_F(ControlSocket, AnswersTheSmallCommands) {
    fake.told.version = "1.2";
    fake.told.packets = 99;
    fake.told.interfaces.push_back({"eth0", true, 5, 2, std::nullopt, "udp port 4791", true});
    fake.told.needs_restart = {"capture.buffer"};
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
    EXPECT_EQ(status["control"]["clients"], 1);
    EXPECT_EQ(status["control"]["requests"], 2);

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
    HistoryOptions how;
    how.directory = fake.directory;
    auto writer = HistoryWriter::open(how);
    ASSERT_TRUE(writer) << writer.error().text();
    open();
    Peer peer(path());
    EXPECT_TRUE(ask(peer, R"({"command":"history"})")["result"]["first_ns"].is_null());
    constexpr std::int64_t begin = 1'700'000'000'000'000'000;
    for (int i = 0; i < 3; ++i) {
        HistoryInterval interval;
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
    const auto got = unpack_snapshot(std::as_bytes(std::span(peer.text.data(), octets)),
                                     head["encoded_octets"].get<std::uint64_t>());
    ASSERT_TRUE(got) << got.error();
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
    EXPECT_NE(line_of(other)["error"].get<std::string>().find("at most 1000 octets"), std::string::npos);
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
    peer.say("{\"id\":1,\"command\":\"flows\"}\n{\"id\":2,\"command\":\"version\"}");  // no newline behind the last
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
    EXPECT_EQ(fake.taken, 0U);  // nobody was there to read flows
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
    const Descriptor lowest(::dup(0));
    const rlimit none{static_cast<rlim_t>(lowest.get()), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 10; ++i) server->progress(1);
    EXPECT_EQ(ask(first, R"({"command":"version"})")["ok"], true);
    EXPECT_EQ(server->counters().accepted, 1U);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(ask(waiting, R"({"command":"version"})")["ok"], true);
}

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
    // What was not told is told now: nothing is lost to the difference.
    EXPECT_GE(next["result"]["flows"][0]["packets"].get<unsigned>(), 1U);
    EXPECT_EQ(next["result"]["flows"].size(), 500U);
}

TEST_F(ControlSocket, TheFileIsForItsGroupAlone) {
    const mode_t before = ::umask(0);
    open();
    ::umask(before);
    struct stat made {};
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
    server.reset();
    EXPECT_FALSE(std::filesystem::exists(path()));
    const mode_t narrow = ::umask(0777);
    open();
    ::umask(narrow);
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
}

TEST_F(ControlSocket, TheFileIsGivenToItsGroup) {
    if (::getuid() != 0) GTEST_SKIP() << "only root may give files to any group";
    const group* other = ::getgrnam("daemon");
    if (other == nullptr) GTEST_SKIP() << "there is no group 'daemon' here";
    const gid_t id = other->gr_gid;
    ServerOptions wanted;
    wanted.group = "daemon";
    open(wanted);
    struct stat made {};
    ASSERT_EQ(::stat(path().c_str(), &made), 0);
    EXPECT_EQ(made.st_gid, id);
    EXPECT_EQ(made.st_mode & 07777U, 0660U);
}

TEST_F(ControlSocket, AFileThatADeadDaemonLeftIsReplacedAndALiveOneIsNot) {
    {
        const Descriptor dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        const sockaddr_un address = address_of(path());
        ASSERT_EQ(::bind(dead.get(), generic(address), sizeof address), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(path()));
    open();
    Peer peer(path());
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
    const auto second = ControlServer::open(options, fake);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find("answers there already"), std::string::npos);
    EXPECT_EQ(ask(peer, R"({"command":"version"})")["ok"], true);
    Peer other(path());
    EXPECT_EQ(ask(other, R"({"command":"version"})")["ok"], true);
}

TEST_F(ControlSocket, WhatCannotBeOpenedIsExplained) {
    const auto error = [&](const std::string& at, const std::string& group = {}) {
        ServerOptions wanted;
        wanted.path = at;
        wanted.group = group;
        const auto opened = ControlServer::open(wanted, fake);
        return opened ? std::string("opened") : opened.error();
    };
    const std::string file = (folder.path / "file").string();
    ::close(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    EXPECT_NE(error(file).find("no socket"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_NE(error((folder.path / "a/b/control.sock").string()).find("make it"), std::string::npos);
    EXPECT_NE(error(std::string(200, 'x')).find("1 to 107 octets"), std::string::npos);
    EXPECT_NE(error(path(), "no-such-group").find("there is no group"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path()));
    EXPECT_EQ(error((folder.path / "made/control.sock").string()), "opened");  // one folder is made
    EXPECT_EQ(std::filesystem::status(folder.path / "made").permissions() & std::filesystem::perms::others_write,
              std::filesystem::perms::none);
}

TEST_F(ControlSocket, ARecordingFollowsItsLineAndEndsTheConnection) {
    fake.pieces = {std::string(3'000'000, 'a'), "\n{}\n", "end"};
    open();
    Peer peer(path());
    // What is asked for behind it has no answer: nobody could tell it from frames.
    peer.say("{\"id\":1,\"command\":\"version\"}\n{\"id\":2,\"command\":\"recording\"}\n{\"command\":\"version\"}\n");
    EXPECT_EQ(line_of(peer)["id"], 1);
    const Json head = line_of(peer);
    EXPECT_EQ(head["id"], 2);
    EXPECT_EQ(head["ok"], true);
    EXPECT_EQ(head["encoding"], "pcapng");
    EXPECT_TRUE(ends(peer));
    EXPECT_EQ(peer.text, std::string(3'000'000, 'a') + "\n{}\nend");
    EXPECT_EQ(fake.frames_asked, std::vector{FramesOf::recorder});
    EXPECT_EQ(fake.streams_gone, 1U);
}

TEST_F(ControlSocket, FramesComeAsTheyAreMadeAndCostNothingInBetween) {
    fake.more_frames = true;
    open();
    Peer peer(path());
    EXPECT_EQ(ask(peer, R"({"command":"frames"})")["encoding"], "pcapng");
    EXPECT_EQ(fake.frames_asked, std::vector{FramesOf::now});
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
