#include "daemon/http/site.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <new>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/moment.h"
#include "daemon/server/server.h"
#include "daemon/server/status_json.h"
#include "exporters/report/report_page.h"

namespace service::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view api = "/api/v1";
constexpr std::size_t most_waiting_intervals = 4;
constexpr std::size_t most_noted = 100;
constexpr std::uint64_t most_flows = 2'000;
constexpr std::uint64_t usual_flows = 1'000;
constexpr std::uint64_t most_pairs = 1'000;
constexpr std::uint64_t usual_pairs = 100;
constexpr std::uint64_t most_paths = 1'024;
/// A document that takes long to make is made less often: it keeps the worker busy for a quarter of the time at most.
constexpr std::int64_t pause_for_work = 3;

Response json(std::string text) {
    Response response = plain(200, std::move(text));
    response.type = "application/json; charset=utf-8";
    response.may_be_packed = true;
    return response;
}

Response refusal(unsigned status, std::string_view reason) {
    Response response = json(fmt::format("{{\"error\":{}}}\n", quoted_json(reason)));
    response.status = status;
    return response;
}

Response allowed_alone(const char* methods) {
    Response response = plain(405, fmt::format("This page is for {}.\n", methods));
    response.headers.emplace_back("Allow", methods);
    return response;
}

/// A number of the query, or of the path; no value if it is invalid.
std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
    return value;
}

}  // namespace

