#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <new>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/gzip.h"
#include "daemon/http/http_server.h"
#include "daemon/http/site.h"
#include "tests/support/allocations.h"

namespace service::http {
namespace {

Pages pages() {
    return {[] { return std::string("rdma_packets_total 1\n"); },
            [] {
                return Pages::Health{false, "no interface is open"};
            },
            [] { return std::string("<html>"); }};
}

class TestClient {
public:
    explicit TestClient(std::uint16_t port) : handle_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        // Little room, so that an answer stays with the server.
        const int room = 4096;
        setsockopt(handle_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(handle_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~TestClient() { close(handle_); }
    TestClient(const TestClient&) = delete;
    TestClient& operator=(const TestClient&) = delete;

    void say(std::string_view text) {
        EXPECT_EQ(send(handle_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    /// The server may close meanwhile.
    void try_to_say(std::string_view text) {
        while (!text.empty()) {
            const ssize_t count = send(handle_, text.data(), text.size(), MSG_NOSIGNAL);
            if (count <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    /// A request for one answer.
    void ask(std::string_view path, std::string_view more = {}) {
        say("GET " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + std::string(more) +
            "\r\n");
    }
    /// All that comes until the server closes, or until `end` has come.
    std::string receive(std::string_view end = {}) {
        std::string all;
        std::array<char, 65536> piece;
        while (end.empty() || all.find(end) == std::string::npos) {
            const ssize_t count = recv(handle_, piece.data(), piece.size(), 0);
            if (count <= 0) break;
            all.append(piece.data(), static_cast<std::size_t>(count));
        }
        return all;
    }

private:
    int handle_;
};

/// /slow waits for the test, in the worker's thread; /stream is a stream; the path is the answer of all others.
class TestHandler final : public Handler {
public:
    Way way_of(const Request& request) override {
        if (request.path == "/no-memory") throw std::bad_alloc();
        if (request.path == "/slow") return Way::by_worker;
        return request.path == "/stream" ? Way::as_stream : Way::at_once;
    }
    Response answer(const Request& request) override {
        if (worker_fails.exchange(false)) {
            support::fail_allocations_of(1);
            throw std::bad_alloc();
        }
        if (request.path == "/slow" && !has_waited.exchange(true)) go_on.get_future().wait();
        if (request.path == "/broken") throw std::runtime_error("out of order");
        return plain(200, request.path + ' ' + request.body);
    }
    std::string stream_head() override {
        if (streams_fail) throw std::bad_alloc();
        return "retry: 1\n\n";
    }

    std::promise<void> go_on;
    std::atomic<bool> streams_fail = false;
    std::atomic<bool> worker_fails = false;  ///< from the next answer on, no memory is left
    std::atomic<bool> has_waited = false;
};

std::unique_ptr<HttpServer> opened(Handler& handler, const ServerBounds& bounds = {}) {
    auto server = HttpServer::open("127.0.0.1:0", handler, bounds);
    EXPECT_TRUE(server.ok()) << server.error().text();
    return server.ok() ? std::move(server).value() : nullptr;
}

std::string asked(const HttpServer& server, std::string_view path, std::string_view more = {}) {
    TestClient client(server.port());
    client.ask(path, more);
    return client.receive();
}

TEST(HttpServer, ADaemonWithoutInterfacesIs503) {
    PlainSite site(pages());
    const auto server = opened(site);
    const std::string answer = asked(*server, "/healthz");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nno interface is open\n")) << answer;
}

TEST(HttpServer, APageThatThrowsIs500) {
    TestHandler handler;
    const auto server = opened(handler);
    const std::string answer = asked(*server, "/broken");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
    EXPECT_TRUE(answer.ends_with("out of order\n")) << answer;
}

/// The server's thread asks the handler from within functions of a C library, through which no exception may pass.
TEST(HttpServer, WithoutMemoryAConnectionEndsAndItsPlaceIsFree) {
    ServerBounds bounds;
    bounds.streams = 1;
    TestHandler handler;
    handler.streams_fail = true;
    const auto server = opened(handler, bounds);
    EXPECT_EQ(asked(*server, "/no-memory"), "");
    EXPECT_EQ(asked(*server, "/stream"), "");
    handler.streams_fail = false;
    TestClient stream(server->port());
    stream.ask("/stream");
    EXPECT_NE(stream.receive("retry: 1").find("retry: 1"), std::string::npos);
    EXPECT_TRUE(asked(*server, "/after").ends_with("/after "));
}

/// RFC 9112: no Host and no kept connection before HTTP/1.1; several requests in one piece; an absolute target.
TEST(HttpServer, FormsOfRequests) {
    TestHandler handler;
    const auto server = opened(handler);
    TestClient old(server->port());
    old.say("GET /a HTTP/1.0\r\n\r\n");
    const std::string answer = old.receive();
    EXPECT_TRUE(answer.ends_with("\r\n\r\n/a ")) << answer;
    TestClient both(server->port());
    both.say(
        "GET /b HTTP/1.1\r\nHost: h\r\n\r\nPOST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nConnection: "
        "close\r\n\r\nhi");
    const std::string answers = both.receive();
    EXPECT_NE(answers.find("\r\n\r\n/b HTTP/1.1 200 "), std::string::npos) << answers;
    EXPECT_TRUE(answers.ends_with("\r\n\r\n/c hi")) << answers;
    TestClient absolute(server->port());
    absolute.say("GET http://h:9/d%20e?x=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(absolute.receive().ends_with("\r\n\r\n/d e "));
}

TEST(HttpServer, ClientsThatAcceptGzip) {
    for (const char* yes : {"gzip", " GZip ", "br, gzip", "gzip;q=0.001", "gzip ; q=1, identity"})
        EXPECT_TRUE(accepts_gzip(yes)) << yes;
    for (const char* no : {"", "identity", "gzip;q=0", "gzip; q=0.000", "notgzip", "gzipped", ",,", "*;q=1"})
        EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(HttpServer, LongHeadersAndBodiesAreRefused) {
    TestHandler handler;
    const auto server = opened(handler);
    TestClient body(server->port());
    body.say("POST /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 5000\r\n\r\n" +
             std::string(5000, 'x'));
    EXPECT_TRUE(body.receive().starts_with("HTTP/1.1 413 "));
    // A client that sends a megabyte of headers sees the refusal, or that the connection was reset.
    TestClient large(server->port());
    std::string headers = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 2'000; ++i) headers += "X-" + std::to_string(i) + ": " + std::string(500, 'x') + "\r\n";
    large.try_to_say(headers);
    const std::string answer = large.receive();
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << answer;
    EXPECT_TRUE(asked(*server, "/after").ends_with("/after "));
}

TEST(HttpServer, ASlowAnswerDelaysNoOtherClient) {
    TestHandler handler;
    const auto server = opened(handler);
    TestClient slow(server->port());
    slow.ask("/slow");
    EXPECT_TRUE(asked(*server, "/other").ends_with("/other "));
    handler.go_on.set_value();
    EXPECT_TRUE(slow.receive().ends_with("/slow "));
}

TEST(HttpServer, ClientsThatDoNotReadDelayNoOtherClient) {
    Pages large = pages();
    large.metrics = [] { return std::string(std::size_t{8} << 20, 'x'); };
    PlainSite site(large);
    const auto server = opened(site);
    std::vector<std::unique_ptr<TestClient>> idle;
    for (int i = 0; i < 20; ++i) {
        idle.push_back(std::make_unique<TestClient>(server->port()));
        idle.back()->ask("/metrics");
    }
    EXPECT_TRUE(asked(*server, "/healthz").starts_with("HTTP/1.1 503 "));
    // A client that reads at last gets the whole answer.
    const std::string answer = idle.front()->receive();
    EXPECT_GE(answer.size(), std::size_t{8} << 20);
    EXPECT_TRUE(answer.ends_with("xxx"));
}

/// 2,000 connections, and clients that never complete a request, give way to a complete request.
TEST(HttpServer, ManyAndSlowClientsGiveWay) {
    ServerBounds bounds;
    bounds.to_ask = std::chrono::milliseconds(300);
    TestHandler handler;
    const auto server = opened(handler, bounds);
    TestClient first(server->port());
    first.say("GET /a HT");
    for (int i = 0; i < 2'000; ++i) {
        const TestClient passing(server->port());
        if (i % 500 != 0) continue;
        EXPECT_TRUE(asked(*server, "/b").ends_with("/b "));
    }
    EXPECT_EQ(first.receive(), "");
    TestClient trickle(server->port());
    trickle.say("GET /a HT");
    EXPECT_EQ(trickle.receive(), "");
}

TEST(HttpServer, StreamsHaveEventsUntilTheyAreTooSlow) {
    ServerBounds bounds;
    bounds.streams = 1;
    bounds.stream_bytes = 100'000;
    TestHandler handler;
    const auto server = opened(handler, bounds);
    TestClient client(server->port());
    client.ask("/stream");
    EXPECT_NE(client.receive("retry: 1").find("text/event-stream"), std::string::npos);
    EXPECT_TRUE(asked(*server, "/stream").starts_with("HTTP/1.1 503 "));
    server->publish("data: one\n\n");
    EXPECT_NE(client.receive("data: one").find("data: one"), std::string::npos);
    // More than all buffers hold, without being read: the connection ends, and its place is free.
    for (int i = 0; i < 200; ++i) {
        server->publish(std::string(90'000, 'x'));
        EXPECT_TRUE(asked(*server, "/a").ends_with("/a "));
    }
    client.receive();
    std::string again;
    for (int i = 0; i < 1'000 && again.empty(); ++i) {
        TestClient next(server->port());
        next.ask("/stream");
        again = next.receive("\r\n\r\n");
        if (again.starts_with("HTTP/1.1 503 ")) again.clear();
    }
    EXPECT_TRUE(again.starts_with("HTTP/1.1 200 ")) << again;
}

TEST(HttpServer, WithoutMemoryAStreamEndsAndTheServerGoesOn) {
    constexpr std::size_t event_bytes = 50'000;
    TestHandler handler;
    const auto server = opened(handler);
    TestClient client(server->port());
    client.ask("/stream");
    EXPECT_NE(client.receive("retry: 1").find("retry: 1"), std::string::npos);
    std::string event(event_bytes, 'x');
    // The event is added to what the server sends, and there is no memory to add it to what the client will read.
    support::fail_allocations_of(event_bytes, 1);
    server->publish(std::move(event));
    EXPECT_EQ(client.receive().find("xxx"), std::string::npos);
    support::fail_allocations_of(0);
    EXPECT_TRUE(asked(*server, "/after").ends_with("/after "));
}

TEST(HttpServer, WithoutMemoryTheWorkerGoesOn) {
    TestHandler handler;
    handler.go_on.set_value();
    const auto server = opened(handler);
    server->run_in_worker([] { throw std::bad_alloc(); });
    // No memory for the answer of the worker, nor for a page that says so: the client's connection ends.
    handler.worker_fails = true;
    EXPECT_EQ(asked(*server, "/slow"), "");
    support::fail_allocations_of(0);
    EXPECT_TRUE(asked(*server, "/slow").ends_with("/slow "));
}

TEST(HttpServer, EndsWhileClientsAreConnected) {
    TestHandler handler;
    auto server = opened(handler);
    TestClient asking(server->port());
    asking.say("GET /met");
    TestClient stream(server->port());
    stream.ask("/stream");
    EXPECT_NE(stream.receive("retry: 1").find("retry: 1"), std::string::npos);
    TestClient slow(server->port());
    slow.ask("/slow");
    EXPECT_TRUE(asked(*server, "/other").ends_with("/other "));
    handler.go_on.set_value();
    server = nullptr;
    EXPECT_EQ(asking.receive(), "");
    stream.receive();
    slow.receive();
}

TEST(HttpServer, ThePortIsFreeAgainAtOnce) {
    PlainSite site(pages());
    std::uint16_t port = 0;
    for (int i = 0; i < 5; ++i) {
        auto server = HttpServer::open("127.0.0.1:" + std::to_string(port), site);
        ASSERT_TRUE(server.ok()) << server.error().text();
        port = (*server)->port();
        EXPECT_TRUE(asked(**server, "/").starts_with("HTTP/1.1 200 "));
    }
}

}  // namespace
}  // namespace service::http
