#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporters/flow_fields.h"
#include "exporters/flow_timeline.h"
#include "exporters/row_field.h"

namespace exporters {

/// What flows are added up by.
enum class GroupBy : std::uint8_t { host, pair, process };

/// The traffic of a host, of two hosts with one another, or of a process that was traced.
struct TrafficGroup {
    std::string name;                      ///< host or process; of a pair, the host that sent first
    std::string peer = {};                 ///< of a pair, the other host
    std::string address = {};              ///< of `name`; empty for a process
    std::string peer_address = {};         ///< of `peer`
    std::optional<std::int64_t> pid = {};  ///< of a process
    std::uint64_t flows = 0;
    std::uint64_t problems = 0;        ///< flows with a problem
    std::uint64_t sent_bytes = 0;      ///< frames, as FlowSnapshot::wire_bytes counts them
    std::uint64_t received_bytes = 0;  ///< of a pair: from `peer` to `name`
    std::uint64_t sent_packets = 0;
    std::uint64_t received_packets = 0;
    std::uint64_t messages = 0;  ///< of flows that the group sends
    double share = 0;            ///< of the bytes of all flows: what the group sends; of a pair: both ways
    FlowTimeline::Cells bytes_over_time = {};  ///< of those bytes; empty if unknown

    std::uint64_t bytes() const { return sent_bytes + received_bytes; }
};

/// The groups of a snapshot's flows, that of the most bytes first. A flow whose process was not traced belongs to the
/// group "(not traced)". Without a `timeline`, bytes over time are unknown.
std::vector<TrafficGroup> traffic_groups(const std::vector<FlowRow>& rows, GroupBy by,
                                         const FlowTimeline& timeline = {});

using GroupField = Field<TrafficGroup>;
/// The columns of a table of such groups, in the order of the table, of CSV and of JSON.
const std::vector<GroupField>& group_fields(GroupBy by);

/// Within `width` columns: bytes over time are shown in what the other columns leave, at most 32.
void append_group_table(std::string& out, const std::vector<TrafficGroup>& groups, GroupBy by, std::size_t width);
void append_group_csv(std::string& out, const std::vector<TrafficGroup>& groups, GroupBy by);
/// The document {"capture": ..., "by": "host", "cell_ns": ..., "groups": [...]}. `cell_ns`: the length of a cell of
/// `bytes_over_time`; 0 if these are unknown.
void append_group_json(std::string& out, const std::vector<TrafficGroup>& groups, GroupBy by, std::uint64_t cell_ns,
                       const metrics::CaptureFigures& capture, const Context& context);

std::string_view name_of(GroupBy by);

}  // namespace exporters
