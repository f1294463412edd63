#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "daemon/capture_thread.h"
#include "daemon/config/config.h"
#include "daemon/log.h"
#include "fleet/sink/sink.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"

namespace service {

/// Reads the first line of clickhouse.password_file; empty if there is no such key. Call it with the rights of the user
/// who started the daemon.
base::Result<std::string> read_clickhouse_password(const ClickHouseConfig& config);

/// Brings the figures of each interval to the sink for ClickHouse. For the service's thread.
class FleetFeed {
public:
    /// `names` and `log` outlive it. Fails if the spool cannot be used.
    static base::Result<std::unique_ptr<FleetFeed>> open(const ClickHouseConfig& config, std::string password,
                                                         std::string version, std::int64_t started_ns,
                                                         const metrics::HostNames& names, Log& log);

    void start() { sink_->start(); }
    void add(const Taken& taken, const CaptureThreadStatus& status, const metrics::DeviceFigures& devices);
    /// The last figures: they are in the spool when this returns.
    base::Result<void> end(const Taken& taken, const CaptureThreadStatus& status,
                           const metrics::DeviceFigures& devices);
    fleet::sink::SinkCounters counters() const { return sink_->counters(); }

private:
    FleetFeed(std::string version, std::unique_ptr<fleet::sink::Sink> sink)
        : version_(std::move(version)), sink_(std::move(sink)) {}
    fleet::sink::Interval interval_of(const Taken& taken, const CaptureThreadStatus& status,
                                      const metrics::DeviceFigures& devices) const;

    std::string version_;
    std::unique_ptr<fleet::sink::Sink> sink_;
};

}  // namespace service
