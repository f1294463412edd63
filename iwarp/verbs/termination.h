#pragma once
#include <cstdint>
#include <string>

#include "iwarp/iwarp.h"
#include "iwarp/rdmap/send_queue.h"
#include "iwarp/verbs/stream.h"

namespace iwarp::verbs {

/// The progress of a connection towards its end: who requested it, which FINs there are, and why. RFC 5041, 6.2.1.
class Termination {
public:
    using Closing = Stream::Closing;

    /// As soon as everything posted is sent.
    void request() { requested_ = true; }
    bool is_requested() const { return requested_; }
    void peer_closed() { peer_closed_ = true; }
    bool has_peer_closed() const { return peer_closed_; }

    void close(Closing how) { closing_ = how; }
    Closing closing() const { return closing_; }
    /// This side has sent neither a FIN nor a RST.
    bool is_open() const { return closing_ == Closing::no; }

    /// Why the stream was terminated.
    void set_reason(std::string reason) { reason_ = std::move(reason); }
    const std::string& reason() const { return reason_; }

private:
    Closing closing_ = Closing::no;
    bool requested_ = false;
    bool peer_closed_ = false;
    std::string reason_;
};

/// The effect of the peer's Terminate on this side's requests.
struct AffectedRequest {
    std::uint64_t ticket;  ///< of the oldest request that it can be about; the largest number if absent
    Status status;         ///< that it completes with
};
AffectedRequest affected_by(const Terminate& why, rdmap::SendQueue& sends);

/// The oldest request that has been begun; the largest number if absent.
std::uint64_t oldest_begun(const rdmap::SendQueue& sends);

}  // namespace iwarp::verbs
