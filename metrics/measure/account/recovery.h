#pragma once
#include <array>
#include <cstdint>
#include <type_traits>

#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/attribution.h"

namespace metrics::inline measure::inline account {

enum class NakKind : std::uint8_t { sequence, rnr, other };

/// What RecoveryFigures is made of.
enum class RecoveryStep : std::uint8_t {
    begun,           ///< a lost packet is being repeated; value: how many packets lay between it and the highest one
    nak_generation,  ///< first packet out of sequence -> NAK; value: ns. Only where the loss was before the tap.
    nak_reaction,    ///< NAK -> first packet transmitted again; value: ns
    total,           ///< lost packet (or the first after the hole) -> its retransmission; value: ns
};

/// The properties of the tap that decide which conclusions are safe. A packet lost, late or doubled between the sender
/// and the tap looks like a sender's mistake, a NAK lost between the receiver and the tap like a receiver's: if that is
/// possible, no mistake is reported.
struct RecoveryVantage {
    bool at_sender = false;    ///< the tap sees all that the sender sends, in its order
    bool at_receiver = false;  ///< the tap sees all that the receiver sends, and the receiver all that passes the tap
    std::uint64_t ack_timeout_ns = 0;  ///< the sender's local ACK timeout (IBTA vol. 1, 9.7.6.1.3); 0 = unknown
};

/// A packet of a flow's request direction, in the sender's sequence.
struct RecoveryPacket {
    std::int64_t now_ns = 0;
    std::uint64_t position = 0;  ///< its PSN with the wraps counted
    std::uint32_t span = 1;      ///< positions that it takes: a READ request takes one for each response packet
    bool read = false;           ///< a READ request
    bool late = false;           ///< known to be late or doubled by the network, not transmitted again
    std::int64_t sent_ns = Situation::never;  ///< when it was sent before, if that is known
    bool atomic = false;                      ///< an atomic's
};

/// How one RC flow repairs losses: why a packet is repeated, how long the steps took, and whether sender and receiver
/// keep to go-back-N (IBTA vol. 1, 9.7.5, 9.9.2). Created at the first problem of a flow. At most 128 bytes, trivially
/// copyable, allocates nothing.
///
/// While busy(), every request packet, NAK and cumulative acknowledgement of the flow must be passed on in the order of
/// the capture. Otherwise no calls are needed; resume() then begins the next problem.
///
/// `report` is called as report(EventKind, std::uint64_t value) with the kinds go_back_*, nak_* and read_restart_wrong,
/// and as report(RecoveryStep, std::uint64_t value).
class Recovery {
public:
    /// The flow was in order until now. `next` is the position after the highest packet seen (before the event that is
    /// reported next), `oldest` the first that is not acknowledged yet, `last_ns` the last time that either direction
    /// carried something of it, if known. Does nothing while busy().
    void resume(std::uint64_t next, std::uint64_t oldest, std::int64_t last_ns = Situation::never);
    bool busy() const;

    /// A request packet, whether new, past a hole, late or repeated. Returns why, for the first packet of a run of
    /// repeated ones, whether or not the tap saw them the first time; `none` for new packets and for those that go on
    /// with a run.
    template <class Report>
    RepeatCause data(const RecoveryPacket& packet, const RecoveryVantage& vantage, Report&& report) {
        Findings findings;
        const RepeatCause cause = see_data(packet, vantage, findings);
        findings.deliver(report);
        return cause;
    }
    /// A NAK, which also acknowledges everything before `position`: report only the NAK. `sent_ns`: when the packet
    /// that it names was last sent, if that is known. Returns false if another NAK is pending, so that nothing is
    /// attributed to this one.
    template <class Report>
    bool nak(std::int64_t now_ns, std::uint64_t position, NakKind kind, std::int64_t sent_ns, Report&& report) {
        Findings findings;
        const bool has_effect = see_nak(now_ns, position, kind, sent_ns, findings);
        findings.deliver(report);
        return has_effect;
    }
    /// Everything up to and including `position` is acknowledged, by an ACK or by a READ or atomic response in order.
    template <class Report>
    void acknowledged(std::uint64_t position, Report&& report) {
        Findings findings;
        see_acknowledged(position, findings);
        findings.deliver(report);
    }
    /// A READ response came while the one at `missing` has not: that is as good as a NAK for the requester. IBTA vol.
    /// 1, 9.7.5.2. False as nak().
    bool response_missing(std::int64_t now_ns, std::uint64_t missing);
    /// Packets may be missing in the capture: pending signals are not judged.
    void lost_sight();
    /// The last packet, which was assumed to begin a run or to be part of one, had only been late. The signal that it
    /// seemed to answer still waits; the run continues where it was.
    void was_late();

