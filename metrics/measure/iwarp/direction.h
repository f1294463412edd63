#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "dissect/tcp/elsewhere.h"
#include "dissect/tcp/tcp_checksum.h"
#include "metrics/measure/flow/flow.h"
#include "metrics/measure/iwarp/fpdu_walk.h"
#include "metrics/measure/iwarp/handshake_table.h"
#include "metrics/measure/iwarp/holes.h"
#include "metrics/measure/iwarp/loss_recovery.h"
#include "metrics/measure/iwarp/loss_reports.h"
#include "metrics/measure/iwarp/receive_window.h"
#include "metrics/measure/iwarp/segment_prints.h"
#include "metrics/measure/iwarp/send_order.h"
#include "metrics/measure/iwarp/sent_marks.h"
#include "metrics/measure/iwarp/tcp_segment.h"

/// What TCP and RDMAP need of a flow beyond `Flow` itself. Positions are those of `RequestState`: sequence numbers
/// with their wraps counted; `next` is one past the highest byte seen, `acknowledged` one past the highest
/// acknowledged.
namespace metrics::inline measure::iwarp {

/// Positions begin here, so that bytes before the first seen have one too.
inline constexpr std::uint64_t first_position = std::uint64_t{1} << 32;
/// The ledger holds positions of 48 bits: beyond this they are moved back by whole wraps.
inline constexpr std::uint64_t highest_position = std::uint64_t{1} << 47;

/// RDMAP messages under way in one direction. RFC 5040.
struct MessageState {
    std::uint64_t next_offset = 0;  ///< tagged offset at which the Write continues
    std::uint32_t stag = 0;         ///< of the Write
    std::uint32_t message_sequence = 0;
    std::uint64_t bytes_missing = 0;  ///< of the stream, while `cut`
    std::uint64_t write_end = 0;      ///< position of a Write that Immediate Data may follow; 0 = none
    std::int64_t write_ns = 0;        ///< when its last byte passed
    std::uint32_t write_bytes = 0;
    std::optional<std::uint64_t> write_latency_ns;  ///< of the last request, a Write: not recorded yet
    bool write_was_last = false;        ///< the last request was a Write, not yet paired with Immediate Data
    bool awaited : 1 = true;            ///< no FPDU has come since the start frame, or a gap
    bool watched : 1 = false;           ///< the flow has commands of an upper layer, or may have: Flow::upper
    bool request_seen = false;          ///< a READ or atomic request was captured
    bool cut = false;                   ///< bytes just before the next FPDU were not captured
    bool begun_unseen = false;          ///< the message may have begun in bytes that were not captured
    bool response_cut = false;          ///< something of the READ response under way was not captured
    bool in_sync = false;               ///< a READ or atomic request was answered
    std::uint32_t forgotten = 0;        ///< READs and atomics that were given up; their responses may still come
    std::uint32_t not_kept = 0;         ///< the same for those that found no room
    std::uint32_t doubtful = 0;         ///< most outstanding before it was doubtful which are answered; 0: it is not
    std::uint32_t unmatched = 0;        ///< responses in a row that answer none of the requests outstanding
    std::uint32_t unmatched_limit = 0;  ///< at this number the requests are given up
    std::uint64_t answered = 0;         ///< the oldest READ or atomic outstanding lies after this position
    std::uint64_t response_bytes = 0;
    std::uint64_t response_offset = 0;  ///< tagged offset at which the present READ response continues
    std::uint32_t response_stag = 0;
    std::uint64_t first_frame = 0;        ///< that held the first byte of the message under way
    std::uint64_t response_frame = 0;     ///< the same of the READ response under way
    std::int64_t response_passed_ns = 0;  ///< when its last bytes so far did, in whatever order
};

/// Requests and responses outstanding together: maxima are not the sum of the two ledgers' maxima.
struct OutstandingLevel {
    std::uint32_t messages = 0;
    std::uint32_t messages_max = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t at_max_ns = 0;
    std::int64_t changed_ns = 0;

