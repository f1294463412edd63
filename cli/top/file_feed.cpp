#include "cli/top/file_feed.h"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "base/clock.h"

namespace cli::top {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t batch_frames = 1024;
constexpr std::uint64_t slowest_pace_ns = 1'000;  ///< least time of the capture in an interval
constexpr std::uint64_t rush_readings = 250;
constexpr std::uint64_t rush_least_ns = 10'000;
constexpr std::chrono::duration<double> rush_patience(1.5);  ///< time for all readings of a capture at full speed

std::string joined_paths(const std::vector<std::string>& paths) {
    std::string text;
    for (const std::string& path : paths) text += (text.empty() ? "" : ", ") + path.substr(path.rfind('/') + 1);
    return text;
}

/// The capture's time that passes in one interval of the screen.
std::uint64_t stride(std::uint64_t interval_ns, double speed) {
    const double ns = static_cast<double>(interval_ns) * (speed > 0 ? speed : 1);
    return std::max(slowest_pace_ns, static_cast<std::uint64_t>(std::min(ns, 1e18)));
}

}  // namespace

std::unique_ptr<FileFeed> FileFeed::open(const analysis::AnalysisOptions& options, const Pace& pace,
                                         std::string& error) {
    const auto expression = expression_of(options.expression, options.expression_path);
    if (!expression) {
        error = expression.error().text();
        return nullptr;
    }
    std::unique_ptr<FileFeed> feed(new FileFeed(options, pace, *expression));
    error = feed->open_files();
    if (!error.empty()) return nullptr;
    feed->start([raw = feed.get()] { raw->work(); });
    return feed;
}

FileFeed::FileFeed(const analysis::AnalysisOptions& options, const Pace& pace, std::string expression)
    : FeedThread(tui::SourceKind::file, joined_paths(options.read_paths), pace),
      options_(options),
      expression_(std::move(expression)),
      selection_(expression_, true),
      measuring_(options),
      batch_(batch_frames) {
    update([](tui::FeedStatus& status) {
        status.playable = true;
        status.has_packets = true;
    });
}

std::string FileFeed::open_files() {
    if (const auto error = measuring_.take_error()) return error->text();
    capture::FileOptions reading;
    reading.keep = analysis::thread_count(options_) > 1;
    auto opened = analysis::FileInput::open(options_.read_paths, reading);
    if (!opened) return opened.error().text();
    files_ = std::move(opened).value();
    selection_ = Selection(expression_, true);
    if (selection_.everything()) return {};
    for (const capture::InterfaceInfo& interface : files_->source().interfaces())
        if (!selection_.compile(interface.link_type, interface.snaplen)) return selection_.error().text();
    return {};
}

void FileFeed::end(std::string trouble) {
    ended_ = true;
    measuring_.finish();
    if (const auto error = measuring_.take_error(); error && trouble.empty()) trouble = error->text();
    update([&](tui::FeedStatus& status) {
        status.share = 1;
        status.end_ns = last_frame_ns_;
        status.trouble = std::move(trouble);
        if (!status.trouble.empty()) status.health = tui::FeedStatus::Health::failed;
    });
}

/// Publishes the end if no reading has published it: there was no further reading, or the last one ended at the same
/// time.
void FileFeed::report_end() {
    if (begin_ns_) return close(shown_ns_, now_ns_);
    end_reported_ = true;
    update([](tui::FeedStatus& status) { status.at_end = true; });
}

/// Reads the next frames that count; false at the end.
bool FileFeed::refill() {
    while (pending_.empty() && !ended_) {
        if (options_.max_packets && taken_ >= *options_.max_packets) {
            end({});
            return false;
        }
        const capture::Batch got = files_->source().next_batch(batch_);
        if (got.status == capture::ReadStatus::end) {
            end({});
            return false;
        }
        if (got.status == capture::ReadStatus::error) {
            end(files_->source().error().text());
            return false;
        }
        std::size_t kept = 0;
        for (const wire::Frame& frame : std::span(batch_).first(got.count)) {
            const auto answer = selection_.everything() ? Selection::Answer::yes
                                                        : selection_.matches(frame, files_->source().interfaces());
            if (answer == Selection::Answer::error) {
                end(selection_.error().text());
                return false;
            }
            if (answer == Selection::Answer::yes) batch_[kept++] = frame;
        }
        if (options_.max_packets) kept = std::min<std::uint64_t>(kept, *options_.max_packets - taken_);
        taken_ += kept;
        pending_ = {batch_.data(), kept};
    }
    if (pending_.empty()) return false;
    if (!begin_ns_) {
        begin_ns_ = pending_.front().time_ns;
        now_ns_ = shown_ns_ = last_frame_ns_ = *begin_ns_;
        update([&](tui::FeedStatus& status) {
            status.begin_ns = status.now_ns = *begin_ns_;
            status.health = tui::FeedStatus::Health::good;
        });
    }
    if (options_.duration_ns && pending_.front().time_ns >= base::later(*begin_ns_, *options_.duration_ns)) {
        pending_ = {};
        end({});
        return false;
    }
    return true;
}

