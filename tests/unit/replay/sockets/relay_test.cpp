#include "replay/sockets/relay.h"

#include <chrono>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <poll.h>
#include <vector>

namespace replay {
namespace {

constexpr std::int64_t patience_ns = 10'000'000'000;

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> octets(size);
    for (std::size_t i = 0; i < size; ++i) octets[i] = static_cast<std::byte>(i * 13 + i / 256);
    return octets;
}

bool wait(const base::Descriptor& socket, short events) {
    pollfd polled{socket.number(), events, 0};
    return ::poll(&polled, 1, 10'000) == 1;
}

void send_all(const base::Descriptor& socket, base::Bytes octets) {
    while (!octets.empty() && wait(socket, POLLOUT)) {
        const Transferred sent = send_some(socket, octets);
        ASSERT_EQ(sent.error, "");
        octets = octets.subspan(sent.octets);
    }
}

/// Up to the end of the stream, or `most` octets; `error` where it was lost.
std::vector<std::byte> receive(const base::Descriptor& socket, std::size_t most, std::string* error = nullptr) {
    std::vector<std::byte> all;
    std::vector<std::byte> buffer(65'536);
    while (all.size() < most && wait(socket, POLLIN)) {
        const Transferred got =
            receive_some(socket, base::MutableBytes{buffer}.first(std::min(buffer.size(), most - all.size())));
        all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got.octets));
        if (error != nullptr) *error = got.error;
        if (got.ended || !got.error.empty()) break;
    }
    return all;
}

/// Both ends of a connection through a relay.
struct Joined {
    explicit Joined(const ImpairmentSettings& settings) {
        auto made = listen_tcp("127.0.0.1", 0);
        EXPECT_TRUE(made.ok());
        listener = std::move(*made);
        auto relayed = Relay::open("127.0.0.1", 0, {"127.0.0.1", local_port(listener)}, settings);
        EXPECT_TRUE(relayed.ok());
        relay = std::move(*relayed);
        connect(near, far);
    }
    void connect(base::Descriptor& one, base::Descriptor& other) {
        auto out = connect_tcp("127.0.0.1", relay->port(), patience_ns);
        ASSERT_TRUE(out.ok()) << out.error();
        one = std::move(*out);
        ASSERT_TRUE(wait(listener, POLLIN));
        auto in = accept_tcp(listener);
        ASSERT_TRUE(in.ok() && *in);
        other = std::move(*in);
    }
    base::Descriptor listener;
    std::unique_ptr<Relay> relay;
    base::Descriptor near, far;
};

TEST(Relay, passes_both_ways_and_the_ends_of_both) {
    Joined joined{ImpairmentSettings{}};
    const auto there = pattern(3'000'000);  // less than two sockets' buffers and a line hold
    const auto back = pattern(1'000'000);
    std::thread sender([&] {
        send_all(joined.near, there);
        end_sending(joined.near);
    });
    EXPECT_EQ(receive(joined.far, ~std::size_t{0}), there);
    sender.join();
    send_all(joined.far, back);
    end_sending(joined.far);
    EXPECT_EQ(receive(joined.near, ~std::size_t{0}), back);
    const RelayCounters& counters = joined.relay->stop();
    EXPECT_EQ(counters.connections, 1u);
    EXPECT_EQ(counters.octets_there, there.size());
    EXPECT_EQ(counters.octets_back, back.size());
    EXPECT_EQ(counters.reset, 0u);
}

TEST(Relay, delays_each_way) {
    Joined joined{ImpairmentSettings{.delay_ns = 30'000'000}};
    const auto begun = std::chrono::steady_clock::now();
    send_all(joined.near, pattern(100));
    EXPECT_EQ(receive(joined.far, 100), pattern(100));
    send_all(joined.far, pattern(100));
    EXPECT_EQ(receive(joined.near, 100), pattern(100));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(60));
}

TEST(Relay, holds_the_rate) {
    // 250000 octets at 10 Mbit/s take 200 ms.
    Joined joined{ImpairmentSettings{.bits_per_sec = 10'000'000}};
    const auto octets = pattern(250'000);
    const auto begun = std::chrono::steady_clock::now();
    std::thread sender([&] { send_all(joined.near, octets); });
    EXPECT_EQ(receive(joined.far, octets.size()), octets);
    sender.join();
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(199));
}

