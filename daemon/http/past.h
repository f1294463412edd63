#pragma once
#include <chrono>
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

    bool operator==(const TimeRange&) const = default;
};
/// "-1h" and "now", as `--from` and `--to` accept them; an absent end is now. Fails with what is expected instead.
base::Result<TimeRange> range_of(const std::string& from, const std::string* to, std::int64_t now_ns);

/// The history of a stretch of time: its sum and its course. A long one is read in pieces.
struct Past {
    explicit Past(std::uint64_t interval_ns);

    metrics::Snapshot sum = {};
    exporters::report::TimeLine line;
    std::uint64_t intervals = 0;
    bool crc_verified = true;
    std::optional<std::int64_t> last_start_ns = {};  ///< of the last interval that was read
    std::optional<std::int64_t> ended_ns = {};       ///< the end of what was read, if there is more
};
/// How long one piece may take; other clients wait for as long.
constexpr std::chrono::milliseconds longest_piece{1'000};
/// Reads the next piece into `past`, one interval at least. `go_on` is asked repeatedly.
base::Result<void> read_on(Past& past, const std::string& directory, TimeRange range,
                           const std::function<bool()>& go_on, std::chrono::milliseconds longest = longest_piece);

/// `{"first_ns":...,"last_ns":...,"intervals":...}` of the whole history.
base::Result<std::string> extent_document(const std::string& directory, const std::function<bool()>& go_on);
/// The sums of the range's bins, without its flows.
std::string past_document(const Past& past, TimeRange range);

}  // namespace service::http
