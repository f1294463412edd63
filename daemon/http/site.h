#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/http/access.h"
#include "daemon/http/documents.h"
#include "daemon/http/http_server.h"
#include "daemon/http/live_figures.h"
#include "daemon/http/past.h"
#include "daemon/http/past_readings.h"
#include "daemon/server/command_backend.h"

namespace service::http {

/// The pages for programs, and the page for a person where there is no live page. Called from the server's thread.
struct Pages {
    std::function<std::string()> metrics;  ///< text format 0.0.4
    struct Health {
        bool ok = true;
        std::string text;  ///< "capturing on eth2, 0 dropped"
    };
    std::function<Health()> health;      ///< /healthz: 200 or 503
    std::function<std::string()> front;  ///< /: an HTML page for a person (front_page.h)
};

/// GET and HEAD of /metrics (gzip if requested), /healthz and /. Anything else is 404 or 405.
class PlainSite : public Handler {
public:
    explicit PlainSite(Pages pages) : pages_(std::move(pages)) {}
    Way way_of(const Request&) override { return Way::at_once; }
    Response answer(const Request& request) override;

private:
    Pages pages_;
};

/// Why `/` is not the live page, for a person who opens it: what the build of this program lacked.
std::string note_without_page();

/// The pages of PlainSite, and the live page with its API: / and /api/v1.
class LiveSite final : public PlainSite {
public:
    struct Options {
        Access access;
        std::uint64_t interval_ns = 1'000'000'000;
        std::uint64_t history_interval_ns = 10'000'000'000;
    };
    /// `commands` outlives the site; its functions are called from the worker's thread.
    LiveSite(Pages pages, Commands& commands, Options options);

    /// The server that sends the site to clients, and publishes events of new figures; null after the server has ended.
    void attach(HttpServer* server) { server_ = server; }
    /// Figures of an interval that has ended. Never waits: the worker's thread does the rest. Called by one thread.
    void add(const IntervalEnd& interval);
    /// An incident that set the flight recorder off. Called by any thread.
    void note(const Noted& incident);

    Way way_of(const Request& request) override;
    Response answer(const Request& request) override;
    std::string stream_head() override;

private:
    using Body = std::shared_ptr<const std::string>;

    void work_off();
    bool is_of_page(const Request& request) const;
    Response page() const;
    Response read(const Request& request);
    Response trigger(const Request& request);
    Response report(const Request& request);
    Response past_report(TimeRange range);
    /// Reads the history of a time, or reads on where an earlier request for this time ended.
    Response of_history(TimeRange range, const std::function<Response(const Past&)>& answer);
    Response past(const Request& request);
    Response flow(const Request& request);
    Response flows(const Request& request);
    Response paths(const Request& request);
    Response answers(const Request& request);
    Response status();
    Response index() const;
    Shown shown();
    PageFacts facts();
    std::string event() const;

    Commands& commands_;
    Options options_;
    HttpServer* server_ = nullptr;

    // Used by the worker's thread alone.
    LiveFigures figures_;
    metrics::DeviceFigures devices_;
    Body report_;
    std::uint64_t report_number_ = 0;
    std::int64_t report_made_ns_ = 0;
    std::int64_t report_took_ns_ = 0;
    PastReadings readings_;

    mutable std::mutex mutex_;  ///< guards the members below
    std::deque<IntervalEnd> waiting_;
    std::deque<Noted> incidents_;
    std::string last_event_;
};

}  // namespace service::http
