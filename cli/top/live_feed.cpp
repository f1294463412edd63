#include "cli/top/live_feed.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/clock.h"
#include "capture/live/packet_socket.h"
#include "cli/selection.h"

namespace cli::top {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t live_batch_frames = 1024;
constexpr int wait_ms = 50;
/// The kernel's buffer counts as memory of this process: a screen is no place for much.
constexpr std::uint64_t buffer_octets = std::uint64_t{12} << 20;
constexpr std::int64_t idle_ns =
    600'000'000'000;  ///< a flow without traffic for so long is forgotten, as by the daemon

}  // namespace

std::unique_ptr<LiveFeed> LiveFeed::open(const analysis::AnalysisOptions& options, const Pace& pace,
                                         std::string& error) {
    const auto expression = expression_of(options.expression, options.expression_path);
    if (!expression) {
        error = expression.error().text();
        return nullptr;
    }
    capture::TapOptions how;
    how.interfaces = options.interfaces;
    how.ring.snaplen = options.snaplen == capture::max_snaplen ? 0 : options.snaplen;
    how.ring.iwarp_snaplen = how.ring.snaplen;  // -s is for all that is captured
    how.ring.buffer_octets = options.buffer_kib != 0 ? std::uint64_t{options.buffer_kib} << 10 : buffer_octets;
    const unsigned threads = analysis::thread_count(options);
    how.threads = threads;
    how.ring.buffer_octets = capture::share_of_buffer(how.ring.buffer_octets, threads);
    how.ring.promiscuous = options.promiscuous;
    how.filter = *expression;
    how.rdma_only = expression->empty();
    const bool rdma_only = how.rdma_only;
    auto tap = capture::Tap::open(how);
    if (!tap) {
        error = tap.error().text();
        return nullptr;
    }
    // A name without a pattern that is not there is a slip of the pen: to wait for it would not tell.
    const auto is_open = [&](const std::string& name) {
        const auto& open = (*tap)->interfaces();
        return name == "any" || name.find_first_of("*?[") != std::string::npos ||
               std::any_of(open.begin(), open.end(), [&](const auto& interface) { return interface.name == name; });
    };
    const auto missing = std::find_if_not(options.interfaces.begin(), options.interfaces.end(), is_open);
    if (missing != options.interfaces.end()) {
        error = fmt::format("{}: no such interface; there are: {}", *missing, capture::names_of_interfaces());
        for (const capture::TapEvent& event : (*tap)->events())
            if (event.kind == capture::TapEvent::Kind::failed && event.interface == *missing) error = event.message;
        return nullptr;
    }
    auto trace = observe::open_live_trace({.kernel_events = options.kernel_events});
    if (!trace) {
        error = "--kernel-events: " + trace.error().text();
        return nullptr;
    }
    std::unique_ptr<LiveFeed> feed(new LiveFeed(std::move(tap).value(), std::move(trace).value(), options, pace));
    feed->update([&](tui::FeedStatus& status) { status.rdma_only = rdma_only; });
    return feed;
}

LiveFeed::LiveFeed(std::unique_ptr<capture::Tap> tap, std::unique_ptr<observe::TraceInput> trace,
                   const analysis::AnalysisOptions& options, const Pace& pace)
    : FeedThread(tui::SourceKind::live, fmt::format("{}", fmt::join(options.interfaces, ", ")), pace),
      max_packets_(options.max_packets),
      deadline_(options.duration_ns ? begin_ + nanoseconds(*options.duration_ns) : Clock::time_point::max()),
      tap_(std::move(tap)),
      measuring_(options, std::move(trace)) {
    tap_->set_wait_ms(wait_ms);
    update([](tui::FeedStatus& status) {
        status.health = tui::FeedStatus::Health::good;
        status.begin_ns = base::wall_ns();
        status.has_packets = true;
    });
    start([this] { work(); });
}

void LiveFeed::work() {
    std::vector<wire::Frame> frames(live_batch_frames);
    std::uint64_t interval_ns = take_orders().interval_ns;
    static_cast<void>(device_counters());
    for (bool wanted = true; wanted && !stopping() && Clock::now() < deadline_;) {
        const capture::Batch batch = tap_->next_batch(frames);
        if (batch.status == capture::ReadStatus::error)
            update([&](tui::FeedStatus& status) {
                status.health = tui::FeedStatus::Health::lost;
                status.trouble = tap_->error().text();
            });
        if (batch.count > 0)
            wanted = take({frames.data(), batch.count});
        else
            measuring_.listen();
        if (ordered()) interval_ns = take_orders().interval_ns;
        const Clock::time_point now = Clock::now();
        if (now - begin_ >= nanoseconds(interval_ns)) close_interval(now);
    }
    if (stopping()) return;
    measuring_.finish();
    close_interval(Clock::now());
    update([](tui::FeedStatus& status) { status.at_end = true; });
}

bool LiveFeed::take(std::span<const wire::Frame> frames) {
    if (max_packets_) frames = frames.first(std::min<std::uint64_t>(frames.size(), *max_packets_ - taken_));
    if (!frames.empty()) {
        ring_.keep(frames);
        measuring_.expect_interfaces(tap_->interfaces().size());
        measuring_.feed(frames, false);
        taken_ += frames.size();
        last_frame_ns_ = frames.back().time_ns;
    }
    return !max_packets_ || taken_ < *max_packets_;
}

void LiveFeed::count_drops() {
    const capture::Statistics counted = tap_->statistics();
    const std::uint64_t now = counted.kernel_dropped.value_or(0) + counted.interface_dropped.value_or(0);
    if (now > dropped_) measuring_.dropped(last_frame_ns_, now - dropped_);
    dropped_ = std::max(dropped_, now);
    kernel_dropped_ = std::max(kernel_dropped_, counted.kernel_dropped.value_or(0));
}

void LiveFeed::report_events() {
    using Kind = capture::TapEvent::Kind;
    bool changed = false;
    for (const capture::TapEvent& event : tap_->events()) {
        if (event.kind == Kind::learning)
            update([&](tui::FeedStatus& status) { status.warnings.push_back(event.message); });
        if (event.kind == Kind::opened) changed |= troubles_.erase(event.interface) > 0;
        if (event.kind != Kind::lost && event.kind != Kind::failed) continue;
        troubles_[event.interface] = event.message;
        changed = true;
    }
    if (!changed) return;
    update([this](tui::FeedStatus& status) {
        status.health = troubles_.empty() ? tui::FeedStatus::Health::good : tui::FeedStatus::Health::lost;
        status.trouble.clear();
        for (const auto& [interface, message] : troubles_)
            status.trouble += (status.trouble.empty() ? "" : "; ") + message;
    });
}

void LiveFeed::close_interval(Clock::time_point now) {
    count_drops();
    report_events();
    const auto length = static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(now - begin_).count());
    begin_ = now;
    const std::int64_t end_ns = base::wall_ns();
    auto reading =
        measuring_.close(end_ns - static_cast<std::int64_t>(length), length, kernel_dropped_, end_ns - idle_ns);
    reading->counters = device_counters();
    const FrameRing::Extent kept = ring_.extent();
    update([&](tui::FeedStatus& status) {
        status.packets_kept = kept.count;
        status.first_packet = kept.first;
        status.last_packet = kept.last;
    });
    publish(std::move(reading));
}

}  // namespace cli::top
