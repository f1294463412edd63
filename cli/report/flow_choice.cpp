#include "cli/report/flow_choice.h"

#include <algorithm>

#include "metrics/answers/flow_problems.h"

namespace cli::report {

namespace {

/// Collects flows, each once.
class Choice {
public:
    Choice(const metrics::Snapshot& snapshot, std::size_t most) : snapshot_(snapshot), most_(most) {}

    bool is_full() const { return flows_.size() >= most_; }
    void add(std::uint64_t id) {
        const metrics::FlowSnapshot* flow = snapshot_.flow(id);
        if (flow == nullptr || is_full() || std::ranges::find(flows_, flow) != flows_.end()) return;
        flows_.push_back(flow);
    }
    /// The flow, and its reverse if that sends messages of its own.
    void add_pair(std::uint64_t id) {
        add(id);
        const metrics::FlowSnapshot* flow = snapshot_.flow(id);
        if (flow == nullptr || !flow->reverse) return;
        const metrics::FlowSnapshot* reverse = snapshot_.flow(*flow->reverse);
        if (reverse != nullptr && reverse->messages_total() > 0) add(reverse->id);
    }
    std::vector<const metrics::FlowSnapshot*> take() { return std::move(flows_); }

private:
    const metrics::Snapshot& snapshot_;
    std::size_t most_;
    std::vector<const metrics::FlowSnapshot*> flows_ = {};
};

}  // namespace

std::vector<const metrics::FlowSnapshot*> flows_with_plots(const metrics::Snapshot& snapshot,
                                                           std::span<const metrics::Answer> answers,
                                                           const std::uint64_t* flow, std::size_t most) {
    Choice choice(snapshot, most);
    if (flow != nullptr) {
        choice.add(*flow);
        const metrics::FlowSnapshot* own = snapshot.flow(*flow);
        if (own != nullptr && own->reverse) choice.add(*own->reverse);
        return choice.take();
    }
    constexpr std::size_t of_each_answer = 3;
    for (const metrics::Answer& answer : answers) {
        if (!answer.alarm) continue;
        for (std::size_t i = 0; i < std::min(of_each_answer, answer.flows.size()); ++i)
            choice.add_pair(answer.flows[i]);
    }
    const metrics::FlowProblems problems = metrics::flow_problems(snapshot, answers);
    std::vector<const metrics::FlowSnapshot*> others;
    others.reserve(snapshot.flows.size());
    for (const metrics::FlowSnapshot& each : snapshot.flows)
        if (each.packets > 0) others.push_back(&each);
    const auto badness = [&problems](const metrics::FlowSnapshot* each) {
        const auto found = problems.find(each->id);
        return found == problems.end() ? 0.0 : metrics::badness(found->second);
    };
    const auto is_before = [&badness](const metrics::FlowSnapshot* one, const metrics::FlowSnapshot* other) {
        const double a = badness(one);
        const double b = badness(other);
        if (a != b) return a > b;
        return one->wire_bytes != other->wire_bytes ? one->wire_bytes > other->wire_bytes : one->id < other->id;
    };
    const std::size_t first = std::min(most, others.size());
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(first), others.end(), is_before);
    for (std::size_t i = 0; i < first && !choice.is_full(); ++i) choice.add_pair(others[i]->id);
    return choice.take();
}

std::vector<std::uint64_t> named_frames(std::span<const metrics::Answer> answers,
                                        std::span<const metrics::FlowSnapshot* const> flows) {
    std::vector<std::uint64_t> frames;
    for (const metrics::Answer& answer : answers)
        for (const metrics::Evidence& evidence : answer.evidence)
            frames.insert(frames.end(), evidence.frames.begin(), evidence.frames.end());
    for (const metrics::FlowSnapshot* flow : flows)
        for (const metrics::EventSummary& event : flow->event_summaries)
            frames.insert(frames.end(), event.frames.begin(), event.frames.end());
    std::ranges::sort(frames);
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    return frames;
}

}  // namespace cli::report
