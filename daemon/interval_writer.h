#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture_thread.h"
#include "daemon/config/config.h"
#include "daemon/log.h"
#include "daemon/policy_log.h"
#include "daemon/recorder/triggers.h"
#include "exporters/prometheus/policy_gauges.h"
#include "exporters/prometheus/traffic_totals.h"
#include "exporters/prometheus/verdicts.h"
#include "history/history.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot_sum.h"
#include "policy/rules.h"

namespace service {

/// Adds the intervals to the totals for Prometheus, writes them to the history, and checks whether they trigger the
/// flight recorder. The service's thread uses it; the listener's threads use families() as well.
class IntervalWriter {
public:
    /// `history` may be null.
    IntervalWriter(const Config& config, std::unique_ptr<history::HistoryWriter> history,
                   std::unique_ptr<Triggers> triggers, metrics::HostNames& names, Log& log);

    /// Returns the incidents that the interval has triggered.
    std::vector<Incident> interval(const Taken& taken, const CaptureThreadStatus& status);
    /// Writes the remaining intervals to the history.
    void flush();
    /// The reason of the history's last loss.
    const std::string& history_error() const { return history_error_; }
    void reconfigure(const Config& config, std::unique_ptr<Triggers> triggers);
    /// The rules that the next interval is compared with; none: nothing is compared.
    void set_policy(std::shared_ptr<const policy::Rules> rules) { policy_ = std::move(rules); }

    std::vector<::prometheus::MetricFamily> families() const;
    history::HistoryCounters history() const;

private:
    void keep(metrics::Snapshot&& difference, const Taken& taken);
    void append();
    void log_unseen(const metrics::CaptureFigures& figures);
    void look_for_own_addresses();
    /// Judging verdicts costs more than figures: one interval in five seconds is judged.
    void judge_verdicts(const metrics::Snapshot& difference, const Taken& taken,
                        const std::vector<metrics::Answer>& policy);
    /// What the rules say of the interval; empty without rules.
    std::vector<metrics::Answer> judge_policy(const metrics::Snapshot& difference, std::int64_t now_ns);

    Config config_;
    std::unique_ptr<history::HistoryWriter> history_;
    std::unique_ptr<Triggers> triggers_;
    metrics::HostNames& names_;
    Log& log_;
    std::shared_ptr<const metrics::Snapshot> previous_;
    std::optional<history::HistoryInterval> pending_;
    metrics::SnapshotSum pending_sum_;  ///< its difference
    bool history_failed_ = false;
    std::string history_error_ = {};
    bool unseen_logged_ = false;
    std::int64_t judged_ns_ = 0;  ///< the last time that verdicts were judged
    std::shared_ptr<const policy::Rules> policy_ = {};
    PolicyLog policy_log_;
    std::vector<metrics::Address> own_before_;  ///< at the end of the interval before
    std::vector<metrics::Address> own_;         ///< then or now

    mutable std::mutex mutex_;  ///< of what follows
    exporters::prometheus::TrafficTotals totals_;
    exporters::prometheus::VerdictGauges verdicts_;
    history::HistoryCounters history_counters_;
    exporters::prometheus::PolicyGauges policy_gauges_ = {};
};

}  // namespace service
