#include "cli/daemon/daemon.h"

#include "base/quantities.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "cli/daemon/daemon_request.h"
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

int print_messages(const base::Errors& errors) {
    print_errors("daemon", errors);
    return exit_failed;
}

int serve(const DaemonOptions& options, const service::Config& config, std::string_view version) {
    service::Log log(service::find_level(config.log.level).value_or(service::Level::info),
                     config.log.max_lines_per_sec);
    analysis::Names names(true, config.engine.node_names);
    if (!names.errors().empty()) {
        for (const base::Error& wrong : names.errors())
            print_message("rdmascope daemon: engine.node_names: {}", wrong.text());
        return exit_failed;
    }
    service::ServiceOptions how;
    how.config = config;
    how.version = version;
    how.read_again = [&options]() -> base::Result<service::Config, service::ConfigErrors> {
        auto read = load_config(options);
        if (!read) return read;
        std::vector<std::string> wrong = judge(options, *read);
        if (!wrong.empty()) return base::Failure{service::ConfigErrors{std::move(wrong)}};
        return read;
    };
    service::Service daemon(std::move(how), names, log);
    if (const auto opened = daemon.open(); !opened) return print_messages(opened.error());
    const auto ended = daemon.run([] {
        print_message("ready");
        service::systemd::ready("capturing");
    });
    print_message("rdmascope daemon: {}", daemon.summary());
    return ended ? exit_done : print_messages(ended.error());
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    DaemonOptions options;
    if (const auto error = parse_options(arguments, options)) return usage_error(environment, "daemon", *error);
    switch (options.action) {
        case Action::help: return print(help());
        case Action::version: return print(version_text(environment.version));
        case Action::print_config: return print(service::config_reference());
        case Action::status:
        case Action::trigger:
        case Action::reload: return ask_daemon(options);
        case Action::check:
        case Action::run: break;
    }
    // The daemon's texts go to logs, files and clients, even if a terminal started the daemon.
    base::set_charset(base::Charset::ascii);
    const auto config = load_config(options);
    if (!config) return print_messages(config.error().lines);
    if (const std::vector<std::string> wrong = judge(options, *config); !wrong.empty()) return print_messages(wrong);
    if (options.action == Action::check) {
        if (const std::vector<std::string> wrong = judge_files(options, *config); !wrong.empty())
            return print_messages(wrong);
        print_message("rdmascope daemon: the configuration is good");
        return exit_done;
    }
    return serve(options, *config, environment.version);
}

std::string help() { return help_text(); }

std::vector<options::CommandOptions> option_lists() { return {{"daemon", option_table().options()}}; }

}  // namespace cli::daemon