bool FileFeed::advance(std::int64_t until_ns, Clock::time_point deadline) {
    while (!stopping() && refill()) {
        // Times may step back a little. Frames that are too early are measured in the order of the file.
        const auto first_after = std::find_if(pending_.begin(), pending_.end(), [until_ns](const wire::Frame& frame) {
            // No frame has a later time.
            return frame.time_ns >= until_ns && until_ns != base::end_of_time;
        });
        const auto count = static_cast<std::size_t>(first_after - pending_.begin());
        const std::span<const wire::Frame> now = pending_.first(count);
        if (!now.empty()) {
            ring_.keep(now);
            measuring_.expect_interfaces(files_->source().interfaces().size());
            measuring_.feed(now, files_->source().frames_last());
            for (const wire::Frame& frame : now) last_frame_ns_ = std::max(last_frame_ns_, frame.time_ns);
            pending_ = pending_.subspan(count);
        }
        if (!pending_.empty()) {
            now_ns_ = until_ns;
            return true;
        }
        if (Clock::now() >= deadline || ordered()) {
            now_ns_ = base::later(last_frame_ns_, 1);
            return false;
        }
    }
    // The last interval of a file ends with its last frame.
    now_ns_ = until_ns == base::end_of_time || ended_ ? base::later(last_frame_ns_, 1) : until_ns;
    return true;
}

void FileFeed::close(std::int64_t start_ns, std::int64_t end_ns) {
    const std::uint64_t length = std::max<std::uint64_t>(base::elapsed(start_ns, end_ns), 1);
    const std::int64_t begin_ns = base::earlier(end_ns, length);
    const std::optional<std::uint64_t> dropped = files_->source().statistics().kernel_dropped;
    auto reading = ended_ ? measuring_.close_last(begin_ns, length, dropped)
                          : measuring_.close(begin_ns, length, dropped, base::beginning_of_time);
    reading->restarted = std::exchange(restarted_, false);
    shown_ns_ = end_ns;
    const FrameRing::Extent kept = ring_.extent();
    const capture::FileSource::Progress progress = files_->progress();
    update([&](tui::FeedStatus& status) {
        status.packets_kept = kept.count;
        status.first_packet = kept.first;
        status.last_packet = kept.last;
        if (progress.total && *progress.total > 0 && !ended_)
            status.share = static_cast<double>(progress.octets) / static_cast<double>(*progress.total);
        if (status.end_ns && *status.end_ns > status.begin_ns)
            status.share = std::clamp(static_cast<double>(base::elapsed(status.begin_ns, end_ns)) /
                                          static_cast<double>(base::elapsed(status.begin_ns, *status.end_ns)),
                                      0.0, 1.0);
    });
    end_reported_ = ended_;
    publish(std::move(reading), ended_);
}

/// Opens the files again; false if that is impossible.
bool FileFeed::begin_again() {
    const std::vector<std::string>& paths = options_.read_paths;
    const bool piped = std::find(paths.begin(), paths.end(), "-") != paths.end();
    // The engine uses frames in the mapped file until it is destroyed.
    if (!piped) measuring_.restart();
    const std::string fault = piped ? "what came through a pipe cannot be played again" : open_files();
    if (!fault.empty()) {
        update([&](tui::FeedStatus& status) { status.warnings = {fault}; });
        return false;
    }
    ring_.clear();
    pending_ = {};
    ended_ = end_reported_ = false;
    restarted_ = true;
    rushes_to_end_ = false;
    taken_ = 0;
    begin_ns_.reset();
    update([](tui::FeedStatus& status) { status.at_end = false; });
    return true;
}

/// Shows the interval of `length_ns` that ends at a time.
void FileFeed::jump(std::int64_t to_ns, std::uint64_t length_ns) {
    if (to_ns < now_ns_ ? !begin_again() : ended_) return;
    if (!refill() && !begin_ns_) return;
    to_ns = std::max(to_ns, base::later(*begin_ns_, 1));
    const std::int64_t from_ns = std::max(*begin_ns_, base::earlier(to_ns, length_ns));
    if (from_ns > now_ns_) {
        if (!advance(from_ns, Clock::time_point::max())) return;
        if (!ended_) {
            // The time before is not a part of the reading's interval.
            static_cast<void>(
                measuring_.close(shown_ns_, 1, files_->source().statistics().kernel_dropped, base::beginning_of_time));
            shown_ns_ = from_ns;
        }
    }
    advance(to_ns, Clock::time_point::max());
    close(std::min(shown_ns_, base::earlier(now_ns_, 1)), now_ns_);
}

