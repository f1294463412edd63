#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "metrics/figures/state.h"

namespace metrics::inline measure::inline account {

/// Why a packet was transmitted again, as far as the wire shows.
enum class RepeatCause : std::uint8_t { none, rnr_nak, nak, timeout };

/// What the rules may use when a data packet closes the gap after its predecessor. Times are ns of the capture's clock;
/// a time that never came is `never`. Data packets are requests with or without payload and READ responses, not
/// acknowledgements.
///
/// `cause` is other than `none` only for the first packet of a run of repeated ones, whether or not the tap saw it the
/// first time (a loss before the tap); the gaps within the run are named as others are.
struct Situation {
    static constexpr std::int64_t never = INT64_MIN;

    std::int64_t now_ns = 0;
    std::uint32_t wire_bytes = 0;  ///< of the closing packet, preamble and gap included
    bool again = false;            ///< the closing packet repeats one
    RepeatCause cause = RepeatCause::none;
    bool mid_message = false;     ///< the closing packet continues a message that its predecessor left unfinished
    bool response = false;        ///< the closing packet is a READ response: the responder's time
    bool unobserved = false;      ///< packets are missing at the tap between the two, or the tap dropped some
    bool wants_response = false;  ///< the closing packet asks for a response (READ, atomic)

    std::uint32_t messages = 0;  ///< outstanding just before the closing packet
    std::uint64_t bytes = 0;
    std::uint32_t responses = 0;     ///< READ and atomics outstanding just before it
    std::uint32_t messages_max = 0;  ///< running maximum
    std::uint64_t bytes_max = 0;
    std::uint32_t responses_max = 0;
    std::uint32_t responses_limit = 0;  ///< ORD, if the set-up showed it; else 0

    std::int64_t freed_ns = never;     ///< when an acknowledgement last took messages from the ledger
    std::uint32_t freed_messages = 0;  ///< how many it took
    std::int64_t response_ns = never;  ///< when a READ or atomic response last completed
    std::int64_t inbound_ns = never;   ///< when the peer's last message in the other direction ended
    std::int64_t signal_ns = never;    ///< last CNP for this flow; iWARP: last ACK with ECE
    bool credit_exhausted =
        false;  ///< just before: AETH credits at zero, or the TCP receive window below the next FPDU
    std::int64_t credit_freed_ns = never;  ///< when that last ended: there was credit again, or room for the next FPDU
    bool paused = false;                   ///< a pause frame that holds for this sender fell into the gap
    std::uint64_t sibling_bytes = 0;  ///< that the same host put on the wire in the gap for others, overhead included
    std::uint64_t link_bits_per_sec = 0;  ///< 0 = unknown: then wire times are zero
    std::uint64_t round_trip_min_ns = 0;  ///< 0 = unknown

