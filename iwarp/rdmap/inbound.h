#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/ddp/receive_queue.h"
#include "iwarp/ddp/tagged_buffers.h"
#include "iwarp/fault.h"
#include "iwarp/iwarp.h"
#include "iwarp/mpa/segment_sink.h"
#include "iwarp/rdmap/ledgers.h"

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

/// What arrived, for the queue pair. Calls come from begin_segment and end_segment, in the order of delivery; none of
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
class Inbound final : public mpa::SegmentSink {
public:
    struct Settings {
        std::uint32_t domain = 0;
        std::uint32_t queue_pair = 0;
        bool privileged = false;
        bool owes_ready_message = false;  ///< a peer-to-peer responder: the first message is the initiator's
                                          ///< ready-to-receive message: a zero-length Send of that kind takes no receive
    };
    Inbound(const Settings& settings, ddp::TaggedBuffers& memory, ddp::ReceiveQueue& receives, OwedResponses& owed,
            OutstandingRequests& outstanding, InboundEvents& events);

    wire::Result<mpa::Target, Fault> begin_segment(wire::Bytes header, std::uint32_t payload_length) override;
    std::optional<Fault> end_segment() override;

    /// The body of the Terminate for a fault of the segment that was last begun (RFC 5040 section 4.8: its headers go
    /// along where the fault says so). Right after the fault.
    std::vector<std::byte> terminate_body(const Fault& fault) const;
    /// The receive that a message was being placed into, when the stream ended in its middle.
    std::optional<std::uint64_t> unfinished_receive() const;

private:
    // The author of inbound.cpp completes what is private.
};

/// Words for a layer, type and code: "DDP tagged buffer error: base or bounds violation".
std::string terminate_text(std::uint8_t layer, std::uint8_t type, std::uint8_t code);
/// A received Terminate's body, Linux siw's swapped bit fields included (seen `11 00 03 00` for `11 00 c0 00`).
Terminate parse_terminate(wire::Bytes body);

}  // namespace iwarp::rdmap
