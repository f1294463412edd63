#include "daemon/fleet_feed.h"

#include <array>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/open_file.h"
#include "daemon/own_addresses.h"

namespace service {
namespace {

constexpr std::size_t most_password_octets = 4096;

std::string machine_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

}  // namespace

base::Result<std::string> read_clickhouse_password(const ClickHouseConfig& config) {
    if (config.url.empty() || config.password_file.empty()) return std::string();
    const auto file = base::open_regular_file(config.password_file);
    if (!file)
        return base::failure(fmt::format("clickhouse.password_file: {}", file.error().reason), config.password_file);
    struct stat facts {};
    if (fstat(file->number(), &facts) != 0 || (facts.st_mode & S_IROTH) != 0)
        return base::failure("clickhouse.password_file: every user can read it; use chmod o-r", config.password_file);
    const std::string text = base::read_file(file->number(), most_password_octets).value_or("");
    std::string password(base::trimmed(std::string_view(text).substr(0, text.find('\n'))));
    if (password.empty())
        return base::failure("clickhouse.password_file: there is no password in the first line", config.password_file);
    return password;
}

base::Result<std::unique_ptr<FleetFeed>> FleetFeed::open(const ClickHouseConfig& config, std::string password,
                                                         std::string version, std::int64_t started_ns,
                                                         const metrics::HostNames& names, Log& log) {
    fleet::sink::SinkOptions options;
    options.access.url = config.url;
    options.jsonl = config.jsonl;
    options.access.database = config.database;
    options.access.user = config.user;
    options.access.password = std::move(password);
    options.access.ca_file = config.ca_file;
    options.access.verify_tls = config.verify_tls;
    options.spool = config.spool;
    options.max_spool_octets = config.max_spool_octets;
    options.host = config.host.empty() ? machine_name() : config.host;
    options.boot = static_cast<std::uint64_t>(started_ns);
    options.start_ns = started_ns;
    options.interval_ns = config.interval_ns;
    options.send_interval_ns = config.send_interval_ns;
    auto sink = fleet::sink::Sink::open(std::move(options), names, [&log](bool warning, const std::string& line) {
        warning ? log.warning("clickhouse", line) : log.info("clickhouse", line);
    });
    if (!sink) return base::Failure{sink.error()};
    return std::unique_ptr<FleetFeed>(new FleetFeed(std::move(version), std::move(sink).value()));
}

fleet::sink::Interval FleetFeed::interval_of(const Taken& taken, const CaptureThreadStatus& status,
                                             const metrics::DeviceFigures& devices) const {
    fleet::sink::Interval interval;
    interval.snapshot = taken.snapshot;
    interval.devices = devices;
    interval.own_addresses = own_addresses();
    interval.end_ns = taken.wall_ns;
    interval.health.version = version_;
    interval.health.flows_forgotten = status.forgotten_flows;
    interval.health.busy_share = status.busy_share;
    for (std::size_t i = 0; i < status.interfaces.size(); ++i) {
        if (i < status.open.size() && status.open[i]) ++interval.health.interfaces_open;
        if (i >= status.statistics.size()) continue;
        interval.health.kernel_dropped += status.statistics[i].kernel_dropped.value_or(0);
        interval.health.interface_dropped += status.statistics[i].interface_dropped.value_or(0);
    }
    return interval;
}

void FleetFeed::add(const Taken& taken, const CaptureThreadStatus& status, const metrics::DeviceFigures& devices) {
    const std::int64_t now_ns = base::steady_ns();
    if (sink_->is_due(now_ns)) sink_->offer(interval_of(taken, status, devices), now_ns);
}

base::Result<void> FleetFeed::end(const Taken& taken, const CaptureThreadStatus& status,
                                  const metrics::DeviceFigures& devices) {
    return sink_->end(interval_of(taken, status, devices));
}

}  // namespace service
