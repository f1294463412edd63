#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/analysis/session.h"
#include "control/client.h"
#include "metrics/figures/device_figures.h"

namespace cli::analysis {

/// Figures of a running daemon, in place of figures from frames. They are those since the daemon began or, with a time
/// or an interval, those of the time in which the daemon was watched.
class Watch {
public:
    explicit Watch(std::string path) : path_(std::move(path)) {}

    std::uint64_t interval_ns = 0;  ///< 0: without intervals
    std::optional<std::uint64_t> duration_ns = {};
    Session::IntervalSink sink = {};
    bool (*stop)() = nullptr;

    /// Runs until it is stopped. Returns what went wrong; the figures until then stay.
    std::string run();
    /// Whether there are any figures.
    bool began() const { return client_ != nullptr && latest_.has_value(); }
    metrics::Snapshot take_result();
    /// What the daemon's machine counted in the same time; empty if the daemon does not report it.
    metrics::DeviceFigures devices() const { return metrics::difference(first_devices_, devices_); }
    bool crc_verified() const { return client_ == nullptr || client_->crc_verified(); }
    std::string policy_file() const { return client_ == nullptr ? std::string() : client_->policy_file(); }

private:
    std::string look();
    void ask_for_counters();
    std::string follow();
    bool close_interval(std::int64_t start_ns);

    std::string path_;
    std::unique_ptr<control::Client> client_ = {};
    std::optional<metrics::Snapshot> first_ = {};     ///< null unless earlier figures are left out
    std::optional<metrics::Snapshot> previous_ = {};  ///< at the beginning of the interval
    std::optional<metrics::Snapshot> latest_ = {};
    metrics::DeviceFigures first_devices_ = {};
    metrics::DeviceFigures devices_ = {};
};

}  // namespace cli::analysis
