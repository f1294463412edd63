#include "daemon/capture_thread.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <pthread.h>

#include "base/clock.h"
#include "capture/live/segment_view.h"
#include "daemon/capture_time.h"
#include "daemon/frame_requests.h"
#include "observe/traced_analyzer.h"
#include "upper/assignment.h"

namespace service {

namespace {

constexpr std::size_t batch_frames = 1024;
/// Each holds the figures of all flows; one that has to wait for its turn is longer, and loses nothing.
constexpr std::size_t intervals_waiting_max = 2;
constexpr std::uint64_t drops_period_ns = 100'000'000;
/// A ring holds what a busy process does in about 20 ms.
constexpr std::int64_t traces_period_ns = 5'000'000;

/// The configuration was checked when it was read.
std::vector<upper::Assignment> assignments_of(const CommandsConfig& config) {
    std::vector<upper::Assignment> assignments;
    for (const std::string& text : config.as)
        if (const auto assignment = upper::parse_assignment(text)) assignments.push_back(*assignment);
    return assignments;
}

metrics::AnalyzerOptions analyzer_options(const EngineConfig& config, const CommandsConfig& commands) {
    metrics::AnalyzerOptions options;
    options.engine.max_flows = config.max_flows;
    options.engine.link_bits_per_sec = config.link_bits_per_sec;
    options.engine.commands = true;
    options.engine.assignments = assignments_of(commands);
    options.dissector.parse.verify_crc = config.verify_crc;
    options.threads = static_cast<unsigned>(config.threads);
    return options;
}

RecordingsOptions recordings_options(const RecorderConfig& config) {
    return {.directory = config.directory,
            .after_ns = config.after_ns,
            .max_files = config.max_files,
            .max_file_octets = config.max_file_octets,
            .pause_ns = config.pause_ns};
}

std::uint32_t frame_octets(const Config& config) {
    if (config.capture.snaplen == 0) return 0xffff;
    return std::max(static_cast<std::uint32_t>(config.capture.snaplen), capture::management_octets);
}

/// What is stored of a frame. Segments of iWARP are captured whole, for all of their FPDUs to be measured; their
/// payload is the users' data, and stays out of recordings and streams unless `capture.snaplen` asks for it.
wire::Frame without_payload(const wire::Frame& frame, std::uint64_t snaplen) {
    wire::Frame stored = frame;
    if (snaplen != 0 && frame.bytes.size() > snaplen && capture::is_tcp(frame))
        stored.bytes = frame.bytes.first(snaplen);
    return stored;
}

std::unique_ptr<capture::FlightRecorder> recorder_for(const Config& config) {
    if (config.recorder.directory.empty()) return nullptr;
    capture::FlightRecorderOptions options;
    options.memory_octets = config.recorder.memory_octets;
    options.before_ns = config.recorder.before_ns;
    options.frame_octets = frame_octets(config);
    return std::make_unique<capture::FlightRecorder>(options);
}

struct EventKind {
    bool is_warning;
    std::string_view name;  ///< of what is limited together in the log
};

/// Each cause has a limit of its own: what anybody on the network can bring about must not hide what is wrong here.
EventKind kind_of(capture::TapEvent::Kind kind) {
    using Kind = capture::TapEvent::Kind;
    switch (kind) {
        case Kind::opened: return {false, "opened interfaces"};
        case Kind::lost: return {true, "lost interfaces"};
        case Kind::failed: return {true, "interface"};
        case Kind::narrowed: return {false, "iWARP ports"};
        case Kind::learning: return {true, "iWARP learning"};
        case Kind::flooded: return {true, "too many iWARP ports"};
    }
    return {true, "interface"};
}

}  // namespace

capture::TapOptions tap_options(const CaptureConfig& config) {
    capture::TapOptions options;
    options.interfaces = config.interfaces;
    options.ring.snaplen = static_cast<std::uint32_t>(config.snaplen);
    options.ring.buffer_octets = config.buffer_octets;
    options.ring.promiscuous = config.promiscuous;
    options.ring.timestamps = config.timestamps == "hardware"   ? capture::TimestampSource::hardware
                              : config.timestamps == "software" ? capture::TimestampSource::software
                                                                : capture::TimestampSource::automatic;
    options.rdma_only = config.rdma_only;
    options.filter = config.filter;
    for (const std::uint64_t port : config.iwarp_ports) options.iwarp_ports.push_back(static_cast<std::uint16_t>(port));
    options.iwarp_discovery = config.iwarp_discovery;
    options.iwarp_connections = static_cast<std::uint32_t>(config.iwarp_connections);
    options.ring.iwarp_snaplen = static_cast<std::uint32_t>(config.iwarp_snaplen);
    options.threads.reset();
    if (config.threads) options.threads = static_cast<unsigned>(*config.threads);
    return options;
}

capture::TapOptions tap_options(const Config& config) {
    capture::TapOptions options = tap_options(config.capture);
    const std::uint64_t spoken_of_ns =
        std::max(config.engine.idle_ns, config.recorder.before_ns + config.recorder.after_ns);
    options.number_rest_ns =
        std::max(options.number_rest_ns, static_cast<std::int64_t>(std::min<std::uint64_t>(spoken_of_ns, INT64_MAX)));
    return options;
}

struct CaptureThread::State {
    State(const Config& given, std::unique_ptr<Sources> from, std::unique_ptr<observe::TraceInput> traces, Hooks with)
        : config(given),
          sources(std::move(from)),
          hooks(std::move(with)),
          analyzer(analyzer_options(given.engine, given.commands), std::move(traces)),
          recorder(recorder_for(given)),
          frame_requests(frame_octets(given)),
          recordings(recordings_options(given.recorder)) {
        log_events();
        refresh_status();
        shown = mine;
    }

