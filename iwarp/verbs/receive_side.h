#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "iwarp/mpa/fpdu_reader.h"
#include "iwarp/mpa/handshake.h"
#include "iwarp/rdmap/inbound.h"
#include "iwarp/verbs/connection_context.h"
#include "iwarp/verbs/receive_wait.h"

namespace iwarp::verbs {

/// Arrivals that concern the connection as a whole.
class ReceiveEvents {
public:
    virtual ~ReceiveEvents() = default;
    /// The stream's first FPDU was right.
    virtual void first_fpdu() = 0;
    /// The peer sent a Terminate.
    virtual void terminated(const Terminate& why) = 0;
    /// A request of this side could not be completed.
    virtual void request_failed(const std::string& why) = 0;
};

/// Arrivals while FPDUs pass: places them, delivers them to the queue pair, and waits if a message has no receive.
class ReceiveSide final : private rdmap::InboundEvents, private mpa::SegmentSink {
public:
    ReceiveSide(ConnectionContext& context, ReceiveEvents& events, Connection& connection, const mpa::Terms& terms,
                rdmap::OwedResponses& owed, rdmap::OutstandingRequests& outstanding);

    // Each returns the fault in what arrived.
    std::optional<Fault> receive(base::Bytes bytes);
    /// Bytes that went directly into room().
    std::optional<Fault> received(std::size_t bytes);
    /// A receive was posted, or the message must not wait any longer.
    std::optional<Fault> resume();
    std::span<const base::MutableBytes> room(std::size_t minimum);

    /// A message has come without a posted receive (ConnectionOptions::receive_patience).
    bool waits() const { return context_.is_operating() && reader_.paused(); }
    ReceiveWait& wait() { return wait_; }
    const ReceiveWait& wait() const { return wait_; }
    /// Begins or ends the wait, as waits() says.
    void update_wait();
    /// From now on a message without a receive is refused.
    void refuse_waiting() { inbound_.wait_no_longer(); }
    /// From now on arriving data is dropped.
    void stop() { placing_ = false; }

    bool is_at_fpdu_boundary() const { return reader_.at_boundary(); }
    bool is_at_message_boundary() const { return inbound_.at_boundary(); }
    std::vector<std::byte> terminate_body(const Fault& fault) const { return inbound_.terminate_body(fault); }
    /// The receive of an incomplete message; returned once.
    std::optional<std::uint64_t> take_unfinished_receive();

private:
    // rdmap::InboundEvents
    void delivered(const rdmap::Delivered&) override;
    void answered(const rdmap::OutstandingRequest&, Status) override;
    void response_owed() override {}
    void terminated(const Terminate&) override;
    void receive_limit() override;
    void first_fpdu() override { events_.first_fpdu(); }
    // mpa::SegmentSink: passes on to Inbound while the stream exists
    base::Result<mpa::Target, Fault> begin_segment(base::Bytes header, std::uint32_t payload_length) override;
    std::optional<Fault> end_segment() override;

    std::optional<Fault> counted(std::optional<Fault> fault);

    ConnectionContext& context_;
    ReceiveEvents& events_;
    rdmap::Inbound inbound_;
    mpa::FpduReader reader_;
    ReceiveWait wait_;
    std::uint64_t fpdus_ = 0;  ///< as counted last
    bool tagged_ = false;      ///< the segment of the last begin_segment
    bool placing_ = false;     ///< between begin_segment and end_segment
    bool unfinished_taken_ = false;
};

}  // namespace iwarp::verbs