    bool byte_window = false;  ///< the window counts bytes (TCP): freed_ns is of any acknowledgement of new bytes
    /// tap -> sender -> tap without its application: the least time in which it acknowledged the peer's packets. 0 =
    /// unknown. Bounds the tolerance that is learnt: a reaction far beyond it includes the application's time.
    std::uint64_t sender_round_trip_min_ns = 0;
    /// The same where neither end's application had a part in it (set-up, acknowledgements without data): it proves
    /// that the sender is so far away. 0 = unknown.
    std::uint64_t sender_distance_ns = 0;
    bool one_machine = false;  ///< sender and receiver have one address: neither is far from the tap
};

struct AttributionOptions {
    std::uint64_t reaction_tolerance_ns = 0;           ///< ε; 0 = learnt from the flow's own fastest reactions
    std::uint64_t congestion_memory_ns = 300'000'000;  ///< τ: the longest time for which a CNP can explain a gap
    double sibling_share = 0.7;                        ///< θ
};

/// Splits the wall time of one flow's send direction. Trivially copyable, no pointers, no allocation; at most 256
/// bytes. The sum of `states(last)` is exactly the time from the first packet to `last`.
///
/// Every gap has two parts: the wire time of the closing packet (the packet whose stamp ends the gap: taps stamp a
/// frame when they have all of it), which goes to transmit_new or transmit_again, and the rest, which the rules name.
/// Where several rules could apply, these decide:
/// - A window was full if it was full after the gap's first packet. Until the gap closes it can only empty, and one
///   acknowledgement may free many places. The acknowledgement (response, message) must have come within the gap.
/// - A full window held the sender if the acknowledgement took longer than the reaction to it, or if without that
///   acknowledgement it would be full still. Otherwise the sender had missed other chances: it had nothing to send.
/// - Away from the sender a reaction takes the path's round trip, too, and acknowledgements that are on their way hide
///   how full the window is. There, a sender that repeatedly begins at the same time after an acknowledgement is held
///   by its window. Such a time is searched for if most of the gap came after the acknowledgement, and is accepted if
///   it explains clearly more than half of these gaps.
/// - A sender that got all answers at the very beginning of a gap (a hundredth of it, a twentieth of a gap of 1 ms and
///   more) was not waiting for them: it paces itself, or has nothing to send. Then no echo, window or dialogue explains
///   the gap, unless the sender is known to be that far away. Between addresses of one machine no echo is accepted.
/// - A sender of one message at a time whose messages have a constant period, however long their acknowledgements take,
///   is not held by the acknowledgements.
/// - What was acknowledged less than 2 µs (or that time) ago is in flight still, as far as the sender can know.
/// - If ε is learnt, a reaction within a quarter of the gap counts, too (up to 100 ms): a gap has one name, and most
///   of it was the wait. An ε from the options is used as it is.
/// - Packets of a run of repeated ones are posted already: between messages, too, their gaps are not the application's.
/// - A sender that has no more than one message under way and sends within ε of the peer's message waited for that
///   message (peer_wait), whether the acknowledgement of its own came before, after, or not yet: a latency test. With
///   more under way, the later of the two counts, and the acknowledgement if any is still outstanding.
/// - If ORD is unknown, the running maximum stands for it from two on; READs one by one are an ack_window.
/// - A pause frame in a gap explains it better than an old congestion signal: nic_stall.
class Attribution {
public:
    /// A data packet has passed. The first one starts the clock. Packets whose time lies before their predecessor's
    /// close a gap of zero.
    void packet(const Situation& situation, const AttributionOptions& options);
    /// The commonest packets without a Situation: a request sent for the first time that needs no response; nothing is
    /// missing before it, credits (the receive window) suffice, and signal_ns() is unchanged. The window's unit does
    /// not matter: where it decides, in the middle of a message, packet() is called. `news_ns`: the latest of freed_ns,
    /// response_ns, inbound_ns and credit_freed_ns. Returns true in two cases. The packet came as soon as the link
    /// allows; or it begins a message so soon, with others outstanding and no news since its predecessor, that the
    /// sender did not wait. Otherwise returns false and does nothing; packet() must then be called.
    [[gnu::always_inline]] bool at_once(std::int64_t now_ns, std::uint32_t wire_bytes, std::uint64_t link_bits_per_sec,
                                        std::int64_t news_ns, std::uint32_t messages, std::uint32_t responses,
                                        bool mid_message) {
        if (!started_ || now_ns < last_ns_) {
            return false;
        }
        const std::uint64_t wire_ns = wire_time(wire_bytes, link_bits_per_sec);
        const std::uint64_t gap_ns = static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(last_ns_);
        if (gap_ns <= wire_ns) {
            close(State::transmit_new, gap_ns);
        } else {
            if (mid_message || messages == 0 || news_ns >= last_ns_ || tolerance_ns_ == 0 ||
                gap_ns - wire_ns >= echo_least_ns) {
                return false;
            }
            times_[index_of(State::transmit_new)] += wire_ns;
            close(State::application_in_flight, gap_ns - wire_ns);
        }
        last_ns_ = now_ns;
        level_ = messages + (!mid_message && messages != UINT32_MAX ? 1U : 0U);
        response_level_ = responses;
        return true;
    }
    /// Whether ε is learnt of this least round trip to the sender (0 = unknown): else packet() must be called.
    bool knows(std::uint64_t sender_round_trip_ns) const {
        return reaction_ns_ == 0 || tolerance_for(sender_round_trip_ns) == tolerance_ns_;
    }
    /// An acknowledgement (response) has taken messages from the ledger.
    void freed(std::int64_t now_ns) {
        constexpr std::uint64_t longest_pause_ns = 200'000'000;  // entries have 32 bits: all within 1.2 s
        if (frees_ != 0 &&
            (now_ns < newest_free_ns_ ||
             static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(newest_free_ns_) > longest_pause_ns))
            frees_ = 0;
        newest_free_ns_ = now_ns;
        for (std::size_t i = free_ns_.size() - 1; i > 0; --i) free_ns_[i] = free_ns_[i - 1];
        free_ns_[0] = static_cast<std::uint32_t>(now_ns);
        if (frees_ < free_ns_.size()) ++frees_;
    }
    /// The states up to `now_ns`, the open gap named provisionally: in flight where `messages` are outstanding, and up
    /// to the answer that left none; idle from then on.
    StateTimes states(std::int64_t now_ns, std::uint32_t messages) const;

