#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/compact.h"
#include "exporters/filter/flow_filter.h"
#include "exporters/flow_fields.h"
#include "exporters/flow_order.h"
#include "metrics/answers/answer.h"
#include "tui/model/reading.h"
#include "tui/model/settings.h"

namespace tui::inline model {

struct Groups;

/// A row of the table of flows: a flow, or the heading of a group with the sum of its members.
struct FlowLine {
    const metrics::FlowSnapshot* flow = nullptr;    ///< figures of the window; a group's are its members' sum
    const metrics::FlowSnapshot* whole = nullptr;   ///< the flow since the beginning; null for a group
    const metrics::FlowProblem* problem = nullptr;  ///< the problem; null if absent; a group's: the worst
    bool idle = false;                              ///< window interval: nothing passed in it, `flow` is `whole`
    bool pinned = false;
    bool group = false;
    bool folded = false;                         ///< a group whose members are not listed
    base::CompactValue<std::string> title = {};  ///< a group's: "storage-3", "roce2 RC", "class 0x68"
    std::size_t members = 0;                     ///< a group's
    std::uint64_t id() const { return flow->id; }
};

/// The choices for the table.
struct FlowChoice {
    exporters::FlowOrder order;
    Grouping grouping = Grouping::none;
    Window window = Window::interval;
    std::set<std::uint64_t> pinned = {};  ///< flow ids: first, in the same order among themselves
    std::set<std::string> folded = {};    ///< titles of groups
    bool only_problems = false;           ///< flows without a problem are hidden
};

/// How to read a line's figures. In the window `interval`, a line that is not idle has the interval's figures, so that
/// rates are by its length; all others are of the flow's own time.
exporters::Context context_of(const FlowLine& line, Window window, const Reading& reading,
                              const metrics::HostNames* names);

/// The order of the lines: pinned flows; groups, each with its heading before its members; flows that passed something
/// in the interval; idle flows, which have counts of all their life and no pace (exporters::is_pace). Each part has the
/// chosen order; equals are ordered by id. If the order is by the cause of a problem, flows with a problem stand above
/// all others, idle or not: a flow that stands still may be the worst. Flows whose connection ended after repairs are
/// not among them, because nothing can be mended there. Pinned flows stand above the groups and are part of their sums.
///
/// A group's sum is the sum of its members that are not idle, or of all members if all are idle. Counters, histograms
/// and state times add up, and all that follows from them. Means of what was outstanding add up (of all since the
/// beginning, over time); maxima add up to a bound on what was outstanding at once, as do limits (ORD). What has no sum
/// (set-up, ends of several hosts, pairing) is absent. Rates are by the interval's length, so that they add up too.
/// Rates since the beginning are by the time from the first member's begin to the last one's end: members that lived
/// one after the other never reached the sum of their rates together.
///
/// The rows of the table. Built again when a reading comes or the choice changes; 100,000 flows take well under a tenth
/// of a second. Points into the reading, which it keeps.
class FlowList {
public:
    void build(const ReadingPtr& reading, const FlowChoice& choice, exporters::filter::FlowFilter& filter,
               const metrics::HostNames* names);

    const std::vector<FlowLine>& lines() const { return lines_; }
    std::size_t flows() const { return flows_; }        ///< in the reading
    std::size_t hidden() const { return hidden_; }      ///< hidden by the filter, or by the choice of problems
    std::size_t problems() const { return problems_; }  ///< flows with a problem, among those that the filter passes
    std::size_t idle() const { return idle_; }          ///< of those that it does not
    /// The line of a flow; no value if it is not listed.
    std::optional<std::size_t> find(std::uint64_t id) const;

private:
    void arrange(std::vector<FlowLine> flows, const FlowChoice& choice, const metrics::HostNames* names);
    std::vector<FlowLine> make_headings(const std::vector<FlowLine>& flows, const Groups& groups,
                                        const FlowChoice& choice);

    ReadingPtr reading_ = nullptr;
    std::deque<metrics::FlowSnapshot> sums_ = {};
    std::vector<FlowLine> lines_ = {};
    std::size_t flows_ = 0;
    std::size_t hidden_ = 0;
    std::size_t idle_ = 0;
    std::size_t problems_ = 0;
};

}  // namespace tui::model
