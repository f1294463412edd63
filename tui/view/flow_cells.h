#pragma once
#include <string>

#include "tui/model/columns.h"
#include "tui/view/table.h"

namespace tui::inline view {

/// By the grade of the problem; null if absent.
Role role_of(const metrics::FlowProblem* problem);
/// The cause of a problem in a word or two.
TableCell cause_cell(const metrics::FlowProblem* problem);

/// A cell of the table of flows: its text, coloured if the figure shows a problem, and dim if it is of no interest.
/// `idle`: nothing passed in the interval; rates and times are absent, counts are of all the flow's life.
TableCell flow_cell(const Column& column, const exporters::FlowRow& row, const Letters& letters, bool idle);

/// "storage-3/0x14 → 192.0.2.1/0x1f" in `room` columns. If it does not fit, both hosts are shortened, not the numbers
/// after them. A flow of READs has its arrow reversed, in the direction of the data.
std::string flow_text(const exporters::FlowRow& row, const Letters& letters, int room);

/// "WRITE", "W 93 R 7": operations by their share of the messages in percent; those with immediate data or invalidation
/// count with the plain ones.
std::string mix_text(const metrics::FlowSnapshot& flow);

}  // namespace tui::view
