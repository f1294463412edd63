#include "cli/top/history_feed.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <utility>

#include "base/moment.h"
#include "metrics/figures/snapshot_sum.h"

namespace cli::top {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t read_at_once = 32;
constexpr std::chrono::duration<double> history_patience(1.5);  ///< for the readings of a whole history

std::int64_t end_of(const history::HistoryInterval& interval) {
    return interval.start_ns + static_cast<std::int64_t>(interval.length_ns);
}

}  // namespace

std::unique_ptr<HistoryFeed> HistoryFeed::open(const analysis::AnalysisOptions& options, const Pace& pace,
                                               std::string& error) {
    const std::string directory = options.history.value_or(history::default_history);
    auto reader = history::HistoryReader::open(directory);
    if (!reader) {
        error = reader.error().text();
        return nullptr;
    }
    const auto extent = (*reader)->extent();
    if (!extent) {
        error = fmt::format("{}: the history is empty yet", directory);
        return nullptr;
    }
    const std::int64_t begin_ns = std::max(options.from_ns.value_or(extent->first_ns), extent->first_ns);
    const std::int64_t end_ns = std::min(options.to_ns.value_or(extent->last_ns), extent->last_ns);
    if (begin_ns >= end_ns) {
        error = fmt::format("{}: nothing was recorded from {} to {}; the history goes from {} to {}", directory,
                            base::moment(options.from_ns.value_or(extent->first_ns)),
                            base::moment(options.to_ns.value_or(extent->last_ns)), base::moment(extent->first_ns),
                            base::moment(extent->last_ns));
        return nullptr;
    }
    return std::unique_ptr<HistoryFeed>(
        new HistoryFeed(std::move(reader).value(), directory, begin_ns, end_ns, options.max_flows, pace));
}

HistoryFeed::HistoryFeed(std::unique_ptr<history::HistoryReader> reader, std::string directory, std::int64_t begin_ns,
                         std::int64_t end_ns, std::size_t max_flows, const Pace& pace)
    : FeedThread(tui::SourceKind::history, std::move(directory), pace),
      reader_(std::move(reader)),
      begin_ns_(begin_ns),
      end_ns_(end_ns),
      max_flows_(max_flows),
      own_speed_(!pace.speed),
      read_ns_(begin_ns),
      now_ns_(begin_ns) {
    update([&](tui::FeedStatus& status) {
        status.playable = true;
        status.begin_ns = status.now_ns = begin_ns;
        status.end_ns = end_ns;
    });
    start([this] { work(); });
}

void HistoryFeed::end(std::string trouble) {
    ended_ = true;
    update([&](tui::FeedStatus& status) {
        status.trouble = std::move(trouble);
        if (!status.trouble.empty()) status.health = tui::FeedStatus::Health::failed;
    });
}

/// The next stored interval; null at the end.
const history::HistoryInterval* HistoryFeed::next() {
    if (ahead_.empty() && !ended_) {
        const auto read = reader_->read(read_ns_, end_ns_, [this](history::HistoryInterval&& interval) {
            ahead_.push_back(std::move(interval));
            return ahead_.size() < read_at_once;
        });
        if (!read) {
            end(read.error().text());
            return nullptr;
        }
        if (const std::uint64_t damaged = reader_->damaged_records(); damaged != 0)
            update([&](tui::FeedStatus& status) {
                status.warnings = {"left out of the history: " + base::format_counted(damaged, "damaged interval")};
            });
        if (ahead_.empty()) {
            end({});
            return nullptr;
        }
        for (const history::HistoryInterval& interval : ahead_) read_ns_ = std::max(read_ns_, end_of(interval));
        update([](tui::FeedStatus& status) { status.health = tui::FeedStatus::Health::good; });
    }
    return ahead_.empty() ? nullptr : &ahead_.front();
}

/// Makes an interval part of the reading that comes next.
void HistoryFeed::add(history::HistoryInterval&& interval) {
    const std::int64_t end_ns = end_of(interval);
    if (!group_) {
        group_ = std::make_shared<tui::Reading>();
        group_->start_ns = interval.start_ns;
        group_->interval = std::move(interval.difference);
        group_->crc_verified = interval.crc_verified;
    } else {
        group_->crc_verified = group_->crc_verified && interval.crc_verified;
        metrics::merge(group_->interval, std::move(interval.difference));
    }
    group_->length_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(end_ns - group_->start_ns, 1));
}

bool HistoryFeed::take_one() {
    if (next() == nullptr) return false;
    now_ns_ = std::max(now_ns_, end_of(ahead_.front()));
    add(std::move(ahead_.front()));
    ahead_.pop_front();
    return true;
}

