#include "daemon/recorder/recordings.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <map>
#include <optional>
#include <system_error>

#include "base/quantities.h"
#include "daemon/recorder/recording_file.h"
#include "daemon/recorder/recording_folder.h"
#include "daemon/recorder/recording_names.h"

namespace service::inline recorder {
namespace {

/// A piece: about a millisecond's work. More where more came by since, or the writer would never arrive.
constexpr std::uint64_t held_piece_frames = 2048;
constexpr std::uint64_t held_piece_octets = std::uint64_t{1} << 20;
/// Frames reach us a little after their time. Only where none come for so long does the wall clock end a file.
constexpr std::int64_t silence_ns = 250'000'000;
/// What a frame takes in the file in addition to its bytes and comment, at most: block, flags, padding, options.
constexpr std::uint64_t block_octets = 64;
constexpr std::size_t max_messages = 64;

/// What the thread that waits for the disk brings back.
struct Completion {
    base::Result<void> completed = {};
    std::uint64_t removed = 0;
};

}  // namespace

struct Recordings::State {
    struct Active {
        std::unique_ptr<RecordingFile> file;
        Incident incident;
        std::vector<capture::InterfaceInfo> interfaces;
        capture::FlightRecorder::Position at;
        std::optional<capture::FlightRecorder::Position> stop;  ///< known once the file is due
        std::uint64_t begun_clock_ns;
        std::int64_t due_ns;   ///< wall clock
        std::int64_t last_ns;  ///< the latest now_ns
        std::uint64_t after_ns;
        std::uint64_t max_octets;
        std::uint64_t max_files;
        std::uint64_t passed = 0;  ///< frames since the last piece
        std::uint64_t frames = 0;
        std::uint64_t commented = 0;
        std::uint64_t missed = 0;
        bool full = false;
    };
    struct Closing {
        std::future<Completion> completion;
        std::string path;
        std::string message;
    };

    explicit State(const RecordingsOptions& given) : options(given) {}

    void add_message(std::string text, bool wrong = false) {
        if (messages.size() < max_messages) messages.push_back({std::move(text), wrong});
    }
    void tidy();
    base::Result<void> check_ready(const Incident& incident, std::int64_t now_ns);
    base::Failure<base::Error> fail(const std::string& trigger, const base::Error& error);
    base::Result<std::unique_ptr<RecordingFile>> create_file(const Incident& incident, std::int64_t now_ns) const;
    void note_wall_clock(const capture::FlightRecorder& past, std::int64_t now_ns);
    enum class Step : unsigned char { written, waiting, ended };
    base::Result<Step> write_next(const capture::FlightRecorder& past);
    base::Result<Step> write_piece(const capture::FlightRecorder& past, bool all);
    base::Result<void> write_frame(capture::FlightRecorder::Kept& kept);
    void close_file();
    void end(const base::Result<Step>& step);
    void collect(bool wait);

