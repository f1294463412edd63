#include "cli/demo/demo.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fmt/core.h>
#include <optional>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "base/own_path.h"
#include "capture/files/writer.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/demo/demo_traffic.h"
#include "cli/demo/recorded.h"
#include "cli/flows/options.h"
#include "cli/flows/report.h"
#include "cli/live.h"
#include "cli/signals.h"
#include "cli/text_output.h"
#include "cli/top/open_feed.h"
#include "cli/top/screen_loop.h"
#include "cli/top/settings_file.h"
#include "cli/why/page.h"
#include "iwarp/iwarp.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/operation.h"
#include "metrics/measure/engine/analyzer.h"

namespace cli::demo {

namespace {

using Clock = std::chrono::steady_clock;
using endpoint::OperationCount;

using options::Section;

struct DemoOptions : options::HelpOptions {
    bool recorded = false;
    bool plain = false;
    bool names = true;
    std::string save_path = {};
};
using Row = options::Option<DemoOptions>;

constexpr std::array rows{
    Row{{0, "recorded", {}, "show the capture that the program carries, without making traffic"},
        Section::options,
        options::turn_on<&DemoOptions::recorded>},
    Row{{0, "plain", {}, "print, also on a terminal; without it, the traffic is shown on the screen of `top` there"},
        Section::options,
        options::turn_on<&DemoOptions::plain>},
    Row{{0, "save", "FILE", "keep what is captured, to be looked at with dump, flows and why"},
        Section::options,
        options::store<&DemoOptions::save_path>},
    under(Section::options, options::no_names<DemoOptions>),
    under(Section::options, options::help<DemoOptions>),
    under(Section::options, options::version<DemoOptions>),
};

options::OptionTable<DemoOptions> option_table() { return options::OptionTable<DemoOptions>().add(rows); }

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, DemoOptions& out) {
    std::vector<std::string> words;
    if (auto error = option_table().parse(arguments, out, words)) return error;
    if (!words.empty()) return options::UsageError{fmt::format("'{}' is no option", options::joined(words))};
    if (out.recorded && !out.save_path.empty())
        return options::UsageError{"--recorded and --save are given: one or the other"};
    return {};
}

void failed(const std::string& what) { print_message("rdmascope demo: {}", what); }

/// The text on the page in addition to the tables.
class Writing {
public:
    Writing() : style_(why::style_for_terminal(STDOUT_FILENO)) {}

    void title(std::string_view text) {
        print(style_.color ? fmt::format("\n\x1b[1m{}\x1b[0m\n\n", text) : fmt::format("\n{}\n\n", text));
    }
    void paragraph(std::string_view text) { print(fmt::format("{}\n", text)); }
    const why::PageStyle& style() const { return style_; }

private:
    why::PageStyle style_;
};

/// Frames in, figures out.
class Measuring {
public:
    explicit Measuring(bool whole_frames) : analyzer_(analyzer_options(whole_frames)) {}

