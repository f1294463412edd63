#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "iwarp/ddp/tagged_buffers.h"
#include "iwarp/fault.h"
#include "iwarp/iwarp.h"
#include "iwarp/mpa/batch.h"
#include "iwarp/mpa/fpdu_writer.h"
#include "iwarp/mpa/handshake.h"
#include "iwarp/rdmap/request_queues.h"
#include "iwarp/rdmap/send_queue.h"

/// Everything that is sent: the send queue's messages and the answers owed to the peer, cut into DDP segments. RFC 5040
/// section 5, RFC 5041 section 5, RFC 7306.
namespace iwarp::rdmap {

/// Results of local operations that other parts must know.
class OutboundEvents {
public:
    virtual ~OutboundEvents() = default;
    /// The owner of this memory may remove it: no part may refer to it any longer.
    virtual void withdrawn(std::span<const std::byte> memory) = 0;
};

/// Fills batches, never blocks. Answers and send queue take turns, one FPDU each. Two tagged messages are not mixed
/// (RFC 5041 would allow it, but Linux siw receives one at a time): there they take turns by message.
class Outbound {
public:
    struct Settings {
        std::uint32_t domain = 0;
        std::uint32_t queue_pair = 0;
        bool privileged = false;
        std::uint32_t max_ulpdu = 1442;
    };
    Outbound(const Settings& settings, ddp::TaggedBuffers& memory, SendQueue& sends, OwedResponses& owed,
             OutstandingRequests& outstanding, OutboundEvents& events);

    /// The first message of a peer-to-peer initiator. RFC 6581 section 9.2.
    void begin_with(mpa::ReadyMessage ready) { ready_ = ready; }
    /// Applies to the segments from here on.
    void limit_ulpdu(std::uint32_t max_ulpdu) { settings_.max_ulpdu = max_ulpdu; }
    /// Adds FPDUs until the batch is full or there is nothing that may be sent now.
    void fill(mpa::FpduWriter& writer, mpa::Batch& batch);

    /// Performs the requests at the front of the send queue that send nothing, while nothing may be sent.
    void perform_local();
    /// Fills in the last data before a Terminate: answers, as far as they fit.
    void fill_answers(mpa::FpduWriter& writer, mpa::Batch& batch);

    /// Why nothing more is filled in: the send queue's next request failed here,
    struct SendFailure {
        std::uint64_t ticket = 0;
        Status status = Status::local_protection;
    };
    const std::optional<SendFailure>& send_failure() const { return send_failure_; }
    /// or the source of an answer is no longer what the peer may read (RFC 5040 section 5.2): the fault, and the body
    /// of its Terminate.
    struct AnswerFailure {
        Fault fault;
        std::vector<std::byte> body;
    };
    const std::optional<AnswerFailure>& answer_failure() const { return answer_failure_; }

    /// Whether answers filled in since the last call refer to memory that others may write: the part that TCP does not
    /// accept at once must then be copied, because it may change after its CRC was computed.
    bool take_may_change() { return std::exchange(may_change_, false); }
    /// No request of the send queue can continue before something arrives.
    bool waits_for_answers();
    std::uint64_t payload_octets() const { return payload_octets_; }
    std::uint64_t reads_served() const { return reads_served_; }

private:
    using Parts = std::array<base::Bytes, 32>;
    static constexpr std::uint64_t no_ticket = ~std::uint64_t{0};

    bool may_send();
    bool may_respond();
    bool writing();
    void send_one(mpa::FpduWriter& writer, mpa::Batch& batch);
    void send_segment(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch);
    void send_immediate(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch);
    void request_read(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch);
    void request_atomic(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch);
    void perform(WorkRequest& work);
    bool invalidate(const WorkRequest& work);
    void send_ready(mpa::FpduWriter& writer, mpa::Batch& batch);
    void respond(mpa::FpduWriter& writer, mpa::Batch& batch);
    void refuse(const OwedResponse& response, ddp::MemoryFault fault);
    bool readable(const Sge& piece) const;
    void fail(Status status);
    void finish_message();

    Settings settings_;
    ddp::TaggedBuffers& memory_;
    SendQueue& sends_;
    OwedResponses& owed_;
    OutstandingRequests& outstanding_;
    OutboundEvents& events_;

    mpa::ReadyMessage ready_ = mpa::ReadyMessage::none;
    bool begun_ = false;         ///< part of the send queue's next message has been filled in
    bool responding_ = false;    ///< part of the oldest answer has
    bool respond_next_ = false;  ///< whose turn it is
    bool may_change_ = false;
    bool written_ = false;  ///< write_immediate: the Write has been filled in
    std::uint32_t message_offset_ = 0;
    std::uint32_t piece_ = 0;  ///< the place in the message's pieces
    std::uint32_t piece_offset_ = 0;
    std::uint32_t response_offset_ = 0;
    std::uint32_t send_msn_ = 1;  ///< RFC 5041 section 4.3: of the next message on each queue
    std::uint32_t request_msn_ = 1;
    std::uint32_t atomic_response_msn_ = 1;
    std::uint32_t answered_msn_ = 1;  ///< the peer's, of the request that the oldest answer belongs to
    std::uint32_t request_id_ = 0;
    std::uint64_t payload_octets_ = 0;
    std::uint64_t reads_served_ = 0;
    std::optional<SendFailure> send_failure_;
    std::optional<AnswerFailure> answer_failure_;
};

/// A Terminate as one FPDU. RFC 5040 section 5.4: the only message of its queue.
void add_terminate(base::Bytes body, mpa::FpduWriter& writer, mpa::Batch& batch);

}  // namespace iwarp::rdmap
