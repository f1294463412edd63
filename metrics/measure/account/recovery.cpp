#include "metrics/measure/account/recovery.h"

#include <algorithm>

#include "base/clock.h"

namespace metrics::inline measure::inline account {
namespace {

/// Networks reorder within this; timers that repair a tail sooner than the local ACK timeout take at least as long.
constexpr std::uint64_t disorder_most_ns = 5'000'000;
/// The same where the timeout is not known: it may be as short as a few round trips.
constexpr std::uint64_t shortest_timer_ns = 1'000'000;
/// If a run begins again within this time, its first packet is more likely the repeated packet itself, held back on its
/// way until then.
constexpr std::uint64_t run_overtaken_ns = 100'000;
/// After this time, a NAK whose packet was acknowledged after all has no effect any more.
constexpr std::uint64_t stale_signal_ns = 100'000'000;

/// No timer fires sooner.
std::uint64_t timer_of(const RecoveryVantage& vantage) {
    return vantage.ack_timeout_ns != 0 ? std::min(vantage.ack_timeout_ns, disorder_most_ns) : shortest_timer_ns;
}

std::uint64_t end_of(const RecoveryPacket& packet) {
    const std::uint64_t span = std::max<std::uint32_t>(packet.span, 1);
    return packet.position > UINT64_MAX - span ? UINT64_MAX : packet.position + span;
}

}  // namespace

void Recovery::Findings::add(RecoveryStep what, std::uint64_t value) {
    if (steps == step.size()) return;
    step[steps] = what;
    step_value[steps++] = value;
}

void Recovery::Findings::add(EventKind what, std::uint64_t value) {
    if (events == event.size()) return;
    event[events] = what;
    event_value[events++] = value;
}

void Recovery::resume(std::uint64_t next, std::uint64_t oldest, std::int64_t last_ns) {
    if (busy()) return;
    has_acknowledgement_ = has_acknowledgement_ || (oldest_ != 0 && oldest > oldest_);
    next_ = expected_ = next;
    oldest_ = std::min(oldest, next);
    last_ns_ = last_ns;
    past_ = leap_ = 0;
    unseen_ = nak_sent_ = loose_ = false;
}

bool Recovery::busy() const {
    return running_ || pending_ != RepeatCause::none || suspicion_ != Suspicion::none || expected_ < next_;
}

RepeatCause Recovery::pending() const { return pending_; }

void Recovery::was_late() {
    disordered_ = true;
    suspicion_ = Suspicion::none;
    if (leap_ != 0) {
        run_next_ -= leap_ + 1u;
        leap_ = 0;
        running_ = true;
        contiguous_ = true;
        return;
    }
    running_ = false;
    if (pending_ == RepeatCause::none && (run_cause_ == RepeatCause::nak || run_cause_ == RepeatCause::rnr_nak))
        pending_ = run_cause_;
    run_cause_ = RepeatCause::none;
}

void Recovery::lost_sight() {
    suspicion_ = Suspicion::none;
    running_ = false;
    expected_ = next_;
    past_ = leap_ = 0;
    unseen_ = false;
    nak_sent_ = true;
}

RepeatCause Recovery::see_data(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings) {
    at_receiver_ = vantage.at_receiver;
    leap_ = 0;
    RepeatCause cause = RepeatCause::none;
    if (packet.late) {
        disordered_ = true;
        settle(false, findings);
    } else if (packet.position < next_ &&
               !(running_ && packet.position >= run_next_ &&
                 (packet.position == run_next_ || packet.position != signal_ || pending_ == RepeatCause::none))) {
        cause = begin_run(packet, vantage, findings);
    } else if (running_) {
        go_on(packet, vantage, findings);
    } else if (packet.position >= next_ && is_spent(packet, vantage)) {
        pending_ = RepeatCause::none;  // the receiver got it late, and the sender continues with new ones
    }
    receive(packet);
    next_ = std::max(next_, end_of(packet));
    last_ns_ = packet.now_ns;
    loose_ = packet.read && packet.span <= 1;
    return cause;
}

/// A receiver takes packets in their order only and drops all past a hole. IBTA vol. 1, 9.7.4.1.2.
void Recovery::receive(const RecoveryPacket& packet) {
    if (loose_ && packet.position > expected_ && past_ == 0) expected_ = packet.position;
    if (packet.position <= expected_) {
        if (end_of(packet) > expected_) {
            expected_ = end_of(packet);
            past_ = 0;
            unseen_ = nak_sent_ = false;
        }
        return;
    }
    if (past_ == 0) {
        hole_ns_ = packet.now_ns;
        unseen_ = expected_ >= next_;
    }
    if (past_ != UINT16_MAX) ++past_;
}

/// Whether the pending NAK no longer asks for anything: its packet was acknowledged, or came within an earlier run, and
/// the sender has had time to follow it. A missing response that came late is asked for at once, or not at all.
bool Recovery::is_spent(const RecoveryPacket& packet, const RecoveryVantage& vantage) const {
    const std::uint64_t since_ns = base::elapsed(signal_ns_, packet.now_ns);
    if (implied_ && oldest_ > signal_ && since_ns >= shortest_timer_ns) return true;
    return (passed_ && since_ns >= timer_of(vantage)) || (oldest_ > signal_ && since_ns > stale_signal_ns);
}

/// Whether the sender's timer cannot have fired yet, so that the network has reordered packets, or the sender has
/// repeated of its own accord. A timer first repeats the oldest packet, or one before it if the acknowledgement is
/// still under way; the timer of rxe fires inside a stream, too.
bool Recovery::too_soon_for_timer(const RecoveryPacket& packet, const RecoveryVantage& vantage) const {
    const std::uint64_t timer_ns = timer_of(vantage);
    if (packet.sent_ns != Situation::never && base::elapsed(packet.sent_ns, packet.now_ns) < timer_ns) return true;
    if (last_ns_ == Situation::never) return false;
    const std::uint64_t run_least_ns = vantage.ack_timeout_ns != 0 ? vantage.ack_timeout_ns : run_overtaken_ns;
    if (running_ && packet.position == run_start_ && base::elapsed(run_ns_, packet.now_ns) < run_least_ns) return true;
    const std::uint64_t silence_ns = base::elapsed(last_ns_, packet.now_ns);
    if (end_of(packet) >= next_ && silence_ns < shortest_timer_ns) return true;  // it was the last one itself
    if (silence_ns >= timer_ns) return false;
    const bool fills = unseen_ && past_ != 0 && packet.position == expected_;
    const bool left_out = suspicion_ != Suspicion::none || (running_ && !contiguous_);
    return disordered_ || fills || left_out || packet.position > oldest_;
}

/// A READ or an atomic for what the tap has seen already: responses were lost on their way from it to the requester,
/// which notices when the next one comes, or by its timer.
bool Recovery::lacks_responses(const RecoveryPacket& packet, const RecoveryVantage& vantage) const {
    if ((!packet.read && !packet.atomic) || packet.position >= oldest_) return false;
    // Only answers to later packets show that the last response is missing.
    const bool is_shown = packet.position + 1 < oldest_;
    if (last_ns_ == Situation::never) return packet.read;
    const std::uint64_t silence_ns = base::elapsed(last_ns_, packet.now_ns);
    if (packet.atomic) return is_shown && silence_ns < timer_of(vantage);
    if (vantage.ack_timeout_ns != 0) return silence_ns < vantage.ack_timeout_ns;
    return is_shown || silence_ns < shortest_timer_ns;
}

RepeatCause Recovery::begin_run(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings) {
    // The sender, within a run already, goes back once more, and to no other packet.
    const bool stale = passed_ ? packet.position != signal_ || is_spent(packet, vantage)
                               : packet.position > signal_ && is_spent(packet, vantage);
    RepeatCause cause = stale ? RepeatCause::none : pending_;
    if (cause == RepeatCause::none) {
        if (lacks_responses(packet, vantage)) {
            cause = RepeatCause::nak;
            implied_ = true;
            signal_ = packet.position;
            signal_ns_ = lost_ns_ = Situation::never;
            oldest_before_ = 0;
        } else if (too_soon_for_timer(packet, vantage)) {
            step_back(packet, vantage, findings);
            return RepeatCause::none;
        } else {
            cause = RepeatCause::timeout;
        }
    }
    if (packet.position < suspect_first_ + suspect_count_) settle(false, findings);
    measure(packet, cause, findings);
    check_start(packet, vantage, cause, findings);
    if (cause == RepeatCause::timeout && at_receiver_ && unseen_ && !nak_sent_ && past_ >= 2 && !disordered_ &&
        packet.position == expected_) {
        findings.add(EventKind::nak_missing, past_);
    }
    // A sender that begins before the NAKed packet may not have seen that NAK yet.
    if (cause == RepeatCause::timeout || end_of(packet) > signal_) pending_ = RepeatCause::none;
    run_cause_ = cause;
    run_start_ = packet.position;
    run_end_ = next_;
    run_ns_ = packet.now_ns;
    run_packets_ = 0;
    contiguous_ = true;
    start(packet);
    return cause;
}

void Recovery::start(const RecoveryPacket& packet) {
    run_next_ = end_of(packet);
    if (run_packets_ != UINT32_MAX) ++run_packets_;
    running_ = run_next_ < run_end_;
}

/// Back within a run, or soon after it, without anything that asked for it.
void Recovery::step_back(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings) {
    const bool second = running_ && contiguous_ && run_packets_ >= 2 && packet.position == run_start_ && !disordered_ &&
                        base::elapsed(run_ns_, packet.now_ns) < vantage.ack_timeout_ns;
    settle(false, findings);
    read_ = false;
    if (second) {
        suspect(Suspicion::second_start, end_of(packet), run_next_ - packet.position, vantage.at_sender, findings);
    } else if (!vantage.at_sender) {
        disordered_ = true;
    }
    if (running_) start(packet);
}

void Recovery::check_start(const RecoveryPacket& packet, const RecoveryVantage& vantage, RepeatCause cause,
                           Findings& findings) {
    const bool timer = cause == RepeatCause::timeout;
    const std::uint64_t asked = timer ? oldest_ : signal_;
    if (disordered_ || (timer && !has_acknowledgement_)) return;
    if (packet.position > asked && packet.position > oldest_) {
        // What the tap has not seen of the responses the requester cannot have either.
        read_ = packet.read && implied_ && !timer;
        suspect(Suspicion::skipped_start, std::max(asked, oldest_), packet.position - std::max(asked, oldest_), read_,
                findings);
    } else if (packet.position < asked && !timer && implied_) {
        // The requester may lack responses that the tap has seen, unless the tap sees what it receives.
        read_ = true;
        if (packet.read && vantage.at_sender)
            suspect(Suspicion::too_far_back, end_of(packet), asked - packet.position, true, findings);
    } else if (packet.position < asked && !timer && oldest_before_ != 0 && packet.position > oldest_before_) {
        // This NAK does not ask for it, and neither a timer nor an earlier acknowledgement can.
        read_ = false;
        suspect(Suspicion::too_far_back, end_of(packet), asked - packet.position, vantage.at_sender, findings);
    }
}

void Recovery::measure(const RecoveryPacket& packet, RepeatCause cause, Findings& findings) const {
    if (cause == RepeatCause::rnr_nak) return;
    findings.add(RecoveryStep::begun, next_ - packet.position);
    if (cause == RepeatCause::nak) {
        if (packet.position != signal_) return;
        if (!implied_) findings.add(RecoveryStep::nak_reaction, base::elapsed(signal_ns_, packet.now_ns));
        if (lost_ns_ != Situation::never) findings.add(RecoveryStep::total, base::elapsed(lost_ns_, packet.now_ns));
    } else if (past_ != 0 && packet.position == expected_) {
        findings.add(RecoveryStep::total, base::elapsed(hole_ns_, packet.now_ns));
    } else if (packet.sent_ns != Situation::never) {
        findings.add(RecoveryStep::total, base::elapsed(packet.sent_ns, packet.now_ns));
    }
}

void Recovery::go_on(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings) {
    if (suspicion_ == Suspicion::too_far_back || suspicion_ == Suspicion::second_start)
        settle(packet.position == suspect_first_, findings);
    // Meanwhile an acknowledgement may have told the sender to repeat less.
    const std::uint64_t from = std::max(run_next_, oldest_);
    const std::uint64_t to = std::min(packet.position, run_end_);
    if (packet.position > run_next_) {
        contiguous_ = false;
        // Nor does a NAK lead there.
        const bool asked = pending_ != RepeatCause::none && packet.position == signal_;
        const std::uint64_t leap = packet.position - run_next_;
        if (packet.position > from && packet.position < run_end_ && !asked && !packet.read && leap <= UINT16_MAX)
            leap_ = static_cast<std::uint16_t>(leap);
        if (to > from && !disordered_ && !loose_) {
            read_ = false;
            suspect(Suspicion::skipped, from, to - from, vantage.at_sender, findings);
        }
    }
    const bool next = packet.position == run_next_;
    if (signal_ >= run_next_ && signal_ < end_of(packet)) {
        // A run that began before the NAKed packet and came to it without a leap was not begun by that NAK, which may
        // still be under way to the sender.
        if (next && run_start_ < signal_ && !implied_)
            passed_ = true;
        else
            pending_ = RepeatCause::none;
    }
    if (packet.position < run_end_) {
        start(packet);
    } else {
        running_ = false;
    }
    if (suspicion_ == Suspicion::skipped_start && vantage.at_sender && next) settle(true, findings);
}

bool Recovery::see_nak(std::int64_t now_ns, std::uint64_t position, NakKind kind, std::int64_t sent_ns,
                       Findings& findings) {
    if (position >= next_) return false;  // the tap has not seen what it is about
    if (suspicion_ == Suspicion::skipped || suspicion_ == Suspicion::skipped_start) {
        // The receiver lacks it: it was sent, and lost before the tap.
        if (position < suspect_first_ + suspect_count_) settle(false, findings);
    }
    const std::uint64_t oldest_before = has_acknowledgement_ ? oldest_ : 0;
    oldest_ = std::max(oldest_, position);
    const bool had_acknowledgement = has_acknowledgement_;
    has_acknowledgement_ = true;
    if (kind == NakKind::other) return false;

    if (kind == NakKind::sequence) {
        if (!disordered_ && had_acknowledgement && position < oldest_before) {
            findings.add(EventKind::nak_wrong_psn, oldest_before - position);
        } else if (!disordered_ && at_receiver_ && unseen_ && past_ != 0 && position > expected_) {
            findings.add(EventKind::nak_wrong_psn, position - expected_);
        } else if (position == expected_ && past_ != 0 && !nak_sent_) {
            findings.add(RecoveryStep::nak_generation, base::elapsed(hole_ns_, now_ns));
        }
    }
    const bool repeated = running_ && position >= run_start_ && position < run_next_;
    const bool before_tap = position == expected_ && past_ != 0;
    if (position > expected_ || (position < expected_ && !repeated)) {
        expected_ = position;
        past_ = 0;
        unseen_ = false;
    }
    nak_sent_ = true;
    if (pending_ == RepeatCause::rnr_nak && kind == NakKind::sequence) {
        return false;  // packets after the one that found no receive: rxe complains of them, too; the timer decides
    }
    if (pending_ != RepeatCause::none && !implied_ && !passed_ && signal_ == position && kind == NakKind::sequence)
        return false;
    pending_ = kind == NakKind::rnr ? RepeatCause::rnr_nak : RepeatCause::nak;
    passed_ = implied_ = false;
    signal_ = position;
    signal_ns_ = now_ns;
    oldest_before_ = oldest_before;
    lost_ns_ = before_tap ? hole_ns_ : sent_ns;
    return true;
}

bool Recovery::response_missing(std::int64_t now_ns, std::uint64_t missing) {
    // An earlier one may have come late.
    const bool came = implied_ && oldest_ > signal_;
    if (missing >= next_ || (pending_ != RepeatCause::none && !passed_ && !came)) return false;
    pending_ = RepeatCause::nak;
    implied_ = true;
    passed_ = false;
    signal_ = missing;
    signal_ns_ = now_ns;
    lost_ns_ = now_ns;
    oldest_before_ = 0;
    return true;
}

void Recovery::see_acknowledged(std::uint64_t position, Findings& findings) {
    if (position >= next_) return;  // of packets that the tap has not seen
    oldest_ = std::max(oldest_, position + 1);
    has_acknowledgement_ = true;
    if (oldest_ > expected_) {
        expected_ = oldest_;
        past_ = 0;
        unseen_ = nak_sent_ = false;
    }
    if ((suspicion_ == Suspicion::skipped || suspicion_ == Suspicion::skipped_start) &&
        oldest_ >= suspect_first_ + suspect_count_) {
        settle(true, findings);
    }
}

void Recovery::suspect(Suspicion what, std::uint64_t first, std::uint64_t count, bool sure, Findings& findings) {
    if (suspicion_ != Suspicion::none) {
        if (!sure) return;  // one at a time: the earlier one
        settle(false, findings);
    }
    suspicion_ = what;
    suspect_first_ = first;
    suspect_count_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    if (sure) settle(true, findings);
}

void Recovery::settle(bool guilty, Findings& findings) {
    // A single packet, however far back, may be the network's doing.
    const bool run = suspicion_ != Suspicion::skipped_start || read_ || !contiguous_ || run_next_ > run_start_ + 1;
    if (suspicion_ != Suspicion::none && guilty && run) {
        findings.add(suspicion_ == Suspicion::skipped ? EventKind::go_back_incomplete
                     : read_                          ? EventKind::read_restart_wrong
                                                      : EventKind::go_back_wrong_start,
                     suspect_count_);
    }
    suspicion_ = Suspicion::none;
    suspect_first_ = 0;
}

}  // namespace metrics::measure::account