    void feed(std::span<const wire::Frame> frames, bool lasting) { analyzer_.feed(frames, lasting); }
    metrics::Snapshot finish(const capture::Source& source) {
        analyzer_.finish();
        metrics::Snapshot snapshot = analyzer_.snapshot();
        snapshot.capture.kernel_dropped = source.statistics().kernel_dropped;
        return snapshot;
    }

private:
    static metrics::AnalyzerOptions analyzer_options(bool whole_frames) {
        metrics::AnalyzerOptions options;
        options.dissector.parse.verify_crc = whole_frames;
        return options;
    }
    metrics::Analyzer analyzer_;
};

/// Captures what `traffic` does, from its beginning to a moment after its end. No value if that failed; the error was
/// reported.
std::optional<metrics::Snapshot> capture_live(LiveSources& source, Traffic& traffic, const std::string& save_path) {
    std::unique_ptr<capture::Writer> writer;
    if (!save_path.empty()) {
        capture::WriterOptions how;
        how.format = capture::format_of_name(save_path);
        auto opened = capture::open_writer(save_path, how);
        if (!opened) {
            failed(opened.error().text());
            return std::nullopt;
        }
        writer = std::move(opened).value();
    }
    Measuring measuring(true);
    std::vector<wire::Frame> frames(256);
    constexpr auto echo = std::chrono::milliseconds(300);  // the last frames are handed over late
    Clock::time_point end = Clock::time_point::max();
    traffic.start();
    while (Clock::now() < end) {
        const capture::Batch batch = source.next_batch(frames);
        if (batch.status == capture::ReadStatus::error) {
            failed(source.error().text());
            return std::nullopt;
        }
        const std::span<const wire::Frame> taken(frames.data(), batch.count);
        if (writer)
            for (const wire::Frame& frame : taken)
                if (writer->write(frame, source.interfaces()[frame.interface]) == capture::WriteStatus::error) {
                    failed(writer->error().text());
                    return std::nullopt;
                }
        measuring.feed(taken, false);
        if (end == Clock::time_point::max() && traffic.done()) end = Clock::now() + echo;
    }
    traffic.finish();
    if (writer)
        if (const auto closed = writer->close(); !closed) {
            failed(closed.error().text());
            return std::nullopt;
        }
    return measuring.finish(source);
}

std::optional<metrics::Snapshot> read_recorded() {
    auto source = open_recorded();
    if (!source) {
        failed(source.error().text());
        return std::nullopt;
    }
    Measuring measuring(false);
    std::vector<wire::Frame> frames(1024);
    for (;;) {
        const capture::Batch batch = (*source)->next_batch(frames);
        if (batch.status == capture::ReadStatus::end) return measuring.finish(**source);
        if (batch.status == capture::ReadStatus::error) {
            failed((*source)->error().text());
            return std::nullopt;
        }
        measuring.feed({frames.data(), batch.count}, (*source)->frames_last());
    }
}

bool print_flows(const metrics::Snapshot& snapshot, const analysis::Names& names, bool crc_verified) {
    flows::FlowsOptions options;
    options.verify_crc = crc_verified;
    TextOutput output(STDOUT_FILENO);
    flows::Report report(options, names, output);
    return report.finish(snapshot);
}

/// The endpoints' own counts next to those of the capture: they must be the same.
void compare(const Traffic& traffic, const metrics::Snapshot& snapshot, Writing& page) {
    using metrics::Operation;
    std::array<OperationCount, metrics::operation_count> counted{};
    const auto add = [&](Operation operation, const OperationCount& more) {
        counted[metrics::index_of(operation)].count += more.count;
        counted[metrics::index_of(operation)].octets += more.octets;
    };
    for (const auto& strand : traffic.strands()) {
        add(Operation::send, strand->result.sends);
        add(Operation::write, strand->result.writes);
        add(Operation::read, strand->result.reads);
        add(Operation::fetch_add, strand->result.atomics);
    }
    add(Operation::send, traffic.credits());
    std::string text = fmt::format("{:<12} {:>26} {:>26}\n", "", "the endpoints", "the capture");
    bool same = true;
    for (const Operation operation : {Operation::send, Operation::write, Operation::read, Operation::fetch_add}) {
        const OperationCount& expected = counted[metrics::index_of(operation)];
        OperationCount seen;
        for (const metrics::FlowSnapshot& flow : snapshot.flows) {
            seen.count += flow.operations[metrics::index_of(operation)].count;
            seen.octets += flow.operations[metrics::index_of(operation)].bytes;
        }
        same = same && expected.count == seen.count && expected.octets == seen.octets;
        text += fmt::format("{:<12} {:>9} {:>9} bytes {:>9} {:>9} bytes\n", metrics::name_of(operation), expected.count,
                            expected.octets, seen.count, seen.octets);
    }
    page.title("What the endpoints counted themselves, and what the capture shows");
    page.paragraph(text);
    if (same)
        page.paragraph("They agree.");
    else if (snapshot.capture.kernel_dropped.value_or(0) != 0)
        page.paragraph(fmt::format("They differ, as the kernel dropped {} frames of the capture.",
                                   *snapshot.capture.kernel_dropped));
    else
        page.paragraph("They differ, and should not.");
}

void print_strands(const Traffic& traffic, Writing& page) {
    page.title("Who talks");
    for (const auto& strand : traffic.strands()) {
        std::string line = fmt::format("  port {:<6} {}", strand->options.to.port, strand->what);
        if (!strand->result.error.empty()) line += fmt::format(" ({})", strand->result.error);
        page.paragraph(line);
    }
}

/// What the five answers have to do with how the demo is made.
std::string lesson(std::span<const metrics::Answer> answers) {
    metrics::Verdict verdict = metrics::Verdict::undecidable;
    for (const metrics::Answer& answer : answers)
        if (answer.question == metrics::Question::bandwidth) {
            verdict = answer.verdict;
            break;
        }
    const std::string asked =
        "Four clients ask for little and get it. The fifth would send as fast as it can, but its server seldom looks\n"
        "at its endpoint: TCP's window fills, and the client waits for it.";
    if (verdict == metrics::Verdict::receive_window)
        return asked +
               " `why` says so: bandwidth is limited by\nthe receive window, and neither by the network nor by the "
               "client.";
    if (verdict == metrics::Verdict::timeout_recovery)
        return asked +
               " This time it was away for\nso long that TCP sent a segment again to see whether the server is there "
               "(a tail loss probe), which `why`\nputs first; try again when the machine is less busy.";
    return asked + fmt::format("\nOn this machine, this time, something else weighed more: {}.", name_of(verdict));
}

void print_answers(const metrics::Snapshot& snapshot, const analysis::Names& names, Writing& page) {
    const std::vector<metrics::Answer> answers = metrics::answer(snapshot, names);
    page.title("Why is it not faster? (`rdmascope why`)");
    print(exporters::why_page(snapshot, answers, page.style()));
    page.title("What that means");
    page.paragraph(lesson(answers));
}

int show(const metrics::Snapshot& snapshot, const DemoOptions& options, const Traffic* traffic, Writing& page) {
    const analysis::Names names(options.names);
    page.title("Every direction of every queue pair's conversation (`rdmascope flows`)");
    if (!print_flows(snapshot, names, traffic != nullptr)) return exit_failed;
    if (traffic != nullptr) compare(*traffic, snapshot, page);
    print_answers(snapshot, names, page);
    return exit_done;
}

int show_recorded(const DemoOptions& options, Writing& page) {
    page.paragraph(
        "Recorded: two iWARP servers and five clients talked over the loopback interface for three seconds. One "
        "server\n"
        "was away from its endpoint for milliseconds at a time, so that its client starved.");
    const auto snapshot = read_recorded();
    return snapshot ? show(*snapshot, options, nullptr, page) : exit_failed;
}

int show_live(LiveSources& source, Traffic& traffic, const DemoOptions& options, Writing& page) {
    page.paragraph(
        "Two iWARP servers and five clients talk over the loopback interface for three seconds. One server is\n"
        "away from its endpoint for milliseconds at a time, so that its client starves.");
    print_strands(traffic, page);
    const auto snapshot = capture_live(source, traffic, options.save_path);
    if (!snapshot) return exit_failed;
    int status = show(*snapshot, options, &traffic, page);
    for (const auto& strand : traffic.strands()) {
        if (strand->result.error.empty()) continue;
        failed(fmt::format("{}: {}", strand->what, strand->result.error));
        status = exit_failed;
    }
    if (!options.save_path.empty())
        page.paragraph(
            fmt::format("\nLook closer: rdmascope dump -r {0}, rdmascope flows -r {0}, rdmascope why -v -r {0}",
                        options.save_path));
    return status;
}

/// With --save the frames themselves are required, which the screen does not keep.
bool wants_screen(const DemoOptions& options) {
    const char* const terminal = std::getenv("TERM");
    return !options.plain && options.save_path.empty() && is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO) &&
           terminal != nullptr && std::string_view(terminal) != "dumb";
}

