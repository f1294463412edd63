#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "daemon/recorder/triggers.h"
#include "daemon/server/command_backend.h"
#include "exporters/report/time_line.h"
#include "metrics/answers/answer.h"
#include "metrics/figures/device_figures.h"
#include "metrics/figures/snapshot.h"

/// The JSON documents of the API. docs/api.md describes each.
namespace service::http {

/// What the documents show: the present figures, or those of a stretch of the history.
struct Shown {
    const metrics::Snapshot& snapshot;
    const exporters::report::TimeLine& line;
    const metrics::DeviceFigures& devices;
    const metrics::HostNames& names;
    const Commands& commands;  ///< answers what the policy's rules say of the figures
    bool crc_verified = true;
    std::vector<std::string> left_out = {};
};

/// What a page has to know in addition to the figures.
struct PageFacts {
    std::string version;
    std::string interfaces;  ///< "eth0, eth1"
    std::uint64_t number = 0;
    std::int64_t taken_ns = 0;
    std::int64_t started_ns = 0;
    std::uint64_t interval_ns = 0;
    bool permits_writes = false;
    bool has_history = false;
    bool is_history = false;  ///< the figures are of [from_ns, to_ns)
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t asked_to_ns = 0;  ///< later than `to_ns` as long as the history has not been read to its end
};

/// An incident that set the flight recorder off.
struct Noted {
    std::int64_t time_ns = 0;
    Incident incident;
};

/// The document of web/schema/report.schema.json.
std::string report_document(const Shown& shown, const PageFacts& facts);
/// What `why --json` prints, of all flows or of one.
std::string answers_document(const Shown& shown, const std::uint64_t* flow);
/// What `flows --json` prints, of at most `limit` flows in the order `sort`. Fails if there is no such order.
base::Result<std::string> flows_document(const Shown& shown, const std::string& sort, std::uint64_t limit);
/// A flow with all figures, its answers and its plot. Fails if there is no such flow.
base::Result<std::string> flow_document(const Shown& shown, std::uint64_t id);
std::string hosts_document(const Shown& shown);
/// Pairs of hosts with the figures of their entropies, at most `limit`. With `paths`, also what chance would do if that
/// number of paths were hashed to.
std::string paths_document(const Shown& shown, std::optional<std::uint64_t> paths, std::uint64_t limit);
/// Flows that carry commands of an upper layer, at most 1,000, with figures of these, and the connections with their
/// kinds of commands as `io --json` has them.
std::string commands_document(const Shown& shown);
/// The time line, and the figures of the flows over time.
std::string series_document(const Shown& shown);
/// What the frames of the flows showed, and what set the flight recorder off.
std::string events_document(const Shown& shown, std::span<const Noted> incidents);

/// A text that is JSON, from one that need not be UTF-8.
std::string quoted_json(std::string_view text);

}  // namespace service::http
