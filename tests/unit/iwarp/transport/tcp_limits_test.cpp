/// As many connections over TCP as the limit of descriptors permits, and more.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "tests/unit/iwarp/transport/tcp_loopback.h"

namespace transport_test {
namespace {

TEST(Tcp, AThousandConnections) {
    TcpTransport raises_the_limit;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
    const std::size_t count = std::min<std::size_t>(1000, (limit.rlim_cur - 100) / 2);
    Loopback loopback;
    loopback.acceptor.prepare = [](FakeStream& stream) { stream.echo = true; };
    std::vector<std::shared_ptr<FakeStream>> clients;
    for (std::size_t i = 0; i < count; ++i) {
        clients.push_back(loopback.connect());
        clients.back()->put(pattern(3000, static_cast<std::uint32_t>(i)));
    }
    const auto done = [&] {
        return std::ranges::all_of(clients, [](const auto& one) { return one->got.size() == 3000; });
    };
    EXPECT_TRUE(loopback.drive(done));
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(clients[i]->got == pattern(3000, static_cast<std::uint32_t>(i))) << i;
    EXPECT_EQ(loopback.server.counters().accepted, count);
    for (const auto& client : clients) {
        client->wanted = Closing::reset;
        loopback.client.attention(*client);
    }
    EXPECT_TRUE(loopback.drive([&] { return loopback.server.connections() == 0; }));
    EXPECT_EQ(loopback.client.connections(), 0u);
}

/// Lets `left` more descriptors be opened, until it goes.
class FewDescriptors {
public:
    explicit FewDescriptors(std::size_t left) {
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit low = before_;
        const int next = dup(0);
        ::close(next);
        low.rlim_cur = static_cast<rlim_t>(next) + 64;
        setrlimit(RLIMIT_NOFILE, &low);
        for (int one = dup(0); one >= 0; one = dup(0)) taken_.emplace_back(one);
        while (left-- > 0 && !taken_.empty()) taken_.pop_back();
    }
    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;
    ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
    std::vector<base::Descriptor> taken_;
};

TEST(Tcp, WithoutDescriptorsConnectionsAreResetAndCounted) {
    TcpOptions options;
    options.raise_descriptor_limit = false;
    Loopback loopback(options);
    std::vector<RawSocket> raw(10);
    {
        const FewDescriptors few(3);
        for (RawSocket& one : raw) ASSERT_TRUE(one.connect(loopback.listening.port));
        EXPECT_TRUE(loopback.drive(
            [&] { return loopback.server.counters().accepted + loopback.server.counters().without_descriptor == 10; }));
        EXPECT_EQ(loopback.server.counters().accepted, 3u);
        EXPECT_EQ(loopback.server.counters().without_descriptor, 7u);
        // Nor is there one for a connection of its own.
        auto client = loopback.connect();
        EXPECT_TRUE(loopback.drive([&] { return !client->events.empty(); }));
        EXPECT_EQ(client->why, "Too many open files: " + loopback.name());
        std::size_t reset = 0;
        for (RawSocket& one : raw) {
            one.take();
            reset += one.error == ECONNRESET ? 1U : 0U;
        }
        EXPECT_EQ(reset, 7u);
    }
    RawSocket again;  // and it goes on
    EXPECT_NE(loopback.connected(again), nullptr);
}

TEST(Tcp, WithoutEvenAReserveItWaitsForADescriptor) {
    TcpOptions options;
    options.raise_descriptor_limit = false;
    std::unique_ptr<TcpTransport> server;
    {
        const FewDescriptors few(1);  // for epoll alone
        server = std::make_unique<TcpTransport>(options);
        EXPECT_THROW(TcpTransport{options}, iwarp::Error);
    }
    FakeAcceptor acceptor;
    const Listening listening = server->listen("127.0.0.1", 0, 16, {}, acceptor);
    RawSocket raw;
    {
        const FewDescriptors none(0);
        ASSERT_TRUE(raw.connect(listening.port));
        for (int i = 0; i < 10; ++i) server->progress(ms);
        EXPECT_TRUE(acceptor.streams.empty());
    }
    for (int i = 0; i < 1000 && acceptor.streams.empty(); ++i) server->progress(100 * ms);
    EXPECT_EQ(acceptor.streams.size(), 1u);
    EXPECT_EQ(server->counters().without_descriptor, 0u);
}

}  // namespace
}  // namespace transport_test
