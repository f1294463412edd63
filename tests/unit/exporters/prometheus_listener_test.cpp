#include <arpa/inet.h>
#include <array>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "exporters/prometheus/front_page.h"
#include "exporters/prometheus/http_answer.h"
#include "exporters/prometheus/http_listener.h"
#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {
namespace {

Pages pages() {
    return {[] { return std::string("rdma_packets_total 1\n"); },
            [] {
                return Pages::Health{false, "no interface is open"};
            },
            [] { return std::string("<html>"); }};
}

HttpProgress parse(std::string_view text, HttpRequest* out = nullptr) {
    HttpRequest request;
    const HttpProgress progress = parse_request(text, request);
    if (out != nullptr) *out = request;
    return progress;
}

TEST(PrometheusHttp, EveryPrefixOfARequestIsIncomplete) {
    constexpr std::string_view whole = "GET /metrics?a=b HTTP/1.1\r\nHost: h\r\naccept-encoding:  gzip, br \r\n\r\n";
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_EQ(parse(whole.substr(0, length)), HttpProgress::incomplete) << length;
    HttpRequest request;
    ASSERT_EQ(parse(whole, &request), HttpProgress::complete);
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(request.path, "/metrics");
    EXPECT_EQ(request.accept_encoding, "gzip, br");
}

TEST(PrometheusHttp, TargetsInAllTheirForms) {
    HttpRequest request;
    ASSERT_EQ(parse("GET http://h:1/metrics?x HTTP/1.0\n\n", &request), HttpProgress::complete);
    EXPECT_EQ(request.path, "/metrics");
    ASSERT_EQ(parse("GET http://h HTTP/1.1\r\n\r\n", &request), HttpProgress::complete);
    EXPECT_EQ(request.path, "/");
    ASSERT_EQ(parse("\r\nHEAD / HTTP/1.1\r\n\r\nrest", &request), HttpProgress::complete);
    EXPECT_EQ(request.method, "HEAD");
}

TEST(PrometheusHttp, WhatIsNoRequest) {
    for (const std::string_view text :
         {"get / HTTP/1.1\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nnonsense\r\n\r\n",
          "GET /a b HTTP/1.1\r\n\r\n", "\x16\x03", " GET / HTTP/1.1\r\n\r\n"})
        EXPECT_EQ(parse(text), HttpProgress::malformed) << text;
    EXPECT_EQ(parse("G" + std::string(longest_request, 'E')), HttpProgress::too_long);
    EXPECT_TRUE(http_refusal(HttpProgress::malformed).starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(http_refusal(HttpProgress::too_long).starts_with("HTTP/1.1 431 "));
}

TEST(PrometheusHttp, WhatIsNotWellIs503) {
    const std::string answer = http_answer({"GET", "/healthz", {}}, pages());
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nno interface is open\n")) << answer;
}

TEST(PrometheusHttp, APageThatThrowsIs500) {
    Pages broken = pages();
    broken.metrics = []() -> std::string { throw std::runtime_error("out of order"); };
    const std::string answer = http_answer({"GET", "/metrics", {}}, broken);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
    EXPECT_TRUE(answer.ends_with("out of order\n")) << answer;
}

TEST(PrometheusHttp, WhoTakesGzip) {
    for (const char* yes : {"gzip", " GZip ", "br, gzip", "gzip;q=0.001", "gzip ; q=1, identity"})
        EXPECT_TRUE(accepts_gzip(yes)) << yes;
    for (const char* no : {"", "identity", "gzip;q=0", "gzip; q=0.000", "notgzip", "gzipped", ",,", "*;q=1"})
        EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(PrometheusHttp, TheFrontPageShowsNoForeignMarkup) {
    ProgramFigures figures;
    figures.version = "1.2.3";
    figures.uptime_seconds = 90'000;
    figures.interfaces = {{"<script>&\"", false, 5, 1, 2, {}}};
    const std::string page = front_page(figures);
    EXPECT_EQ(page.find("<script>"), std::string::npos);
    EXPECT_NE(page.find("&lt;script&gt;&amp;&quot;"), std::string::npos);
    EXPECT_NE(page.find("25.0 h"), std::string::npos);
    EXPECT_NE(page.find("rdmascope 1.2.3"), std::string::npos);
}

class Client {
public:
    explicit Client(std::uint16_t port) : handle_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        // Little room, so that an answer stays with the listener.
        const int room = 4096;
        setsockopt(handle_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(connect(handle_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~Client() { close(handle_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void say(std::string_view text) {
        EXPECT_EQ(send(handle_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    std::string receive() {
        std::string all;
        std::array<char, 65536> piece;
        for (ssize_t count = 0; (count = recv(handle_, piece.data(), piece.size(), 0)) > 0;)
            all.append(piece.data(), static_cast<std::size_t>(count));
        return all;
    }

private:
    int handle_;
};

TEST(PrometheusListener, WhoDoesNotTakeALargeAnswerHoldsUpNobody) {
    Pages large = pages();
    large.metrics = [] { return std::string(std::size_t{8} << 20, 'x'); };
    auto listener = Listener::open("127.0.0.1:0", large);
    ASSERT_TRUE(listener.ok()) << listener.error().text();
    const std::uint16_t port = (*listener)->port();
    std::vector<std::unique_ptr<Client>> idle;
    for (int i = 0; i < 20; ++i) {
        idle.push_back(std::make_unique<Client>(port));
        idle.back()->say("GET /metrics HTTP/1.1\r\n\r\n");
    }
    Client other(port);
    other.say("GET /healthz HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(other.receive().starts_with("HTTP/1.1 503 "));
    // Whoever takes it at last gets all of it.
    const std::string answer = idle.front()->receive();
    EXPECT_GE(answer.size(), std::size_t{8} << 20);
    EXPECT_TRUE(answer.ends_with("xxx"));
}

TEST(PrometheusListener, EndsWhileClientsAreConnected) {
    auto listener = Listener::open("127.0.0.1:0", pages());
    ASSERT_TRUE(listener.ok()) << listener.error().text();
    Client client((*listener)->port());
    client.say("GET /met");
    *listener = nullptr;
    EXPECT_EQ(client.receive(), "");
}

TEST(PrometheusListener, ThePortIsFreeAgainAtOnce) {
    std::uint16_t port = 0;
    for (int i = 0; i < 5; ++i) {
        auto listener = Listener::open("127.0.0.1:" + std::to_string(port), pages());
        ASSERT_TRUE(listener.ok()) << listener.error().text();
        port = (*listener)->port();
        Client client(port);
        client.say("GET / HTTP/1.1\r\n\r\n");
        EXPECT_TRUE(client.receive().starts_with("HTTP/1.1 200 "));
    }
}

TEST(PrometheusProgram, InterfacesAreShownOnceAndTheRestAddedUp) {
    ProgramFigures figures;
    for (int i = 0; i < 200; ++i) figures.interfaces.push_back({"eth" + std::to_string(i), true, 1, 0, 0, 8'000});
    figures.interfaces.push_back({"eth0", false, 10, 0, 0, {}});
    for (const auto& family : families(figures)) {
        if (family.name == "rdmascope_interface_received_packets_total") {
            ASSERT_EQ(family.metric.size(), 64u);
            EXPECT_EQ(family.metric.front().counter.value, 11);
            EXPECT_EQ(family.metric.back().label.front().value, "other");
            EXPECT_EQ(family.metric.back().counter.value, 200 - 63);
        }
        if (family.name == "rdmascope_interface_speed_bytes_per_second") {
            EXPECT_EQ(family.metric.front().gauge.value, 1000);
        }
    }
}

}  // namespace
}  // namespace exporters::prometheus