/// What there is when the last frames have been handed over.
metrics::Snapshot last_figures(tui::Feed& feed) {
    constexpr auto echo = std::chrono::milliseconds(300);
    constexpr auto patience = std::chrono::seconds(5);
    feed.set_interval(100'000'000);
    const std::int64_t wanted_ns = base::wall_ns() + std::chrono::nanoseconds(echo).count();
    const Clock::time_point deadline = Clock::now() + patience;
    tui::ReadingPtr reading = feed.latest();
    while ((reading == nullptr || reading->end_ns() < wanted_ns) && Clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        reading = feed.latest();
    }
    return reading == nullptr ? metrics::Snapshot{} : reading->total;
}

/// Absent where the interface may not be listened to.
std::optional<int> show_on_screen(const DemoOptions& options, const Environment& environment, Writing& page) {
    Traffic traffic(Traffic::Length::until_stopped);
    top::TopOptions how;
    how.interfaces = {"lo"};
    how.promiscuous = false;
    how.buffer_kib = 32U << 10;
    how.expression = traffic.filter();
    how.names = options.names;
    std::string error;
    const tui::Settings settings = top::overridden(top::SettingsFile(top::SettingsFile::usual_path()).read(), how);
    const auto feed = top::open_feed(how, {settings.interval_ns, 1, true}, error);
    if (!feed) return std::nullopt;
    const analysis::Names names(true);
    traffic.start();
    const top::Shown shown =
        top::show_screen({*feed, names, environment.fields(), how, settings,
                          "two iWARP servers and five clients on this machine; q: the answers", false});
    traffic.stop();
    traffic.finish();
    if (shown.gone || Signals::stop()) return exit_done;
    if (!shown.error.empty()) failed(shown.error);
    print_strands(traffic, page);
    return show(last_figures(*feed), options, &traffic, page);
}

