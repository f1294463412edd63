#include "cli/report/make_report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

#include "base/file.h"
#include "base/open_file.h"
#include "base/quantities.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/overwriting.h"
#include "cli/report/bin_length.h"
#include "cli/report/flow_choice.h"
#include "cli/report/frame_copy.h"
#include "cli/report/options.h"
#include "cli/report/perfetto_trace.h"
#include "cli/report/second_reading.h"
#include "exporters/report/anonymous.h"
#include "exporters/report/report_json.h"
#include "exporters/report/report_page.h"
#include "metrics/answers/counters.h"

namespace cli::report {

namespace {

using exporters::report::Anonymous;
using exporters::report::ReportData;
using exporters::report::SourceKind;
using exporters::report::TimeLine;

constexpr std::size_t most_plots = 16;

/// Snapshots of flows that a time line may cost. One takes up to 20 us. To see that a flow had no traffic takes a small
/// part of it.
constexpr std::size_t most_flow_snapshots = 30'000;
constexpr std::size_t idle_flows_of_a_snapshot = 500;

SourceKind source_of(const ReportOptions& options) {
    if (options.recalls()) return SourceKind::history;
    if (options.connect) return SourceKind::daemon;
    return options.interfaces.empty() ? SourceKind::file : SourceKind::live;
}

bool reads_standard_input(const ReportOptions& options) {
    return std::ranges::find(options.read_paths, "-") != options.read_paths.end();
}

/// One run of `report`: measures, reads the frames again, writes the page.
class Run {
public:
    Run(const ReportOptions& options, const Environment& environment, const std::vector<std::string>& arguments)
        : options_(options), environment_(environment), arguments_(arguments), session_(options, "report") {}

    int work();

private:
    bool copy_frames();
    void collect_time_line();
    bool on_interval(const analysis::Session::Interval& interval);
    bool read_again();
    std::vector<std::string> command_words() const;
    std::string title() const;
    ReportData document();
    bool write(const std::string& path, std::string_view text);
    bool write_trace();

    const ReportOptions& options_;
    const Environment& environment_;
    const std::vector<std::string>& arguments_;
    analysis::Session session_;
    std::unique_ptr<FrameCopy> copy_ = {};
    std::optional<TimeLine> time_line_ = {};
    std::uint64_t interval_ns_ = 0;
    std::size_t flow_snapshots_ = 0;