    void run();
    void handle_frames(std::span<const wire::Frame> frames);
    void count_drops();
    void handle_orders();
    Taken take_figures();
    void end_interval();
    void answer_request();
    void refresh_status();
    void log_events();
    std::vector<bool> gone_interfaces() const;
    /// Of this thread and those that read rings.
    std::int64_t cpu_ns() const { return base::now_ns(CLOCK_THREAD_CPUTIME_ID) + sources->threads_cpu_ns(); }
    base::Result<void> begin(const Incident& incident);
    /// Has `work` done by the capture thread; waits for its result.
    base::Result<void> order(std::function<base::Result<void>()> work);

    // Of the capture thread alone.
    Config config;
    std::unique_ptr<Sources> sources;
    Hooks hooks;
    std::uint64_t frames_end = 0;
    observe::TracedAnalyzer analyzer;
    std::unique_ptr<capture::FlightRecorder> recorder;
    FrameRequests frame_requests;
    Recordings recordings;
    std::int64_t interval_begin_ns = 0;  ///< steady, as is the next
    std::int64_t interval_due_ns = 0;    ///< when it ends
    std::int64_t traces_due_ns = 0;
    std::int64_t drops_due_ns = 0;
    std::int64_t cpu_then_ns = 0;
    std::uint64_t dropped = 0;         ///< by the kernel and by interfaces
    std::uint64_t kernel_dropped = 0;  ///< of these
    std::int64_t last_frame_ns = 0;
    CaptureTime capture_time;
    std::string source_error;
    CaptureThreadStatus mine;
    base::Result<void> recording_saved = {};  ///< at the end; read once the thread is no more

