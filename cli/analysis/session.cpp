#include "cli/analysis/session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "capture/link_type.h"
#include "cli/analysis/analyzer_options.h"
#include "cli/analysis/file_input.h"
#include "cli/analysis/recall.h"
#include "cli/analysis/watch.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/live.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/signals.h"
#include "cli/unknown_links.h"
#include "exporters/device_json.h"
#include "exporters/flow_fields.h"
#include "metrics/measure/engine/analyzer.h"
#include "observe/counter_watch.h"
#include "observe/traced_analyzer.h"

namespace cli::analysis {

namespace {

constexpr std::size_t batch_frames = 1024;
constexpr std::size_t most_counter_octets = std::size_t{256} << 20;
using Clock = std::chrono::steady_clock;

/// The text of a file of counters. The error is a sentence.
base::Result<std::string, std::string> read_text(const std::string& path) {
    const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return base::Failure{fmt::format("{}: {}", path, std::strerror(errno))};
    auto text = base::read_file(file.number(), most_counter_octets + 1);
    if (!text) return base::Failure{fmt::format("{}: {}", path, std::strerror(errno))};
    if (text->size() > most_counter_octets) return base::Failure{path + ": is too large to be a file of counters"};
    return std::move(*text);
}

}  // namespace

struct Session::State {
    State(const AnalysisOptions& settings, std::string name)
        : options(settings),
          command(std::move(name)),
          host_names(settings.names, settings.node_names_path),
          selection({}, true),
          progress(is_terminal(STDERR_FILENO)) {}

    void fail(const std::string& message) {
        progress.wipe();
        print_message("rdmascope {}: {}", command, message);
        failed = true;
    }
    bool open();
    bool open_trace();
    bool read_counters();
    bool watch_daemon();
    bool recall_history();
    void report_listening() const;
    void pump();
    /// Measures the frames that count; false if no more frames are needed.
    bool take(std::span<wire::Frame> frames);
    std::size_t select(std::span<wire::Frame> frames, bool& go_on);
    void count_cut(std::span<const wire::Frame> frames);
    void feed(std::span<const wire::Frame> frames);
    void close_interval();
    void count_drops();
    void between_batches();
    capture::Source& source() const {
        if (live) return *live;
        return files->source();
    }

    const AnalysisOptions& options;
    std::string command;
    Names host_names;
    std::unique_ptr<FileInput> files = {};
    std::unique_ptr<LiveSources> live = {};
    Selection selection;
    Progress progress;
    std::optional<Signals> signals = {};
    std::optional<observe::TracedAnalyzer> analyzer = {};

    std::uint64_t interval_ns = 0;
    IntervalSink sink = {};
    BytesSink bytes_sink = {};
    FrameSink frame_sink = {};
    std::optional<std::int64_t> interval_start_ns = {};
    bool only_changes = false;
    metrics::Snapshot previous = {};

