#include "cli/daemon/daemon_request.h"

#include <ctime>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/quantities.h"
#include "cli/command.h"
#include "cli/console.h"
#include "control/client.h"

namespace cli::daemon {

namespace {

using Json = nlohmann::ordered_json;

int fail(std::string_view message) {
    print_message("rdmascope daemon: {}", message);
    return exit_failed;
}

/// The client's message names an option of other commands.
std::string with_own_option(std::string text) {
    constexpr std::string_view of_others = "--connect=SOCKET";
    const std::size_t at = text.find(of_others);
    return at == std::string::npos ? text : text.replace(at, of_others.size(), "--socket PATH");
}

Json request_of(const DaemonOptions& options) {
    switch (options.action) {
        case Action::trigger: return {{"version", 1}, {"command", "trigger"}, {"reason", options.reason}};
        case Action::reload: return {{"version", 1}, {"command", "reload"}};
        default: return {{"version", 1}, {"command", "status"}};
    }
}

std::uint64_t number_in(const Json& status, const char* member) {
    const auto found = status.find(member);
    return found != status.end() && found->is_number() ? found->get<std::uint64_t>() : 0;
}

void append_status(std::string& out, std::string_view name, std::string_view value) {
    out += fmt::format("{:<12}{}\n", name, value);
}

/// Packets captured and lost on an interface.
std::string interface_line(const Json& interface) {
    std::string line = fmt::format("{}: {}", interface.value("name", std::string("?")),
                                   base::format_counted(number_in(interface, "received"), "packet"));
    if (const std::uint64_t lost = number_in(interface, "kernel_dropped"); lost != 0)
        line += fmt::format(", {} lost by the kernel", base::group_digits(lost));
    if (const std::uint64_t lost = number_in(interface, "interface_dropped"); lost != 0)
        line += fmt::format(", {} lost by the adapter", base::group_digits(lost));
    if (interface.value("open", Json(true)) == Json(false)) line += ", not there now";
    return line;
}

/// ", 2 lost"; nothing if there were none.
std::string losses(const Json& status, const char* member, std::string_view what) {
    const std::uint64_t count = number_in(status, member);
    return count == 0 ? "" : fmt::format(", {} {}", base::group_digits(count), what);
}

std::string history_line(const Json& status) {
    return base::format_counted(number_in(status, "history_intervals"), "interval") +
           losses(status, "history_lost_intervals", "lost");
}

std::string recorder_line(const Json& status) {
    return fmt::format("{} held, {} saved{}", base::format_counted(number_in(status, "recorder_frames"), "frame"),
                       base::format_counted(number_in(status, "recordings"), "recording"),
                       losses(status, "recordings_failed", "failed"));
}

std::string rows_line(const Json& rows) {
    const std::uint64_t failures = number_in(rows, "failures");
    return fmt::format("{} sent, {} waiting{}{}{}", base::format_counted(number_in(rows, "sent_intervals"), "interval"),
                       base::format_size(static_cast<double>(number_in(rows, "spool_octets"))),
                       losses(rows, "dropped_intervals", "dropped"), losses(rows, "spool_failures", "not spooled"),
                       failures == 0 ? "" : ", " + base::format_counted(failures, "failed request"));
}

std::string status_page(const Json& status) {
    std::string out;
    const std::uint64_t started_ns = number_in(status, "started_ns");
    const std::uint64_t now_ns = number_in(status, "now_ns");
    append_status(out, "version", status.value("version", std::string()));
    if (now_ns > started_ns)
        append_status(out, "running", base::format_interval(static_cast<double>(now_ns - started_ns)));
    for (const Json& interface : status.value("interfaces", Json::array()))
        append_status(out, "interface", interface_line(interface));
    append_status(out, "packets", base::group_digits(number_in(status, "packets")));
    append_status(out, "flows",
                  base::group_digits(number_in(status, "flows")) + losses(status, "flows_evicted", "evicted"));
    append_status(out, "memory", base::format_size(static_cast<double>(number_in(status, "memory_octets"))));
    append_status(out, "history", history_line(status));
    append_status(out, "recorder", recorder_line(status));
    const auto last = status.find("last_recording");
    if (last != status.end() && last->is_string()) append_status(out, "last saved", last->get<std::string>());
    if (number_in(status, "trace_records") + number_in(status, "trace_records_lost") != 0)
        append_status(out, "traces",
                      base::format_counted(number_in(status, "trace_records"), "record") +
                          losses(status, "trace_records_lost", "lost"));
    if (const auto rows = status.find("clickhouse"); rows != status.end() && rows->is_object())
        append_status(out, "clickhouse", rows_line(*rows));
    append_status(out, "clients", base::group_digits(number_in(status, "clients")));
    for (const Json& key : status.value("needs_restart", Json::array()))
        if (key.is_string())
            append_status(out, "restart", fmt::format("{} changes with the next start", key.get<std::string>()));
    return out;
}

std::string page_of(const DaemonOptions& options, const Json& result) {
    if (options.json) return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (options.action == Action::status) return status_page(result);
    if (options.action == Action::trigger) return "the flight recorder saves what it holds, and what follows\n";
    std::string out = "the configuration is read again\n";
    for (const Json& key : result.value("needs_restart", Json::array()))
        if (key.is_string()) out += fmt::format("{} changes with the next start\n", key.get<std::string>());
    return out;
}

}  // namespace

int ask_daemon(const DaemonOptions& options) {
    const auto config = load_config(options);
    if (!config) return fail(config.error().lines.front());
    const std::string& path = config->control.socket;
    if (path.empty()) return fail("the configuration has no control socket: set control.socket, or give --socket PATH");
    auto client = control::Client::connect(path);
    if (!client) return fail(with_own_option(client.error().text()));
    const auto line = (*client)->ask(request_of(options).dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!line) return fail(line.error().text());
    const Json answer = Json::parse(*line, nullptr, false);
    if (!answer.is_object()) return fail(fmt::format("{}: the answer is no JSON object", path));
    if (answer.value("ok", Json(false)) != Json(true))
        return fail(answer.value("error", fmt::format("{}: the daemon refuses without a reason", path)));
    return print(page_of(options, answer.value("result", Json::object())));
}

}  // namespace cli::daemon