    // Shared.
    mutable std::mutex mutex;
    std::condition_variable answered;
    std::deque<Taken> waiting;
    Taken last;
    std::int64_t last_steady_ns = 0;
    std::vector<std::function<void()>> orders;
    CaptureThreadStatus shown;
    bool running = false;
    std::atomic<bool> wanted = false;  ///< somebody waits for fresh figures, or has orders
    std::atomic<bool> figures_wanted = false;
    std::atomic<bool> stopping = false;
    std::atomic<std::int64_t> alive_ns = base::steady_ns();
    std::thread thread;
};

void CaptureThread::State::run() {
    pthread_setname_np(pthread_self(), "capture");
    std::vector<wire::Frame> frames(batch_frames);
    interval_begin_ns = base::steady_ns();
    interval_due_ns = interval_begin_ns + static_cast<std::int64_t>(config.engine.interval_ns);
    cpu_then_ns = cpu_ns();
    while (!stopping.load(std::memory_order_relaxed)) {
        const capture::Batch batch = sources->next_batch(frames);
        if (batch.count > 0) handle_frames({frames.data(), batch.count});
        if (batch.status == capture::ReadStatus::error && sources->error().text() != source_error) {
            source_error = sources->error().text();
            hooks.log(true, "capture", source_error);
        }
        const std::int64_t now = base::steady_ns();
        if (now >= traces_due_ns) {
            analyzer.listen();
            traces_due_ns = now + traces_period_ns;
        }
        if (now >= drops_due_ns) {
            count_drops();
            log_events();
            frame_requests.tidy();
            alive_ns.store(now, std::memory_order_relaxed);
            drops_due_ns = now + static_cast<std::int64_t>(drops_period_ns);
        }
        if (wanted.load(std::memory_order_acquire)) handle_orders();
        if (now >= interval_due_ns) end_interval();
        if (recorder) recordings.progress(*recorder, base::wall_ns());
    }
    count_drops();
    analyzer.finish();
    if (recorder) recording_saved = recordings.finish(*recorder);
    log_events();
    end_interval();
    handle_orders();
    frame_requests.close();
}

void CaptureThread::State::handle_frames(std::span<const wire::Frame> frames) {
    const std::int64_t now = base::steady_ns();
    for (const wire::Frame& whole : frames) {
        if (!sources->is_recognised(whole, now)) continue;
        const wire::Frame frame = without_payload(whole, config.capture.snaplen);
        if (recorder)
            recorder->keep(frame);
        else
            frame_requests.keep(frame);
        if (recordings.recording()) recordings.frame(frame, sources->interfaces());
    }
    analyzer.expect_interfaces(sources->interfaces().size());
    analyzer.feed(frames, false);
    frames_end = frames.back().number;
    last_frame_ns = frames.back().time_ns;
    capture_time.passed(frames.back().interface, last_frame_ns, base::steady_ns());
}

void CaptureThread::State::count_drops() {
    const capture::Statistics counted = sources->statistics();
    const std::uint64_t now = counted.kernel_dropped.value_or(0) + counted.interface_dropped.value_or(0);
    if (now > dropped) analyzer.dropped(last_frame_ns, now - dropped);
    dropped = std::max(dropped, now);
    kernel_dropped = std::max(kernel_dropped, counted.kernel_dropped.value_or(0));
}

void CaptureThread::State::handle_orders() {
    wanted.store(false, std::memory_order_relaxed);
    std::vector<std::function<void()>> now;
    {
        const std::lock_guard lock(mutex);
        now.swap(orders);
    }
    for (const auto& order : now) order();
    if (figures_wanted.exchange(false)) answer_request();
    frame_requests.serve(recorder.get(), sources->interfaces());
}

Taken CaptureThread::State::take_figures() {
    auto snapshot = std::make_shared<metrics::Snapshot>(analyzer.snapshot());
    snapshot->capture.kernel_dropped = kernel_dropped;
    return {.snapshot = std::move(snapshot), .wall_ns = base::wall_ns(), .frames_end = frames_end};
}

void CaptureThread::State::end_interval() {
    const std::int64_t now = base::steady_ns();
    interval_due_ns = now + static_cast<std::int64_t>(config.engine.interval_ns);
    bool late = false;
    {
        const std::lock_guard lock(mutex);
        late = waiting.size() >= intervals_waiting_max && !stopping;
    }
    if (late) return hooks.log(true, "interval", "figures are not worked off in time: an interval is made longer");
    Taken taken = take_figures();
    const std::int64_t begun = std::exchange(interval_begin_ns, now);
    taken.length_ns = static_cast<std::uint64_t>(now - begun);
    mine.forgotten_flows += analyzer.begin_interval(capture_time.idle_since(now, taken.wall_ns, config.engine.idle_ns));
    const std::int64_t cpu = cpu_ns();
    if (now > begun)
        mine.busy_share =
            static_cast<double>(std::max<std::int64_t>(cpu - cpu_then_ns, 0)) / static_cast<double>(now - begun);
    cpu_then_ns = cpu;
    refresh_status();
    {
        const std::lock_guard lock(mutex);
        waiting.push_back(taken);
        last = std::move(taken);
        last_steady_ns = now;
        shown = mine;
    }
    answered.notify_all();
    hooks.interval();
}

void CaptureThread::State::answer_request() {
    Taken taken = take_figures();
    refresh_status();
    {
        const std::lock_guard lock(mutex);
        last = std::move(taken);
        last_steady_ns = base::steady_ns();
        shown = mine;
    }
    answered.notify_all();
}

void CaptureThread::State::refresh_status() {
    mine.interfaces = sources->interfaces();
    mine.statistics.clear();
    mine.open.clear();
    mine.hardware_timestamps.clear();
    for (std::size_t i = 0; i < mine.interfaces.size(); ++i) {
        mine.statistics.push_back(sources->statistics(i));
        mine.open.push_back(sources->is_open(i));
        mine.hardware_timestamps.push_back(sources->hardware_timestamps(i));
    }
    mine.learning = sources->learning();
    mine.trace_records = analyzer.records();
    mine.trace_records_lost = analyzer.records_lost();
    mine.recorder_frames = recorder ? recorder->extent().frames : 0;
    mine.recordings = recordings.counters();
}

void CaptureThread::State::log_events() {
    for (const capture::TapEvent& event : sources->events()) {
        const EventKind kind = kind_of(event.kind);
        hooks.log(kind.is_warning, std::string(kind.name), event.message);
    }
    for (const RecordingsMessage& line : recordings.messages()) hooks.log(line.wrong, "recorder", line.text);
    for (const std::string& line : analyzer.take_refusals()) hooks.log(true, "refused traces", line);
    if (const auto error = analyzer.take_error()) hooks.log(true, "kernel traces", error->text());
}

std::vector<bool> CaptureThread::State::gone_interfaces() const {
    std::vector<bool> gone(sources->interfaces().size());
    for (std::size_t i = 0; i < gone.size(); ++i) gone[i] = !sources->is_open(i);
    return gone;
}

base::Result<void> CaptureThread::State::begin(const Incident& incident) {
    if (!recorder)
        return base::failure("the flight recorder is off; `recorder.directory` (--record DIR) switches it on");
    return recordings.begin(incident, *recorder, sources->interfaces(), base::wall_ns(), gone_interfaces());
}

base::Result<void> CaptureThread::State::order(std::function<base::Result<void>()> work) {
    auto task = std::make_shared<std::packaged_task<base::Result<void>()>>(std::move(work));
    std::future<base::Result<void>> result = task->get_future();
    {
        const std::lock_guard lock(mutex);
        if (!running) return base::failure("the capture thread does not run");
        orders.emplace_back([task] { (*task)(); });
    }
    wanted.store(true, std::memory_order_release);
    sources->wake();
    if (result.wait_for(std::chrono::seconds(5)) != std::future_status::ready)
        return base::failure("the capture thread does not answer; what was asked for will be done when it does");
    return result.get();
}

CaptureThread::CaptureThread(const Config& config, std::unique_ptr<Sources> sources,
                             std::unique_ptr<observe::TraceInput> traces, Hooks hooks)
    : state_(std::make_unique<State>(config, std::move(sources), std::move(traces), std::move(hooks))) {
    state_->last.snapshot = std::make_shared<metrics::Snapshot>();
    state_->last.wall_ns = base::wall_ns();
}
CaptureThread::~CaptureThread() { static_cast<void>(stop()); }

void CaptureThread::start() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->running = true;
    }
    state_->thread = std::thread([this] { state_->run(); });
}