    std::uint64_t taken = 0;  ///< frames that the expression selected
    std::optional<std::int64_t> stop_ns = {};
    Clock::time_point deadline = Clock::time_point::max();
    std::int64_t last_ns = 0;
    std::uint64_t dropped = 0;
    CutFrames cut_frames = {};
    Clock::time_point drops_due = {};
    bool wanted = true;  ///< the sink still wants intervals
    bool failed = false;
    bool mistaken = false;  ///< the failure is a mistake in the expression
    bool crc_verified = true;
    std::string policy_file = {};
    metrics::Snapshot result = {};
    observe::CounterWatch counters = {};  ///< of this machine's devices, for live packets
    metrics::DeviceFigures devices = {};
};

bool Session::State::open() {
    auto expression = expression_of(options.expression, options.expression_path);
    if (!expression) {
        fail(expression.error().text());
        return false;
    }
    if (!options.interfaces.empty()) {
        capture::LiveOptions how;
        how.snaplen = options.snaplen;
        how.promiscuous = options.promiscuous;
        how.buffer_kib = options.buffer_kib;
        how.filter = *expression;
        auto opened = LiveSources::open(options.interfaces, std::move(how), LiveScope::rdma, thread_count(options));
        if (!opened) {
            mistaken = is_mistaken(*expression);
            fail(opened.error().text());
            return false;
        }
        live = std::move(opened).value();
        report_listening();
        if (options.duration_ns) deadline = Clock::now() + std::chrono::nanoseconds(*options.duration_ns);
        return true;
    }
    capture::FileOptions reading;
    reading.stop = Signals::stop;
    reading.keep = thread_count(options) > 1;
    auto opened = FileInput::open(options.read_paths, reading);
    if (!opened) {
        fail(opened.error().text());
        return false;
    }
    files = std::move(opened).value();
    if (expression->empty()) return true;
    selection = Selection(*expression, true);
    for (const capture::InterfaceInfo& interface : source().interfaces())
        if (!selection.compile(interface.link_type, interface.snaplen)) {
            mistaken = true;
            fail(selection.error().text());
            return false;
        }
    return true;
}

bool Session::State::open_trace() {
    std::unique_ptr<observe::TraceInput> trace;
    if (options.trace_path) {
        auto opened = observe::open_trace_file(*options.trace_path);
        if (!opened) {
            fail(opened.error().text());
            return false;
        }
        trace = std::move(opened).value();
    } else if (live) {
        auto opened = observe::open_live_trace({.kernel_events = options.kernel_events});
        if (!opened) {
            fail("--kernel-events: " + opened.error().text());
            return false;
        }
        trace = std::move(opened).value();
    }
    analyzer.emplace(analyzer_options(options), std::move(trace));
    return true;
}

bool Session::State::read_counters() {
    if (!options.counters_path) return true;
    const auto text = read_text(*options.counters_path);
    if (!text) {
        fail("--counters " + text.error());
        return false;
    }
    auto read = exporters::parse_device_document(*text);
    if (!read) {
        fail(fmt::format("--counters {}: {}", *options.counters_path, read.error().text()));
        return false;
    }
    devices = std::move(read).value();
    return true;
}

bool Session::State::watch_daemon() {
    Watch watch(*options.connect);
    watch.interval_ns = interval_ns;
    watch.duration_ns = options.duration_ns;
    watch.stop = Signals::stop;
    watch.sink = [this, &watch](const Interval& interval) {
        crc_verified = watch.crc_verified();
        host_names.learn(interval.difference.names);
        return interval.difference.flows.empty() || sink(interval);
    };
    const std::string fault = watch.run();
    result = watch.take_result();
    host_names.learn(result.names);
    crc_verified = watch.crc_verified();
    policy_file = watch.policy_file();
    devices = watch.devices();
    if (!fault.empty()) fail(fault);
    if (Signals::stop() && is_terminal(STDERR_FILENO)) print_message("");
    return watch.began();
}

bool Session::State::recall_history() {
    const auto learning_sink = [this](const Interval& interval) {
        host_names.learn(interval.difference.names);
        return sink(interval);
    };
    Recalled recalled = recall(options, interval_ns, sink ? IntervalSink(learning_sink) : sink, Signals::stop);
    result = std::move(recalled.whole);
    host_names.learn(result.names);
    crc_verified = recalled.crc_verified;
    if (recalled.damaged != 0)
        print_message("rdmascope {}: left out of the history: {}", command,
                      base::format_counted(recalled.damaged, "damaged interval"));
    if (!recalled.error.empty()) fail(recalled.error);
    if (Signals::stop() && is_terminal(STDERR_FILENO)) print_message("");
    return recalled.any;
}

void Session::State::report_listening() const {
    for (const std::string& warning : live->warnings()) print_message("rdmascope {}: {}", command, warning);
    for (const capture::InterfaceInfo& interface : live->interfaces())
        print_message("rdmascope {}: listening on {}, link-type {} ({}), snapshot length {} bytes", command,
                      interface.name, capture::link_type_name(interface.link_type),
                      capture::link_type_description(interface.link_type), interface.snaplen);
}

void Session::State::pump() {
    std::vector<wire::Frame> own(batch_frames);
    while (!Signals::stop() && wanted && Clock::now() < deadline) {
        std::span<wire::Frame> frames;
        if (interval_ns == 0 && source().frames_last()) frames = analyzer->room();
        if (frames.empty()) frames = own;
        const capture::Batch batch = source().next_batch(frames);
        if (batch.status == capture::ReadStatus::end) return;
        if (batch.status == capture::ReadStatus::error) {
            // If the user stops the program inside a stream, the source reports a cut file.
            if (!Signals::stop()) fail(source().error().text());
            return;
        }
        if (batch.count > 0 && !take({frames.data(), batch.count})) return;
        between_batches();
    }
}

bool Session::State::take(std::span<wire::Frame> frames) {
    bool go_on = true;
    std::size_t count = frames.size();
    if (!selection.everything() || (options.duration_ns && !live)) count = select(frames, go_on);
    if (options.max_packets && *options.max_packets - taken <= count) {
        count = static_cast<std::size_t>(*options.max_packets - taken);
        go_on = false;
    }
    if (count == 0) return go_on;
    taken += count;
    last_ns = frames[count - 1].time_ns;
    feed(frames.first(count));
    return go_on && wanted;
}

/// Moves the frames that count to the front; returns how many they are.
std::size_t Session::State::select(std::span<wire::Frame> frames, bool& go_on) {
    std::size_t kept = 0;
    for (const wire::Frame& frame : frames) {
        if (options.duration_ns && !live) {
            if (!stop_ns) stop_ns = base::later(frame.time_ns, *options.duration_ns);
            if (frame.time_ns >= *stop_ns) {
                go_on = false;
                break;
            }
        }
        if (!selection.everything()) {
            const Selection::Answer answer = selection.matches(frame, source().interfaces());
            if (answer == Selection::Answer::error) {
                fail(selection.error().text());
                go_on = false;
                break;
            }
            if (answer == Selection::Answer::no) continue;
        }
        frames[kept++] = frame;
    }
    return kept;
}

void Session::State::count_cut(std::span<const wire::Frame> frames) {
    for (const wire::Frame& frame : frames) {
        if (frame.bytes.size() >= frame.wire_length) continue;
        ++cut_frames.count;
        cut_frames.longest_bytes = std::max(cut_frames.longest_bytes, frame.bytes.size());
    }
}

void Session::State::feed(std::span<const wire::Frame> frames) {
    count_cut(frames);
    if (frame_sink) frame_sink(frames, source());
    const bool lasting = source().frames_last();
    analyzer->expect_interfaces(source().interfaces().size());
    if (interval_ns == 0) return analyzer->feed(frames, lasting);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < frames.size() && interval_ns != 0; ++i) {
        const std::int64_t time = frames[i].time_ns;
        if (!interval_start_ns) interval_start_ns = begin_of(time, static_cast<std::int64_t>(interval_ns));
        if (time < base::later(*interval_start_ns, interval_ns)) continue;
        analyzer->feed(frames.subspan(begin, i - begin), lasting);
        begin = i;
        close_interval();
        if (!wanted) return;
        if (interval_ns != 0) interval_start_ns = begin_of(time, static_cast<std::int64_t>(interval_ns));
    }
    analyzer->feed(frames.subspan(begin), lasting);
}