void FileFeed::take_steps(int intervals, const Orders& orders) {
    const std::uint64_t length = stride(orders.interval_ns, orders.speed);
    if (intervals < 0) {
        const double back = std::min(static_cast<double>(length) * -static_cast<double>(intervals), 4e18);
        return jump(base::earlier(shown_ns_, static_cast<std::uint64_t>(back)), length);
    }
    for (; intervals > 0 && !stopping() && !ended_; --intervals) {
        const std::int64_t start = shown_ns_;
        while (!advance(base::later(start, length), Clock::time_point::max()) && !stopping()) {
        }
        close(start, now_ns_);
    }
}

void FileFeed::handle_orders(Orders& orders) {
    orders = take_orders();
    if (orders.seek_ns) jump(*orders.seek_ns, stride(orders.interval_ns, orders.speed));
    if (orders.steps != 0) take_steps(orders.steps, orders);
}

/// The length of the captures, estimated from their beginning; 0 if unknown.
std::uint64_t FileFeed::estimated_ns() {
    const capture::FileSource::Progress progress = files_->progress();
    if (!refill() || !progress.total || progress.octets == 0) return 0;
    const auto seen = static_cast<double>(base::elapsed(*begin_ns_, pending_.back().time_ns));
    const double times = static_cast<double>(*progress.total) / static_cast<double>(progress.octets);
    return static_cast<std::uint64_t>(std::clamp(seen * times, 0.0, 1e18));
}

/// Readings of many flows take long. Makes as many as fit the time that a user waits.
void FileFeed::spend_less(Clock::duration one_reading) {
    const double left = static_cast<double>(rush_whole_ns_) / static_cast<double>(rush_stride_ns_);
    const double too_long = left * std::chrono::duration<double>(one_reading) / rush_patience;
    if (too_long > 1) rush_stride_ns_ = static_cast<std::uint64_t>(static_cast<double>(rush_stride_ns_) * too_long);
}

/// Reads as fast as possible, but in some hundreds of intervals of equal length, because charts are made of intervals.
void FileFeed::rush(Clock::time_point tick) {
    if (rush_stride_ns_ == 0) {
        rush_whole_ns_ = estimated_ns();
        rush_stride_ns_ = std::max(rush_whole_ns_ / rush_readings, rush_least_ns);
    }
    while (!ended_ && !ordered() && !stopping() && Clock::now() < tick) {
        const std::int64_t start = shown_ns_;
        std::int64_t until = base::later(start, rush_stride_ns_);
        // A pause that is longer than the estimated length is one interval.
        if (rushes_to_end_)
            until = base::end_of_time;
        else if (refill() && pending_.front().time_ns >= base::later(start, 2 * rush_readings * rush_stride_ns_))
            until = base::later(pending_.front().time_ns, 1);
        advance(until, tick);
        // If the tick came first, the interval continues at the next tick.
        if (now_ns_ < until && !ended_) continue;
        // Readings of very many flows would take more memory than the flows, so the interval lasts to the end.
        if (!ended_ && measuring_.has_many_flows()) {
            rushes_to_end_ = true;
            continue;
        }
        const Clock::time_point before = Clock::now();
        close(start, now_ns_);
        spend_less(Clock::now() - before);
        if (++rushed_ > 2 * rush_readings) {
            rush_stride_ns_ *= 2;
            rushed_ = 0;
        }
        let_take();
    }
}

void FileFeed::play_on(const Orders& orders, Clock::time_point tick) {
    if (orders.speed == 0) return rush(tick);
    wait_until(tick);
    if (ordered() || stopping()) return;
    const std::int64_t start = shown_ns_;
    advance(base::later(start, stride(orders.interval_ns, orders.speed)), Clock::time_point::max());
    if (now_ns_ > start) close(start, now_ns_);
}

void FileFeed::work() {
    Orders orders = first_orders();
    Clock::time_point tick = Clock::now();
    refill();
    while (!stopping()) {
        if (ordered()) {
            handle_orders(orders);
            tick = Clock::now();
        } else if (orders.playing && !ended_) {
            const nanoseconds interval(orders.interval_ns);
            // Missed intervals are skipped.
            tick = std::max(tick + interval, Clock::now());
            play_on(orders, tick);
        } else {
            if (ended_ && !end_reported_) report_end();
            wait_until(Clock::time_point::max());
        }
    }
}

}  // namespace cli::top
