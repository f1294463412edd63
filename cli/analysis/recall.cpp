#include "cli/analysis/recall.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>
#include <optional>
#include <thread>

#include "base/moment.h"
#include "cli/progress.h"
#include "history/history.h"
#include "metrics/figures/snapshot_sum.h"

namespace cli::analysis {

namespace {

/// Stored intervals in groups that begin at multiples of a length.
class Groups {
public:
    Groups(std::uint64_t length_ns, const Session::IntervalSink& sink) : length_ns_(length_ns), sink_(sink) {}

    bool add(const history::HistoryInterval& stored) {
        const bool longer = stored.length_ns > length_ns_;
        const std::int64_t start =
            longer ? stored.start_ns : begin_of(stored.start_ns, static_cast<std::int64_t>(length_ns_));
        if (open_ && (longer || *open_ != start) && !close()) return false;
        open_ = start;
        open_length_ns_ = longer ? stored.length_ns : length_ns_;
        sum_.add(metrics::Snapshot(stored.difference));
        return true;
    }
    bool close() {
        if (!open_) return true;
        const Session::Interval group{*open_, open_length_ns_, sum_.take()};
        open_.reset();
        return group.difference.flows.empty() || sink_(group);
    }

private:
    std::uint64_t length_ns_;
    const Session::IntervalSink& sink_;
    std::optional<std::int64_t> open_ = {};
    std::uint64_t open_length_ns_ = 0;
    metrics::SnapshotSum sum_;
};

std::string nothing_there(const history::HistoryReader& reader, const std::string& directory,
                          const AnalysisOptions& options) {
    const auto extent = reader.extent();
    if (!extent) return fmt::format("{}: the history is empty yet", directory);
    std::string range;
    if (options.from_ns) range += " from " + base::moment(*options.from_ns);
    if (options.to_ns) range += " to " + base::moment(*options.to_ns);
    return fmt::format("{}: nothing was recorded{}; the history goes from {} to {}", directory, range,
                       base::moment(extent->first_ns), base::moment(extent->last_ns));
}

/// Draws the progress of reading. Several threads call it; only the thread that made it draws.
class RecallWatch {
public:
    RecallWatch(Progress& progress, bool (*stop)()) : progress_(progress), stop_(stop) {}

    bool operator()(std::uint64_t done, std::uint64_t all) const {
        if (std::this_thread::get_id() == owner_ && progress_.due()) progress_.draw(done, all, "intervals");
        return !stop_();
    }

private:
    Progress& progress_;
    bool (*stop_)();
    std::thread::id owner_ = std::this_thread::get_id();
};

std::string all_at_once(history::HistoryReader& reader, std::int64_t from_ns, std::int64_t to_ns, std::size_t max_flows,
                        const RecallWatch& watch, Recalled& recalled) {
    auto sum = reader.merged(from_ns, to_ns, max_flows, watch);
    if (!sum) return sum.error().text();
    recalled.any = sum->intervals != 0;
    recalled.crc_verified = sum->crc_verified;
    recalled.whole = std::move(sum->whole);
    return {};
}

std::string in_groups(history::HistoryReader& reader, std::int64_t from_ns, std::int64_t to_ns, std::size_t max_flows,
                      const RecallWatch& watch, Groups groups, Recalled& recalled) {
    metrics::SnapshotSum whole(max_flows);
    const auto take = [&](history::HistoryInterval&& interval) {
        recalled.any = true;
        recalled.crc_verified &= interval.crc_verified;
        const bool wanted = groups.add(interval);
        whole.add(std::move(interval.difference));
        return wanted;
    };
    const auto read = reader.read(from_ns, to_ns, take, watch);
    if (read.ok() && *read) groups.close();
    recalled.whole = whole.take();
    return read.ok() ? std::string{} : read.error().text();
}

}  // namespace

std::int64_t begin_of(std::int64_t time, std::int64_t length) {
    const std::int64_t bounded = std::max(time, std::numeric_limits<std::int64_t>::min() + length);
    const std::int64_t past = bounded % length;
    return bounded - (past < 0 ? past + length : past);
}

Recalled recall(const AnalysisOptions& options, std::uint64_t interval_ns, const Session::IntervalSink& sink,
                bool (*stop)()) {
    Recalled recalled;
    const std::string directory = options.history.value_or(history::default_history);
    auto reader = history::HistoryReader::open(directory, [stop] { return !stop(); });
    if (!reader) {
        recalled.error = reader.error().text();
        return recalled;
    }
    const std::int64_t from_ns = options.from_ns.value_or(std::numeric_limits<std::int64_t>::min());
    const std::int64_t to_ns = options.to_ns.value_or(std::numeric_limits<std::int64_t>::max());
    Progress progress(true);
    const RecallWatch watch(progress, stop);
    const Session::IntervalSink print = [&](const Session::Interval& interval) {
        progress.wipe();
        return sink(interval);
    };
    const auto fault = interval_ns == 0 ? all_at_once(**reader, from_ns, to_ns, options.max_flows, watch, recalled)
                                        : in_groups(**reader, from_ns, to_ns, options.max_flows, watch,
                                                    Groups(interval_ns, print), recalled);
    progress.wipe();
    recalled.damaged = (*reader)->damaged_records();
    if (!fault.empty())
        recalled.error = fault;
    else if (!recalled.any && stop())
        recalled.error = fmt::format("{}: stopped before an interval was read", directory);
    else if (!recalled.any)
        recalled.error = nothing_there(**reader, directory, options);
    return recalled;
}

}  // namespace cli::analysis