    /// The cause that the next repeated packet would get.
    RepeatCause pending() const;
    /// A run of repeated packets is under way: the next of them may come without a signal of its own.
    bool running() const { return running_; }
    /// Whether the last packet left out positions of the run that the receiver is not known to have.
    bool leapt() const { return leap_ != 0; }
    /// Packets have passed the tap while the one at `position` has not.
    bool lacks(std::uint64_t position) const { return past_ != 0 && position == expected_; }
    /// Whether any packet has passed the tap while one before it has not.
    bool past_hole() const { return past_ != 0; }
    /// The last signal to repeat (NAK, missing response) named the packet at `position`.
    bool signalled(std::uint64_t position) const { return position == signal_; }
    /// That signal was a missing response.
    bool implied() const { return implied_; }
    /// Packets of the present run of repeated ones, or of the last.
    std::uint32_t run_packets() const { return run_packets_; }

private:
    struct Findings {
        std::array<std::uint64_t, 4> step_value;
        std::array<std::uint64_t, 2> event_value;
        std::array<RecoveryStep, 4> step;
        std::array<EventKind, 2> event;
        std::uint8_t steps = 0;
        std::uint8_t events = 0;

        void add(RecoveryStep what, std::uint64_t value);
        void add(EventKind what, std::uint64_t value);
        template <class Report>
        void deliver(Report&& report) const {
            for (std::uint8_t i = 0; i < steps; ++i) {
                report(step[i], step_value[i]);
            }
            for (std::uint8_t i = 0; i < events; ++i) {
                report(event[i], event_value[i]);
            }
        }
    };
    /// A possible violation, reported unless later packets explain it.
    enum class Suspicion : std::uint8_t { none, skipped_start, skipped, too_far_back, second_start };

    RepeatCause see_data(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings);
    bool see_nak(std::int64_t now_ns, std::uint64_t position, NakKind kind, std::int64_t sent_ns, Findings& findings);
    void see_acknowledged(std::uint64_t position, Findings& findings);
    RepeatCause begin_run(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings);
    void start(const RecoveryPacket& packet);
    void go_on(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings);
    bool is_spent(const RecoveryPacket& packet, const RecoveryVantage& vantage) const;
    bool too_soon_for_timer(const RecoveryPacket& packet, const RecoveryVantage& vantage) const;
    bool lacks_responses(const RecoveryPacket& packet, const RecoveryVantage& vantage) const;
    void step_back(const RecoveryPacket& packet, const RecoveryVantage& vantage, Findings& findings);
    void check_start(const RecoveryPacket& packet, const RecoveryVantage& vantage, RepeatCause cause,
                     Findings& findings);
    void measure(const RecoveryPacket& packet, RepeatCause cause, Findings& findings) const;
    void receive(const RecoveryPacket& packet);
    void suspect(Suspicion what, std::uint64_t first, std::uint64_t count, bool sure, Findings& findings);
    void settle(bool guilty, Findings& findings);

    std::uint64_t next_ = 0;           // after the highest position sent
    std::uint64_t oldest_ = 0;         // first that is not acknowledged
    std::uint64_t expected_ = 0;       // the farthest that the receiver can be waiting for
    std::int64_t hole_ns_ = 0;         // first arrival past it
    std::uint64_t signal_ = 0;         // position that the pending NAK names
    std::uint64_t oldest_before_ = 0;  // what was the oldest before that NAK
    std::int64_t signal_ns_ = 0;
    std::int64_t lost_ns_ = 0;  // when the lost packet was sent, or the first after the hole
    std::uint64_t run_start_ = 0;
    std::uint64_t run_next_ = 0;
    std::uint64_t run_end_ = 0;  // next_ when the run began
    std::int64_t run_ns_ = 0;    // when it began
    std::uint64_t suspect_first_ = 0;
    std::int64_t last_ns_ = 0;  // of the last packet, or `never`
    std::uint32_t suspect_count_ = 0;
    std::uint32_t run_packets_ = 0;
    std::uint16_t past_ = 0;  // packets past the hole
    std::uint16_t leap_ = 0;  // by how many positions the last packet leapt ahead of the run
    RepeatCause pending_ = RepeatCause::none;
    Suspicion suspicion_ : 4 = Suspicion::none;
    RepeatCause run_cause_ : 4 = RepeatCause::none;
    bool passed_ : 1 = false;  // the run passed signal_ before the sender can be known to have had that NAK
    bool running_ : 1 = false;
    bool unseen_ : 1 = false;               // expected_ has never passed the tap
    bool nak_sent_ : 1 = false;             // the receiver has sent a NAK for expected_
    bool implied_ : 1 = false;              // the pending signal is a missing response
    bool disordered_ : 1 = false;           // the network before the tap reorders or doubles
    bool read_ : 1 = false;                 // the suspicion is about a READ request
    bool contiguous_ : 1 = false;           // no position was left out of the run so far
    bool at_receiver_ : 1 = false;          // the tap, when the last packet came
    bool has_acknowledgement_ : 1 = false;  // oldest_ comes from an acknowledgement
    bool loose_ : 1 = false;  // the last packet was a READ request that takes an unknown number of positions
};
static_assert(sizeof(Recovery) <= 128 && std::is_trivially_copyable_v<Recovery>);

}  // namespace metrics::measure::account