    std::uint64_t time_in(State state) const { return times_[index_of(state)]; }  ///< of the gaps that are closed

    bool started() const { return started_; }
    std::int64_t first_ns() const { return first_ns_; }
    std::int64_t last_ns() const { return last_ns_; }           ///< latest of the data packets' times
    std::uint64_t unsure_ns() const { return unsure_ns_; }      ///< what ε / 2 or ε * 2 would have named otherwise
    std::uint64_t queueing_ns() const { return queueing_ns_; }  ///< of ack_window: beyond the least round trip
    std::uint64_t reaction_tolerance_ns() const { return tolerance_ns_; }  ///< ε in force; 0 = not needed so far
    std::uint64_t reaction_ns() const { return reaction_ns_; }             ///< that ε was learnt from; 0 = none
    /// The time after which the sender repeatedly begins after an acknowledgement; 0 = no such time is known.
    std::uint64_t echo_ns() const { return echo_score_ >= echo_believed ? echo_ns_ : 0; }
    std::int64_t signal_ns() const { return signal_ns_; }       ///< the last congestion signal that was heeded
    State last_state() const { return last_state_; }            ///< what the last gap was, beyond wire time
    std::uint64_t last_gap_ns() const { return last_gap_ns_; }  ///< without the wire time, unless it was all

private:
    struct Clues;
    void close(State state, std::uint64_t ns) {
        times_[index_of(state)] += ns;
        last_state_ = state;
        last_gap_ns_ = ns;
    }
    std::uint64_t wire_time(std::uint32_t bytes, std::uint64_t bits_per_sec) {
        if (bytes != wire_bytes_ || bits_per_sec != link_bits_per_sec_) [[unlikely]] {
            compute_wire_time(bytes, bits_per_sec);
        }
        return wire_ns_;
    }
    void compute_wire_time(std::uint32_t bytes, std::uint64_t bits_per_sec);
    Clues clues_of(const Situation& situation, std::uint64_t gap_ns, std::uint64_t wire_ns);
    void forget_early_answers(const Situation& situation, Clues& clues, std::uint64_t gap_ns) const;
    void weaken_echo() {
        if (echo_score_ != 0) --echo_score_;
        if (echo_trial_score_ != 0) --echo_trial_score_;
    }
    bool keeps_beat(const Situation& situation, std::uint64_t gap_ns) const;
    void learn(const Situation& situation, const Clues& clues, const AttributionOptions& options);
    State name(const Situation& situation, const Clues& clues, const AttributionOptions& options,
               std::uint64_t tolerance_ns) const;
    State name_posted(const Situation& situation, const Clues& clues, const AttributionOptions& options) const;
    bool echoes(std::int64_t now_ns);
    /// `spacing`: mean time between acknowledgements, ns.
    bool echoes_after(std::uint32_t& echo_ns, std::uint32_t now, std::uint32_t spacing) const;
    void apply_signal(std::int64_t signal_ns, const AttributionOptions& options);
    std::uint64_t memory_ns(const AttributionOptions& options) const;

