#include "cli/analysis/recall.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

#include "daemon/history/history.h"
#include "metrics/snapshot_sum.h"
#include "text/moment.h"

namespace cli::analysis {

namespace {

/// Stored intervals in groups that begin at multiples of a length.
class Groups {
public:
    Groups(std::uint64_t length_ns, const Session::IntervalSink& sink) : length_ns_(length_ns), sink_(sink) {}

    bool add(const service::HistoryInterval& stored) {
        if (length_ns_ == 0) return true;
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

std::string nothing_there(const service::HistoryReader& reader, const std::string& directory,
                          const AnalysisOptions& options) {
    const auto extent = reader.extent();
    if (!extent) return fmt::format("{}: the history is empty yet", directory);
    std::string range;
    if (options.from_ns) range += " from " + text::moment(*options.from_ns);
    if (options.to_ns) range += " to " + text::moment(*options.to_ns);
    return fmt::format("{}: nothing was recorded{}; the history goes from {} to {}", directory, range,
                       text::moment(extent->first_ns), text::moment(extent->last_ns));
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
    const std::string directory = options.history.value_or(service::default_history);
    auto reader = service::HistoryReader::open(directory);
    if (!reader) {
        recalled.error = reader.error().text();
        return recalled;
    }
    metrics::SnapshotSum whole;
    Groups groups(interval_ns, sink);
    const auto read = (*reader)->read(options.from_ns.value_or(std::numeric_limits<std::int64_t>::min()),
                                      options.to_ns.value_or(std::numeric_limits<std::int64_t>::max()),
                                      [&](service::HistoryInterval&& interval) {
                                          recalled.any = true;
                                          recalled.crc_verified &= interval.crc_verified;
                                          const bool wanted = groups.add(interval);
                                          whole.add(std::move(interval.difference));
                                          return wanted && !stop();
                                      });
    if (read.ok() && *read) groups.close();
    recalled.damaged = (*reader)->damaged_records();
    recalled.whole = whole.take();
    if (!read)
        recalled.error = read.error().text();
    else if (!recalled.any)
        recalled.error = nothing_there(**reader, directory, options);
    return recalled;
}

}  // namespace cli::analysis
