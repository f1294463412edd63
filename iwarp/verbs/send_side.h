#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/mpa/fpdu_writer.h"
#include "iwarp/rdmap/outbound.h"
#include "iwarp/verbs/connection_context.h"
#include "iwarp/verbs/send_buffer.h"

namespace iwarp::verbs {

/// The largest ULPDU for segments of `emss` bytes. RFC 5044 sections 3 and 4.5.
std::uint32_t ulpdu_limit(const ConnectionOptions& options, std::uint32_t emss, bool markers);

/// Everything that is sent while FPDUs pass: fills the buffer from the send queue and the owed answers, and counts.
class SendSide final : private rdmap::OutboundEvents {
public:
    static constexpr std::uint64_t no_ticket = ~std::uint64_t{0};

    SendSide(ConnectionContext& context, SendBuffer& buffer, const mpa::Terms& terms, std::uint32_t max_ulpdu,
             rdmap::OwedResponses& owed, rdmap::OutstandingRequests& outstanding);

    /// A responder waits for the first FPDU. RFC 5044 section 7.1.2.
    void permit() { permitted_ = true; }
    bool is_permitted() const { return permitted_; }
    /// Applies to the segments from here on.
    void limit_ulpdu(std::uint32_t max_ulpdu) { outbound_.limit_ulpdu(max_ulpdu); }

    /// Fills the buffer with what may be sent now.
    void fill();
    /// Fills in the last data before a Terminate: answers, as far as they fit.
    void fill_answers();
    void add_terminate(base::Bytes body);

    /// Why nothing more is filled in, and the result of the request at fault.
    struct SendFailure {
        Fault fault;
        std::vector<std::byte> body;  ///< of the Terminate
        std::string text;
        std::uint64_t ticket = no_ticket;
        Status status = Status::flushed;
    };
    std::optional<SendFailure> failure() const;
    /// No request of the send queue can continue before something arrives.
    bool waits_for_answers() { return outbound_.waits_for_answers(); }
    /// Whether data filled in since the last call refers to memory that others may write, although its CRC was
    /// computed.
    bool take_may_change();

private:
    void withdrawn(std::span<const std::byte> memory) override;
    void count();

    ConnectionContext& context_;
    SendBuffer& buffer_;
    mpa::FpduWriter writer_;
    rdmap::Outbound outbound_;
    bool permitted_;
    // As counted last.
    std::uint64_t fpdus_ = 0;
    std::uint64_t payload_bytes_ = 0;
    std::uint64_t reads_served_ = 0;
};

}  // namespace iwarp::verbs
