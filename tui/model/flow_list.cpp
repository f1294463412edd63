#include "tui/model/flow_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tui/model/columns.h"
#include "tui/model/groups.h"

namespace tui::inline model {

namespace {

using metrics::FlowSnapshot;

/// What a line is sorted by, brought into unsigned numbers once, so that comparing costs nothing.
struct SortKey {
    bool unknown = false;
    std::uint64_t number = 0;  ///< of texts: the first bytes
    std::string text = {};
};

std::uint64_t ascending_bits(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

std::uint64_t first_octets(const std::string& text) {
    std::uint64_t octets = 0;
    for (std::size_t i = 0; i < 8; ++i)
        octets = octets << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
    return octets;
}

struct KeyOf {
    SortKey operator()(std::monostate) const { return {true}; }
    SortKey operator()(bool truth) const { return {false, truth ? 1U : 0U}; }
    SortKey operator()(std::uint64_t number) const { return {false, number}; }
    SortKey operator()(std::int64_t number) const {
        return {false, static_cast<std::uint64_t>(number) ^ std::uint64_t{1} << 63};
    }
    SortKey operator()(double number) const { return {false, ascending_bits(number)}; }
    SortKey operator()(std::string text) const {
        const std::uint64_t begin = first_octets(text);
        return {false, begin, std::move(text)};
    }
    SortKey operator()(const exporters::Frames& frames) const { return {false, frames.size()}; }
};

/// What is wrong with it is still to be mended.
bool is_urgent(const FlowLine& line) {
    if (line.problem == nullptr) return false;
    return line.group || !line.idle || !line.flow->finished || metrics::outlives_connection(line.problem->verdict);
}

/// Places of lines, with their keys next to them.
class Sorter {
public:
    Sorter(const FlowChoice& choice, const Reading& reading, const metrics::HostNames* names)
        : choice_(choice), reading_(reading), names_(names), by_problem_(choice.order.then != nullptr) {
        // Below the flows with a problem, which their badness sorts, all others have the second order alone.
        field_ = by_problem_ ? choice.order.then : choice.order.field;
        by_pace_ = field_ != nullptr && exporters::is_pace(*field_);
    }

    void reserve(std::size_t lines) { entries_.reserve(lines); }
    void add(const FlowLine& line, std::size_t place) {
        Entry entry{0, 0, line.id(), static_cast<std::uint32_t>(place), no_text, line.idle, true};
        if (by_problem_ && is_urgent(line)) {
            entry.badness = metrics::badness(*line.problem);
            entry.idle = false;
        }
        if (field_ != nullptr && !(line.idle && by_pace_)) {
            const exporters::Context context = context_of(line, choice_.window, reading_, names_);
            SortKey key = std::visit(KeyOf{}, exporters::FlowOrder::key_of(*field_, {*line.flow, context}));
            entry.unknown = key.unknown;
            entry.number = key.number;
            if (!key.text.empty()) {
                entry.text = static_cast<std::uint32_t>(texts_.size());
                texts_.push_back(std::move(key.text));
            }
        }
        entries_.push_back(entry);
    }

    std::vector<std::size_t> sorted() {
        std::sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) { return before(a, b); });
        std::vector<std::size_t> places;
        places.reserve(entries_.size());
        for (const Entry& entry : entries_) places.push_back(entry.place);
        entries_ = {};  // of a million flows, this is memory that the lines need
        return places;
    }

private:
    static constexpr std::uint32_t no_text = ~std::uint32_t{0};
    /// Small, as there is one a flow.
    struct Entry {
        double badness;  ///< 0: no problem, or not sorted by problems
        std::uint64_t number;
        std::uint64_t id;
        std::uint32_t place;
        std::uint32_t text;
        bool idle;
        bool unknown;
    };
    bool before(const Entry& a, const Entry& b) const {
        if (a.badness != b.badness) return (a.badness < b.badness) != choice_.order.descending;
        if (a.idle != b.idle) return b.idle;
        if (a.unknown != b.unknown) return b.unknown;
        if (a.number != b.number) return (a.number < b.number) != choice_.order.descending;
        if (a.text != no_text && b.text != no_text)
            if (const int way = texts_[a.text].compare(texts_[b.text]); way != 0)
                return (way < 0) != choice_.order.descending;
        return a.id != b.id ? a.id < b.id : a.place < b.place;
    }

    const FlowChoice& choice_;
    const Reading& reading_;
    const metrics::HostNames* names_;
    bool by_problem_;
    const exporters::FlowField* field_ = nullptr;
    bool by_pace_ = false;
    std::vector<Entry> entries_ = {};
    std::vector<std::string> texts_ = {};
};

/// In place, as a second list of a million lines would take much memory. `order[i]`: where the line is that comes i-th.
void bring_into_order(std::vector<FlowLine>& lines, std::vector<std::size_t> order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
        std::size_t at = i;
        while (order[at] != i) {
            const std::size_t from = order[at];
            std::swap(lines[at], lines[from]);
            order[at] = at;
            at = from;
        }
        order[at] = at;
    }
}

const metrics::FlowProblem* find_problem(const metrics::FlowProblems& problems, std::uint64_t id) {
    const auto found = problems.find(id);
    return found == problems.end() ? nullptr : &found->second;
}

FlowLine line_of(const FlowSnapshot* interval, const FlowSnapshot* whole, const FlowChoice& choice) {
    FlowLine line;
    line.whole = whole != nullptr ? whole : interval;
    line.idle = choice.window == Window::interval && interval == nullptr;
    line.flow = choice.window == Window::total || line.idle ? line.whole : interval;
    line.pinned = choice.pinned.contains(line.whole->id);
    return line;
}

