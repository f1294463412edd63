#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "exporters/report/time_line.h"
#include "history/history.h"

namespace service::http {

/// A stretch of time, [from_ns, to_ns) since 1970.
struct TimeRange {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
};
/// "-1h" and "now", as `--from` and `--to` accept them; an absent end is now. Fails with what is expected instead.
base::Result<TimeRange> range_of(const std::string& from, const std::string* to, std::int64_t now_ns);

/// The history of a stretch of time: its sum and its course.
struct Past {
    metrics::Snapshot sum = {};
    exporters::report::TimeLine line;
    std::uint64_t intervals = 0;
    bool crc_verified = true;
    std::optional<std::int64_t> ended_ns = {};  ///< if reading took too long: the rest is missing
};
/// Reads for two seconds at most. `go_on` is asked repeatedly.
base::Result<Past> read_past(const std::string& directory, TimeRange range, std::uint64_t interval_ns,
                             const std::function<bool()>& go_on);

/// `{"first_ns":...,"last_ns":...,"intervals":...}` of the whole history.
base::Result<std::string> extent_document(const std::string& directory, const std::function<bool()>& go_on);
/// The sums of the range's bins, without its flows.
std::string past_document(const Past& past, TimeRange range);

}  // namespace service::http
