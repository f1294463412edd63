// `rdmascope endpoint serve`.
#include <array>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint/endpoint_server.h"
#include "cli/endpoint/option_table.h"
#include "cli/endpoint/subcommands.h"
#include "cli/signals.h"

namespace cli::endpoint {

namespace {

using options::Section;
using Clock = std::chrono::steady_clock;

struct ServeOptions : CommonOptions {
    ServerOptions server = {};
    bool verbose = false;
};
using ServeRow = options::Option<ServeOptions>;

constexpr std::array serve_own_rows{
    ServeRow{{0, "listen", "ADDR:PORT", "serve there (default 127.0.0.1:7174); port 0 is any free one"},
             Section::work,
             [](ServeOptions& o, const std::string& value) { return take_address(value, true, o.server.listen); }},
    ServeRow{{0, "connections", "N", "at most N at once (default 4096); others are rejected"},
             Section::bounds,
             options::number<1, 1'000'000, &ServeOptions::server, &ServerOptions::max_connections>},
    ServeRow{{0, "region", "SIZE", "lend SIZE bytes to be read, and a client at most SIZE to write (default 16M)"},
             Section::bounds,
             options::size<4096, std::uint64_t{1} << 32, &ServeOptions::server, &ServerOptions::region_octets>},
    ServeRow{{0, "memory", "SIZE", "for the buffers of all connections together (default 256M)"},
             Section::bounds,
             options::size<65536, std::uint64_t{1} << 40, &ServeOptions::server, &ServerOptions::memory_octets>},
    ServeRow{{0, "idle-timeout", "TIME", "end connections that are silent for so long (default 10m; 0: never)"},
             Section::bounds,
             options::duration_or_zero<&ServeOptions::server, &ServerOptions::idle>},
    ServeRow{{'v', "verbose", {}, "a line on standard error for every connection that comes, goes or fails"},
             Section::printing,
             options::turn_on<&ServeOptions::verbose>},
};

nlohmann::ordered_json serve_json(const Server& server, const Address& address, const Usage& used, double seconds) {
    const ServerCounters counted = server.counters();
    const iwarp::DeviceCounters& device = server.device_counters();
    return {
        {"role", "serve"},
        {"address", address.host},
        {"port", address.port},
        {"seconds", seconds},
        {"cpu_seconds",
         {{"user", static_cast<double>(used.user_ns) / 1e9}, {"system", static_cast<double>(used.system_ns) / 1e9}}},
        {"connections",
         {{"established", counted.established},
          {"rejected", counted.rejected},
          {"refused", device.connections_refused},
          {"handshakes_failed", device.handshakes_failed},
          {"closed", counted.ended},
          {"failed", counted.failed},
          {"idle_closed", counted.idle_ended},
          {"open_most", counted.open_most}}},
        {"fpdus", {{"sent", counted.traffic.fpdus_sent}, {"received", counted.traffic.fpdus_received}}},
        {"payload_bytes",
         {{"sent", counted.traffic.payload_octets_sent}, {"received", counted.traffic.payload_octets_received}}},
        {"sends",
         {{"received",
           {{"count", counted.sessions.messages_received}, {"bytes", counted.sessions.message_octets_received}}},
          {"sent", {{"count", counted.sessions.messages_sent}, {"bytes", counted.sessions.message_octets_sent}}},
          {"wrong", counted.sessions.messages_wrong}}},
        {"reads_served", counted.traffic.reads_served},
        {"pings", {{"count", counted.sessions.pings}, {"bytes", counted.sessions.ping_octets}}},
        {"crc_errors", counted.traffic.crc_errors},
        {"terminates", {{"sent", device.terminates_sent}, {"received", device.terminates_received}}},
        {"memory_bytes_most", server.budget().most()}};
}

std::string text_of(const Server& server, const Usage& used, double seconds) {
    const ServerCounters counted = server.counters();
    const iwarp::DeviceCounters& device = server.device_counters();
    std::string out =
        fmt::format("{}: {} connections ({} at once at most), {} rejected, {} lost, {} handshakes that failed\n",
                    base::format_duration(seconds * 1e9), counted.established, counted.open_most,
                    counted.rejected + device.connections_refused, counted.failed, device.handshakes_failed);
    out += fmt::format("payload: {} bytes sent, {} received; {} reads served, {} messages taken, {} pings answered\n",
                       counted.traffic.payload_octets_sent, counted.traffic.payload_octets_received,
                       counted.traffic.reads_served, counted.sessions.messages_received, counted.sessions.pings);
    if (counted.traffic.crc_errors + device.terminates_sent + device.terminates_received +
            counted.sessions.messages_wrong + counted.idle_ended !=
        0)
        out += fmt::format(
            "{} bad CRCs, {} Terminates sent and {} received, {} messages that were not as agreed, {} silent "
            "connections ended\n",
            counted.traffic.crc_errors, device.terminates_sent, device.terminates_received,
            counted.sessions.messages_wrong, counted.idle_ended);
    out += fmt::format("processor time: {} user, {} system\n", base::format_duration(used.user_ns),
                       base::format_duration(used.system_ns));
    return out;
}

void report_access(const Address& address) {
    if (!is_loopback(address.host))
        print_message(
            "rdmascope endpoint serve: every host that reaches {} may read and write the memory that is lent there; it "
            "holds a "
            "pattern, and nothing of this machine",
            text_of(address));
}

}  // namespace

int serve(const std::vector<std::string>& arguments, const Environment& environment) {
    ServeOptions options;
    std::vector<std::string> words;
    auto usage = parse(arguments, table_of(serve_own_rows), options, words);
    if (!usage && !words.empty()) usage = options::UsageError{fmt::format("'{}' is no option", options::joined(words))};
    if (const auto status = answered(environment, "endpoint serve", usage, options, serve_help)) return *status;

    const Signals signals;
    const std::size_t descriptors = raise_descriptor_limit();
    options.server.connection = options.connection;
    if (options.verbose)
        options.server.say = [](std::string_view line) { print_message("rdmascope endpoint serve: {}", line); };
    const auto limits = limits_for(descriptors);
    if (!limits) {
        print_message("rdmascope endpoint serve: {} open files are too few for connections; raise `ulimit -n`",
                      descriptors);
        return exit_failed;
    }
    options.server.spare_connections = limits->spare;
    if (options.server.max_connections > limits->connections) {
        options.server.max_connections = limits->connections;
        print_message("rdmascope endpoint serve: {} connections at once, as `ulimit -n` is {}",
                      options.server.max_connections, descriptors);
    }
    Server server(options.server);
    const Address address = server.address();
    report_access(address);
    if (const int status = print(fmt::format("ready {}\n", text_of(address))); status != exit_done) return status;

    const auto begun = Clock::now();
    const Usage before = Usage::of_this_process();
    while (!Signals::stop()) server.progress(std::chrono::milliseconds(100));
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    const Usage used = Usage::of_this_process().since(before);
    server.stop(std::chrono::seconds(1));
    return print(options.json ? serve_json(server, address, used, seconds).dump(2) + "\n"
                              : text_of(server, used, seconds));
}

std::vector<options::ListedOption> serve_options() { return table_of(serve_own_rows).options(); }

std::string serve_help() {
    return options::help_page(
        "Usage: rdmascope endpoint serve [--listen ADDR:PORT] [OPTION]...\n\n"
        "Lends memory that holds a pattern, takes and echoes messages, and answers rping's clients, until SIGINT or\n"
        "SIGTERM. Prints `ready ADDR:PORT` when it listens, and what it did at the end.\n",
        table_of(serve_own_rows).options(), "\nManual: rdmascope-endpoint(1).\n");
}

}  // namespace cli::endpoint