TEST(Relay, corrupts_the_same_octets_of_the_same_connection) {
    const ImpairmentSettings settings{.corrupt = 0.05, .seed = 3};
    const auto octets = pattern(1448 * 500);
    std::vector<std::vector<std::byte>> first_of_run;
    for (int run = 0; run < 2; ++run) {
        Joined joined{settings};
        base::Descriptor near2, far2;
        joined.connect(near2, far2);
        std::thread sender([&] {
            send_all(joined.near, octets);
            end_sending(joined.near);
            send_all(near2, octets);
            end_sending(near2);
        });
        const auto first = receive(joined.far, ~std::size_t{0});
        const auto second = receive(far2, ~std::size_t{0});
        sender.join();
        EXPECT_NE(first, octets);
        EXPECT_NE(first, second) << "connections draw on their own";
        EXPECT_EQ(first.size(), octets.size());
        first_of_run.push_back(first);
        // 1000 blocks, 50 of them expected, with a deviation of sqrt(1000 * 0.05 * 0.95) = 6.9.
        EXPECT_NEAR(static_cast<double>(joined.relay->stop().corrupted_blocks), 50, 35);
    }
    EXPECT_EQ(first_of_run[0], first_of_run[1]);
}

TEST(Relay, passes_a_reset_on) {
    Joined joined{ImpairmentSettings{}};
    send_all(joined.near, pattern(10));
    receive(joined.far, 10);
    reset(joined.far);
    std::string error;
    receive(joined.near, 1, &error);
    EXPECT_EQ(error, "Connection reset by peer");
    EXPECT_EQ(joined.relay->stop().reset, 1u);
}

TEST(Relay, without_a_target_connections_are_reset) {
    std::uint16_t nobody = 0;
    {
        auto listener = listen_tcp("127.0.0.1", 0);
        ASSERT_TRUE(listener.ok());
        nobody = local_port(*listener);
    }
    auto relay = Relay::open("127.0.0.1", 0, {"127.0.0.1", nobody}, {});
    ASSERT_TRUE(relay.ok());
    // Reset before or after we have looked.
    auto socket = connect_tcp("127.0.0.1", (*relay)->port(), patience_ns);
    std::string error = socket ? "" : socket.error();
    if (socket) receive(*socket, 1, &error);
    EXPECT_THAT(error, testing::EndsWith("Connection reset by peer"));
    const RelayCounters& counters = (*relay)->stop();
    EXPECT_EQ(counters.reset, 1u);
    EXPECT_EQ(counters.not_reached, 1u);
    EXPECT_EQ(counters.last_error, "cannot connect to 127.0.0.1:" + std::to_string(nobody) + ": Connection refused");
}

iwarp::transport::TcpAddress at(const std::string& host, std::uint16_t port) {
    return iwarp::transport::resolve(host, port, false).value().at(0);
}

TEST(TcpAttempt, goes_on_with_the_next_address_where_one_refuses) {
    auto listener = listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(listener.ok());
    const std::uint16_t port = local_port(*listener);
    const auto socket = connect_tcp(TcpAttempt("both", {at("127.0.0.2", port), at("127.0.0.1", port)}), patience_ns);
    ASSERT_TRUE(socket.ok()) << socket.error();
    EXPECT_EQ(peer_address(*socket), "127.0.0.1:" + std::to_string(port));
}

TEST(TcpAttempt, tells_what_each_address_said) {
    auto listener = listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(listener.ok());
    const std::uint16_t port = local_port(*listener);
    listener->reset();
    const auto socket = connect_tcp(TcpAttempt("both", {at("127.0.0.2", port), at("127.0.0.1", port)}), patience_ns);
    ASSERT_FALSE(socket.ok());
    EXPECT_EQ(socket.error(), fmt::format("cannot connect to both: 127.0.0.2:{0}: Connection refused; 127.0.0.1:{0}: "
                                          "Connection refused",
                                          port));
}

TEST(Relay, says_where_it_cannot_listen) {
    auto taken = listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(taken.ok());
    const auto relay = Relay::open("127.0.0.1", local_port(*taken), {"127.0.0.1", 1}, {});
    ASSERT_FALSE(relay.ok());
    EXPECT_EQ(relay.error(), "cannot listen on " + local_address(*taken) + ": Address already in use");
}

}  // namespace
}  // namespace replay
