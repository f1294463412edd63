#include "metrics/figures/post_figures.h"

#include <algorithm>
#include <tuple>

#include "metrics/figures/snapshot_fields.h"

namespace metrics::inline figures {

namespace {

using Counter = std::uint64_t VerbsFigures::*;
constexpr std::array<Counter, 11> counters{
    &VerbsFigures::posts,
    &VerbsFigures::posts_refused,
    &VerbsFigures::receives,
    &VerbsFigures::completions,
    &VerbsFigures::completion_errors,
    &VerbsFigures::records_lost,
    &VerbsFigures::messages_matched,
    &VerbsFigures::completions_missed,
    &VerbsFigures::messages_unmatched,
    &VerbsFigures::polled_early,
    &VerbsFigures::receives_used,
};
constexpr std::array delay_histograms{
    &DelayFigures::post_to_wire_ns, &DelayFigures::wire_ns,  &DelayFigures::wire_to_ack_ns,
    &DelayFigures::ack_to_poll_ns,  &DelayFigures::whole_ns,
};

void merge_level(LevelFigures& into, const LevelFigures& other) {
    const double sum = fields::total(into.mean, into.observed_ns) + fields::total(other.mean, other.observed_ns);
    into.observed_ns = fields::add(into.observed_ns, other.observed_ns);
    into.mean = into.observed_ns == 0 ? 0 : sum / static_cast<double>(into.observed_ns);
    into.max = std::max(into.max, other.max);
    into.empty_ns = fields::add(into.empty_ns, other.empty_ns);
    into.full_ns = fields::add(into.full_ns, other.full_ns);
    if (other.capacity && (!into.capacity || *into.capacity < *other.capacity)) into.capacity = other.capacity;
}

void subtract_level(LevelFigures& from, const LevelFigures& earlier) {
    const double rest = fields::total(from.mean, from.observed_ns) - fields::total(earlier.mean, earlier.observed_ns);
    from.observed_ns = fields::subtract(from.observed_ns, earlier.observed_ns);
    if (from.observed_ns != 0) from.mean = std::max(rest, 0.0) / static_cast<double>(from.observed_ns);
    from.empty_ns = fields::subtract(from.empty_ns, earlier.empty_ns);
    from.full_ns = fields::subtract(from.full_ns, earlier.full_ns);
}

/// The one with that key, made at its place where it is missing.
template <class List, class Key, class Member>
auto& found_or_made(List& list, Key key, Member member) {
    const auto place = std::lower_bound(list.begin(), list.end(), key,
                                        [member](const auto& one, Key wanted) { return one.*member < wanted; });
    if (place != list.end() && (*place).*member == key) return *place;
    auto& made = *list.emplace(place);
    made.*member = key;
    return made;
}

}  // namespace

OperationWaits& VerbsFigures::waits(Operation operation) {
    return found_or_made(operations, operation, &OperationWaits::operation);
}

StatusCount& VerbsFigures::status(std::uint8_t code) { return found_or_made(statuses, code, &StatusCount::status); }

DelayFigures VerbsFigures::delays() const {
    DelayFigures all;
    for (const OperationWaits& one : operations)
        for (const auto member : delay_histograms) (all.*member).merge(one.delays.*member);
    return all;
}

void merge(VerbsFigures& into, const VerbsFigures& other) {
    const auto who = [](const VerbsFigures& one) {
        return std::tie(one.process.pid, one.device, one.queue_pair, one.process.command, one.process.container);
    };
    if (who(other) < who(into)) {
        into.process = other.process;
        into.device = other.device;
        into.queue_pair = other.queue_pair;
    }
    for (const Counter member : counters) into.*member = fields::add(into.*member, other.*member);
    for (const StatusCount& one : other.statuses) {
        std::uint64_t& count = into.status(one.status).count;
        count = fields::add(count, one.count);
    }
    merge_level(into.send_queue, other.send_queue);
    merge_level(into.receive_queue, other.receive_queue);
    into.receive_queue_shared |= other.receive_queue_shared;
    into.midway |= other.midway;
    into.post_interval_ns.merge(other.post_interval_ns);
    for (const OperationWaits& one : other.operations) {
        OperationWaits& mine = into.waits(one.operation);
        mine.completion_ns.merge(one.completion_ns);
        for (const auto member : delay_histograms) (mine.delays.*member).merge(one.delays.*member);
    }
    for (std::size_t i = 0; i < application_states; ++i) {
        into.held_ns[i] = fields::add(into.held_ns[i], other.held_ns[i]);
        into.unpolled_ns[i] = fields::add(into.unpolled_ns[i], other.unpolled_ns[i]);
    }
}

void subtract(VerbsFigures& from, const VerbsFigures& earlier) {
    for (const Counter member : counters) from.*member = fields::subtract(from.*member, earlier.*member);
    for (const StatusCount& one : earlier.statuses) {
        std::uint64_t& count = from.status(one.status).count;
        count = fields::subtract(count, one.count);
    }
    std::erase_if(from.statuses, [](const StatusCount& one) { return one.count == 0; });
    subtract_level(from.send_queue, earlier.send_queue);
    subtract_level(from.receive_queue, earlier.receive_queue);
    from.post_interval_ns = from.post_interval_ns.since(earlier.post_interval_ns);
    for (const OperationWaits& one : earlier.operations) {
        OperationWaits& mine = from.waits(one.operation);
        mine.completion_ns = mine.completion_ns.since(one.completion_ns);
        for (const auto member : delay_histograms)
            mine.delays.*member = (mine.delays.*member).since(one.delays.*member);
    }
    for (std::size_t i = 0; i < application_states; ++i) {
        from.held_ns[i] = fields::subtract(from.held_ns[i], earlier.held_ns[i]);
        from.unpolled_ns[i] = fields::subtract(from.unpolled_ns[i], earlier.unpolled_ns[i]);
    }
}

}  // namespace metrics::figures