void Session::State::close_interval() {
    if (bytes_sink) {
        interval_ns = bytes_sink(analyzer->flow_bytes(), *interval_start_ns);
        return;
    }
    Interval interval{*interval_start_ns, interval_ns, {}, 0};
    if (only_changes && !analyzer->has_trace()) {
        interval.difference = analyzer->changes();
        interval.flows_known = analyzer->flows();
    } else {
        metrics::Snapshot now = analyzer->snapshot();
        interval.difference = metrics::difference(previous, now);
        interval.flows_known = now.flows.size();
        previous = std::move(now);
    }
    if (interval.difference.flows.empty()) return;
    host_names.learn(interval.difference.names);
    progress.wipe();
    wanted = sink(interval);
}

void Session::State::count_drops() {
    const capture::Statistics counted = live->statistics();
    const std::uint64_t now = counted.kernel_dropped.value_or(0) + counted.interface_dropped.value_or(0);
    if (now > dropped) analyzer->dropped(last_ns, now - dropped);
    dropped = std::max(dropped, now);
}

void Session::State::between_batches() {
    if (live && Clock::now() >= drops_due) {
        count_drops();
        analyzer->listen();
        drops_due = Clock::now() + std::chrono::milliseconds(100);
    }
    if (Signals::pending()) {
        Signals::take_flush();
        if (Signals::take_report()) {
            progress.wipe();
            print_message("rdmascope {}: {} packets so far", command, taken);
        }
    }
    if (!progress.due()) return;
    if (live)
        progress.draw(taken);
    else
        progress.draw(files->progress(), taken);
}

