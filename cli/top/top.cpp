#include "cli/top/top.h"

#include <unistd.h>

#include "base/quantities.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/selection.h"
#include "cli/top/learning_feed.h"
#include "cli/top/open_feed.h"
#include "cli/top/options.h"
#include "cli/top/picture.h"
#include "cli/top/screen_loop.h"
#include "cli/top/settings_file.h"
#include "exporters/flow_fields.h"
#include "tui/model/columns.h"

namespace cli::top {

namespace {

int failed(std::string_view reason) {
    print_message("rdmascope top: {}", reason);
    return exit_failed;
}

int no_screen(std::string_view reason) {
    return failed(
        fmt::format("{}; `rdmascope flows` and `rdmascope why` print, and --once prints one picture", reason));
}

std::string column_help() {
    std::string usual;
    for (const tui::Column& column : tui::usual_columns()) usual += (usual.empty() ? "" : ",") + column.name;
    return fmt::format("{}\nWithout --columns: {}\n", exporters::column_reference(), usual);
}

Pace pace_of(const TopOptions& options, const tui::Settings& settings) {
    Pace pace;
    pace.interval_ns = settings.interval_ns;
    pace.speed = options.speed.value_or(options.once ? 0 : 1);
    pace.playing = !options.paused;
    return pace;
}

/// As tcpdump does: the number of captured packets is reported at the end.
void report_captured(const metrics::CaptureFigures& capture) {
    print_message("{} packets captured, {} dropped by the kernel", capture.packets, capture.kernel_dropped.value_or(0));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    TopOptions options;
    const auto usage = parse_options(arguments, options);
    if (const auto status = answered(environment, "top", usage, options, help)) return *status;
    if (options.column_help()) return print(column_help());
    options.commands = true;
    // A picture has the glyphs of the locale in a pipe too, and the words of the picture follow its glyphs.
    if (options.ascii || options.once)
        base::set_charset(!options.ascii && writes_utf8() ? base::Charset::utf8 : base::Charset::ascii);
    if (!options.once && !is_terminal(STDOUT_FILENO)) return no_screen("standard output is not a terminal");

    SettingsFile file(SettingsFile::usual_path());
    const tui::Settings began = overridden(file.read(), options);
    std::string error;
    analysis::Names names(true, options.node_names_path);
    if (!names.errors().empty()) return failed("--node-names: " + names.errors().front().text());
    auto source = open_feed(options, pace_of(options, began), error);
    if (!source) {
        const auto expression = expression_of(options.expression, options.expression_path);
        failed(error);
        return expression && is_mistaken(*expression) ? exit_usage : exit_failed;
    }
    LearningFeed feed(std::move(source), names);
    const Show show{feed, names, environment.fields(), options, began, file.complaint()};
    if (options.once) {
        if (!file.complaint().empty()) print_message("rdmascope top: {}", file.complaint());
        error = print_picture(show);
        return error.empty() ? exit_done : failed(error);
    }
    const Shown shown = show_screen(show);
    if (!shown.error.empty()) return no_screen(shown.error);
    error = file.write(shown.began, shown.settings);
    if (shown.gone) return exit_failed;
    if (!error.empty()) print_message("rdmascope top: settings are not stored: {}", error);
    if (!options.interfaces.empty() && shown.last) report_captured(shown.last->total.capture);
    return exit_done;
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"top", option_table().options()}}; }

}  // namespace cli::top
