#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exporters/flow_order.h"
#include "metrics/why/answer.h"
#include "tui/model/flow_filter.h"
#include "tui/model/reading.h"
#include "tui/model/settings.h"

namespace tui {

/// A row of the table of flows: a flow, or the heading of a group with the sum of its members.
struct FlowLine {
    const metrics::FlowSnapshot* flow = nullptr;   ///< figures of the window; a group's are its members' sum
    const metrics::FlowSnapshot* whole = nullptr;  ///< the flow since the beginning; null for a group
    bool idle = false;                             ///< nothing of it passed in the interval: `flow` is `whole`
    bool pinned = false;
    bool group = false;
    bool folded = false;      ///< a group whose members are not listed
    std::string title = {};   ///< a group's: "storage-3", "roce2 RC", "class 0x68"
    std::size_t members = 0;  ///< a group's
    std::uint64_t id() const { return flow->id; }
};

/// How the table is to be made.
struct FlowChoice {
    exporters::FlowOrder order;
    Grouping grouping = Grouping::none;
    Window window = Window::interval;
    std::set<std::uint64_t> pinned = {};  ///< flow ids: first, in the same order among themselves
    std::set<std::string> folded = {};    ///< titles of groups
};

/// The rows of the table. Made anew when a reading comes or the choice changes; 100,000 flows in well under a tenth of
/// a second. Points into the reading, which it keeps.
class FlowList {
public:
    void build(const ReadingPtr& reading, const FlowChoice& choice, FlowFilter& filter,
               const metrics::HostNames* names);

    const std::vector<FlowLine>& lines() const { return lines_; }
    std::size_t flows() const { return flows_; }    ///< in the reading
    std::size_t hidden() const { return hidden_; }  ///< that the filter keeps back
    /// The line of a flow; absent where it is not listed.
    std::optional<std::size_t> find(std::uint64_t id) const;

private:
    ReadingPtr reading_ = nullptr;
    std::deque<metrics::FlowSnapshot> sums_ = {};
    std::vector<FlowLine> lines_ = {};
    std::size_t flows_ = 0;
    std::size_t hidden_ = 0;
};

}  // namespace tui
