#include "fleet/sink/sink.h"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <pthread.h>

#include "base/clock.h"

namespace fleet::sink {
namespace {

/// Of one insert.
constexpr std::size_t most_files = 64;
constexpr std::uint64_t most_octets = std::uint64_t{16} << 20;
constexpr std::chrono::milliseconds first_pause{500};
constexpr std::chrono::milliseconds longest_pause{30'000};
constexpr std::chrono::milliseconds look_again{1'000};
/// How long the end of a daemon waits for an engine that answers.
constexpr std::int64_t patience_at_end_ns = 3'000'000'000;

}  // namespace

base::Result<std::unique_ptr<Sink>> Sink::open(SinkOptions options, const metrics::HostNames& names, Log log) {
    auto spool = Spool::open(options.spool, options.max_spool_octets);
    if (!spool) return base::Failure{spool.error()};
    return std::unique_ptr<Sink>(new Sink(std::move(options), names, std::move(log), std::move(spool).value()));
}

Sink::Sink(SinkOptions options, const metrics::HostNames& names, Log log, std::unique_ptr<Spool> spool)
    : options_(std::move(options)),
      names_(names),
      log_(std::move(log)),
      spool_(std::move(spool)),
      rows_(options_.host, options_.boot, options_.start_ns),
      client_(options_.access),
      lines_(options_.jsonl) {
    client_.abort_when([this] { return ends(); });
    lines_.abort_when([this] { return ends(); });
}

Sink::~Sink() {
    static_cast<void>(end({}));
    if (sender_.joinable()) sender_.join();
}

void Sink::start() {
    due_ns_ = base::steady_ns() + static_cast<std::int64_t>(options_.interval_ns);
    maker_ = std::thread([this] { make_rows(); });
    sender_ = std::thread([this] { send_files(); });
}

/// A little early is on time: the engine's intervals do not end to the nanosecond.
bool Sink::is_due(std::int64_t now_steady_ns) const {
    constexpr std::int64_t slack_ns = 20'000'000;
    return now_steady_ns + slack_ns >= due_ns_;
}

void Sink::offer(Interval interval, std::int64_t now_steady_ns) {
    if (!is_due(now_steady_ns)) return;
    const auto step = static_cast<std::int64_t>(options_.interval_ns);
    due_ns_ += (1 + std::max<std::int64_t>(now_steady_ns - due_ns_, 0) / step) * step;
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(interval);
    changed_.notify_all();
}

base::Result<void> Sink::end(std::optional<Interval> last) {
    {
        const std::lock_guard lock(mutex_);
        if (last && !last_was_offered_) waiting_ = std::move(last);
        last_was_offered_ = true;
        changed_.notify_all();
    }
    if (maker_.joinable()) maker_.join();
    {
        const std::lock_guard lock(mutex_);
        if (!give_up_ns_) give_up_ns_ = base::steady_ns() + patience_at_end_ns;
        changed_.notify_all();
    }
    if (!spool_failing_) return {};
    return base::failure("the last rows are lost: " + spool_error_);
}

void Sink::make_rows() {
    pthread_setname_np(pthread_self(), "fleet rows");
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return waiting_ || last_was_offered_; });
        if (!waiting_) break;
        Interval interval = *std::move(waiting_);
        waiting_.reset();
        interval.health.spool_octets = spool_->counters().octets;
        interval.health.intervals_dropped = spool_->counters().dropped;
        lock.unlock();
        keep(interval);
        lock.lock();
        changed_.notify_all();
    }
    rows_ended_ = true;
    changed_.notify_all();
}

/// Names sort by the time of the daemon's start, then by interval.
void Sink::keep(const Interval& interval) {
    const Batch batch = rows_.make(interval, names_);
    const auto kept = spool_->put(fmt::format("{:020}-{:010}", options_.boot, rows_.sequence()), batch.encoded());
    if (kept) rows_.accept();
    if (!kept) spool_error_ = kept.error().text();
    report(spool_failing_, kept, "rows are kept again");
    if (!kept) return;
    const std::lock_guard lock(mutex_);
    ++counters_.intervals_spooled;
    changed_.notify_all();
}

