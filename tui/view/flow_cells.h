#pragma once
#include <string>

#include "tui/model/columns.h"
#include "tui/view/table.h"

namespace tui::inline view {

/// The condition of a flow, from its losses and its waiting.
enum class Condition : std::uint8_t {
    well,
    strained,  ///< marked, slowed down, repaired now and then
    problem,   ///< losses worth the name, NAKs, time-outs, bad CRCs, a Terminate
};
Condition condition_of(const metrics::FlowSnapshot& flow);
constexpr Role role_of(Condition condition) {
    return condition == Condition::problem    ? Role::bad
           : condition == Condition::strained ? Role::warning
                                              : Role::normal;
}

/// A cell of the table of flows: its text, coloured where the figure says that something is wrong, and dim where there
/// is nothing to say. `idle`: nothing passed in the interval; rates and times are absent, counts are of all the flow's
/// life.
TableCell flow_cell(const Column& column, const exporters::FlowRow& row, const Letters& letters, bool idle);

/// "storage-3/0x14 → 192.0.2.1/0x1f" in `room` columns: where it does not fit, both hosts are shortened, not the
/// numbers behind them.
std::string flow_text(const exporters::FlowRow& row, const Letters& letters, int room);

/// "WRITE", "W 93 R 7": operations by their share of the messages in percent, those with immediate data or invalidation
/// with their kin.
std::string mix_text(const metrics::FlowSnapshot& flow);

}  // namespace tui::view