base::Result<void> CaptureThread::stop() {
    if (!state_->thread.joinable()) return state_->recording_saved;
    state_->stopping = true;
    state_->sources->wake();
    state_->thread.join();
    const std::lock_guard lock(state_->mutex);
    state_->running = false;
    return state_->recording_saved;
}

std::vector<Taken> CaptureThread::intervals() {
    const std::lock_guard lock(state_->mutex);
    std::vector<Taken> all(std::make_move_iterator(state_->waiting.begin()),
                           std::make_move_iterator(state_->waiting.end()));
    state_->waiting.clear();
    return all;
}

Taken CaptureThread::latest(std::uint64_t age_ns, std::uint64_t patience_ns) {
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    const std::int64_t enough =
        base::steady_ns() - static_cast<std::int64_t>(std::min<std::uint64_t>(age_ns, INT64_MAX / 2));
    if (state.last_steady_ns >= enough || !state.running) return state.last;
    state.figures_wanted = true;
    state.wanted.store(true, std::memory_order_release);
    state.sources->wake();
    state.answered.wait_for(lock, std::chrono::nanoseconds(patience_ns),
                            [&] { return state.last_steady_ns >= enough; });
    return state.last;
}

CaptureThreadStatus CaptureThread::status() const {
    const std::lock_guard lock(state_->mutex);
    CaptureThreadStatus status = state_->shown;
    status.alive_ns = state_->alive_ns.load(std::memory_order_relaxed);
    return status;
}

void CaptureThread::record(std::vector<Incident> incidents) {
    if (incidents.empty()) return;
    State& state = *state_;
    {
        const std::lock_guard lock(state.mutex);
        state.orders.emplace_back([&state, incidents = std::move(incidents)] {
            for (const Incident& incident : incidents)
                if (const auto begun = state.begin(incident); !begun)
                    state.hooks.log(false, "recorder",
                                    incident.trigger + ": " + incident.reason + "; " + begun.error().text());
        });
    }
    state.wanted.store(true, std::memory_order_release);
    state.sources->wake();
}

base::Result<void> CaptureThread::record_now(const Incident& incident) {
    return state_->order([this, incident] { return state_->begin(incident); });
}

base::Result<std::unique_ptr<FrameStream>> CaptureThread::frames(control::FramesOf which) {
    auto exchange = std::make_shared<FrameRequests::Exchange>();
    State& state = *state_;
    const auto opened = state.order([&state, exchange, which] {
        return state.frame_requests.open(which, state.recorder.get(), state.sources->interfaces(), exchange,
                                         state.gone_interfaces());
    });
    if (!opened) return base::Failure{opened.error()};
    return stream_of(std::move(exchange), [&state] {
        state.wanted.store(true, std::memory_order_release);
        state.sources->wake();
    });
}

base::Result<void> CaptureThread::reconfigure(const Config& config) {
    return state_->order([this, config]() -> base::Result<void> {
        State& state = *state_;
        if (const auto done = state.sources->reconfigure(tap_options(config)); !done)
            return base::Failure{done.error()};
        state.recordings.set_options(recordings_options(config.recorder));
        state.config = config;
        return {};
    });
}

}  // namespace service
