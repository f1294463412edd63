#pragma once
/// Two transports over the loopback interface's TCP, one of which listens.
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "iwarp/transport/tcp_transport.h"
#include "tests/unit/iwarp/transport/fake_stream.h"
#include "tests/unit/iwarp/transport/raw_socket.h"

namespace transport_test {

using iwarp::ConnectionOptions;
using iwarp::transport::TcpOptions;
using iwarp::transport::TcpTransport;
using iwarp::verbs::Listening;

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

}  // namespace transport_test