/// Both snapshots are in the order of ids.
template <class Take>
void walk(const Reading& reading, Take take) {
    const auto& total = reading.total.flows;
    const auto& interval = reading.interval.flows;
    auto active = interval.begin();
    for (const FlowSnapshot& flow : total) {
        for (; active != interval.end() && active->id < flow.id; ++active) take(&*active, nullptr);
        const bool passed = active != interval.end() && active->id == flow.id;
        take(passed ? &*active : nullptr, &flow);
        if (passed) ++active;
    }
    for (; active != interval.end(); ++active) take(&*active, nullptr);
}

}  // namespace

exporters::Context context_of(const FlowLine& line, Window window, const Reading& reading,
                              const metrics::HostNames* names) {
    exporters::Context context{names, reading.crc_verified, {}};
    if (window == Window::interval && !line.idle)
        context.interval = exporters::Interval{reading.start_ns, reading.length_ns};
    else if (const std::uint64_t whole_ns = reading.whole_ns(); whole_ns != 0)
        context.interval = exporters::Interval{reading.total.capture.first_ns, whole_ns};
    context.problems =
        window == Window::interval && !line.idle ? &reading.interval_problems() : &reading.total_problems();
    return context;
}

void FlowList::build(const ReadingPtr& reading, const FlowChoice& choice, exporters::filter::FlowFilter& filter,
                     const metrics::HostNames* names) {
    lines_.clear();
    sums_.clear();
    flows_ = 0;
    hidden_ = 0;
    idle_ = 0;
    problems_ = 0;
    reading_ = reading;
    if (reading == nullptr) return;
    std::vector<FlowLine> flows;
    flows.reserve(reading->total.flows.size());
    const bool everything = filter.everything();
    walk(*reading, [&](const FlowSnapshot* interval, const FlowSnapshot* whole) {
        ++flows_;
        FlowLine line = line_of(interval, whole, choice);
        const exporters::Context context = context_of(line, choice.window, *reading, names);
        if (!everything && !filter.matches({*line.flow, context}, line.idle)) {
            ++hidden_;
            return;
        }
        line.problem = find_problem(*context.problems, line.id());
        if (line.problem != nullptr) ++problems_;
        if (choice.only_problems && line.problem == nullptr) {
            ++hidden_;
            return;
        }
        if (line.idle) ++idle_;
        flows.push_back(std::move(line));
    });
    arrange(std::move(flows), choice, names);
}

void FlowList::arrange(std::vector<FlowLine> flows, const FlowChoice& choice, const metrics::HostNames* names) {
    Sorter pinned(choice, *reading_, names);
    Sorter others(choice, *reading_, names);
    others.reserve(flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) (flows[i].pinned ? pinned : others).add(flows[i], i);
    std::vector<std::size_t> first = pinned.sorted();
    const std::vector<std::size_t> order = others.sorted();
    if (choice.grouping == Grouping::none) {
        first.insert(first.end(), order.begin(), order.end());
        bring_into_order(flows, std::move(first));
        lines_ = std::move(flows);
        return;
    }
    lines_.reserve(flows.size());
    for (const std::size_t place : first) lines_.push_back(flows[place]);
    std::vector<const FlowSnapshot*> wholes;
    wholes.reserve(flows.size());
    for (const FlowLine& line : flows) wholes.push_back(line.whole);
    const Groups groups = groups_of(wholes, choice.grouping, names);
    std::vector<FlowLine> headings = make_headings(flows, groups, choice);
    std::vector<std::vector<std::size_t>> members(headings.size());
    for (const std::size_t place : order) members[groups.of[place]].push_back(place);

    Sorter by_sum(choice, *reading_, names);
    for (std::size_t i = 0; i < headings.size(); ++i) by_sum.add(headings[i], i);
    for (const std::size_t group : by_sum.sorted()) {
        const bool folded = headings[group].folded;
        lines_.push_back(std::move(headings[group]));
        if (folded) continue;
        for (const std::size_t place : members[group]) lines_.push_back(std::move(flows[place]));
    }
}

std::vector<FlowLine> FlowList::make_headings(const std::vector<FlowLine>& flows, const Groups& groups,
                                              const FlowChoice& choice) {
    std::vector<FlowLine> headings(groups.titles.size());
    for (std::size_t i = 0; i < headings.size(); ++i) {
        headings[i].group = true;
        headings[i].idle = true;
        headings[i].title = groups.titles[i];
        headings[i].folded = choice.folded.contains(groups.titles[i]);
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
        FlowLine& heading = headings[groups.of[i]];
        ++heading.members;
        heading.idle = heading.idle && flows[i].idle;
        if (is_urgent(flows[i]) &&
            (heading.problem == nullptr || metrics::badness(*flows[i].problem) > metrics::badness(*heading.problem)))
            heading.problem = flows[i].problem;
    }
    // A sum of one is that one: flows are large.
    std::vector<FlowSnapshot*> sums(headings.size(), nullptr);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        FlowLine& heading = headings[groups.of[i]];
        FlowSnapshot*& sum = sums[groups.of[i]];
        if (flows[i].idle != heading.idle) continue;
        if (heading.flow == nullptr) {
            heading.flow = flows[i].flow;
            continue;
        }
        if (sum == nullptr) {
            sum = &sums_.emplace_back(*heading.flow);
            heading.flow = sum;
        }
        add_up(*sum, *flows[i].flow, choice.window);
    }
    return headings;
}

std::optional<std::size_t> FlowList::find(std::uint64_t id) const {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [id](const FlowLine& line) { return !line.group && line.id() == id; });
    if (found == lines_.end()) return {};
    return static_cast<std::size_t>(found - lines_.begin());
}

}  // namespace tui::model
