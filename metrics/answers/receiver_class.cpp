#include "metrics/answers/receiver_class.h"

#include <array>

namespace metrics::inline answers {

std::string_view name_of(ReceiverClass receiver) {
    constexpr std::array<std::string_view, 4> names{"unknown", "in_order", "selective", "placing"};
    return names[static_cast<std::size_t>(receiver)];
}

ReceiverClass class_of(const HoleOutcomes& outcomes) {
    constexpr std::uint64_t least_cases = 5;
    const std::uint64_t all = outcomes.in_order + outcomes.selective + outcomes.placing;
    if (all < least_cases) return ReceiverClass::unknown;
    const auto decides = [all](std::uint64_t cases) { return cases * 100 >= all * 95; };
    if (decides(outcomes.in_order)) return ReceiverClass::in_order;
    if (decides(outcomes.selective)) return ReceiverClass::selective;
    if (decides(outcomes.placing)) return ReceiverClass::placing;
    return ReceiverClass::unknown;
}

std::map<Address, ReceiverClass> receiver_classes(const Snapshot& snapshot) {
    std::map<Address, HoleOutcomes> sums;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (!flow.path || flow.path->outcomes == HoleOutcomes{}) continue;
        HoleOutcomes& sum = sums[flow.destination.address];
        sum.in_order += flow.path->outcomes.in_order;
        sum.selective += flow.path->outcomes.selective;
        sum.placing += flow.path->outcomes.placing;
    }
    std::map<Address, ReceiverClass> classes;
    for (const auto& [host, sum] : sums)
        if (const ReceiverClass known = class_of(sum); known != ReceiverClass::unknown) classes[host] = known;
    return classes;
}

}  // namespace metrics::answers