    RecordingsOptions options;
    RecordingsCounters counters = {};
    std::vector<RecordingsMessage> messages = {};
    std::map<std::string, std::int64_t, std::less<>> begun_ns = {};  ///< by trigger
    std::optional<Active> active = {};
    std::optional<Closing> closing = {};
};

/// At start, and in another directory.
void Recordings::State::tidy() {
    if (options.directory.empty()) return;
    if (const auto prepared = prepare_recording_folder(options.directory); !prepared)
        return add_message(prepared.error().text(), true);
    const auto folder = open_recording_folder(options.directory);
    if (!folder) return add_message(folder.error().text(), true);
    remove_unfinished(*folder);
    counters.removed += remove_oldest(*folder, options.max_files, {});
}

base::Result<void> Recordings::State::check_ready(const Incident& incident, std::int64_t now_ns) {
    if (active) return base::failure(fmt::format("a recording of '{}' is under way", active->incident.trigger));
    if (closing) return base::failure("the recording before is being brought to the disk");
    const auto before = begun_ns.find(incident.trigger);
    if (before == begun_ns.end()) return {};
    // A clock that was set back must not make the pause longer.
    before->second = std::min(before->second, now_ns);
    const std::uint64_t since = static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(before->second);
    if (since >= options.pause_ns) return {};
    return base::failure(fmt::format("paused for another {}", base::format_duration(options.pause_ns - since)));
}

base::Failure<base::Error> Recordings::State::fail(const std::string& trigger, const base::Error& error) {
    ++counters.failed;
    std::string text = fmt::format("no recording of '{}': {}", trigger, error.text());
    add_message(text, true);
    return base::failure(std::move(text));
}

base::Result<std::unique_ptr<RecordingFile>> Recordings::State::create_file(const Incident& incident,
                                                                            std::int64_t now_ns) const {
    auto folder = open_recording_folder(options.directory);
    if (!folder) return base::Failure{folder.error()};
    std::string name = recording_name(now_ns, incident.trigger);
    while (folder->has(name)) {
        now_ns += 1'000'000;
        name = recording_name(now_ns, incident.trigger);
    }
    std::string comment = fmt::format("{}: {}", incident.trigger, incident.reason);
    if (!incident.flows.empty()) comment += fmt::format("\nflows: {}", fmt::join(incident.flows, ", "));
    if (!incident.frames.empty())
        comment +=
            fmt::format("\nframes that show it, as the daemon counts them: {}", fmt::join(incident.frames, ", "));
    return RecordingFile::create(std::move(folder).value(), name, comment);
}

Recordings::Recordings(const RecordingsOptions& options) : state_(std::make_unique<State>(options)) { state_->tidy(); }
Recordings::~Recordings() = default;

base::Result<void> Recordings::begin(const Incident& incident, const capture::FlightRecorder& past,
                                     const std::vector<capture::InterfaceInfo>& interfaces, std::int64_t now_ns,
                                     const std::vector<bool>& gone) {
    State& state = *state_;
    if (state.options.directory.empty())
        return base::failure("no directory for recordings is configured (recorder.directory)");
    state.collect(false);
    if (auto ready = state.check_ready(incident, now_ns); !ready) {
        ++state.counters.suppressed;
        return ready;
    }
    auto file = state.create_file(incident, now_ns);
    if (!file) return state.fail(incident.trigger, file.error());

    state.active.emplace(
        State::Active{.file = std::move(file).value(),
                      .incident = incident,
                      .interfaces = interfaces,
                      .at = past.oldest(),
                      .stop = {},
                      .begun_clock_ns = past.clock_ns(),
                      .due_ns = now_ns + static_cast<std::int64_t>(state.options.after_ns) + silence_ns,
                      .last_ns = now_ns,
                      .after_ns = state.options.after_ns,
                      .max_octets = state.options.max_file_octets,
                      .max_files = state.options.max_files});
    State::Active& active = *state.active;
    std::sort(active.incident.frames.begin(), active.incident.frames.end());
    // What happened last says more than what was long before. A frame takes about as much in memory as in the file.
    capture::FlightRecorder::Kept skipped;
    const std::uint64_t end = past.end().place;
    while (end - active.at.place > active.max_octets / 2 && past.next(active.at, skipped)) continue;
    for (std::size_t i = 0; i < interfaces.size(); ++i)
        if (!(i < gone.size() && gone[i]) && !active.file->describe(interfaces[i]))
            break;  // the first frame reports it

    state.begun_ns[incident.trigger] = now_ns;
    ++state.counters.begun;
    // The oldest frames are the next to give way.
    state.end(state.write_piece(past, false));
    return {};
}

void Recordings::frame(const wire::Frame& frame, const std::vector<capture::InterfaceInfo>& interfaces) {
    if (!state_->active) return;
    State::Active& active = *state_->active;
    ++active.passed;
    // Only what is new: an interface whose filter is changed meanwhile is still the same one. Where the number is
    // another one's now, the frames of the one before are long written.
    if (frame.interface < std::min(active.interfaces.size(), interfaces.size()) &&
        active.interfaces[frame.interface].name != interfaces[frame.interface].name)
        active.interfaces[frame.interface] = interfaces[frame.interface];
    if (frame.interface >= active.interfaces.size() && active.interfaces.size() < interfaces.size())
        active.interfaces.insert(active.interfaces.end(),
                                 interfaces.begin() + static_cast<std::ptrdiff_t>(active.interfaces.size()),
                                 interfaces.end());
}

void Recordings::State::note_wall_clock(const capture::FlightRecorder& past, std::int64_t now_ns) {
    if (now_ns < active->last_ns) active->due_ns -= active->last_ns - now_ns;  // the clock was set back
    active->last_ns = now_ns;
    if (!active->stop && now_ns >= active->due_ns) active->stop = past.end();
}

base::Result<void> Recordings::State::write_frame(capture::FlightRecorder::Kept& kept) {
    Active& a = *active;
    const capture::InterfaceInfo unknown{.link_type = kept.frame.link_type};
    const bool known = kept.frame.interface < a.interfaces.size();
    const capture::InterfaceInfo& interface = known ? a.interfaces[kept.frame.interface] : unknown;
    std::string comment;
    if (kept.missed > 0)
        comment =
            fmt::format("{} frames are missing before this one: memory was full before they were written", kept.missed);
    const bool shows = std::binary_search(a.incident.frames.begin(), a.incident.frames.end(), kept.frame.number);
    if (shows)
        comment += fmt::format("{}{}: {} (frame {} of the daemon)", comment.empty() ? "" : "\n", a.incident.trigger,
                               a.incident.reason, kept.frame.number);
    if (a.file->octets() + kept.frame.bytes.size() + comment.size() + block_octets > a.max_octets) {
        a.full = true;
        return {};
    }
    kept.frame.comment = comment;
    ++a.frames;
    if (shows) ++a.commented;
    return a.file->write(kept.frame, interface);
}

base::Result<Recordings::State::Step> Recordings::State::write_next(const capture::FlightRecorder& past) {
    Active& a = *active;
    if (a.stop && a.at.sequence >= a.stop->sequence) return Step::ended;
    const std::uint64_t before = a.at.sequence;
    capture::FlightRecorder::Kept kept;
    if (!past.next(a.at, kept)) return Step::waiting;
    const std::uint64_t reached = a.at.sequence - 1;
    const std::uint64_t missed = a.stop ? std::min(reached, a.stop->sequence) - before : kept.missed;
    a.missed += missed;
    counters.missed_frames += missed;
    if (a.stop && reached >= a.stop->sequence) return Step::ended;
    // Signed: the clock may wrap around, and the past has a negative distance.
    const auto since = static_cast<std::int64_t>(kept.clock_ns - a.begun_clock_ns);
    if (since > static_cast<std::int64_t>(a.after_ns)) return Step::ended;
    if (const auto written = write_frame(kept); !written) return base::Failure{written.error()};
    return a.full ? Step::ended : Step::written;
}

base::Result<Recordings::State::Step> Recordings::State::write_piece(const capture::FlightRecorder& past, bool all) {
    const std::uint64_t octets_before = active->file->octets();
    const std::uint64_t must = 2 * active->passed;
    active->passed = 0;
    for (std::uint64_t frames = 0;; ++frames) {
        const bool enough = frames >= held_piece_frames || active->file->octets() - octets_before >= held_piece_octets;
        if (!all && enough && frames >= must) return Step::written;
        const auto step = write_next(past);
        if (!step || *step != Step::written) return step;
    }
}

/// What follows from the last step of a piece.
void Recordings::State::end(const base::Result<Step>& step) {
    if (!step) {
        const std::string trigger = active->incident.trigger;
        active.reset();  // removes the file
        fail(trigger, step.error());
    } else if (*step == Step::ended) {
        close_file();
        active.reset();
    }
}

/// Hands the file to a thread, for the capture not to wait for a disk.
void Recordings::State::close_file() {
    Active& a = *active;
    const std::string path = a.file->path();
    std::string message = fmt::format("recorded {}: {} frames", path, a.frames);
    if (!a.incident.frames.empty())
        message += fmt::format(", {} of {} that show it commented", a.commented, a.incident.frames.size());
    if (a.missed > 0) message += fmt::format(", {} missing", a.missed);
    if (a.full) message += fmt::format(", ended at {} bytes, which is as large as it may be", a.file->octets());
    message += fmt::format("; {}", a.incident.reason);
    const auto complete = [file = std::shared_ptr<RecordingFile>(std::move(a.file)), most = a.max_files] {
        Completion completion{.completed = file->complete()};
        if (completion.completed) completion.removed = remove_oldest(file->folder(), most, file->name());
        return completion;
    };
    closing = Closing{.completion = {}, .path = path, .message = std::move(message)};
    try {
        closing->completion = std::async(std::launch::async, complete);
    } catch (const std::system_error&) {  // no more threads: then it takes its time
        std::promise<Completion> done;
        done.set_value(complete());
        closing->completion = done.get_future();
    }
}

void Recordings::State::collect(bool wait) {
    if (!closing) return;
    const auto ready = closing->completion.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (!ready && !wait) return;
    const Completion completion = closing->completion.get();
    if (completion.completed) {
        ++counters.finished;
        counters.removed += completion.removed;
        counters.last_path = closing->path;
        add_message(closing->message);
    } else {
        ++counters.failed;
        add_message(fmt::format("a recording is lost: {}", completion.completed.error().text()), true);
    }
    closing.reset();
}

void Recordings::progress(const capture::FlightRecorder& past, std::int64_t now_ns) {
    State& state = *state_;
    state.collect(false);
    if (!state.active) return;
    state.note_wall_clock(past, now_ns);
    state.end(state.write_piece(past, false));
}

base::Result<void> Recordings::finish(const capture::FlightRecorder& past) {
    State& state = *state_;
    const std::uint64_t failed_before = state.counters.failed;
    if (state.active) {
        state.active->stop = past.end();
        state.end(state.write_piece(past, true));
    }
    state.collect(true);
    if (state.counters.failed != failed_before)
        return base::failure("the recording that was being written is lost; the log says why", state.options.directory);
    return {};
}

void Recordings::set_options(const RecordingsOptions& options) {
    const bool moved = options.directory != state_->options.directory;
    state_->options = options;
    if (moved) state_->tidy();
}

bool Recordings::recording() const { return state_->active || state_->closing; }
const RecordingsCounters& Recordings::counters() const { return state_->counters; }
std::vector<RecordingsMessage> Recordings::messages() { return std::exchange(state_->messages, {}); }

}  // namespace service::recorder
