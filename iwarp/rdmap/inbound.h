#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/ddp/receive_queue.h"
#include "iwarp/ddp/tagged_buffers.h"
#include "iwarp/fault.h"
#include "iwarp/iwarp.h"
#include "iwarp/mpa/segment_sink.h"
#include "iwarp/rdmap/request_queues.h"

/// What arrives: DDP's placement and delivery, RDMAP's messages. RFC 5040, 5041, 7306.
namespace iwarp::rdmap {

/// A message delivered into a receive.
struct Delivered {
    std::uint64_t receive_id = 0;
    Status status = Status::success;  ///< local_length: too long for the receive, local_protection: its pieces
    std::uint32_t length = 0;
    bool solicited = false;
    std::optional<std::uint64_t> immediate = std::nullopt;
    std::optional<std::uint32_t> invalidated_stag = std::nullopt;
};

/// The arrivals, for the queue pair. Calls come from begin_segment and end_segment, in the order of delivery; none of
/// them may call back into Inbound.
class InboundEvents {
public:
    virtual ~InboundEvents() = default;
    virtual void delivered(const Delivered&) = 0;
    /// The oldest outstanding read or atomic is done (`original` of an atomic has been placed in its sink). It leaves
    /// the ledger after the call.
    virtual void answered(const OutstandingRequest&, Status) = 0;
    /// OwedResponses has grown.
    virtual void response_owed() = 0;
    virtual void terminated(const Terminate&) = 0;
    /// A shared receive queue sank below its limit.
    virtual void receive_limit() = 0;
    /// The stream's first FPDU was right: a responder may send from now on (RFC 5044 section 7.1.2).
    virtual void first_fpdu() = 0;
};

/// Checks in the order of the RFCs, places, delivers. One for each stream; holds at most one receive at a time.
/// Segments of an untagged message must come with rising offsets, as every known sender's do (RFC 5041 section 5.3 asks
/// for it).
///
/// After its first fault, and after a Terminate from the peer, segments are taken and dropped (RFC 5041 section 7.1).
class Inbound final : public mpa::SegmentSink {
public:
    struct Settings {
        std::uint32_t domain = 0;
        std::uint32_t queue_pair = 0;
        bool privileged = false;
        bool owes_ready_message = false;  ///< a peer-to-peer responder: the first message is the initiator's
                                          ///< ready-to-receive message; a zero-length Send of that kind uses no receive
        std::optional<std::uint32_t> receive_domain = std::nullopt;  ///< domain of the receives' pieces, if a shared
                                                                     ///< receive queue has a domain of its own
        bool waits_for_receives = false;  ///< a message without a receive: fault::not_yet, instead of no_buffer
        std::uint32_t first_msn =
            1;  ///< of every queue; RFC 5041 section 4.3 allows no other value, but tests need to see it wrap
    };
    Inbound(const Settings& settings, ddp::TaggedBuffers& memory, ddp::ReceiveQueue& receives, OwedResponses& owed,
            OutstandingRequests& outstanding, InboundEvents& events);

    base::Result<mpa::Target, Fault> begin_segment(base::Bytes header, std::uint32_t payload_length) override;
    std::optional<Fault> end_segment() override;

    /// From now on a message without a receive is refused.
    void wait_no_longer() { settings_.waits_for_receives = false; }

    /// Between begin_segment and end_segment: whether the target is unchanged, or the fault if its memory was
    /// deregistered or invalidated from above. Call it before more bytes go there; a fault stays until the segment's
    /// end.
    std::optional<Fault> recheck_target();