    void note(const Ledger& requests, const Ledger& responses, std::int64_t now_ns) {
        at_max_ns = at_max(now_ns);
        changed_ns = std::max(changed_ns, now_ns);
        messages = requests.messages() + responses.messages();
        if (messages > messages_max) {
            messages_max = messages;
            at_max_ns = 0;
        }
        bytes_max = std::max(bytes_max, requests.bytes() + responses.bytes());
    }
    std::uint64_t at_max(std::int64_t now_ns) const {
        if (messages_max == 0 || messages != messages_max) return at_max_ns;
        return at_max_ns + elapsed(changed_ns, now_ns);
    }
};

/// What the sender of a direction sends.
struct SentData {
    LossRecovery recovery;
    std::uint64_t retransmitted_bytes = 0;
    std::uint64_t holes_lost = 0;  ///< a hole up to here may have been given up
    std::uint64_t probe_end = 0;   ///< `next` when the newest segment was last sent again as a probe
    std::uint64_t new_bytes = 0;   ///< of the stream, that passed for the first time
    SentMarks marks;
    SegmentPrints prints;
    SendOrderTracker order;
    std::uint32_t largest_segment = 0;
    std::uint32_t last_fpdu_bytes = 0;  ///< of the stream, markers included
    std::uint32_t out_of_order = 0;
    std::uint32_t holes = Flow::no_block;  ///< in the HoleTable
    std::uint32_t cwr = 0;
    std::uint32_t freed_before_messages = 0;
    /// RequestState::freed_ns without what acknowledged bytes that have not passed.
    std::int64_t freed_before_ns = Situation::never;
    std::uint64_t bad_frame = 0;  ///< the last that was counted as damaged
    dissect::tcp::Elsewhere elsewhere;
    std::uint32_t initial_sequence = 0;
    std::uint8_t wrong_checksums = 0;
    dissect::tcp::ChecksumVerdict checksums = dissect::tcp::ChecksumVerdict::unknown;
    bool sequence_known : 1 = false;  ///< `initial_sequence` holds
    bool probed : 1 = false;          ///< a byte beyond a closed window was sent
    bool fin_sent : 1 = false;
    /// The least round trip ended with a segment that carries data: the peer's application may have been waited for.
    bool answered_by_data : 1 = false;

    /// One past the next FPDU, if it is as long as the last one and begins at `next`.
    std::uint64_t next_fpdu_end(std::uint64_t next) const {
        const std::uint64_t segment = std::max<std::uint32_t>(largest_segment, 1);
        return next + std::clamp<std::uint64_t>(last_fpdu_bytes, 1, segment);
    }
};

/// What the receiver of a direction says about it.
struct ReceiverReports {
    ReceiveWindow window;
    LossReports losses;
    std::int64_t ece_ns = Situation::never;  ///< of the last acknowledgement with ECE
    std::uint32_t ece_acks = 0;
    std::uint16_t mss = 0;  ///< that the receiver asked for; 0 = not known
};

/// One direction of a connection: what its sender sends, what its receiver says about that, and the messages in it.
struct Direction {
    SentData sent;
    ReceiverReports received;

    Ledger responses;  ///< READs and atomics of this flow's sender; Sends and Writes are in Flow::ledger
    OutstandingLevel level;
    MessageState message;
    FpduWalk walk;

    std::uint64_t fpdu_bytes = 0;     ///< of the FPDUs and MPA frames that the dissector found in the stream
    std::uint64_t skipped_bytes = 0;  ///< captured, at least in part, between those
    std::uint64_t handshake_ns = 0;
    std::uint32_t early_responses = Flow::no_block;  ///< of this direction: they came before their requests
    std::uint32_t fpdu_bytes_max = 0;
    bool closed : 1 = false;  ///< both FINs, or a RST
    bool read : 1 = false;    ///< the flow has an upper layer that is read

    /// Bytes in which no FPDU was found, nor will be found.
    std::uint64_t unread_bytes() const {
        const std::uint64_t known = fpdu_bytes + skipped_bytes;
        const std::uint64_t waiting = sent.new_bytes - std::min(sent.new_bytes, known);
        const bool hopeless = waiting > (known < longest_search ? longest_search : longest_wait);
        return std::min(skipped_bytes + (hopeless ? waiting : 0), sent.new_bytes);
    }
    /// More than 2 % of the stream is unread, as in metrics::partly_read: what its sender does is not known.
    bool lacks_messages() const {
        if (skipped_bytes == 0 && sent.new_bytes <= fpdu_bytes + longest_search) [[likely]]
            return false;
        return unread_bytes() > sent.new_bytes / 50;
    }

private:
    static constexpr std::uint64_t longest_wait = std::uint64_t{4} << 20;    // in which FPDUs may still be found
    static constexpr std::uint64_t longest_search = std::uint64_t{1} << 18;  // the same before many were
};
static_assert(std::is_trivially_copyable_v<Direction>);

}  // namespace metrics::measure::iwarp
