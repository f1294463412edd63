#include "daemon/http/site.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "daemon/http/documents.h"
#include "exporters/report/report_page.h"

namespace service::http {
namespace {

using Json = nlohmann::json;

constexpr std::string_view secret = "0123456789abcdef";
constexpr std::int64_t second = 1'000'000'000;

Request request_for(const std::string& path, const std::string& method = "GET") {
    Request request{.method = method, .path = path};
    request.host = "127.0.0.1:14791";
    request.is_local = true;
    return request;
}

unsigned status_of(const Access& access, const Request& request) {
    const auto refused = access.refusal(request);
    return refused ? refused->status : 200;
}

// RFC 7617, 2, has "QWxhZGRpbjpvcGVuIHNlc2FtZQ==" for Aladdin and "open sesame".
TEST(Access, SecretsOfBothSchemes) {
    EXPECT_EQ(secret_of("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), "open sesame");
    EXPECT_EQ(secret_of("bearer abc"), "abc");
    for (const char* wrong : {"", "Basic", "Basic !!!!", "Basic QWxhZGRpbg==", "Digest abc"})
        EXPECT_EQ(secret_of(wrong), std::nullopt) << wrong;
    EXPECT_TRUE(equal_in_constant_time(secret, secret));
    for (const char* wrong : {"", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"})
        EXPECT_FALSE(equal_in_constant_time(wrong, secret)) << wrong;
}

TEST(Access, TheTokenIsNeededOnceThereIsOne) {
    const Access access{std::string(secret), false};
    Request request = request_for("/");
    EXPECT_EQ(status_of(access, request), 401U);
    request.is_local = false;
    request.authorization = "Bearer " + std::string(secret);
    EXPECT_EQ(status_of(access, request), 200U);
    request.authorization = "Bearer 0123456789abcdeX";
    EXPECT_EQ(status_of(access, request), 401U);
}

TEST(Access, WithoutATokenThisMachineAlone) {
    const Access access({}, false);
    Request request = request_for("/api/v1/answers");
    for (const char* host : {"127.0.0.1:14791", "localhost", "[::1]:14791", "LocalHost:1", ""}) {
        request.host = host;
        EXPECT_EQ(status_of(access, request), 200U) << host;
    }
    // A name of another host that leads here: the page of that host would read the figures. RFC 3986, 3.2.2: a bracket
    // needs its end.
    for (const char* host : {"evil.example:14791", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "["}) {
        request.host = host;
        EXPECT_EQ(status_of(access, request), 403U) << host;
    }
    request.host = "127.0.0.1";
    request.is_local = false;
    EXPECT_EQ(status_of(access, request), 403U);
}

TEST(Access, WritesAreForTheOwnPageAlone) {
    Request request = request_for("/api/v1/trigger", "POST");
    request.content_type = "application/json; charset=utf-8";
    request.origin = "http://127.0.0.1:14791";
    EXPECT_EQ(status_of(Access({}, false), request), 403U);
    const Access access({}, true);
    EXPECT_EQ(status_of(access, request), 200U);
    request.origin = "http://127.0.0.1:8080";
    EXPECT_EQ(status_of(access, request), 403U);
    request.origin = "null";
    EXPECT_EQ(status_of(access, request), 403U);
    request.origin.clear();
    request.content_type = "text/plain";
    EXPECT_EQ(status_of(access, request), 415U);
}

TEST(Access, TokenFiles) {
    const std::string path = std::filesystem::temp_directory_path() / ("rdmascope-token-" + std::to_string(getpid()));
    const auto read = [&](const std::string& text, mode_t mode) {
        std::ofstream(path) << text;
        chmod(path.c_str(), mode);
        return read_token(path);
    };
    EXPECT_EQ(read(std::string(secret) + "\nnext line\n", 0640).value(), secret);
    EXPECT_FALSE(read(std::string(secret), 0644).ok());
    EXPECT_FALSE(read("short\n", 0600).ok());
    std::filesystem::remove(path);
    EXPECT_FALSE(read_token(path).ok());
}

metrics::FlowSnapshot flow_with(std::uint64_t id, std::uint64_t packets) {
    metrics::FlowSnapshot flow;
    flow.id = id;
    flow.packets = packets;
    flow.wire_bytes = packets * 100;
    flow.first_ns = second;
    flow.last_ns = second + static_cast<std::int64_t>(packets);
    return flow;
}

IntervalEnd interval_at(std::int64_t end_ns, std::uint64_t length_ns, std::uint64_t packets, std::uint64_t flows = 1) {
    metrics::Snapshot snapshot;
    snapshot.capture.packets = packets;
    snapshot.capture.first_ns = second;
    for (std::uint64_t id = 1; id <= flows; ++id) snapshot.flows.push_back(flow_with(id, packets));
    return {std::make_shared<const metrics::Snapshot>(std::move(snapshot)), end_ns, length_ns};
}

/// Intervals of a second that begin a little earlier and later: each has a bin of its own.
TEST(LiveFigures, JitterLeavesNoBinEmpty) {
    LiveFigures figures(second);
    std::int64_t end_ns = 100 * second;
    for (std::uint64_t i = 1; i <= 50; ++i) {
        figures.add(interval_at(end_ns, second, i * 10));
        end_ns += i % 2 == 0 ? second * 98 / 100 : second * 102 / 100;
    }
    ASSERT_EQ(figures.line().bins().size(), 50U);
    EXPECT_EQ(figures.line().last_bin() - figures.line().first_bin(), 49);
    for (const auto& [number, bin] : figures.line().bins()) EXPECT_EQ(bin.figures.wire_bytes, 1000U) << number;
    EXPECT_EQ(figures.last().wire_bytes, 1000U);
    EXPECT_EQ(figures.number(), 50U);
}

TEST(LiveFigures, TheOldestMinutesGoFirst) {
    LiveFigures figures(second, {.bins = 30, .flow_bins = 100});
    for (std::int64_t i = 1; i <= 100; ++i) figures.add(interval_at(i * second, second, static_cast<std::uint64_t>(i)));
    EXPECT_EQ(figures.line().bins().size(), 30U);
    EXPECT_EQ(figures.line().flow_bins(), 30U);
    for (std::int64_t i = 101; i <= 130; ++i)
        figures.add(interval_at(i * second, second, static_cast<std::uint64_t>(i), 20));
    EXPECT_LE(figures.line().flow_bins(), 100U);
    EXPECT_GE(figures.line().flow_bins(), 60U);
}

/// The clock is set back by more than the time line covers: the new intervals are shown, the future is not.
TEST(LiveFigures, AClockThatIsSetBackBeginsAgain) {
    LiveFigures figures(second, {.bins = 30, .flow_bins = 100});
    for (std::int64_t i = 101; i <= 130; ++i)
        figures.add(interval_at(i * second, second, static_cast<std::uint64_t>(i)));
    figures.add(interval_at(second, second, 131));
    figures.add(interval_at(2 * second, second, 132));
    EXPECT_EQ(figures.line().first_bin(), 0);
    EXPECT_EQ(figures.line().last_bin(), 1);
    EXPECT_EQ(figures.line().bins().size(), 2U);
    EXPECT_EQ(figures.line().flow_bins(), 2U);
}

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

class FakeDaemon final : public Commands {
public:
    Published snapshot(std::uint64_t) override { return {std::make_shared<const metrics::Snapshot>(), 0}; }
    Status status() override {
        Status status;
        status.version = "1.2.3";
        status.interfaces.emplace_back().name = "<eth0>";
        status.interfaces.back().open = true;
        return status;
    }
    const metrics::HostNames& names() const override { return names_; }
    bool crc_verified() const override { return true; }
    base::Result<void> trigger(const std::string& reason) override {
        reasons.push_back(reason);
        return {};
    }
    base::Result<void, base::Errors> reload() override { return {}; }
    std::string history_directory() const override { return {}; }
    base::Result<std::unique_ptr<FrameStream>> frames(control::FramesOf) override { return base::failure("none"); }

    void add_policy(const metrics::Snapshot&, const std::uint64_t* flow,
                    std::vector<metrics::Answer>& answers) const override {
        metrics::Answer answer;
        answer.question = metrics::Question::policy;
        answer.verdict = metrics::Verdict::policy_kept;
        answer.summary = flow == nullptr ? "of all" : "of one";
        answers.push_back(answer);
    }

    std::vector<std::string> reasons;

private:
    NoNames names_;
};

TEST(Documents, CommandsAreOnTheFlowOfTheSideThatAsks) {
    metrics::Snapshot snapshot;
    for (std::uint64_t id = 1; id <= 3; ++id) snapshot.flows.push_back(flow_with(id, 10));
    for (const std::size_t place : {std::size_t{1}, std::size_t{2}}) {
        auto& commands = snapshot.flows[place].commands.emplace();
        commands.protocol = "nvme";
        commands.of_target = place == 2;
    }
    auto& kind = snapshot.flows[1].commands->kinds.emplace_back();
    kind.kind = "read";
    kind.commands = 3;
    kind.bytes = 12'288;
    const LiveFigures figures(second);
    const metrics::DeviceFigures devices;
    const FakeDaemon daemon;
    const Json document = Json::parse(commands_document({.snapshot = snapshot,
                                                         .line = figures.line(),
                                                         .devices = devices,
                                                         .names = daemon.names(),
                                                         .commands = daemon}));
    EXPECT_EQ(document.at("left_out"), 0);
    ASSERT_EQ(document.at("flows").size(), 1U);
    const Json& flow = document.at("flows").at(0);
    EXPECT_EQ(flow.at("id"), 2);
    EXPECT_EQ(flow.at("upper"), "nvme");
    EXPECT_EQ(flow.at("io").at("commands"), 3);
    EXPECT_EQ(flow.at("io").at("bytes"), 12'288);
}

TEST(Documents, AnswersHaveThePolicy) {
    metrics::Snapshot snapshot;
    snapshot.flows.push_back(flow_with(1, 10));
    const LiveFigures figures(second);
    const metrics::DeviceFigures devices;
    const FakeDaemon daemon;
    const Shown shown{
        .snapshot = snapshot, .line = figures.line(), .devices = devices, .names = daemon.names(), .commands = daemon};
    const auto summary = [](const Json& document) {
        for (const Json& answer : document.at("answers"))
            if (answer.at("question") == "policy") return answer.at("summary").get<std::string>();
        return std::string("none");
    };
    const std::uint64_t flow = 1;
    EXPECT_EQ(summary(Json::parse(answers_document(shown, nullptr))), "of all");
    EXPECT_EQ(summary(Json::parse(answers_document(shown, &flow))), "of one");
    EXPECT_EQ(summary(Json::parse(flow_document(shown, flow).value()).at("why")), "of one");
    EXPECT_EQ(summary(Json::parse(report_document(shown, PageFacts{})).at("why")), "of all");
}

Pages plain_pages() {
    return {[] { return std::string("up 1\n"); }, [] { return Pages::Health{}; }, [] { return std::string("<p>"); }};
}

class Site : public testing::Test {
protected:
    Response answer(const std::string& path, const std::string& method = "GET") {
        Request request = request_for(path.substr(0, path.find('?')), method);
        if (const std::size_t mark = path.find('?'); mark != std::string::npos) {
            const std::size_t equals = path.find('=', mark);
            request.query.emplace_back(path.substr(mark + 1, equals - mark - 1), path.substr(equals + 1));
        }
        request.content_type = "application/json";
        request.body = body;
        return site.answer(request);
    }
    Json json(const std::string& path) {
        const Response response = answer(path);
        EXPECT_EQ(response.status, 200U) << path;
        return Json::parse(*response.body);
    }

    std::string body;
    FakeDaemon daemon;
    LiveSite site{plain_pages(), daemon, {.access = Access({}, true)}};
};

TEST_F(Site, MetricsNeedNoRights) {
    EXPECT_EQ(*answer("/metrics").body, "up 1\n");
    EXPECT_EQ(answer("/healthz").status, 200U);
    EXPECT_EQ(answer("/api").status, 404U);
    EXPECT_EQ(answer("/api/v1x").status, 404U);
    EXPECT_EQ(answer("/metrics", "POST").status, 405U);
}

TEST_F(Site, EveryPathOfTheIndexAnswersBeforeTheFirstInterval) {
    const auto index = json("/api/v1");
    for (const std::string path : index.at("paths")) {
        if (path.ends_with("stream") || path.ends_with("trigger") || path.ends_with("{id}")) continue;
        EXPECT_TRUE(json(path).is_object()) << path;
        EXPECT_EQ(answer(path, "POST").status, 405U) << path;
        EXPECT_EQ(answer(path, "DELETE").status, 405U) << path;
    }
    EXPECT_EQ(answer("/api/v1/flow/1").status, 404U);
    EXPECT_EQ(answer("/api/v1/flow/x").status, 404U);
    EXPECT_EQ(answer("/api/v1/flows?limit=2001").status, 400U);
    EXPECT_EQ(answer("/api/v1/flows?sort=nothing").status, 400U);
    EXPECT_EQ(answer("/api/v1/answers?flow=7").status, 404U);
    EXPECT_EQ(answer("/api/v1/report?from=-1h").status, 404U);
    EXPECT_EQ(answer("/api/v1/report?from=later").status, 400U);
}

TEST_F(Site, TriggersHaveAReasonThatIsText) {
    EXPECT_EQ(answer("/api/v1/trigger").status, 405U);
    EXPECT_EQ(answer("/api/v1/trigger", "POST").status, 200U);
    body = R"({"reason": "slow"})";
    EXPECT_EQ(answer("/api/v1/trigger", "POST").status, 200U);
    for (const char* wrong : {"[]", "{", R"({"reason": 1})"}) {
        body = wrong;
        EXPECT_EQ(answer("/api/v1/trigger", "POST").status, 400U) << wrong;
    }
    EXPECT_EQ(daemon.reasons, (std::vector<std::string>{"asked for by the page", "slow"}));
}

TEST_F(Site, ThePageHasAPolicyAndNoOthersText) {
    const Response response = answer("/");
    const auto policy =
        std::ranges::find(response.headers, "Content-Security-Policy", [](const auto& header) { return header.first; });
    ASSERT_NE(policy, response.headers.end());
    EXPECT_TRUE(policy->second.starts_with("default-src 'none'")) << policy->second;
    if (!exporters::report::has_page()) {
        EXPECT_NE(note_without_page().find("uild again"), std::string::npos) << note_without_page();
        GTEST_SKIP() << exporters::report::reason_of_no_page();
    }
    EXPECT_NE(policy->second.find("connect-src 'self'"), std::string::npos) << policy->second;
    EXPECT_EQ(policy->second.find("unsafe"), std::string::npos) << policy->second;
    EXPECT_NE(response.body->find(R"({"live":true})"), std::string::npos);
    EXPECT_EQ(response.body->find("@CONNECT@"), std::string::npos);
    EXPECT_NE(exporters::report::report_page("{}").find("connect-src 'none'"), std::string::npos);
}

}  // namespace
}  // namespace service::http