void Sink::report(bool& failing, const base::Result<void>& outcome, const std::string& again) {
    if (!outcome && !failing) log_(true, outcome.error().text());
    if (outcome && failing) log_(false, again);
    failing = !outcome;
}

bool Sink::ends() const {
    const std::lock_guard lock(mutex_);
    return give_up_ns_ && base::steady_ns() >= *give_up_ns_;
}

void Sink::send_files() {
    pthread_setname_np(pthread_self(), "fleet sink");
    std::chrono::milliseconds pause = first_pause;
    std::int64_t due_ns = 0;
    while (!ends()) {
        wait_until(due_ns);
        // Lines are many times longer than what they are made of: one interval at a time.
        const std::size_t files = options_.jsonl.empty() ? most_files : 1;
        const std::vector<std::string> names = spool_->oldest(files, most_octets);
        if (!names.empty() && send(names)) {
            pause = first_pause;
            if (spool_->counters().files == 0)
                due_ns = base::steady_ns() + static_cast<std::int64_t>(options_.send_interval_ns);
            continue;
        }
        std::unique_lock lock(mutex_);
        if (names.empty() && rows_ended_ && last_was_offered_) return;
        const auto longest = names.empty() ? look_again : pause;
        if (!names.empty()) pause = std::min(2 * pause, longest_pause);
        const auto spooled = counters_.intervals_spooled;
        const bool ending = give_up_ns_.has_value();
        changed_.wait_for(lock, longest, [&] {
            return (names.empty() && counters_.intervals_spooled != spooled) || give_up_ns_.has_value() != ending;
        });
    }
}

/// Returns earlier when no more rows will come.
void Sink::wait_until(std::int64_t due_ns) {
    std::unique_lock lock(mutex_);
    for (std::int64_t now_ns = base::steady_ns(); now_ns < due_ns && !rows_ended_; now_ns = base::steady_ns())
        changed_.wait_for(lock, std::chrono::nanoseconds(due_ns - now_ns));
}

/// Sends files together: after an outage, the engine gets few large inserts. Whether the files were worked off.
bool Sink::send(const std::vector<std::string>& names) {
    Batch all;
    std::vector<std::string> good;
    base::Result<void> all_read;
    for (const std::string& name : names) {
        const auto octets = spool_->read(name);
        if (!octets) {
            // It stays: there may be no descriptors now. It has gone if there was no room for it, or if another program
            // removed it.
            if (spool_->has(name)) all_read = base::Failure{octets.error()};
            continue;
        }
        if (auto batch = Batch::decode(*octets)) {
            all.add(std::move(batch).value());
            good.push_back(name);
        } else {
            log_(true, fmt::format("{}: {}; its rows are lost", name, batch.error().text()));
            spool_->drop(name);
        }
    }
    report(reading_fails_, all_read, "the spool can be read again");
    if (!insert(all)) return false;
    for (const std::string& name : good) spool_->remove(name);
    const std::lock_guard lock(mutex_);
    counters_.intervals_sent += good.size();
    return all_read || !good.empty();
}

bool Sink::insert(const Batch& batch) {
    if (!options_.jsonl.empty()) return write_lines(batch);
    for (const Section& section : batch.sections) {
        const auto sent = client_.insert(section.statement(), section.gzipped);
        report(sending_fails_, sent, "the engine takes rows again");
        const std::lock_guard lock(mutex_);
        if (!sent) ++counters_.failures;
        if (!sent) return false;
        counters_.rows_sent += section.rows;
    }
    return true;
}

bool Sink::write_lines(const Batch& batch) {
    const auto written = lines_.write(batch);
    report(sending_fails_, written, "rows are written again");
    const std::lock_guard lock(mutex_);
    if (!written) ++counters_.failures;
    if (!written) return false;
    for (const Section& section : batch.sections) counters_.rows_sent += section.rows;
    return true;
}

SinkCounters Sink::counters() const {
    const SpoolCounters spool = spool_->counters();
    const std::lock_guard lock(mutex_);
    SinkCounters out = counters_;
    out.spool = spool;
    return out;
}

}  // namespace fleet::sink
