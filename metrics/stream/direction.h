#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "dissect/stream/elsewhere.h"
#include "dissect/stream/tcp_checksum.h"
#include "metrics/flow/flow.h"
#include "metrics/stream/fpdu_walk.h"
#include "metrics/stream/handshake_table.h"
#include "metrics/stream/holes.h"
#include "metrics/stream/segment.h"
#include "metrics/stream/sent_marks.h"

/// What TCP and RDMAP need of a flow beyond `Flow` itself. Positions are those of `RequestState`: sequence numbers
/// with their wraps counted; `next` is one past the highest octet seen, `acknowledged` one past the highest
/// acknowledged.
namespace metrics::stream {

/// Positions begin here, so that octets before the first seen have one too.
inline constexpr std::uint64_t first_position = std::uint64_t{1} << 32;
/// The ledger holds positions of 48 bits: beyond this they are moved back by whole wraps.
inline constexpr std::uint64_t highest_position = std::uint64_t{1} << 47;

/// What tells a segment doubled by the network from one sent again.
struct SegmentPrint {
    std::uint32_t sequence = 0;
    std::uint32_t length = 0;  ///< 0: unused
    std::uint16_t checksum = 0;
    std::uint16_t identification = 0;
};

/// RDMAP messages under way in one direction. RFC 5040.
struct MessageState {
    std::uint64_t next_offset = 0;  ///< tagged offset at which the Write goes on
    std::uint32_t stag = 0;         ///< of the Write
    std::uint32_t message_sequence = 0;
    std::uint64_t octets_missing = 0;  ///< of the stream, while `cut`
    std::uint64_t write_end = 0;       ///< position of a Write that Immediate Data may follow; 0 = none
    std::int64_t write_ns = 0;         ///< when its last octet passed
    std::uint32_t write_bytes = 0;
    std::optional<std::uint64_t> write_latency_ns;  ///< of the last request, a Write: not recorded yet
    bool write_was_last = false;       ///< the last request was a Write, not yet paired with Immediate Data
    bool awaited = true;               ///< no FPDU has come since the start frame, or a gap
    bool request_seen = false;         ///< a READ or atomic request was captured
    bool cut = false;                  ///< octets just before the next FPDU were not captured
    bool begun_unseen = false;         ///< nor, perhaps, was something of the message under way, its beginning or more
    bool response_cut = false;         ///< something of the READ response under way was not captured
    bool in_step = false;              ///< a READ or atomic request was answered
    std::uint32_t forgotten = 0;       ///< READs and atomics given up, whose responses may still come
    std::uint32_t not_kept = 0;        ///< the same of those for which there was no room
    std::uint32_t doubtful = 0;        ///< most outstanding before it was doubtful which are answered; 0: it is not
    std::uint32_t strangers = 0;       ///< responses in a row that answer none of the requests outstanding
    std::uint32_t strangers_most = 0;  ///< with so many of them the requests are given up
    std::uint64_t answered = 0;        ///< the oldest READ or atomic outstanding lies behind this position
    std::uint64_t response_bytes = 0;
    std::uint64_t response_offset = 0;  ///< tagged offset at which the READ response under way goes on
    std::uint32_t response_stag = 0;
    std::uint64_t first_frame = 0;        ///< that held the first octet of the message under way
    std::uint64_t response_frame = 0;     ///< the same of the READ response under way
    std::int64_t response_passed_ns = 0;  ///< when its last octets so far did, in whatever order
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

/// How far the receiver's window reached from some time on.
struct WindowReach {
    std::uint64_t edge = 0;
    std::int64_t since_ns = Situation::never;
};

/// Of one direction, in its sender's view: what it sends, and what the receiver's segments say about it.
struct Direction {
    // TCP, as it is sent
    std::uint64_t retransmitted_bytes = 0;
    std::uint64_t recover = 0;  ///< while `acknowledged` is below, a loss is being repaired
    std::uint64_t run_position = 0;
    std::uint64_t head_again = 0;       ///< the first unacknowledged octet when it was last sent again
    std::uint64_t head_again_next = 0;  ///< `next` at that time
    std::uint64_t evidence_end = 0;     ///< the receiver has said that octets before it are missing
    std::uint64_t holes_lost = 0;       ///< up to here a hole may have been given up
    std::uint64_t probe_end = 0;        ///< `next` when the newest segment was last sent again as a probe
    std::uint64_t new_octets = 0;       ///< of the stream, that passed for the first time
    std::uint64_t unit_octets = 0;      ///< of the FPDUs and MPA frames that the dissector found in it
    std::uint64_t skipped_octets = 0;   ///< captured, at least in part, between those
    SentMarks marks;
    std::array<SegmentPrint, 4> prints{};
    std::uint32_t largest_segment = 0;
    std::uint32_t last_unit_octets = 0;  ///< of the stream, markers included
    std::uint32_t out_of_order = 0;
    std::uint32_t holes = Flow::no_block;
    std::uint32_t unasked = Flow::no_block;  ///< responses of this direction that came before their requests
    std::uint32_t cwr = 0;