    Anonymous anonymous_ = {};
    metrics::Snapshot substitute_ = {};  ///< with --anonymous
    std::vector<metrics::Answer> answers_ = {};
    Details details_ = {};
    std::vector<std::string> left_out_ = {};
};

/// Live packets, and those of a pipe, can be read once.
bool Run::copy_frames() {
    if (options_.interfaces.empty() && !reads_standard_input(options_)) return true;
    auto opened = FrameCopy::open();
    if (!opened) {
        session_.fail(opened.error().text());
        return false;
    }
    copy_ = std::move(opened).value();
    session_.on_frames(
        [this](std::span<const wire::Frame> frames, const capture::Source& source) { copy_->add(frames, source); });
    return true;
}

void Run::collect_time_line() {
    // A daemon is asked once, unless the user wants to watch it for a time.
    if (options_.connect && !options_.duration_ns) {
        left_out_.emplace_back("There is no time line: the daemon reports sums. --seconds N watches it for N seconds.");
        return;
    }
    interval_ns_ = first_bin_ns(options_);
    time_line_.emplace(interval_ns_);
    session_.changes_by_interval(interval_ns_,
                                 [this](const analysis::Session::Interval& interval) { return on_interval(interval); });
}

bool Run::on_interval(const analysis::Session::Interval& interval) {
    time_line_->add(interval.start_ns, interval.difference);
    flow_snapshots_ += interval.difference.flows.size() + interval.flows_known / idle_flows_of_a_snapshot;
    if (flow_snapshots_ > most_flow_snapshots) {
        // Snapshots of many flows take longer than measuring them.
        flow_snapshots_ = most_flow_snapshots / 2;
        time_line_->double_bins();
    }
    if (time_line_->bin_ns() > interval_ns_) {
        interval_ns_ = time_line_->bin_ns();
        session_.lengthen_intervals(interval_ns_);
    }
    return true;
}

std::vector<std::string> Run::command_words() const {
    if (options_.anonymous) return {"rdmascope", "report", "--anonymous"};
    std::vector<std::string> words{"rdmascope", "report"};
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    return words;
}

std::string Run::title() const {
    if (!options_.title.empty()) return options_.title;
    if (options_.anonymous) return "RDMA report";
    if (!options_.read_paths.empty() && options_.read_paths.front() != "-") {
        const std::string name = std::filesystem::path(options_.read_paths.front()).filename().string();
        return options_.read_paths.size() == 1 ? name
                                               : fmt::format("{} and {} more", name, options_.read_paths.size() - 1);
    }
    if (!options_.interfaces.empty()) return options_.interfaces.front();
    return "RDMA report";
}

/// The plots and the commands, which need the frames a second time.
bool Run::read_again() {
    const metrics::Snapshot& snapshot = session_.snapshot();
    std::vector<std::string> paths = options_.read_paths;
    if (copy_) {
        auto path = copy_->finish();
        if (!path) {
            session_.fail(path.error().text());
            return false;
        }
        paths = {std::move(path).value()};
    }
    if (paths.empty()) {
        left_out_.emplace_back("There are no plots of single frames: this source has figures, not frames.");
        for (const metrics::FlowSnapshot& flow : snapshot.flows)
            if (flow.commands && !flow.commands->of_target) details_.connections.push_back(*flow.commands);
        return true;
    }
    const auto flows = flows_with_plots(snapshot, answers_, options_.flow ? &*options_.flow : nullptr, most_plots);
    const auto frames = named_frames(answers_, flows);
    details_ = read_details(options_, paths, copy_ != nullptr, snapshot, flows, frames);
    if (details_.failed) return false;
    for (const auto& plot : details_.plots)
        if (plot.marks.size() < plot.seen)
            left_out_.push_back(
                fmt::format("The plot of flow {} has {} of {} marks: those that stand out with their "
                            "neighbours, and the outline of the others.",
                            plot.flow, base::group_digits(plot.marks.size()), base::group_digits(plot.seen)));
    return true;
}

ReportData Run::document() {
    ReportData data;
    data.title = title();
    data.version = environment_.version;
    data.command = command_words();
    data.source = source_of(options_);
    if (options_.anonymous)
        data.files = {"FILE"};
    else if (!copy_)
        data.files = options_.read_paths;
    data.anonymous = options_.anonymous;
    data.summary = session_.summary();
    data.crc_verified = session_.crc_verified();
    data.names = &session_.names();
    data.snapshot = options_.anonymous ? &substitute_ : &session_.snapshot();
    data.answers = answers_;
    data.devices = options_.anonymous ? nullptr : &session_.devices();
    data.commands = connections_json(
        options_.anonymous ? anonymous_.connections(std::move(details_.connections)) : std::move(details_.connections),
        session_.names(), left_out_);
    data.time_line = time_line_ ? &*time_line_ : nullptr;
    data.plots = std::move(details_.plots);
    data.left_out = left_out_;
    return data;
}

bool Run::write(const std::string& path, std::string_view text) {
    if (path == "-") {
        if (base::write_all(STDOUT_FILENO, text)) return true;
        session_.fail(output_error(errno));
        return false;
    }
    auto file = base::open_output_file(path);
    if (!file) {
        session_.fail(fmt::format("{}: {}; name another file with -o", path, file.error().reason));
        return false;
    }
    const bool written = base::write_all(file->number(), text);
    const int code = errno;
    const bool closed = ::close(file->release()) == 0;
    if (written && closed) return true;
    session_.fail(fmt::format("{}: writing failed: {}", path, std::strerror(written ? errno : code)));
    return false;
}

bool Run::write_trace() {
    const EventTrace trace = read_trace_events(options_, options_.anonymous ? substitute_ : session_.snapshot(),
                                               session_.names(), options_.anonymous ? &anonymous_ : nullptr);
    if (trace.failed || !write(*options_.perfetto_path, trace.text)) return false;
    if (!trace.left_out.empty()) print_message("rdmascope report: {}", trace.left_out);
    if (*options_.perfetto_path != "-")
        print_message("{}: {}", *options_.perfetto_path, base::format_size(static_cast<double>(trace.text.size())));
    return true;
}

int Run::work() {
    if (!copy_frames()) return exit_failed;
    collect_time_line();
    if (!session_.run()) return session_.status();
    if (session_.failed())
        left_out_.emplace_back("The source could not be read to its end: all figures are of what was read before.");
    const metrics::Snapshot& snapshot = session_.snapshot();
    if (options_.flow && snapshot.flow(*options_.flow) == nullptr) {
        session_.fail(fmt::format("there is no flow {}; `rdmascope flows` lists all flows", *options_.flow));
        return exit_failed;
    }
    if (options_.anonymous) substitute_ = anonymous_.snapshot(snapshot);
    const metrics::DeviceFigures none;
    answers_ =
        metrics::answer(options_.anonymous ? substitute_ : snapshot, session_.names(),
                        options_.anonymous ? none : session_.devices(), options_.flow ? &*options_.flow : nullptr);
    if (!read_again()) return exit_failed;
    const std::string path = options_.output_path.value_or(default_output_path(options_));
    const std::string page = exporters::report::report_page(exporters::report::report_json(document()));
    if (!write(path, page) || (options_.perfetto_path && !write_trace())) return exit_failed;
    session_.report_summary();
    if (path != "-") print_message("{}: {}", path, base::format_size(static_cast<double>(page.size())));
    return session_.failed() ? exit_failed : exit_done;
}

/// Why a file must not be written: it is read, or both outputs have its name. Empty if nothing is lost.
std::string refusal_of(const ReportOptions& options) {
    const std::string page = options.output_path.value_or(default_output_path(options));
    const std::string trace = options.perfetto_path.value_or("");
    if (!trace.empty() && trace == page) return fmt::format("{}: the page and the trace need a file each", page);
    for (const std::string& path : {page, trace}) {
        std::string refusal =
            refuse_overwriting(path, {options.trace_path.value_or(""), options.counters_path.value_or(""),
                                      options.expression_path.value_or("")});
        for (const std::string& read : options.read_paths)
            if (refusal.empty()) refusal = refuse_overwriting(path, {read});
        if (!refusal.empty()) return fmt::format("{}: {}", path, refusal);
    }
    return {};
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    ReportOptions options;
    auto error = analysis::parse(arguments, option_table(), options);
    if (!error && !options.help && !options.version) error = options::usage_error_if(contradiction_of_trace(options));
    if (const auto status = answered(environment, "report", error, options, help)) return *status;
    if (!exporters::report::has_page()) {
        print_message("rdmascope report: {}", exporters::report::reason_of_no_page());
        return exit_failed;
    }
    if (const std::string refusal = refusal_of(options); !refusal.empty()) {
        print_message("rdmascope report: {}", refusal);
        return exit_failed;
    }
    options.commands = true;
    // Names that are not addresses are left out.
    if (options.anonymous) options.names = false;
    // The sentences of the page are the same on a terminal and in a pipe.
    base::set_charset(base::Charset::utf8);
    return Run(options, environment, arguments).work();
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"report", option_table().options()}}; }

}  // namespace cli::report
