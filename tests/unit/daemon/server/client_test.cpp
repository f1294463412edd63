#include "control/client.h"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/descriptor.h"
#include "control/socket_address.h"
#include "daemon/server/server.h"
#include "metrics/figures/snapshot_codec.h"
#include "tests/unit/daemon/server/fake.h"

namespace service {
namespace {

using Json = nlohmann::json;

class ControlClient : public ::testing::Test {
protected:
    ~ControlClient() override { stop(); }
    std::string path() const { return (folder.path / "control.sock").string(); }
    void begin(std::uint64_t max_clients = 64) {
        ServerOptions options;
        options.path = path();
        options.max_clients = max_clients;
        auto opened = ControlServer::open(options, fake);
        ASSERT_TRUE(opened) << opened.error().text();
        server = std::move(opened).value();
        runner = std::thread([this] {
            while (!ending) server->progress(-1);
        });
    }
    void stop() {
        if (!runner.joinable()) return;
        ending = true;
        server->wake();
        runner.join();
        server.reset();
        ending = false;
    }
    /// Something that answers every connection with `text` and hangs up.
    void pretend(const std::string& text) {
        base::Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_un address = control::address_of(path());
        ASSERT_EQ(::bind(listening.number(), control::generic(address), sizeof address), 0);
        ASSERT_EQ(::listen(listening.number(), 1), 0);
        stranger = std::thread([text, socket = std::move(listening)] {
            const base::Descriptor one(::accept(socket.number(), nullptr, nullptr));
            char request = 0;
            while (::recv(one.number(), &request, 1, 0) == 1 && request != '\n') {
            }
            [[maybe_unused]] const auto sent = ::send(one.number(), text.data(), text.size(), MSG_NOSIGNAL);
        });
    }
    std::string refused(std::uint64_t timeout_ns = 5'000'000'000) {
        const auto client = control::Client::connect(path(), timeout_ns);
        if (stranger.joinable()) stranger.join();
        std::filesystem::remove(path());
        return client ? "connected" : client.error().text();
    }

    test::Folder folder;
    test::Fake fake;
    std::unique_ptr<ControlServer> server;
    std::atomic<bool> ending = false;
    std::thread runner;
    std::thread stranger;
};

TEST_F(ControlClient, SnapshotsAreThoseOfTheDaemon) {
    fake.flows = 5000;
    begin();
    auto client = control::Client::connect(path());
    ASSERT_TRUE(client) << client.error().text();
    EXPECT_TRUE((*client)->crc_verified());
    for (int i = 0; i < 3; ++i) {
        auto got = (*client)->try_snapshot();
        ASSERT_TRUE(got) << got.error().text();
        ASSERT_EQ(got->flows.size(), 5000U);
        std::vector<std::byte> sent;
        std::vector<std::byte> received;
        metrics::Snapshot expected;
        for (std::size_t k = 0; k < 5000; ++k) expected.flows.push_back(test::flow(k + 1, 10 + k));
        expected.capture = got->capture;
        metrics::encode(expected, sent);
        metrics::encode(*got, received);
        EXPECT_EQ(sent, received);
    }
    const auto answer = (*client)->ask(R"({"id":1,"command":"version"})");
    ASSERT_TRUE(answer);
    EXPECT_EQ(Json::parse(*answer)["id"], 1);
}

TEST_F(ControlClient, FramesAreHandedOverAsADescriptor) {
    fake.pieces = {"\n" + std::string(500'000, 'p'), "end"};
    begin();
    auto client = control::Client::connect(path());
    ASSERT_TRUE(client) << client.error().text();
    const auto frames = (*client)->frames(control::FramesOf::recorder);
    ASSERT_TRUE(frames) << frames.error().text();
    std::string all;
    std::array<char, 4096> part;
    for (ssize_t got = 0; (got = ::read(frames->number(), part.data(), part.size())) > 0;)
        all.append(part.data(), static_cast<std::size_t>(got));
    EXPECT_EQ(all, "\n" + std::string(500'000, 'p') + "end");
    EXPECT_EQ(fake.frames_asked, std::vector{control::FramesOf::recorder});
    EXPECT_FALSE((*client)->try_snapshot()) << "the connection is somebody else's";
}

TEST_F(ControlClient, FramesThatAreRefusedSayWhy) {
    fake.frames_error = "the flight recorder is off";
    begin();
    auto client = control::Client::connect(path());
    ASSERT_TRUE(client) << client.error().text();
    const auto frames = (*client)->frames(control::FramesOf::recorder);
    ASSERT_FALSE(frames);
    EXPECT_NE(frames.error().text().find("the flight recorder is off"), std::string::npos) << frames.error().text();
}

TEST_F(ControlClient, ADaemonThatGoesAwayIsTold) {
    begin();
    auto client = control::Client::connect(path());
    ASSERT_TRUE(client) << client.error().text();
    stop();
    const auto got = (*client)->try_snapshot();
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().text().find("went away"), std::string::npos) << got.error().text();
}

TEST_F(ControlClient, WhereNobodyAnswersItSaysHowToBeginOne) {
    EXPECT_NE(refused().find("start one with `rdmascope daemon"), std::string::npos);
    {
        const base::Descriptor dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        const sockaddr_un address = control::address_of(path());
        ASSERT_EQ(::bind(dead.number(), control::generic(address), sizeof address), 0);
    }
    EXPECT_NE(refused().find("start one with `rdmascope daemon"), std::string::npos);
    EXPECT_FALSE(control::Client::connect(std::string(300, 'x')));
}

TEST_F(ControlClient, StrangersAreNoDaemons) {
    for (const char* text : {"HTTP/1.1 400 Bad Request\r\n\r\n", "{}\n", "[]\n", "{\"ok\":true,\"version\":1}\n",
                             "{\"ok\":true,\"version\":1,\"result\":{\"program\":\"other\"}}\n", "\xff\n"}) {
        pretend(text);
        EXPECT_NE(refused().find("no rdmascope daemon"), std::string::npos) << text;
    }
    pretend("{\"ok\":true");
    EXPECT_NE(refused().find("went away"), std::string::npos);
    pretend("{\"ok\":false,\"version\":2,\"error\":\"too old\"}\n");
    EXPECT_NE(refused().find("too old"), std::string::npos);
}

TEST_F(ControlClient, SilenceEnds) {
    const base::Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = control::address_of(path());
    ASSERT_EQ(::bind(listening.number(), control::generic(address), sizeof address), 0);
    ASSERT_EQ(::listen(listening.number(), 1), 0);
    EXPECT_NE(refused(50'000'000).find("has not answered within 50.0 ms"), std::string::npos);
}

TEST_F(ControlClient, AFullDaemonSaysSoItself) {
    begin(1);
    auto first = control::Client::connect(path());
    ASSERT_TRUE(first) << first.error().text();
    const auto second = control::Client::connect(path());
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text().find("control.max_clients is 1"), std::string::npos) << second.error().text();
}

TEST_F(ControlClient, WhoMayNotIsToldWhichGroupMay) {
    if (::getuid() != 0) GTEST_SKIP() << "root alone can become somebody else";
    begin();
    std::filesystem::permissions(folder.path, std::filesystem::perms(0755));
    const pid_t child = ::fork();
    if (child == 0) {
        const bool other = ::setgid(65534) == 0 && ::setuid(65534) == 0;
        const auto client = control::Client::connect(path());
        ::_exit(other && !client && client.error().text().find("group root may") != std::string::npos ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace service
