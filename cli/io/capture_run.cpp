#include "cli/io/capture_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "capture/link_type.h"
#include "cli/command.h"
#include "cli/console.h"

namespace cli::io {

namespace {

constexpr std::size_t frames_at_once = 256;

dissect::DissectorOptions dissector_options_of(const IoOptions& options) {
    dissect::DissectorOptions dissector;
    dissector.parse.verify_crc = options.verify_crc;
    dissector.find_repeats = false;  // flows know their own
    return dissector;
}

}  // namespace

CaptureRun::CaptureRun(const IoOptions& options, dissect::Sink& sink, Caller caller)
    : options_(options),
      caller_(std::move(caller)),
      sink_(sink),
      dissector_(dissector_options_of(options)),
      selection_({}, true),
      progress_(is_terminal(STDERR_FILENO)) {}

capture::Source& CaptureRun::source() const {
    if (live_) return *live_;
    return files_->source();
}

void CaptureRun::fail(const std::string& message) {
    progress_.wipe();
    print_message("rdmascope {}: {}", caller_.command, message);
    failed_ = true;
}

int CaptureRun::status() const { return mistaken_ ? exit_usage : exit_failed; }

void CaptureRun::end_by_broken_pipe() const {
    if (signals_) signals_->end_by_broken_pipe();
}

bool CaptureRun::open_live(const std::string& expression) {
    capture::LiveOptions how;
    how.snaplen = options_.snaplen;
    how.promiscuous = options_.promiscuous;
    how.buffer_kib = options_.buffer_kib;
    how.filter = expression;
    auto opened = LiveSources::open(options_.interfaces, std::move(how), LiveScope::rdma);
    if (!opened) {
        mistaken_ = is_mistaken(expression);
        fail(opened.error().text());
        return false;
    }
    live_ = std::move(opened).value();
    for (const std::string& warning : live_->warnings()) print_message("rdmascope {}: {}", caller_.command, warning);
    for (const capture::InterfaceInfo& interface : live_->interfaces())
        print_message("rdmascope {}: listening on {}, link-type {} ({}), snapshot length {} bytes", caller_.command,
                      interface.name, capture::link_type_name(interface.link_type),
                      capture::link_type_description(interface.link_type), interface.snaplen);
    return true;
}

bool CaptureRun::open_files(const std::string& expression) {
    capture::FileOptions reading;
    reading.stop = Signals::stop;
    auto opened = analysis::FileInput::open(options_.read_paths, reading);
    if (!opened) {
        fail(opened.error().text());
        return false;
    }
    files_ = std::move(opened).value();
    if (expression.empty()) return true;
    selection_ = Selection(expression, true);
    for (const capture::InterfaceInfo& interface : source().interfaces()) {
        if (selection_.compile(interface.link_type, interface.snaplen)) continue;
        mistaken_ = true;
        fail(selection_.error().text());
        return false;
    }
    return true;
}

bool CaptureRun::open() {
    auto expression = expression_of(options_.expression, options_.expression_path);
    if (!expression) {
        fail(expression.error().text());
        return false;
    }
    return options_.interfaces.empty() ? open_files(*expression) : open_live(*expression);
}

/// Whether the frame is after the time that was asked for.
bool CaptureRun::is_late(const wire::Frame& frame) {
    if (!options_.duration_ns) return false;
    if (!stop_ns_) stop_ns_ = base::later(frame.time_ns, *options_.duration_ns);
    return frame.time_ns >= *stop_ns_;
}

void CaptureRun::count(const wire::Frame& frame) {
    ++extent_.packets;
    extent_.bytes += frame.wire_length;
    extent_.first_ns = std::min(extent_.first_ns.value_or(frame.time_ns), frame.time_ns);
    extent_.last_ns = std::max(extent_.last_ns.value_or(frame.time_ns), frame.time_ns);
}

/// False when no more frames are needed.
bool CaptureRun::take(const wire::Frame& frame) {
    if (!live_ && is_late(frame)) return false;
    if (!selection_.everything()) {
        const Selection::Answer answer = selection_.matches(frame, source().interfaces());
        if (answer == Selection::Answer::no) return true;
        if (answer == Selection::Answer::error) {
            fail(selection_.error().text());
            return false;
        }
    }
    count(frame);
    if (on_time_ && !on_time_(frame.time_ns)) return false;
    dissector_.dissect(frame, sink_);
    return extent_.packets != options_.max_packets;
}

void CaptureRun::draw_progress() {
    if (!progress_.due()) return;
    if (live_)
        progress_.draw(extent_.packets);
    else
        progress_.draw(files_->progress(), extent_.packets);
}

void CaptureRun::pump() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point deadline = live_ && options_.duration_ns
                                           ? Clock::now() + std::chrono::nanoseconds(*options_.duration_ns)
                                           : Clock::time_point::max();
    std::array<wire::Frame, frames_at_once> frames;
    while (!Signals::stop() && Clock::now() < deadline) {
        const capture::Batch batch = source().next_batch(frames);
        if (batch.status == capture::ReadStatus::end) return;
        if (batch.status == capture::ReadStatus::error) {
            // Asked to end in the middle of a stream, the source finds it cut.
            if (Signals::stop()) return;
            if (caller_.reads_again)
                failed_ = true;
            else
                fail(source().error().text());
            return;
        }
        for (std::size_t i = 0; i < batch.count; ++i)
            if (!take(frames[i])) return;
        draw_progress();
    }
}

bool CaptureRun::run() {
    if (!caller_.handles_signals) signals_.emplace();
    if (!open()) return false;
    pump();
    dissector_.finish(sink_);
    progress_.wipe();
    // The terminal has put `^C` there.
    if (live_ && Signals::stop() && is_terminal(STDERR_FILENO)) print_message("");
    return true;
}

}  // namespace cli::io
