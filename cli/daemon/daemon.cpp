#include "cli/daemon/daemon.h"

#include "base/quantities.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/daemon/judge.h"
#include "cli/daemon/options.h"
#include "daemon/log.h"
#include "daemon/service.h"
#include "daemon/systemd/notify.h"

namespace cli::daemon {

namespace {

int print_messages(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) print_message("rdmascope daemon: {}", line);
    return exit_failed;
}

int serve(const DaemonOptions& options, const service::Config& config, std::string_view version) {
    service::Level level = service::Level::info;
    service::level_of(config.log.level, level);
    service::Log log(level, config.log.max_lines_per_sec);
    const analysis::Names names(true);
    service::ServiceOptions how;
    how.config = config;
    how.version = version;
    how.read_again = [&options](service::Config& wanted) -> std::vector<std::string> {
        auto read = load_config(options);
        if (!read) return read.error().lines;
        wanted = std::move(read).value();
        return judge(options, wanted);
    };
    service::Service daemon(std::move(how), names, log);
    if (const std::vector<std::string> wrong = daemon.open(); !wrong.empty()) return print_messages(wrong);
    const std::vector<std::string> lost = daemon.run([] {
        print_message("ready");
        service::systemd::ready("capturing");
    });
    print_message("rdmascope daemon: {}", daemon.summary());
    return lost.empty() ? exit_done : print_messages(lost);
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    DaemonOptions options;
    if (const auto error = parse_options(arguments, options)) return usage_error(environment, "daemon", *error);
    switch (options.action) {
        case Action::help: return print(help());
        case Action::version: return print(version_text(environment.version));
        case Action::print_config: return print(service::config_reference());
        case Action::check:
        case Action::run: break;
    }
    // What the daemon says goes to logs, files and clients, even if a terminal started it.
    base::set_charset(base::Charset::ascii);
    const auto config = load_config(options);
    if (!config) return print_messages(config.error().lines);
    if (const std::vector<std::string> wrong = judge(options, *config); !wrong.empty()) return print_messages(wrong);
    if (options.action == Action::check) {
        if (const std::vector<std::string> wrong = judge_folders(options, *config); !wrong.empty())
            return print_messages(wrong);
        print_message("rdmascope daemon: the configuration is good");
        return exit_done;
    }
    return serve(options, *config, environment.version);
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"daemon", option_table().options()}}; }

}  // namespace cli::daemon
