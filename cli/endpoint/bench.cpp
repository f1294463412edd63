#include "cli/endpoint/bench.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/clock.h"
#include "base/quantities.h"
#include "cli/signals.h"

namespace cli::endpoint {

namespace {

constexpr std::int64_t look_about_ns = 100'000'000;  ///< how late a signal may be answered
constexpr std::size_t connecting_at_once = 128;
constexpr std::int64_t farewell_ns = 2'000'000'000;

iwarp::DeviceOptions device_options(const BenchOptions& options) {
    iwarp::DeviceOptions device;
    device.max_queue_pairs = std::max<std::size_t>(16, options.connections);
    device.max_connections = device.max_queue_pairs;
    device.max_regions = 2 * device.max_queue_pairs + 16;
    return device;
}

}  // namespace

Bench::Bench(const BenchOptions& options)
    : options_(options),
      pattern_(static_cast<std::size_t>(std::max<std::uint64_t>(options.size, 8))),
      device_(iwarp::Device::open(device_options(options))),
      shared_{options,
              pattern_,
              result_,
              *device_,
              device_->allocate_protection_domain(),
              device_->create_completion_queue(Lane::completions(options) * options.connections + 16)} {
    for (std::uint32_t i = 0; i < options.connections; ++i) lanes_.push_back(std::make_unique<Lane>(shared_, i));
    for (const auto& lane : lanes_) lane->queue_pair()->context = lane.get();
}

Bench::~Bench() = default;

BenchResult Bench::run() {
    try {
        connect_all();
        if (!failed_) measure_usage();
    } catch (const iwarp::Error& error) {
        fail(error.what());
    } catch (const Interrupted&) {
        fail("ended before it was connected");
    }
    if (failed_) explain_failure();
    disconnect_all();
    return result_;
}

/// And what it took of the processors, at both ends.
void Bench::measure_usage() {
    result_.agreement = lanes_.front()->queue_pair()->agreement();
    const auto server_before =
        options_.ask_server ? ask_usage(options_.to, options_.connection) : std::optional<Usage>{};
    const Usage before = Usage::of_this_process();
    measure();
    result_.cpu = Usage::of_this_process().since(before);
    if (failed_ || !server_before) return;
    if (const auto server_after = ask_usage(options_.to, options_.connection))
        result_.server = server_after->since(*server_before);
}

bool Bench::stopped() const { return Signals::stop() || (options_.stop != nullptr && *options_.stop); }

void Bench::connect_all() {
    std::size_t begun = 0;
    while (connected_ < lanes_.size() && !failed_) {
        if (Signals::stop()) throw Interrupted();
        while (begun < lanes_.size() && begun - connected_ < connecting_at_once) lanes_[begun++]->connect();
        step(look_about_ns, false);
    }
}

void Bench::measure() {
    const std::int64_t begun = base::steady_ns();
    last_ns_ = begun;
    if (options_.bits_per_sec) {
        measure_paced(begun);
    } else {
        stop_ns_ = options_.count != 0 ? std::numeric_limits<std::int64_t>::max()
                                       : begun + static_cast<std::int64_t>(options_.duration_ns);
        for (const auto& lane : lanes_) post_freely(*lane, begun);
        while (any_busy() && !failed_) {
            if (stopped()) stop_ns_ = 0;
            step(look_about_ns, true);
            fail_if_stuck();
        }
    }
    if (!failed_)
        for (const auto& lane : lanes_) lane->flush();
    while (any_busy() && !failed_) {
        step(look_about_ns, false);
        fail_if_stuck();
    }
    result_.duration_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(last_ns_ - begun, 1));
}

