#include "metrics/answers/finding.h"

#include <algorithm>
#include <utility>

namespace metrics::inline answers {

Flows flows_of(const std::vector<Affected>& affected) {
    Flows out;
    out.reserve(affected.size());
    for (const Affected& each : affected) out.push_back(each.flow);
    return out;
}

Answer finding(Question question, Verdict verdict, std::vector<Affected>& affected) {
    std::stable_sort(affected.begin(), affected.end(), [](const Affected& a, const Affected& b) {
        return a.severity != b.severity ? a.severity > b.severity : a.flow->id < b.flow->id;
    });
    Answer answer;
    answer.question = question;
    answer.verdict = verdict;
    double weight = 0;
    double confidence = 0;
    for (const Affected& each : affected) {
        answer.flows.push_back(each.flow->id);
        const double share = std::max(each.severity, 1e-9);
        weight += share;
        confidence += share * each.flow->confidence;
    }
    if (!affected.empty()) {
        answer.vantage = affected.front().flow->vantage;
        answer.severity = std::clamp(affected.front().severity, 0.0, 1.0);
        answer.cost = {answer.severity, CostBasis::busy_time};
        answer.confidence = std::clamp(confidence / weight, 0.0, 1.0);
    }
    const VerdictMeaning* const meaning = meaning_of(question, verdict);
    answer.alarm = meaning != nullptr && meaning->alarm;
    return answer;
}

std::vector<std::uint64_t> frames_of(const Flows& flows, std::initializer_list<EventKind> kinds) {
    constexpr std::size_t most = 8;
    std::vector<std::uint64_t> frames;
    for (const FlowSnapshot* flow : flows)
        for (const EventKind kind : kinds)
            if (const EventSummary* summary = flow->find_event_summary(kind))
                frames.insert(frames.end(), summary->frames.begin(), summary->frames.end());
    std::sort(frames.begin(), frames.end());
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    if (frames.size() > most) frames.resize(most);
    return frames;
}

void add_evidence(Answer& answer, std::string what, double value, EvidenceUnit unit, std::vector<std::uint64_t> frames,
                  bool always) {
    if (value == 0 && !always && frames.empty()) return;
    answer.evidence.push_back({std::move(what), value, unit, std::move(frames)});
}

}  // namespace metrics::answers
