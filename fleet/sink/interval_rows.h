#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/rows/path_rows.h"
#include "fleet/rows/row_tables.h"
#include "fleet/rows/state_rows.h"
#include "fleet/sink/spool_batch.h"
#include "metrics/answers/flow_problems.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/snapshot.h"

namespace fleet::sink {

/// The state of a daemon at the end of an interval.
struct Interval {
    std::shared_ptr<const metrics::Snapshot> snapshot;
    metrics::DeviceFigures devices = {};
    std::vector<metrics::Address> own_addresses = {};
    rows::Health health = {};
    std::int64_t end_ns = 0;
};

/// Which of a kind of rows changed, and which of those also need the row of the interval before, because they had none
/// there: questions subtract it.
class ChangeLog {
public:
    enum class Change : std::uint8_t { none, changed, resumed };

    /// `content` is a hash of the row without its place.
    Change look(const std::string& key, std::uint64_t content, const rows::Place& place);
    /// When the interval of the row before the last one ended; 0 if there was none. For a key that was looked at.
    std::int64_t last_end_ns(const std::string& key) const { return seen_.at(key).last_end_ns; }
    /// Forgets what has not been looked at in this interval.
    void forget_absent(std::uint32_t sequence);

private:
    struct Seen {
        std::uint64_t content = 0;
        std::uint32_t written = 0;  ///< in the interval of this sequence
        std::uint32_t looked = 0;
        std::int64_t end_ns = 0;  ///< of the row that was written last
        std::int64_t last_end_ns = 0;
    };
    std::unordered_map<std::string, Seen> seen_ = {};
};

/// Makes the rows of each interval: of what changed, and of the daemon's health.
class IntervalRows {
public:
    /// `start_ns`: when the daemon began, with nothing seen.
    IntervalRows(std::string host, std::uint64_t boot, std::int64_t start_ns);

    /// The rows of the next interval. Until accept() is called, the interval has not happened: if its rows could not be
    /// kept, the next interval is longer.
    Batch make(const Interval& interval, const metrics::HostNames& names);
    void accept();

    std::uint32_t sequence() const { return sequence_ + 1; }  ///< of the next interval

private:
    struct Logs {
        ChangeLog flows = {};
        ChangeLog hosts = {};
        ChangeLog counters = {};
        ChangeLog commands = {};
        ChangeLog events = {};
        ChangeLog paths = {};
    };
    /// The same table at the end of this interval and of the one before.
    struct States {
        rows::StateRows now;
        std::function<rows::StateRows()> before;  ///< called if a row needs it
    };
    rows::Place place_before() const { return {host_, boot_, sequence_, before_.end_ns}; }
    void add_flows(Batch& batch, const Interval& interval, const metrics::FlowProblems& problems);
    void add_hosts(Batch& batch, const Interval& interval);
    void add_counters(Batch& batch, const Interval& interval);
    void add_states(Batch& batch, const rows::Table& table, ChangeLog& log, const States& states);
    void add_commands(Batch& batch, const Interval& interval);
    void add_events(Batch& batch, const Interval& interval);
    void add_paths(Batch& batch, const Interval& interval, const metrics::Snapshot& difference);
    void add_answers(Batch& batch, const std::vector<metrics::Answer>& answers);

    std::string host_;
    std::uint64_t boot_;
    std::uint32_t sequence_ = 0;  ///< of the last interval that was accepted
    Interval before_ = {};        ///< the last interval that was accepted
    Logs logs_ = {};
    rows::PathSums paths_ = {};
    Interval made_ = {};
    Logs made_logs_ = {};
    rows::PathSums made_paths_ = {};
    rows::Place place_ = {};  ///< of the interval that is being made
};

}  // namespace fleet::sink