void HistoryFeed::publish_group() {
    if (!group_) return;
    metrics::SnapshotSum sum(max_flows_);
    if (previous_) sum.add(metrics::Snapshot(previous_->total));
    sum.add(metrics::Snapshot(group_->interval));
    group_->total = sum.take();
    if (previous_) group_->crc_verified = group_->crc_verified && previous_->crc_verified;
    group_->restarted = std::exchange(restarted_, false);
    const double whole = static_cast<double>(end_ns_ - begin_ns_);
    const double share = static_cast<double>(group_->end_ns() - begin_ns_) / whole;
    previous_ = group_;
    end_reported_ = ended_;
    publish(std::exchange(group_, nullptr), ended_);
    update([&](tui::FeedStatus& status) { status.share = std::clamp(share, 0.0, 1.0); });
}

/// Shows the interval in which a time lies, and all before it as the whole.
void HistoryFeed::jump(std::int64_t to_ns) {
    to_ns = std::clamp(to_ns, begin_ns_, end_ns_ - 1);
    ahead_.clear();
    group_.reset();
    previous_.reset();
    ended_ = end_reported_ = false;
    restarted_ = true;
    read_ns_ = to_ns;
    now_ns_ = to_ns;
    update([](tui::FeedStatus& status) { status.at_end = false; });
    const history::HistoryInterval* const there = next();
    if (there == nullptr) return;
    if (there->start_ns > begin_ns_) {
        auto before = reader_->merged(begin_ns_, there->start_ns, max_flows_,
                                      [this](auto, auto) { return !stopping() && !ordered(); });
        if (!before) return end(before.error().text());
        auto whole = std::make_shared<tui::Reading>();
        whole->total = std::move(before->whole);
        whole->crc_verified = before->crc_verified;
        previous_ = std::move(whole);
    }
    take_one();
    publish_group();
}

void HistoryFeed::take_steps(int intervals) {
    if (intervals < 0) {
        std::int64_t to_ns = previous_ ? previous_->start_ns : begin_ns_;
        const auto length = static_cast<std::int64_t>(previous_ ? previous_->length_ns : 1);
        for (; intervals < -1 && to_ns > begin_ns_; ++intervals) to_ns -= length;
        return jump(to_ns - 1);
    }
    for (; intervals > 0 && take_one(); --intervals) publish_group();
}

/// Plays at full speed, with a reading for each interval, so that events have the times of their intervals. If readings
/// of many flows take long, several intervals share a reading.
void HistoryFeed::rush(Clock::time_point tick) {
    while (Clock::now() < tick && !ordered() && !stopping() && take_one()) {
        if (group_->length_ns < rush_stride_ns_ && !ahead_.empty()) continue;
        const std::uint64_t length_ns = std::max<std::uint64_t>(group_->length_ns, 1);
        const Clock::time_point before = Clock::now();
        publish_group();
        const double left = static_cast<double>(end_ns_ - begin_ns_) / static_cast<double>(length_ns);
        const double too_long = left * std::chrono::duration<double>(Clock::now() - before) / history_patience;
        if (too_long > 1) rush_stride_ns_ = static_cast<std::uint64_t>(static_cast<double>(length_ns) * too_long);
        let_take();
    }
    publish_group();
}

void HistoryFeed::play_on(const Orders& orders, Clock::time_point tick) {
    if (orders.speed == 0) return rush(tick);
    wait_until(tick);
    if (ordered() || stopping() || next() == nullptr) return;
    // Where nothing was recorded, no time is spent.
    if (ahead_.front().start_ns > now_ns_) now_ns_ = ahead_.front().start_ns;
    const double stride = static_cast<double>(orders.interval_ns) * orders.speed;
    const double room = static_cast<double>(end_ns_ - now_ns_) + static_cast<double>(orders.interval_ns);
    const std::int64_t until = now_ns_ + static_cast<std::int64_t>(std::min(stride, room));
    while (!ordered() && next() != nullptr && end_of(ahead_.front()) <= until) take_one();
    now_ns_ = until;
    publish_group();
}

void HistoryFeed::work() {
    Orders orders = first_orders();
    if (const history::HistoryInterval* const first = next(); first != nullptr && own_speed_) {
        const double speed = static_cast<double>(first->length_ns) / static_cast<double>(orders.interval_ns);
        set_speed(std::max(speed, 1.0));
    }
    Clock::time_point tick = Clock::now();
    while (!stopping()) {
        if (ordered()) {
            orders = take_orders();
            if (orders.seek_ns) jump(*orders.seek_ns);
            if (orders.steps != 0) take_steps(orders.steps);
            tick = Clock::now();
        } else if (orders.playing && !ended_) {
            tick = std::max(tick + nanoseconds(orders.interval_ns), Clock::now());
            play_on(orders, tick);
        } else {
            if (ended_ && !std::exchange(end_reported_, true))
                update([](tui::FeedStatus& status) { status.at_end = true; });
            wait_until(Clock::time_point::max());
        }
    }
}

}  // namespace cli::top