    // as it is answered
    std::int64_t ece_ns = Situation::never;
    std::int64_t first_duplicate_ns = Situation::never;  ///< ACK that repeats `acknowledged`
    std::int64_t freed_before_ns = Situation::never;     ///< RequestState::freed_ns but for octets that have not passed
    std::uint32_t freed_before_messages = 0;
    std::uint32_t duplicate_acks = 0;
    std::uint32_t duplicate_run = 0;
    std::uint32_t sack_blocks = 0;
    std::uint32_t zero_windows = 0;
    std::uint32_t ece_acks = 0;
    std::uint32_t window = 0;  ///< last advertised, octets
    std::uint32_t window_min = 0xffffffff;
    std::uint32_t window_max = 0;
    std::uint64_t window_edge = 0;         ///< position up to which may be sent; 0 = not known
    std::array<WindowReach, 8> reaches{};  ///< the newest first
    std::int64_t limited_since_ns = Situation::never;
    std::uint64_t limited_ns = 0;
    std::uint64_t limited_in_gap_ns = 0;  ///< since the last data segment

    Ledger responses;  ///< READs and atomics of this flow's sender; Sends and Writes are in Flow::ledger
    OutstandingLevel level;
    MessageState message;
    FpduWalk walk;

    std::uint64_t handshake_ns = 0;
    std::uint64_t bad_frame = 0;  ///< the last that was counted as damaged
    SendOrder newest;             ///< of the segment sent last, as far as seen
    dissect::stream::Elsewhere elsewhere;
    std::uint32_t initial_sequence = 0;
    std::uint16_t mss = 0;  ///< that the receiver asked for; 0 = not known
    std::uint8_t print_next = 0;
    std::uint8_t window_scale = 0xff;  ///< of the receiver's windows; 0xff = not known
    std::uint8_t wrong_checksums = 0;
    std::uint8_t orderly = 0;  ///< how regularly the sender counts its identification up
    dissect::stream::ChecksumVerdict checksums = dissect::stream::ChecksumVerdict::unknown;
    RepeatCause cause = RepeatCause::none;  ///< of the loss being repaired
    bool sequence_known : 1 = false;        ///< `initial_sequence` holds
    bool running : 1 = false;               ///< the last data segment was one of a run of repeated ones
    bool probed : 1 = false;                ///< an octet beyond a closed window was sent
    bool head_overtaken : 1 = false;        ///< the receiver has told of what was sent behind `head_again` since
    bool fin_sent : 1 = false;
    bool closed : 1 = false;  ///< both FINs, or a RST

    bool recovering(const RequestState& request) const { return recover > request.acknowledged; }
};
static_assert(std::is_trivially_copyable_v<Direction>);

}  // namespace metrics::stream