Session::Session(const AnalysisOptions& options, std::string command)
    : state_(std::make_unique<State>(options, std::move(command))) {}
Session::~Session() = default;

void Session::by_interval(std::uint64_t length_ns, IntervalSink sink) {
    state_->interval_ns = length_ns;
    state_->sink = std::move(sink);
}

void Session::changes_by_interval(std::uint64_t length_ns, IntervalSink sink) {
    by_interval(length_ns, std::move(sink));
    state_->only_changes = true;
}

void Session::bytes_over_time(std::uint64_t length_ns, BytesSink sink) {
    state_->interval_ns = length_ns;
    state_->bytes_sink = std::move(sink);
}

void Session::lengthen_intervals(std::uint64_t length_ns) { state_->interval_ns = length_ns; }

void Session::on_frames(FrameSink sink) { state_->frame_sink = std::move(sink); }

bool Session::run() {
    State& s = *state_;
    s.signals.emplace();
    for (const base::Error& error : s.host_names.errors()) s.fail("--node-names: " + error.text());
    if (!s.host_names.errors().empty()) return false;
    if (s.options.recalls()) return s.recall_history();
    if (s.options.connect) return s.watch_daemon();
    if (!s.open() || !s.open_trace() || !s.read_counters()) return false;
    if (s.live) s.counters.look(base::steady_ns());
    s.pump();
    if (s.live) {
        s.count_drops();
        s.counters.look(base::steady_ns());
        s.devices = s.counters.figures();
    }
    s.analyzer->finish();
    if (s.interval_ns != 0 && s.interval_start_ns && s.wanted) s.close_interval();
    s.previous = {};
    s.result = s.analyzer->take_snapshot();
    s.host_names.learn(s.result.names);
    if (const auto error = s.analyzer->take_error()) s.fail(error->text());
    s.result.capture.kernel_dropped = s.source().statistics().kernel_dropped;
    s.progress.wipe();
    // The terminal has printed `^C` on this line.
    if (s.live && Signals::stop() && is_terminal(STDERR_FILENO)) print_message("");
    return true;
}

const metrics::Snapshot& Session::snapshot() const { return state_->result; }
const std::string& Session::policy_file() const { return state_->policy_file; }
bool Session::crc_verified() const {
    const AnalysisOptions& options = state_->options;
    const bool asked_for = options.connect || options.recalls() ? state_->crc_verified : options.verify_crc;
    return asked_for && exporters::can_verify(snapshot().capture);
}
const Names& Session::names() const { return state_->host_names; }
std::vector<trace::EventCount> Session::kernel_events() const {
    return state_->analyzer ? state_->analyzer->kernel_events() : std::vector<trace::EventCount>{};
}
const metrics::DeviceFigures& Session::devices() const { return state_->devices; }
const AnalysisOptions& Session::options() const { return state_->options; }
const std::string& Session::command() const { return state_->command; }
bool Session::failed() const { return state_->failed; }
int Session::status() const { return state_->mistaken ? exit_usage : exit_failed; }
Session::CutFrames Session::cut_frames() const { return state_->cut_frames; }

std::string Session::unknown_links() const {
    return state_->files || state_->live ? cli::unknown_links(state_->source().interfaces()) : std::string{};
}
bool Session::leaves_out_tcp() const { return state_->live && state_->live->leaves_out_tcp(); }
void Session::fail(const std::string& message) { state_->fail(message); }
void Session::end_by_broken_pipe() const {
    if (state_->signals) state_->signals->end_by_broken_pipe();
}

}  // namespace cli::analysis
