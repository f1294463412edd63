#include "metrics/measure/account/attribution.h"

#include <algorithm>
#include <utility>

namespace metrics::inline measure::inline account {
namespace {

__extension__ using Wide = unsigned __int128;

/// An echo is searched for up to this multiple of the least round trip to the sender: queues may lie in between.
constexpr std::uint64_t echo_round_trips = 8;

/// Answers that all came in this part of a gap were not waited for. A window that is empty for 99 % of a round trip is
/// possible only if the adapter answers in a hundredth of it. Round trips of a millisecond and more are much rarer than
/// applications with such a period, so that less is needed there.
constexpr std::uint64_t early_part = 100;
constexpr std::uint64_t early_part_of_long_gap = 20;
constexpr std::uint64_t long_gap_least_ns = 1'000'000;
/// Answers count as a round trip's if they come within this multiple of the distance to the sender.
constexpr std::uint64_t far_round_trips = 2;

/// After one CNP, DCQCN comes back to nearly its former rate in five periods of fast recovery (Zhu et al., SIGCOMM'15,
/// 3.1) of 300 µs as adapters have them; 55 µs in the paper. A CNP before that halves the rate that it comes back to,
/// and additive increase needs twice as long.
constexpr std::uint64_t fast_recovery_ns = 1'500'000;
constexpr std::uint8_t signals_most = 32;

/// Time since an event of the gap that began at `begin`; no_event if it came before, never, or later than `now`.
constexpr std::uint64_t no_event = UINT64_MAX;
std::uint64_t since(std::int64_t event_ns, std::int64_t begin_ns, std::int64_t now_ns) {
    if (event_ns == Situation::never || event_ns < begin_ns || event_ns > now_ns) {
        return no_event;
    }
    return static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(event_ns);
}

std::uint64_t doubled(std::uint64_t value) { return value > UINT64_MAX / 2 ? UINT64_MAX : value * 2; }

}  // namespace

/// What the rules look at, computed once a gap.
struct Attribution::Clues {
    std::uint64_t rest_ns;         ///< the gap without wire time
    std::uint64_t since_freed_ns;  ///< no_event, as the next two, where it did not happen in the gap
    std::uint64_t since_response_ns;
    std::uint64_t since_inbound_ns;
    std::uint64_t since_credit_ns;
    std::uint32_t level;  ///< messages outstanding when the gap began, or before its last acknowledgement if more
    bool left_alone;      ///< all answers came at the very beginning of the gap: the sender waited for nothing
    bool held;            ///< by its window, if that was full
    bool echoed;          ///< it began at the sender's usual time after an acknowledgement
};

std::uint64_t wire_time_ns(std::uint64_t bytes, std::uint64_t bits_per_sec) {
    if (bits_per_sec == 0) {
        return 0;
    }
    constexpr std::uint64_t scale = 8'000'000'000;
    if (bytes <= (UINT64_MAX - bits_per_sec) / scale) {
        return (bytes * scale + bits_per_sec - 1) / bits_per_sec;
    }
    const auto wide = (static_cast<Wide>(bytes) * scale + bits_per_sec - 1) / bits_per_sec;
    return wide > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(wide);
}

void Attribution::compute_wire_time(std::uint32_t bytes, std::uint64_t bits_per_sec) {
    wire_bytes_ = bytes;
    link_bits_per_sec_ = bits_per_sec;
    wire_ns_ = wire_time_ns(bytes, bits_per_sec);
}

void Attribution::packet(const Situation& situation, const AttributionOptions& options) {
    const std::uint64_t wire_ns = wire_time(situation.wire_bytes, situation.link_bits_per_sec);
    if (situation.signal_ns != signal_ns_) {
        apply_signal(situation.signal_ns, options);
    }

    if (!started_) {
        started_ = true;
        first_ns_ = last_ns_ = situation.now_ns;
    } else {
        const std::uint64_t gap_ns = situation.now_ns > last_ns_ ? static_cast<std::uint64_t>(situation.now_ns) -
                                                                       static_cast<std::uint64_t>(last_ns_)
                                                                 : 0;
        const State transmit = situation.again ? State::transmit_again : State::transmit_new;
        if (gap_ns <= wire_ns) {
            close(transmit, gap_ns);
        } else {
            times_[index_of(transmit)] += wire_ns;
            const Clues clues = clues_of(situation, gap_ns, wire_ns);
            learn(situation, clues, options);
            // A sender that reacted within a quarter of the gap had waited for most of it.
            const std::uint64_t share_ns =
                options.reaction_tolerance_ns != 0 ? 0 : std::min(clues.rest_ns / 4, tolerance_most_ns);
            const std::uint64_t half_ns = std::max(tolerance_ns_ / 2, share_ns);
            const std::uint64_t twice_ns = std::max(doubled(tolerance_ns_), share_ns);
            const State state = name(situation, clues, options, std::max(tolerance_ns_, share_ns));
            const auto near = [=](std::uint64_t ns) { return ns > half_ns && ns <= twice_ns && ns != no_event; };
            if ((near(clues.since_freed_ns) || near(clues.since_response_ns) || near(clues.since_inbound_ns) ||
                 near(clues.since_credit_ns)) &&
                (name(situation, clues, options, half_ns) != state ||
                 name(situation, clues, options, twice_ns) != state)) {
                unsure_ns_ += clues.rest_ns;
            }
            if (state == State::ack_window && situation.round_trip_min_ns != 0) {
                // what came after the acknowledgement is the sender's reaction, not the network's queue
                const std::uint64_t waited_ns =
                    gap_ns -
                    std::min(gap_ns, clues.since_freed_ns != no_event ? clues.since_freed_ns : clues.since_response_ns);
                if (waited_ns > situation.round_trip_min_ns) {
                    queueing_ns_ += std::min(waited_ns - situation.round_trip_min_ns, clues.rest_ns);
                }
            }
            close(state, clues.rest_ns);
        }
        if (situation.now_ns > last_ns_) {
            last_ns_ = situation.now_ns;
        }
    }
    const bool begins = !situation.mid_message && !situation.again && !situation.response;
    level_ = situation.messages + (begins && situation.messages != UINT32_MAX ? 1U : 0U);
    response_level_ =
        situation.responses + (begins && situation.wants_response && situation.responses != UINT32_MAX ? 1U : 0U);
}

Attribution::Clues Attribution::clues_of(const Situation& situation, std::uint64_t gap_ns, std::uint64_t wire_ns) {
    Clues clues{};
    clues.rest_ns = gap_ns - wire_ns;
    clues.since_freed_ns = since(situation.freed_ns, last_ns_, situation.now_ns);
    clues.since_response_ns = since(situation.response_ns, last_ns_, situation.now_ns);
    clues.since_inbound_ns = since(situation.inbound_ns, last_ns_, situation.now_ns);
    clues.since_credit_ns = since(situation.credit_freed_ns, last_ns_, situation.now_ns);
    forget_early_answers(situation, clues, gap_ns);
    clues.level = level_;
    if (clues.since_freed_ns != no_event && situation.freed_messages > level_ - std::min(level_, situation.messages)) {
        clues.level = situation.messages + std::min(situation.freed_messages, UINT32_MAX - situation.messages);
    }
    const bool waited = clues.since_freed_ns <= gap_ns / 2;
    const bool still_full = situation.messages_max >= 2 && clues.since_freed_ns != no_event &&
                            std::uint64_t{situation.messages} + situation.freed_messages >= situation.messages_max;
    clues.held = waited || still_full;
    const bool begins = !situation.mid_message && !situation.again && !situation.response && !situation.unobserved &&
                        situation.cause == RepeatCause::none;
    // An echo takes the way to the sender and back: what takes many times as long is the application's habit.
    const std::uint64_t sender_ns =
        situation.sender_round_trip_min_ns != 0 ? situation.sender_round_trip_min_ns : situation.sender_distance_ns;
    const std::uint64_t echo_most_ns = sender_ns == 0 ? tolerance_most_ns : echo_round_trips * sender_ns + wakeup_ns;
    const bool may_echo =
        !situation.one_machine && since(newest_free_ns_, Situation::never, situation.now_ns) <= echo_most_ns;
    // Where the sender waited longer than it took to react, and its window was full, no further evidence is needed.
    const bool own_pace = begins && (clues.left_alone || keeps_beat(situation, gap_ns));
    if (own_pace) {
        weaken_echo();
    } else if (begins && may_echo && clues.rest_ns >= echo_least_ns && !(waited && level_ >= situation.messages_max)) {
        // Packets differ in size, so the time of the packet's first byte counts.
        const bool hit = echoes(static_cast<std::int64_t>(static_cast<std::uint64_t>(situation.now_ns) - wire_ns)) &&
                         echo_ns_ <= echo_most_ns;
        clues.echoed = hit && echo_score_ >= echo_believed;
        clues.held = clues.held || (hit && echo_score_ >= echo_likely);
    }
    return clues;
}

/// What the sender let pass at the beginning of a gap did not set it free at the end. The acknowledgements of a burst
/// count together: where the sender is far away, each takes little of the round trip.
void Attribution::forget_early_answers(const Situation& situation, Clues& clues, std::uint64_t gap_ns) const {
    if (situation.messages != 0 || situation.response || situation.mid_message) return;
    const auto part = gap_ns >= long_gap_least_ns ? early_part_of_long_gap : early_part;
    const std::uint64_t far_ns =
        situation.sender_distance_ns == 0 || situation.one_machine
            ? 0
            : far_round_trips * std::min(situation.sender_distance_ns, tolerance_most_ns) + wakeup_ns;
    const std::uint64_t early_most_ns = gap_ns / part;
    const auto early = [=](std::uint64_t since_ns, std::uint64_t answers) {
        return since_ns > far_ns && (gap_ns - std::min(since_ns, gap_ns)) * answers <= early_most_ns;
    };
    const auto forget = [&](std::uint64_t& since_ns) {
        if (since_ns != no_event && early(since_ns, 1)) since_ns = no_event;
    };
    // One answer at the least was early: else there is no need to count them.
    if (clues.since_freed_ns != no_event && early(clues.since_freed_ns, 1)) {
        std::uint64_t answers = 0;
        for (unsigned i = 0; i < frees_; ++i) {
            const std::uint32_t before_ns = free_ns_[0] - free_ns_[i];
            answers += before_ns <= gap_ns / 2 ? 1U : 0U;
        }
        clues.left_alone = early(clues.since_freed_ns, std::max<std::uint64_t>(answers, 1));
    }
    if (clues.left_alone) clues.since_freed_ns = no_event;
    forget(clues.since_response_ns);
    forget(clues.since_inbound_ns);
    forget(clues.since_credit_ns);
}

/// Whether this gap differs much less from the one before than the times that passed after their acknowledgements. With
/// more than one message at a time it is not known which acknowledgement was waited for.
bool Attribution::keeps_beat(const Situation& situation, std::uint64_t gap_ns) const {
    constexpr std::uint64_t least_ns = 100;  // stamps are no better
    if (frees_ < 2 || situation.messages != 0 || situation.messages_max != 1) return false;
    const auto apart = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
    const auto since_newest_ns = static_cast<std::uint32_t>(situation.now_ns) - free_ns_[0];
    const auto since_former_ns = static_cast<std::uint32_t>(last_ns_) - free_ns_[1];
    const auto former_gap_ns = last_gap_ns_ + wire_ns_;
    if (since_newest_ns > gap_ns || since_former_ns > former_gap_ns) return false;
    const std::uint64_t gaps_apart_ns = gap_ns > former_gap_ns ? gap_ns - former_gap_ns : former_gap_ns - gap_ns;
    return apart(since_newest_ns, since_former_ns) > 2 * gaps_apart_ns + least_ns;
}

void Attribution::learn(const Situation& situation, const Clues& clues, const AttributionOptions& options) {
    if (options.reaction_tolerance_ns != 0) {
        tolerance_ns_ = options.reaction_tolerance_ns;
        return;
    }
    // A sender that began later after an acknowledgement than that acknowledgement took may have been busy itself.
    const bool to_freed = clues.held || clues.echoed || clues.since_freed_ns <= wakeup_ns;
    const std::uint64_t reaction_ns = std::min({to_freed ? clues.since_freed_ns : no_event, clues.since_response_ns,
                                                clues.since_inbound_ns, clues.since_credit_ns});
    // A sender that did not have to wait does not react: the packet may have been on its way already.
    const bool waited = situation.messages == 0 || level_ >= situation.messages_max;
    if (reaction_ns != no_event && waited && !situation.mid_message && !situation.again && !situation.unobserved &&
        situation.cause == RepeatCause::none && reaction_ns <= tolerance_most_ns) {
        if (reaction_ns_ == 0 || reaction_ns < reaction_ns_) {
            reaction_ns_ = static_cast<std::uint32_t>(std::max<std::uint64_t>(reaction_ns, 1));
        } else {
            reaction_ns_ = std::min(reaction_ns_ + reaction_ns_ / 32 + 8, static_cast<std::uint32_t>(reaction_ns));
        }
    }
    if (reaction_ns_ == 0) {
        if (tolerance_ns_ == 0) {
            tolerance_ns_ = wakeup_ns;
        }
        return;
    }
    tolerance_ns_ = tolerance_for(situation.sender_round_trip_min_ns);
}

State Attribution::name(const Situation& situation, const Clues& clues, const AttributionOptions& options,
                        std::uint64_t tolerance_ns) const {
    if (situation.unobserved) {
        return State::unobserved;
    }
    switch (situation.cause) {
        case RepeatCause::rnr_nak: return State::rnr_wait;
        case RepeatCause::nak: return State::recover_nak;
        case RepeatCause::timeout: return State::recover_timeout;
        case RepeatCause::none: break;
    }
    const bool posted = situation.mid_message || situation.again;
    const auto prompt = [tolerance_ns](std::uint64_t ns) { return ns != no_event && ns <= tolerance_ns; };
    const bool answered = prompt(clues.since_inbound_ns);

    if (!situation.response) {
        const std::uint32_t depth = situation.responses_limit != 0 ? situation.responses_limit
                                    : situation.responses_max >= 2 ? situation.responses_max
                                                                   : UINT32_MAX;
        if (situation.wants_response && !posted && response_level_ >= depth && prompt(clues.since_response_ns)) {
            return State::read_window;
        }
        if (situation.credit_exhausted || (!situation.again && prompt(clues.since_credit_ns))) {
            return State::credit;
        }
        const bool peers_turn =
            answered && (level_ <= 1 || (situation.messages == 0 && clues.since_inbound_ns <= clues.since_freed_ns));
        // How many were outstanding before the last acknowledgement is known, too.
        const bool full = posted ? situation.byte_window && !situation.again && level_ != 0
                                 : clues.level != 0 && clues.level >= situation.messages_max;
        if (!posted && peers_turn) {
            return State::peer_wait;
        }
        if (clues.echoed && situation.wants_response && depth != UINT32_MAX &&
            situation.responses_max >= situation.messages_max) {
            return State::read_window;  // READs alone
        }
        if (clues.echoed || (full && (posted || clues.held) && prompt(clues.since_freed_ns))) {
            return State::ack_window;
        }
    }
    if (posted) {
        return name_posted(situation, clues, options);
    }
    if (situation.response && answered) {
        return State::peer_wait;
    }
    if (situation.messages != 0) {
        return State::application_in_flight;
    }
    if (!answered && !clues.left_alone && situation.messages_max != 0 &&
        since(situation.freed_ns, Situation::never, situation.now_ns) <= std::max(tolerance_least_ns, echo_ns())) {
        return State::application_in_flight;
    }
    return answered ? State::peer_wait : State::application_idle;
}

State Attribution::name_posted(const Situation& situation, const Clues& clues,
                               const AttributionOptions& options) const {
    const std::uint64_t siblings_ns = wire_time_ns(situation.sibling_bytes, situation.link_bits_per_sec);
    if (siblings_ns != 0 &&
        static_cast<double>(siblings_ns) >= options.sibling_share * static_cast<double>(clues.rest_ns)) {
        return State::link_shared;
    }
    if (situation.paused) {
        return State::nic_stall;
    }
    if (signal_ns_ != Situation::never && signal_ns_ <= situation.now_ns) {
        const std::uint64_t age_ns =
            static_cast<std::uint64_t>(situation.now_ns) - static_cast<std::uint64_t>(signal_ns_);
        // a signal that came within the gap explains it, too: the rate was too high when the gap began
        if (age_ns <= memory_ns(options)) {
            return State::congestion_paced;
        }
    }
    return State::nic_stall;
}

std::uint64_t Attribution::memory_ns(const AttributionOptions& options) const {
    const unsigned doublings = signals_ > 1 ? std::min<unsigned>(signals_ - 1U, 24U) : 0U;
    return std::min(options.congestion_memory_ns, fast_recovery_ns << doublings);
}

/// Whether an acknowledgement passed `echo_ns` ago, which follows what is found. Chance finds one in less than a
/// quarter of the gaps: the time must be met to an eighth of what lies between acknowledgements.
bool Attribution::echoes_after(std::uint32_t& echo_ns, std::uint32_t now, std::uint32_t spacing) const {
    const std::uint32_t room = std::min(std::max(echo_ns / 16, 50U), spacing / 8);
    std::uint32_t off_ns = room + 1;
    std::uint32_t found_ns = 0;
    for (unsigned i = 0; i < frees_; ++i) {
        const std::uint32_t age_ns = now - free_ns_[i];
        const std::uint32_t apart_ns = age_ns > echo_ns ? age_ns - echo_ns : echo_ns - age_ns;
        if (apart_ns < off_ns) {
            off_ns = apart_ns;
            found_ns = age_ns;
        }
    }
    if (off_ns > room) {
        return false;
    }
    echo_ns = found_ns > echo_ns ? echo_ns + off_ns / 8 : echo_ns - off_ns / 8;
    return true;
}

/// Whether the sender began at its usual time after an acknowledgement. That time is found by trial: the candidates are
/// the ages of the acknowledgements, the youngest first, and each stays until it has failed as often as not. If several
/// candidates stay true (all rounds are alike), the one that explains most of the rest is chosen.
bool Attribution::echoes(std::int64_t now_ns) {
    constexpr std::uint8_t most = 64;
    if (frees_ == 0 || now_ns < newest_free_ns_ ||
        static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(newest_free_ns_) > tolerance_most_ns) {
        return false;
    }
    const auto now = static_cast<std::uint32_t>(now_ns);
    const std::uint32_t spacing = frees_ < 2 ? UINT32_MAX : (free_ns_[0] - free_ns_[frees_ - 1U]) / (frees_ - 1U);
    const auto judge = [now, spacing, this](std::uint32_t& echo_ns, std::uint8_t& score) {
        const bool hit = score != 0 && echoes_after(echo_ns, now, spacing);
        if (hit && score < most) {
            ++score;
        } else if (!hit && score > 0) {
            --score;
        }
        return hit;
    };
    bool hit = judge(echo_ns_, echo_score_);
    const bool trial_hit = judge(echo_trial_ns_, echo_trial_score_);
    if (trial_hit && !hit &&
        (echo_trial_score_ >= echo_believed || echo_score_ < std::min(echo_trial_score_, echo_likely))) {
        std::swap(echo_ns_, echo_trial_ns_);
        std::swap(echo_score_, echo_trial_score_);
        hit = true;
    } else if (echo_trial_score_ == 0 || !(hit || trial_hit) ||
               (hit && trial_hit && echo_trial_ns_ - echo_ns_ + echo_ns_ / 16 <= echo_ns_ / 8)) {
        // every other time the youngest, else one after the other
        const unsigned choice = echo_choice_++;
        echo_trial_ns_ = now - free_ns_[choice % 2 == 0 ? 0 : choice / 2 % frees_];
        echo_trial_score_ = 1;
    }
    return hit;
}

void Attribution::apply_signal(std::int64_t signal_ns, const AttributionOptions& options) {
    const bool recovering =
        signal_ns_ != Situation::never && signal_ns > signal_ns_ &&
        static_cast<std::uint64_t>(signal_ns) - static_cast<std::uint64_t>(signal_ns_) <= memory_ns(options);
    signals_ = recovering ? static_cast<std::uint8_t>(std::min<unsigned>(signals_ + 1U, signals_most))
                          : static_cast<std::uint8_t>(1);
    signal_ns_ = signal_ns;
}

StateTimes Attribution::states(std::int64_t now_ns, std::uint32_t messages) const {
    StateTimes times = times_;
    if (!started_ || now_ns <= last_ns_) {
        return times;
    }
    // What was outstanding is in flight until its last answer passed.
    std::int64_t idle_from_ns = messages != 0 ? now_ns : last_ns_;
    if (messages == 0 && frees_ != 0 && newest_free_ns_ > last_ns_) {
        idle_from_ns = std::min(newest_free_ns_, now_ns);
    }
    times[index_of(State::application_in_flight)] +=
        static_cast<std::uint64_t>(idle_from_ns) - static_cast<std::uint64_t>(last_ns_);
    times[index_of(State::application_idle)] +=
        static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(idle_from_ns);
    return times;
}

}  // namespace metrics::measure::account
