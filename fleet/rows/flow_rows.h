#pragma once
#include <span>

#include "fleet/rows/row_table.h"
#include "metrics/figures/snapshot.h"

namespace fleet::rows {

/// One column of `flows`, from a flow to its cell and back.
struct FlowColumn {
    Column column;
    Cell (*get)(const metrics::FlowSnapshot& flow);
    /// Null: the value is that of several members, which the amounts give back.
    void (*set)(metrics::FlowSnapshot& flow, const Cell& cell);
};

/// The columns after place_columns() and before the amounts.
std::span<const FlowColumn> flow_columns();

/// The address that metrics::to_text() writes so; a GID comes back as IPv6. AddressFamily::none if the text is no
/// address.
metrics::Address address_of(const std::string& text);

/// Which ends of a flow the daemon's own machine is: "source", "destination", "both", or "" where it is neither.
std::string own_end(const metrics::FlowSnapshot& flow, std::span<const metrics::Address> own);

/// `verdict`: what `why` says of the flow in the row's interval; empty without a problem.
struct FlowNotes {
    std::string own_end = {};
    std::string verdict = {};
    std::string cause = {};
    std::uint8_t grade = 0;   ///< as metrics::Grade
    std::uint8_t begins = 0;  ///< bits of RollUpBegin
};

/// Whether a row is the first one of its flow in a minute, in an hour. The roll-ups keep these, and the last ones.
enum RollUpBegin : std::uint8_t { begins_minute = 1, begins_hour = 2 };
/// Of a row whose interval ends at `end_ns`, after a row of the same flow at `last_end_ns`.
std::uint8_t begins_of(std::int64_t last_end_ns, std::int64_t end_ns);

const Table& flows_table();
Row flow_row(const Place& place, const metrics::FlowSnapshot& flow, const FlowNotes& notes);

/// The flow with its identity, and nothing that ever passed: the state before its first interval.
metrics::FlowSnapshot before_its_first_frame(const metrics::FlowSnapshot& flow);

/// Bits of the column `known`: whether the traffic can show these figures at all.
enum KnownFigure : std::uint8_t {
    known_retransmitted = 1,
    known_duplicate = 2,
    known_reordered = 4,
    known_missing = 8
};

}  // namespace fleet::rows
