#pragma once
/// A control socket that a fake daemon answers, and peers that ask there.
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "base/descriptor.h"
#include "control/socket_address.h"
#include "daemon/server/server.h"
#include "tests/unit/daemon/server/fake.h"

namespace service::test {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{20};

/// A client that a test controls, without the code of the product's client.
class Peer {
public:
    explicit Peer(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_un address = control::address_of(path);
        connected_ = ::connect(socket_.number(), control::generic(address), sizeof address) == 0;
        ::fcntl(socket_.number(), F_SETFL, O_NONBLOCK);
    }
    bool connected() const { return connected_; }
    int descriptor() const { return socket_.number(); }
    /// As much as fits into the socket.
    std::size_t say(std::string_view octets) const {
        const ssize_t sent = ::send(socket_.number(), octets.data(), octets.size(), MSG_NOSIGNAL);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void hang_up() { socket_.reset(); }
    void end_sending() const { ::shutdown(socket_.number(), SHUT_WR); }
    /// Takes what there is.
    void read() {
        std::array<char, 65536> octets;
        for (int i = 0; i < 64; ++i) {
            const ssize_t got = ::recv(socket_.number(), octets.data(), octets.size(), 0);
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
    base::Descriptor socket_;
    bool connected_ = false;
};

class ControlSocket : public ::testing::Test {
protected:
    void open(ServerOptions wanted = {}) {
        options = std::move(wanted);
        if (options.path.empty()) options.path = path();
        auto opened = ControlServer::open(options, fake);
        ASSERT_TRUE(opened) << opened.error().text();
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

    Folder folder;
    Fake fake;
    ServerOptions options;
    std::unique_ptr<ControlServer> server;
};

}  // namespace service::test