Response PlainSite::answer(const Request& request) {
    const bool is_known = request.path == "/metrics" || request.path == "/healthz" || request.path == "/";
    if (!is_known) return plain(404, "There is no such page; see /metrics, /healthz and /.\n");
    if (!request.is_read()) return allowed_alone("GET, HEAD");
    if (request.path == "/healthz") {
        Pages::Health health = pages_.health();
        return plain(health.ok ? 200 : 503, std::move(health.text) + '\n');
    }
    Response response;
    if (request.path == "/metrics") {
        response.type = "text/plain; version=0.0.4; charset=utf-8";
        response.may_be_packed = true;
        response.body = std::make_shared<const std::string>(pages_.metrics());
        return response;
    }
    response.type = "text/html; charset=utf-8";
    response.headers.emplace_back("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    response.body = std::make_shared<const std::string>(pages_.front());
    return response;
}

std::string note_without_page() {
    return fmt::format("There is no live page: {} /api/v1 has its figures.", exporters::report::reason_of_no_page());
}

LiveSite::LiveSite(Pages pages, Commands& commands, Options options)
    : PlainSite(std::move(pages)),
      commands_(commands),
      options_(std::move(options)),
      figures_(options_.interval_ns),
      readings_(options_.history_interval_ns) {}

// ---- new figures ----

void LiveSite::add(const IntervalEnd& interval) try {
    {
        const std::lock_guard lock(mutex_);
        // The next difference then covers two intervals.
        if (waiting_.size() >= most_waiting_intervals) waiting_.pop_front();
        waiting_.push_back(interval);
    }
    if (server_ != nullptr) server_->run_in_worker([this] { work_off(); });
} catch (const std::bad_alloc&) {
    // The next interval brings what this one had.
    return;
}

void LiveSite::note(const Noted& incident) {
    const std::lock_guard lock(mutex_);
    if (incidents_.size() >= most_noted) incidents_.pop_front();
    incidents_.push_back(incident);
}

void LiveSite::work_off() {
    std::deque<IntervalEnd> intervals;
    {
        const std::lock_guard lock(mutex_);
        intervals.swap(waiting_);
    }
    if (intervals.empty()) return;
    readings_.forget_unused(base::steady_ns());
    for (const IntervalEnd& interval : intervals) figures_.add(interval);
    std::string text = event();
    {
        const std::lock_guard lock(mutex_);
        last_event_ = text;
    }
    server_->publish(std::move(text));
}

std::string LiveSite::event() const {
    const IntervalEnd& now = figures_.now();
    const exporters::report::TimeFigures& last = figures_.last();
    const Json data{{"number", figures_.number()},
                    {"taken_ns", now.wall_ns},
                    {"interval_ns", now.length_ns},
                    {"packets", now.snapshot->capture.packets},
                    {"bytes", now.snapshot->capture.bytes},
                    {"flows", now.snapshot->flows.size()},
                    {"wire_bytes", last.wire_bytes},
                    {"messages", last.messages},
                    {"resent", last.resent}};
    return fmt::format("event: figures\nid: {}\ndata: {}\n\n", figures_.number(), data.dump());
}

std::string LiveSite::stream_head() {
    const std::lock_guard lock(mutex_);
    return "retry: 2000\n\n" + last_event_;
}

// ---- requests ----

bool LiveSite::is_of_page(const Request& request) const {
    return request.path == "/" || request.path == api || request.path.starts_with(fmt::format("{}/", api));
}

Handler::Way LiveSite::way_of(const Request& request) {
    // Refusals and the page itself take no time.
    if (!is_of_page(request) || request.path == "/" || options_.access.refusal(request)) return Way::at_once;
    if (request.path == fmt::format("{}/stream", api) && request.method == "GET") return Way::as_stream;
    return Way::by_worker;
}

Response LiveSite::answer(const Request& request) {
    if (!is_of_page(request)) return PlainSite::answer(request);
    if (auto refused = options_.access.refusal(request)) return *std::move(refused);
    if (request.path == "/")
        return exporters::report::has_page() && request.is_read() ? page() : PlainSite::answer(request);
    const bool triggers = request.path == fmt::format("{}/trigger", api);
    if (triggers) return request.method == "POST" ? trigger(request) : allowed_alone("POST");
    if (!request.is_read()) return allowed_alone("GET, HEAD");
    return read(request);
}

Response LiveSite::page() const {
    Response response;
    response.type = "text/html; charset=utf-8";
    response.may_be_packed = true;
    response.body = std::make_shared<const std::string>(exporters::report::live_page());
    response.headers.emplace_back("Content-Security-Policy",
                                  exporters::report::live_policy() + "; frame-ancestors 'none'");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    response.headers.emplace_back("X-Frame-Options", "DENY");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
    return response;
}

Response LiveSite::read(const Request& request) {
    const std::string_view path = std::string_view(request.path).substr(api.size());
    if (path.empty() || path == "/") return index();
    if (path == "/report") return report(request);
    if (path == "/answers") return answers(request);
    if (path == "/flows" || path == "/snapshot") return flows(request);
    if (path.starts_with("/flow/")) return flow(request);
    if (path == "/hosts") return json(hosts_document(shown()));
    if (path == "/paths") return paths(request);
    if (path == "/series") return json(series_document(shown()));
    if (path == "/history") return past(request);
    if (path == "/status") return status();
    if (path == "/commands") return json(commands_document(shown()));
    if (path == "/events") {
        std::vector<Noted> incidents;
        {
            const std::lock_guard lock(mutex_);
            incidents.assign(incidents_.begin(), incidents_.end());
        }
        return json(events_document(shown(), incidents));
    }
    return refusal(404, "there is no such page; /api/v1 lists the pages");
}

Response LiveSite::index() const {
    Json paths = Json::array();
    for (const char* name : {"report", "answers", "snapshot", "flows", "flow/{id}", "hosts", "paths", "series",
                             "commands", "events", "history", "status", "stream", "trigger"})
        paths.push_back(fmt::format("{}/{}", api, name));
    return json(Json{{"version", 1},
                     {"program", "rdmascope"},
                     {"writes", options_.access.permits_writes()},
                     {"paths", std::move(paths)}}
                    .dump());
}

Response LiveSite::trigger(const Request& request) {
    std::string reason = "asked for by the page";
    if (!request.body.empty()) {
        const Json body = Json::parse(request.body, nullptr, false);
        const bool has_reason = body.is_object() && body.contains("reason") && body["reason"].is_string();
        if (!body.is_object() || (body.contains("reason") && !has_reason))
            return refusal(400, "the body must be an object like {\"reason\": \"text\"}");
        if (has_reason) reason = body["reason"].get<std::string>().substr(0, 200);
    }
    if (const auto begun = commands_.trigger(reason); !begun) return refusal(409, begun.error().text());
    return json(fmt::format("{{\"reason\":{}}}", quoted_json(reason)));
}

Shown LiveSite::shown() {
    devices_ = commands_.devices();
    return {.snapshot = *figures_.now().snapshot,
            .line = figures_.line(),
            .devices = devices_,
            .names = commands_.names(),
            .commands = commands_,
            .crc_verified = commands_.crc_verified()};
}

PageFacts LiveSite::facts() {
    const Status status = commands_.status();
    PageFacts facts;
    facts.version = status.version;
    for (const Status::Interface& interface : status.interfaces)
        if (interface.open) facts.interfaces += (facts.interfaces.empty() ? "" : ", ") + interface.name;
    facts.number = figures_.number();
    facts.taken_ns = figures_.now().wall_ns;
    facts.started_ns = status.started_ns;
    facts.interval_ns = options_.interval_ns;
    facts.permits_writes = options_.access.permits_writes();
    facts.has_history = !commands_.history_directory().empty();
    return facts;
}

Response LiveSite::report(const Request& request) {
    if (const std::string* from = request.find("from")) {
        const auto range = range_of(*from, request.find("to"), base::wall_ns());
        return range ? past_report(*range) : refusal(400, range.error().text());
    }
    const std::int64_t now_ns = base::steady_ns();
    const bool is_same = report_ && report_number_ == figures_.number();
    const bool is_too_early = report_ && now_ns - report_made_ns_ < report_took_ns_ * pause_for_work;
    if (!is_same && !is_too_early) {
        report_ = std::make_shared<const std::string>(report_document(shown(), facts()));
        report_number_ = figures_.number();
        report_made_ns_ = base::steady_ns();
        report_took_ns_ = report_made_ns_ - now_ns;
    }
    Response response = json({});
    response.body = report_;
    return response;
}

Response LiveSite::of_history(TimeRange range, const std::function<Response(const Past&)>& answer) {
    const std::string directory = commands_.history_directory();
    if (directory.empty()) return refusal(404, "no history is kept: set history.directory in the configuration");
    std::optional<PastReading> reading = readings_.take(range, base::steady_ns());
    if (!reading) {
        Response busy = plain(503, "Others read the history; ask again in some seconds.\n");
        busy.headers.emplace_back("Retry-After", "2");
        return busy;
    }
    if (!reading->is_whole) {
        const auto read = read_on(reading->past, directory, range, [this] { return !commands_.ends(); });
        if (!read) return refusal(404, read.error().text());
        reading->is_whole = !reading->past.ended_ns;
        reading->is_in_pieces = reading->is_in_pieces || !reading->is_whole;
    }
    Response response = answer(reading->past);
    // Another client that reads the same stretch gets its end as well. Of the future there will be more.
    const bool has_more = !reading->is_whole || range.to_ns <= base::wall_ns();
    if (reading->is_in_pieces && has_more) readings_.keep(*std::move(reading), base::steady_ns());
    return response;
}

Response LiveSite::past_report(TimeRange range) {
    return of_history(range, [this, range](const Past& past) {
        const metrics::DeviceFigures no_devices;
        Shown of_past{.snapshot = past.sum,
                      .line = past.line,
                      .devices = no_devices,
                      .names = commands_.names(),
                      .commands = commands_,
                      .crc_verified = past.crc_verified};
        if (past.ended_ns)
            of_past.left_out.push_back(
                fmt::format("The history is read until {}; what follows is missing until it is asked for again.",
                            base::moment(*past.ended_ns)));
        PageFacts present = facts();
        present.is_history = true;
        present.from_ns = range.from_ns;
        present.to_ns = past.ended_ns.value_or(range.to_ns);
        present.asked_to_ns = range.to_ns;
        return json(report_document(of_past, present));
    });
}

Response LiveSite::past(const Request& request) {
    const std::string directory = commands_.history_directory();
    if (directory.empty()) return json(R"({"kept":false,"first_ns":null,"last_ns":null,"intervals":0})");
    const std::string* from = request.find("from");
    if (from == nullptr) {
        const auto extent = extent_document(directory, [this] { return !commands_.ends(); });
        return extent ? json(*extent) : refusal(404, extent.error().text());
    }
    const auto range = range_of(*from, request.find("to"), base::wall_ns());
    if (!range) return refusal(400, range.error().text());
    return of_history(*range, [&range](const Past& past) { return json(past_document(past, *range)); });
}

Response LiveSite::flow(const Request& request) {
    constexpr std::string_view before = "/flow/";
    const auto id = number_of(std::string_view(request.path).substr(api.size() + before.size()));
    if (!id) return refusal(404, "a flow is a number: /api/v1/flow/17");
    auto document = flow_document(shown(), *id);
    return document ? json(std::move(document).value()) : refusal(404, document.error().text());
}

Response LiveSite::flows(const Request& request) {
    const std::string* limit = request.find("limit");
    const auto number = limit == nullptr ? usual_flows : number_of(*limit);
    if (!number || *number > most_flows)
        return refusal(400, fmt::format("limit: a number from 0 to {} is expected", most_flows));
    const std::string* sort = request.find("sort");
    auto document = flows_document(shown(), sort == nullptr ? std::string() : *sort, *number);
    return document ? json(std::move(document).value()) : refusal(400, document.error().text());
}

Response LiveSite::paths(const Request& request) {
    const std::string* limit = request.find("limit");
    const auto number = limit == nullptr ? usual_pairs : number_of(*limit);
    if (!number || *number > most_pairs)
        return refusal(400, fmt::format("limit: a number from 0 to {} is expected", most_pairs));
    std::optional<std::uint64_t> paths;
    if (const std::string* text = request.find("paths")) {
        paths = number_of(*text);
        if (!paths || *paths < 1 || *paths > most_paths)
            return refusal(400, fmt::format("paths: a number from 1 to {} is expected", most_paths));
    }
    return json(paths_document(shown(), paths, *number));
}

Response LiveSite::answers(const Request& request) {
    const std::string* text = request.find("flow");
    if (text == nullptr) return json(answers_document(shown(), nullptr));
    const auto id = number_of(*text);
    if (!id || figures_.now().snapshot->flow(*id) == nullptr)
        return refusal(404, "there is no such flow; /api/v1/flows lists the flows");
    return json(answers_document(shown(), &*id));
}

Response LiveSite::status() {
    // The counters of the control socket are shown by the control socket.
    return json(status_json(commands_.status(), {}));
}

}  // namespace service::http
