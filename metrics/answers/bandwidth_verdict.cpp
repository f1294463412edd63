#include "metrics/answers/bandwidth_verdict.h"

#include <algorithm>
#include <array>
#include <span>

#include "metrics/answers/bandwidth_measures.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/trace_evidence.h"

namespace metrics::inline answers {

namespace {

bool was_paused(const Subject& subject, const FlowSnapshot& flow) {
    return std::any_of(subject.snapshot().pauses.begin(), subject.snapshot().pauses.end(),
                       [&](const PauseSnapshot& pause) {
                           if (pause.interface != flow.interface) return false;
                           return pause.pause_frames + pause.pfc_frames > 0;
                       });
}

/// The sender stops in the middle of messages.
Verdict verdict_of_stalls(const Subject& subject, const FlowSnapshot& flow) {
    return was_paused(subject, flow) ? Verdict::pause : Verdict::nic_stall;
}

/// The rate of a link is the fastest that was seen: jitter on a full link is counted as stalls.
bool fills_link(const Subject& subject, const FlowSnapshot& flow) {
    const double sending = sending_share(subject, flow);
    // If posts show that work was held back between messages, the stall is not jitter.
    const double stalled = ratio(static_cast<double>(time_in(flow, {State::nic_stall}) - held_ns(flow)),
                                 static_cast<double>(flow.wall_ns()));
    return sending >= full_share || (sending >= 0.5 && sending + stalled >= 0.9);
}

struct Candidate {
    double share;
    Verdict verdict;
};

const Candidate& most_of(std::span<const Candidate> candidates) {
    return *std::max_element(candidates.begin(), candidates.end(),
                             [](const Candidate& a, const Candidate& b) { return a.share < b.share; });
}

/// If what is outstanding is not known. A gap inside a message is still the sender's, and traced posts are still known.
Verdict verdict_without_depth(const Subject& subject, const FlowSnapshot& flow) {
    const auto part = [&flow](std::uint64_t ns) {
        return ratio(static_cast<double>(ns), static_cast<double>(flow.wall_ns()));
    };
    const Candidate stalls{part(time_in(flow, {State::nic_stall}) - held_ns(flow)), verdict_of_stalls(subject, flow)};
    const std::array<Candidate, 6> candidates{
        {{part(between_messages_ns(flow)), Verdict::undecidable},
         {part(time_in(flow, {State::link_shared})), Verdict::link_shared},
         {part(time_in(flow, {State::congestion_paced})), Verdict::congestion_paced},
         stalls,
         {part(held_ns(flow)), Verdict::posted_not_sent},
         {part(unpolled_ns(flow)), Verdict::slow_polling}}};
    const Candidate& most = most_of(candidates);
    if (most.share < binding_share) return Verdict::not_limited;
    const bool held_back = flow.vantage == Vantage::receiver && stalls.share >= binding_share;  // as in verdict_of()
    return most.verdict == Verdict::undecidable && held_back ? stalls.verdict : most.verdict;
}

/// Whether only the sender's habit speaks for its window: what is outstanding at the tap is far from it, and nothing
/// shows how far away the sender is. A window that is seen is nearly full while it holds the sender.
bool window_is_hidden(const Subject& subject, const FlowSnapshot& flow, double window_share) {
    constexpr double seen_part = 0.25;
    const FlowSnapshot* const reverse = subject.reverse(flow);
    if (reverse != nullptr && reverse->round_trip_min_ns) return false;
    return flow.messages_mean < seen_part * window_share * static_cast<double>(flow.messages_max);
}

/// What takes most of the time, where what is outstanding is known.
Candidate longest_wait(const Subject& subject, const FlowSnapshot& flow) {
    const std::uint64_t wall = flow.wall_ns();
    const bool iwarp = flow.transport == wire::Transport::iwarp;
    const double window = share_of(flow, {State::ack_window}, wall);
    const double queued = ratio(static_cast<double>(flow.queueing_ns), static_cast<double>(wall));
    const bool in_queue = queued > 0.5 * window && sending_share(subject, flow) >= binding_share;
    const Verdict full_window = in_queue                                  ? Verdict::window_queueing
                                : window_is_hidden(subject, flow, window) ? Verdict::paced_or_window
                                                                          : Verdict::window_too_small;
    // Where nothing is outstanding, more of it at a time is no advice.
    const bool in_flight = flow.messages_mean >= least_in_flight;
    const Verdict pausing = in_flight ? Verdict::application_depth : Verdict::application_idle;
    const auto part = [wall](std::uint64_t ns) { return ratio(static_cast<double>(ns), static_cast<double>(wall)); };
    // Time that posts and completions explain is not counted in the state that packets alone show.
    const auto without = [&](State state, std::uint64_t known) { return part(time_in(flow, {state}) - known); };
    const auto posting = [&](State state) { return without(state, unpolled_ns(flow, state)); };
    const double paused = in_flight ? 0 : posting(State::application_in_flight);
    const std::array<Candidate, 11> candidates{{
        {share_of(flow, {State::read_window}, wall), Verdict::read_depth},
        {share_of(flow, {State::credit}, wall), iwarp ? Verdict::receive_window : Verdict::credit},
        {window, full_window},
        {share_of(flow, {State::link_shared}, wall), Verdict::link_shared},
        {share_of(flow, {State::congestion_paced}, wall), Verdict::congestion_paced},
        {without(State::nic_stall, held_ns(flow)), verdict_of_stalls(subject, flow)},
        {part(held_ns(flow)), Verdict::posted_not_sent},
        {part(unpolled_ns(flow)), Verdict::slow_polling},
        {posting(State::application_in_flight), pausing},
        {posting(State::application_idle) + paused, Verdict::application_idle},
        {posting(State::peer_wait), Verdict::peer_wait},
    }};
    return most_of(candidates);
}

/// The fixed cost of each message looks like one of these.
bool may_come_from_small_messages(Verdict verdict) {
    switch (verdict) {
        case Verdict::application_depth:
        case Verdict::application_idle:
        case Verdict::window_too_small:
        case Verdict::paced_or_window:
        case Verdict::nic_stall:
        case Verdict::posted_not_sent: return true;
        default: return false;
    }
}

}  // namespace

Verdict bandwidth_verdict(const Subject& subject, const FlowSnapshot& flow) {
    const std::uint64_t wall = flow.wall_ns();
    if (wall == 0 || too_little(flow) || partly_read(flow)) return Verdict::undecidable;
    if (share_of(flow, {State::unobserved}, wall) >= unobserved_share) return Verdict::undecidable;
    if (fills_link(subject, flow)) return Verdict::link_full;
    if (!knows_depth(flow)) return verdict_without_depth(subject, flow);
    const Candidate most = longest_wait(subject, flow);
    if (most.share < binding_share) return Verdict::not_limited;
    // Near the receiver everything is acknowledged at once, so that a sender that is held back between messages looks
    // as if it had nothing to send; one that stops within them has been seen to be held back.
    if (most.verdict == Verdict::application_idle && flow.vantage == Vantage::receiver &&
        share_of(flow, {State::nic_stall}, wall) >= binding_share)
        return verdict_of_stalls(subject, flow);
    const bool pipelined = flow.messages_max >= 4 && flow.messages_mean >= 1 && flow.messages_total() > 0;
    if (pipelined && mean_message(flow) <= small_message_bytes && may_come_from_small_messages(most.verdict))
        return Verdict::small_messages;
    return most.verdict;
}

}  // namespace metrics::answers
