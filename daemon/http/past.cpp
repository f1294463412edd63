#include "daemon/http/past.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/moment.h"
#include "metrics/figures/snapshot_sum.h"

namespace service::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_past_flows = 20'000;
constexpr exporters::report::TimeLine::Bounds past_bounds{.bins = 480, .flow_bins = 60'000};

}  // namespace

base::Result<TimeRange> range_of(const std::string& from, const std::string* to, std::int64_t now_ns) {
    TimeRange range{.to_ns = now_ns};
    if (const std::string expected = base::take_moment(from, now_ns, range.from_ns); !expected.empty())
        return base::failure("from: " + expected + " is expected");
    if (to != nullptr)
        if (const std::string expected = base::take_moment(*to, now_ns, range.to_ns); !expected.empty())
            return base::failure("to: " + expected + " is expected");
    if (range.from_ns >= range.to_ns) return base::failure("from is not before to");
    return range;
}

Past::Past(std::uint64_t interval_ns) : line(interval_ns, past_bounds) {}

base::Result<void> read_on(Past& past, const std::string& directory, TimeRange range,
                           const std::function<bool()>& go_on, std::chrono::milliseconds longest) {
    using Clock = std::chrono::steady_clock;
    auto reader = history::HistoryReader::open(directory, go_on);
    if (!reader) return base::Failure{reader.error()};
    metrics::SnapshotSum sum(most_past_flows);
    if (past.last_start_ns) sum.add(std::move(past.sum));
    std::optional<Clock::time_point> end;
    const auto on_interval = [&](history::HistoryInterval&& interval) {
        // The interval at which the piece before ended is found again.
        if (past.last_start_ns && interval.start_ns <= *past.last_start_ns) return true;
        past.line.add(interval.start_ns, interval.difference);
        past.crc_verified = past.crc_verified && interval.crc_verified;
        ++past.intervals;
        past.last_start_ns = interval.start_ns;
        past.ended_ns = interval.start_ns + static_cast<std::int64_t>(interval.length_ns);
        sum.add(std::move(interval.difference));
        return Clock::now() < *end;
    };
    // The search for the intervals is not counted, so that every piece has some.
    const auto before_interval = [&end, longest](std::uint64_t /*done*/, std::uint64_t /*all*/) {
        if (!end) end = Clock::now() + longest;
        return true;
    };
    const auto read =
        (*reader)->read(past.last_start_ns.value_or(range.from_ns), range.to_ns, on_interval, before_interval);
    past.sum = sum.take();
    if (!read) return base::Failure{read.error()};
    if (*read) past.ended_ns.reset();
    return {};
}

base::Result<std::string> extent_document(const std::string& directory, const std::function<bool()>& go_on) {
    const auto reader = history::HistoryReader::open(directory, go_on);
    if (!reader) return base::Failure{reader.error()};
    Json result{{"kept", true}, {"first_ns", nullptr}, {"last_ns", nullptr}, {"intervals", 0}};
    if (const auto extent = (*reader)->extent()) {
        result["first_ns"] = extent->first_ns;
        result["last_ns"] = extent->last_ns;
        result["intervals"] = extent->intervals;
    }
    return result.dump();
}

std::string past_document(const Past& past, TimeRange range) {
    Json bins = Json::array();
    const auto length = static_cast<std::int64_t>(past.line.bin_ns());
    for (const auto& [number, bin] : past.line.bins())
        bins.push_back({{"start_ns", number * length},
                        {"wire_bytes", bin.figures.wire_bytes},
                        {"messages", bin.figures.messages},
                        {"resent", bin.figures.resent},
                        {"naks", bin.figures.naks},
                        {"rnr_naks", bin.figures.rnr_naks},
                        {"ce_marks", bin.figures.ce_marks},
                        {"cnps", bin.figures.cnps},
                        {"pauses", bin.pauses}});
    Json result{{"from_ns", range.from_ns},    {"to_ns", range.to_ns}, {"bin_ns", length},
                {"intervals", past.intervals}, {"ended_ns", nullptr},  {"bins", std::move(bins)}};
    if (past.ended_ns) result["ended_ns"] = *past.ended_ns;
    return result.dump();
}

}  // namespace service::http