int show_what_there_is(const DemoOptions& options, const Environment& environment) {
    Writing page;
    if (options.recorded) return show_recorded(options, page);
    if (const auto status = wants_screen(options) ? show_on_screen(options, environment, page) : std::nullopt)
        return *status;
    const Signals signals;
    Traffic traffic(Traffic::Length::three_seconds);
    capture::LiveOptions how;
    how.promiscuous = false;
    how.buffer_kib = 32U << 10;
    how.filter = traffic.filter();
    auto source = LiveSources::open({"lo"}, how);
    if (source) return show_live(**source, traffic, options, page);
    const std::string path = base::own_path();
    print_message("rdmascope demo: {}", source.error().text());
    print_message("rdmascope demo: to see live traffic, run `sudo {0} demo`, or once `sudo setcap cap_net_raw+ep {0}`",
                  path);
    print_message("rdmascope demo: this is what the demo showed where it might capture:");
    const int status = show_recorded(options, page);
    if (options.save_path.empty()) return status;
    failed(fmt::format("{}: nothing is saved, since nothing could be captured", options.save_path));
    return exit_failed;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    DemoOptions options;
    const auto usage = parse(arguments, options);
    if (const auto status = answered(environment, "demo", usage, options, help)) return *status;
    try {
        return show_what_there_is(options, environment);
    } catch (const iwarp::Error& error) {
        failed(error.what());
        return exit_failed;
    }
}

std::string help() {
    return options::help_page(
        "Usage: rdmascope demo [OPTION]...\n\n"
        "On a bare machine: endpoints on the loopback interface exchange real iWARP traffic, which is captured,\n"
        "measured and explained: on a terminal on the screen of `top`, until q is pressed, then in words; else in\n"
        "words after three seconds. Without the right to capture it says which command grants it, and shows a\n"
        "capture that it made earlier.\n",
        option_table().options(), "\nManual: rdmascope-demo(1).\n");
}

std::vector<options::CommandOptions> option_lists() { return {{"demo", option_table().options()}}; }

}  // namespace cli::demo
