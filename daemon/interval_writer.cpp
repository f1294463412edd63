#include "daemon/interval_writer.h"

#include <algorithm>
#include <fmt/core.h>

#include "daemon/own_addresses.h"
#include "policy/compliance.h"
#include "policy/policy_answers.h"

namespace service {

namespace {

exporters::prometheus::TrafficOptions traffic_options(const Config& config,
                                                      const std::vector<capture::InterfaceInfo>& interfaces) {
    exporters::prometheus::TrafficOptions options;
    options.max_peers = config.prometheus.max_peers;
    options.crc_verified = config.engine.verify_crc;
    for (const capture::InterfaceInfo& interface : interfaces) options.interfaces.push_back(interface.name);
    return options;
}

}  // namespace

IntervalWriter::IntervalWriter(const Config& config, std::unique_ptr<history::HistoryWriter> history,
                               std::unique_ptr<Triggers> triggers, metrics::HostNames& names, Log& log)
    : config_(config),
      history_(std::move(history)),
      triggers_(std::move(triggers)),
      names_(names),
      log_(log),
      previous_(std::make_shared<metrics::Snapshot>()),
      policy_log_(log),
      totals_(traffic_options(config, {})) {
    if (history_) history_counters_ = history_->counters();
}

/// At every interval: a series that was begun as a stranger's stays one. What went away during the interval was ours
/// for a part of it.
void IntervalWriter::look_for_own_addresses() {
    own_ = std::move(own_before_);
    own_before_ = own_addresses();
    own_.insert(own_.end(), own_before_.begin(), own_before_.end());
}

std::vector<Incident> IntervalWriter::interval(const Taken& taken, const CaptureThreadStatus& status) {
    look_for_own_addresses();
    names_.learn(taken.snapshot->names);
    metrics::Snapshot difference = metrics::difference(*previous_, *taken.snapshot);
    previous_ = taken.snapshot;
    {
        const std::lock_guard lock(mutex_);
        totals_.set_options(traffic_options(config_, status.interfaces));
        totals_.add(difference, *taken.snapshot, names_, own_);
    }
    log_unseen(difference.capture);
    const std::vector<metrics::Answer> policy_answers = judge_policy(difference, taken.wall_ns);
    judge_verdicts(difference, taken, policy_answers);
    std::vector<Incident> incidents;
    if (triggers_) incidents = triggers_->judge(difference, names_, policy_answers);
    if (history_) keep(std::move(difference), taken);
    return incidents;
}

std::vector<metrics::Answer> IntervalWriter::judge_policy(const metrics::Snapshot& difference, std::int64_t now_ns) {
    if (!policy_ || policy_->empty()) {
        const std::lock_guard lock(mutex_);
        policy_gauges_.add({});
        return {};
    }
    const exporters::Context context{.names = &names_, .capture_start_ns = exporters::start_of(difference.capture)};
    const policy::Compliance compliance = policy::check(*policy_, difference, context);
    std::vector<exporters::prometheus::PolicyRuleFigures> figures;
    figures.reserve(compliance.rules.size());
    for (const policy::RuleOutcome& rule : compliance.rules)
        figures.push_back(
            {rule.rule->name, rule.flows, rule.violations.size(), rule.broken_packets(), rule.broken_bytes()});
    std::vector<metrics::Answer> answers = policy::answers_of(compliance, difference, names_);
    policy_log_.judge(compliance, names_, now_ns);
    const std::lock_guard lock(mutex_);
    policy_gauges_.add(figures);
    return answers;
}

void IntervalWriter::judge_verdicts(const metrics::Snapshot& difference, const Taken& taken,
                                    const std::vector<metrics::Answer>& policy) {
    constexpr std::int64_t pause_ns = 5'000'000'000;
    const bool is_due = judged_ns_ == 0 || taken.wall_ns < judged_ns_ || taken.wall_ns - judged_ns_ >= pause_ns;
    if (!is_due) return;
    judged_ns_ = taken.wall_ns;
    std::vector<metrics::Answer> answers;
    if (!difference.flows.empty()) answers = metrics::answer(difference, names_);
    answers.insert(answers.end(), policy.begin(), policy.end());
    const std::lock_guard lock(mutex_);
    verdicts_.add(answers);
}

/// Kernels and adapters join segments (GRO, LRO): of the FPDUs in one, a short snapshot length keeps the first head
/// alone.
void IntervalWriter::log_unseen(const metrics::CaptureFigures& figures) {
    if (unseen_logged_ || config_.capture.snaplen == 0 || figures.stream_octets_skipped == 0 || figures.truncated == 0)
        return;
    unseen_logged_ = true;
    log_.warning("iwarp",
                 fmt::format("{} bytes of iWARP streams could not be followed: their segments reach this machine "
                             "joined, and {} bytes of each are kept; set capture.snaplen = 0, or switch joining "
                             "off (ethtool -K IFACE gro off lro off)",
                             figures.stream_octets_skipped, config_.capture.snaplen));
}

void IntervalWriter::keep(metrics::Snapshot&& difference, const Taken& taken) {
    if (!pending_) {
        pending_.emplace();
        pending_->crc_verified = config_.engine.verify_crc;
        pending_->start_ns = taken.wall_ns - static_cast<std::int64_t>(taken.length_ns);
    }
    pending_->length_ns += taken.length_ns;
    pending_->frames_end = taken.frames_end;
    pending_sum_.add(std::move(difference));
    // The last interval of some may end a little early.
    if (pending_->length_ns + config_.engine.interval_ns / 2 >= config_.history.interval_ns) append();
}

void IntervalWriter::append() {
    pending_->difference = pending_sum_.take();
    const auto kept = history_->append(*pending_);
    if (!kept && !history_failed_) log_.error("history", kept.error().text());
    if (kept && history_failed_) log_.info("history", "intervals are kept again");
    history_failed_ = !kept.ok();
    if (!kept) history_error_ = kept.error().text();
    pending_.reset();
    const std::lock_guard lock(mutex_);
    history_counters_ = history_->counters();
}

void IntervalWriter::flush() {
    if (history_ && pending_) append();
}

void IntervalWriter::reconfigure(const Config& config, std::unique_ptr<Triggers> triggers) {
    if (history_) history_->set_bounds(config.history.max_octets, config.history.max_age_ns);
    triggers_ = std::move(triggers);
    config_ = config;
}

std::vector<::prometheus::MetricFamily> IntervalWriter::families() const {
    const std::lock_guard lock(mutex_);
    std::vector<::prometheus::MetricFamily> all = totals_.families();
    for (::prometheus::MetricFamily& family : verdicts_.families()) all.push_back(std::move(family));
    for (::prometheus::MetricFamily& family : policy_gauges_.families()) all.push_back(std::move(family));
    return all;
}

history::HistoryCounters IntervalWriter::history() const {
    const std::lock_guard lock(mutex_);
    return history_counters_;
}

}  // namespace service
