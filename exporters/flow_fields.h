#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "exporters/row_field.h"
#include "metrics/answers/answer.h"
#include "metrics/answers/flow_problems.h"
#include "metrics/figures/snapshot.h"

namespace exporters {

/// The stretch of the capture's clock that a row covers, if it is not the whole.
struct Interval {
    std::int64_t start_ns = 0;
    std::uint64_t length_ns = 0;
};

/// What a snapshot alone does not contain.
struct Context {
    const metrics::HostNames* names = nullptr;
    bool crc_verified = true;  ///< otherwise the number of bad CRCs is unknown
    std::optional<Interval> interval = {};
    std::optional<std::int64_t> capture_start_ns = {};  ///< the start of offsets; no value if no packet was seen
    const metrics::FlowProblems* problems = nullptr;    ///< problems of flows; null if they were not computed
};

/// The time of the capture's first frame; no value if it has no frames.
inline std::optional<std::int64_t> start_of(const metrics::CaptureFigures& capture) {
    return capture.packets == 0 ? std::nullopt : std::optional(capture.first_ns);
}
/// The time since the capture's start. Numbers of ns since 1970 lose digits in readers that keep numbers as doubles
/// (2^53 ns are 104 days); this number does not.
inline std::optional<std::int64_t> offset_ns(std::int64_t time_ns, const Context& context) {
    if (!context.capture_start_ns) return std::nullopt;
    // Times of a damaged capture may have any value: the difference wraps.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) -
                                     static_cast<std::uint64_t>(*context.capture_start_ns));
}

/// Whether a CRC of the capture can have been verified: CRCs stand at the end of packets, which a snapshot length cuts.
inline bool can_verify(const metrics::CaptureFigures& capture) {
    return capture.packets == 0 || capture.truncated < capture.packets;
}
/// Whether the ends agreed on no CRCs when they set up the connection.
inline bool lacks_crcs(const metrics::FlowSnapshot& flow) { return flow.connection->mpa_crc == false; }

struct FlowRow {
    const metrics::FlowSnapshot& flow;
    const Context& context;
    /// The flow's commands added up, from the first field that needs the sums.
    mutable std::shared_ptr<const metrics::CommandTotals> command_totals = {};
};
using FlowField = Field<FlowRow>;

/// "rnr"; "! rnr" if the problem is certain and costs 1 % or more; "rnr?" if it is suspected; "-" for null.
std::string problem_text(const metrics::FlowProblem* problem);
/// The problem of a row's flow; null if absent, or if it was not computed.
const metrics::FlowProblem* problem_of(const FlowRow& row);

/// All fields of a flow, in the order of JSON and CSV. With `by_interval`, the interval's start and length come first.
const std::vector<FlowField>& flow_fields();
const std::vector<FlowField>& interval_fields();
/// Columns for people: combined figures, `latency_p99` of the flow's most frequent operation, and the like. They can be
/// chosen and sorted by, and are not part of JSON and CSV unless chosen.
const std::vector<FlowField>& brief_fields();

/// Whether the field is a pace (a rate, a level, a duration) and not an amount: a flow that was silent in an interval
/// has no pace.
bool is_pace(const FlowField& field);

using FlowColumns = std::vector<const FlowField*>;

/// The fields that `name` means: a field by its path, all of a group such as `latency_ns.send`, or a field by its
/// heading in the table, such as `p99`, if no other has that heading. Empty if absent.
FlowColumns find_fields(std::string_view name);
/// Every name that find_fields knows.
std::vector<std::string_view> field_names();
/// All of flow_fields(), after interval_fields() if the caller asks for those.
FlowColumns all_columns(bool by_interval);

/// "192.0.2.1/0x11", "storage-3.7174": an end of a flow as the table shows it.
std::string endpoint_text(const metrics::Endpoint& endpoint, const metrics::HostNames* names);
/// "ib_write_bw[4711]": the short form of a process.
std::string program_text(const metrics::Process& process);
/// The content of a flow in which no message ended: "(unfinished)" ones, "(responses)" of READs and atomics, "(acks)",
/// or "-".
std::string_view messageless_text(const metrics::FlowSnapshot& flow);

/// The output of `--columns help`: one line for each column, or for a family of columns, with its unit and its meaning.
std::string column_reference();
/// The output of `--columns names`: every column and group, one on each line, for programs.
std::string column_names();

}  // namespace exporters