    /// The body of a Terminate. If the fault was found here, the headers of its segment are included as the fault
    /// requires (RFC 5040 section 4.8).
    std::vector<std::byte> terminate_body(const Fault& fault) const;
    /// The receive of a message that was incomplete when the stream ended.
    std::optional<std::uint64_t> unfinished_receive() const;
    /// Whether the stream could end here: between messages.
    bool at_boundary() const;
    /// The peer's messages that ended without a fault: QueuePairCounters::messages_received.
    std::uint64_t messages() const { return messages_; }

private:
    static constexpr std::size_t most_pieces = 32;
    /// Messages for RDMAP itself, on queues 1 to 3, are collected here. None is longer than a Terminate.
    struct Collected {
        std::array<std::byte, 64> octets;
        std::uint32_t arrived = 0;
        std::uint8_t opcode = 0;
    };
    /// The place in the pieces of a receive for the next byte.
    struct Cursor {
        std::uint32_t piece = 0;
        std::uint32_t offset = 0;
    };
    enum class Segment : std::uint8_t { dropped, nothing, write, read_response, receive, immediate, collected };
    bool asks(Segment segment) const;

    std::optional<Fault> begin_tagged();
    std::optional<Fault> begin_read_response(std::uint32_t stag, std::uint64_t offset);
    std::optional<Fault> begin_untagged();
    std::optional<Fault> begin_receive(std::uint32_t offset);
    std::optional<Fault> begin_collected(std::uint32_t offset);
    std::optional<Fault> place_write();
    std::optional<Fault> place_read_response();
    bool place_receive();
    std::optional<Fault> refuse_receive(Status status, const Fault& fault);
    base::Result<mpa::Target, Fault> drop();
    base::Result<mpa::Target, Fault> refuse(const Fault& fault);

    std::optional<Fault> end_read_response();
    std::optional<Fault> end_receive();
    std::optional<Fault> end_collected();
    std::optional<Fault> read_requested(base::Bytes message);
    std::optional<Fault> atomic_requested(base::Bytes message);
    std::optional<Fault> atomic_answered(base::Bytes message);

    bool take_receive();
    bool invalidate(std::uint32_t stag);
    void aim(std::byte* memory, std::size_t octets) { pieces_[piece_count_++] = {memory, octets}; }
    std::uint32_t receive_domain() const { return settings_.receive_domain.value_or(settings_.domain); }

    Settings settings_;
    ddp::TaggedBuffers* memory_;
    ddp::ReceiveQueue* receives_;
    OwedResponses* owed_;
    OutstandingRequests* outstanding_;
    InboundEvents* events_;

    // The header of the segment that was last begun.
    std::array<std::byte, 18> header_{};
    std::uint8_t header_size_ = 0;
    std::uint8_t opcode_ = 0;
    std::uint8_t queue_ = 0;
    bool last_ = false;
    Segment segment_ = Segment::nothing;
    std::uint32_t payload_length_ = 0;
    std::uint32_t piece_count_ = 0;
    std::array<base::MutableBytes, most_pieces> pieces_;
    std::uint64_t memory_changes_ = 0;

    // Of the stream.
    std::array<std::uint32_t, 4> next_msn_;  ///< of the message that is expected or under way
    std::array<Collected, 3> collected_;     ///< queues 1 to 3
    ddp::Receive receive_;
    bool writing_ = false;  ///< in the middle of a Write
    bool receiving_ = false;
    bool receiving_immediate_ = false;
    std::uint64_t received_ = 0;  ///< bytes of the message in receive_
    std::array<std::byte, 8> immediate_{};
    Cursor cursor_;
    Cursor cursor_after_;  ///< once the segment has ended
    std::uint64_t messages_ = 0;
    bool fpdu_seen_ = false;
    bool over_ = false;
    bool target_lost_ = false;    ///< the memory of the present segment was withdrawn
    std::optional<Fault> fault_;  ///< found here; header_ belongs to that segment from then on
    std::uint32_t fault_payload_ = 0;
    std::unique_ptr<std::byte[]> waste_;
};

/// Words for a layer, type and code: "DDP tagged buffer error: base or bounds violation".
std::string terminate_text(std::uint8_t layer, std::uint8_t type, std::uint8_t code);
/// A received Terminate's body, Linux siw's swapped bit fields included (seen `11 00 03 00` for `11 00 c0 00`).
Terminate parse_terminate(base::Bytes body);

}  // namespace iwarp::rdmap