    /// ε is this many times the flow's fast reactions: room for what scheduling adds to the least.
    static constexpr std::uint64_t tolerance_factor = 4;
    /// Below it stamps and polling loops differ by chance; above it the sender is not reacting. A tap at the receiver
    /// sees reactions longer by the path's whole round trip, so the limit is generous.
    static constexpr std::uint64_t tolerance_least_ns = 2'000;
    static constexpr std::uint64_t tolerance_most_ns = 100'000'000;
    /// An application that sleeps until its completion comes needs this much even on the fastest adapter.
    static constexpr std::uint64_t wakeup_ns = 20'000;

    /// ε of the fast reactions so far, bounded by the sender's least round trip; 0 = unknown.
    std::uint64_t tolerance_for(std::uint64_t sender_round_trip_ns) const {
        std::uint64_t most_ns = tolerance_most_ns;
        if (sender_round_trip_ns != 0) {
            const std::uint64_t turnaround_ns = std::min(sender_round_trip_ns, tolerance_most_ns);
            most_ns = std::clamp(tolerance_factor * turnaround_ns, wakeup_ns, tolerance_most_ns);
        }
        return std::clamp(tolerance_factor * reaction_ns_, tolerance_least_ns, most_ns);
    }

    /// Gaps below it are no round trip of a network: looking for what they echo would cost more than they last.
    static constexpr std::uint64_t echo_least_ns = 1'000;
    static constexpr std::uint8_t echo_believed = 8;
    static constexpr std::uint8_t echo_likely = 4;

    std::int64_t first_ns_ = 0;
    std::int64_t last_ns_ = 0;
    std::uint64_t unsure_ns_ = 0;
    std::uint64_t queueing_ns_ = 0;
    std::uint64_t tolerance_ns_ = 0;
    std::uint64_t last_gap_ns_ = 0;
    std::int64_t signal_ns_ = Situation::never;
    std::int64_t newest_free_ns_ = 0;
    // wire time of the last packet's size, so that equal ones need no division
    std::uint64_t link_bits_per_sec_ = 0;
    std::uint64_t wire_ns_ = 0;
    std::uint32_t wire_bytes_ = 0;
    std::uint32_t reaction_ns_ = 0;     // the flow's fast reactions
    std::uint32_t level_ = 0;           // messages outstanding when the gap began
    std::uint32_t response_level_ = 0;  // those of them that need a response
    std::uint32_t echo_ns_ = 0;
    std::uint32_t echo_trial_ns_ = 0;
    std::array<std::uint32_t, 6> free_ns_{};  // low halves of the times of the last acknowledgements, youngest first
    std::uint8_t frees_ = 0;                  // in use of them
    std::uint8_t echo_score_ = 0;             // gaps that echo_ns_ explained, less those that it did not
    std::uint8_t echo_trial_score_ = 0;
    std::uint8_t echo_choice_ = 0;
    State last_state_ = State::unobserved;
    std::uint8_t signals_ = 0;  // that came before the recovery from the one before was over
    bool started_ = false;
    StateTimes times_{};
};
static_assert(sizeof(Attribution) <= 256 && std::is_trivially_copyable_v<Attribution>);

/// How long bytes take on a link of that rate; rounded up; 0 if the rate is unknown.
std::uint64_t wire_time_ns(std::uint64_t bytes, std::uint64_t bits_per_sec);

}  // namespace metrics::measure::account