/// Every connection has a request due once a period; the connections' beginnings are spread over the first one.
void Bench::measure_paced(std::int64_t begun_ns) {
    struct Due {
        std::int64_t at_ns;
        std::uint32_t lane;
        bool operator>(const Due& other) const { return at_ns > other.at_ns; }
    };
    const double period = static_cast<double>(options_.size) * 8e9 / static_cast<double>(*options_.bits_per_sec);
    const auto due_of = [&](std::uint32_t lane, std::uint64_t number) {
        const double share = static_cast<double>(lane) / static_cast<double>(lanes_.size());
        return begun_ns + static_cast<std::int64_t>((static_cast<double>(number) + share) * period);
    };
    std::priority_queue<Due, std::vector<Due>, std::greater<>> queue;
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) queue.push({due_of(i, 0), i});
    stop_ns_ = options_.count != 0 ? std::numeric_limits<std::int64_t>::max()
                                   : begun_ns + static_cast<std::int64_t>(options_.duration_ns);
    // A sender that was delayed starts its due requests late; a sender that cannot keep the rate would never catch up.
    const auto far_behind = [&](const Lane& lane, std::int64_t due_ns) {
        const double left = static_cast<double>(stop_ns_ - due_ns) / period;
        return left > static_cast<double>(lane.posted()) / 10 + static_cast<double>(options_.depth);
    };
    std::vector<std::uint32_t> late;  // due, but as many outstanding as may be
    while ((!queue.empty() || !late.empty() || any_busy()) && !failed_) {
        if (stopped()) stop_ns_ = 0;
        const std::int64_t now = base::steady_ns();
        for (std::size_t i = late.size(); i-- > 0;) {
            if (!lanes_[late[i]]->room()) continue;
            queue.push({due_of(late[i], lanes_[late[i]]->posted()), late[i]});
            late[i] = late.back();
            late.pop_back();
        }
        while (!queue.empty() && (queue.top().at_ns <= now || queue.top().at_ns >= stop_ns_)) {
            const std::uint32_t i = queue.top().lane;
            const std::int64_t due = queue.top().at_ns;
            queue.pop();
            Lane& lane = *lanes_[i];
            if (due >= stop_ns_ || (now >= stop_ns_ && far_behind(lane, due))) continue;
            if (!lane.room()) {
                late.push_back(i);
                continue;
            }
            lane.post(now, due_of(i, lane.posted() + 1));
            if (more(lane)) queue.push({due_of(i, lane.posted()), i});
        }
        // Nothing would end the wait, which the flush after it is measured with.
        if (queue.empty() && late.empty() && !any_busy()) break;
        const std::int64_t wait = queue.empty() ? look_about_ns : queue.top().at_ns - base::steady_ns();
        step(std::clamp<std::int64_t>(wait, 0, look_about_ns), false);
        fail_if_stuck();
    }
}

bool Bench::more(const Lane& lane) const { return options_.count == 0 || lane.posted() < options_.count; }

void Bench::post_freely(Lane& lane, std::int64_t now_ns) {
    while (now_ns < stop_ns_ && lane.room() && more(lane)) lane.post(now_ns);
}

bool Bench::any_busy() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->busy(); });
}

void Bench::step(std::int64_t wait_ns, bool post) {
    device_->progress(std::chrono::nanoseconds(wait_ns));
    std::array<iwarp::Completion, 64> done;
    while (const std::size_t count = shared_.completions->poll(done)) {
        const std::int64_t now = base::steady_ns();
        for (std::size_t i = 0; i < count; ++i) {
            if (done[i].status != iwarp::Status::success) {
                // What ended the connection comes first in the queue; the rest is flushed.
                if (status_ == iwarp::Status::success) status_ = done[i].status;
                failed_ = true;
                continue;
            }
            Lane& lane = *lanes_[Lane::index_of(done[i])];
            lane.completed(done[i], now);
            last_ns_ = now;
            if (post) post_freely(lane, now);
        }
    }
    take_events();
}

void Bench::take_events() {
    using Kind = iwarp::Event::Kind;
    while (const auto event = device_->next_event()) {
        switch (event->kind) {
            case Kind::established:
                try {
                    static_cast<Lane*>(event->queue_pair->context)->established(event->private_data);
                    ++connected_;
                } catch (const iwarp::Error& error) {
                    fail(error.what());
                }
                break;
            case Kind::rejected:
            case Kind::connect_failed:
            case Kind::terminated:
            case Kind::disconnected: fail(explain(options_.to, *event)); break;
            case Kind::completion_overflow: fail("completions were lost: lower --depth or --connections"); break;
            default: break;
        }
    }
}

void Bench::fail_if_stuck() {
    const std::int64_t now = base::steady_ns();
    if (now - std::max(last_ns_, waiting_since_ns_) < static_cast<std::int64_t>(options_.timeout_ns)) return;
    if (!any_busy()) {  // between requests that are far apart there is nothing to wait for
        waiting_since_ns_ = now;
        return;
    }
    fail(fmt::format("{}: nothing has completed for {}; is what listens there `rdmascope endpoint serve`?",
                     text_of(options_.to), base::format_duration(options_.timeout_ns)));
}

void Bench::fail(const std::string& what) {
    failed_ = true;
    if (result_.error.empty()) result_.error = what;
}

/// A request has failed: the event that says why may come a moment later.
void Bench::explain_failure() {
    const std::int64_t until = base::steady_ns() + 500'000'000;
    while (result_.error.empty() && base::steady_ns() < until) step(look_about_ns / 10, false);
    if (result_.error.empty())
        result_.error = fmt::format("{}: a request failed: {}", text_of(options_.to), iwarp::name_of(status_));
}

void Bench::disconnect_all() {
    std::size_t open = 0;
    for (const auto& lane : lanes_) {
        if (lane->queue_pair()->state() != iwarp::QueuePairState::connected) continue;
        lane->queue_pair()->disconnect();
        ++open;
    }
    const std::int64_t until = base::steady_ns() + farewell_ns;
    std::array<iwarp::Completion, 64> done;
    while (open > 0 && base::steady_ns() < until) {
        device_->progress(std::chrono::milliseconds(10));
        while (shared_.completions->poll(done) != 0) continue;
        while (const auto event = device_->next_event())
            if (event->kind == iwarp::Event::Kind::disconnected && open > 0) --open;
    }
}

}  // namespace cli::endpoint
