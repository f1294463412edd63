#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dissect/dissector.h"
#include "dissect/icmp_error.h"
#include "dissect/tcp_flags.h"
#include "metrics/figures/flow_key.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline measure::inline connection {

/// Connections set up and torn down: by the communication manager (IBTA vol. 1, chapter 12) for InfiniBand and RoCE, by
/// MPA start frames (RFC 5044, 6581) for iWARP. Bounded; the oldest finished attempt goes first.
class Connections {
public:
    /// Two queue pairs that belong together according to REQ and REP, known from the REP on.
    struct QueuePairs {
        std::uint64_t serial = 0;  ///< unique and growing, since a later connection can have the same numbers
        FlowKey to_server;         ///< destination QPN: the server's
        FlowKey to_client;
        std::uint32_t client_psn = 0;  ///< starting PSN of the client's requests
        std::uint32_t server_psn = 0;
        ConnectionFigures client;  ///< figures of the flow that the client sends on
        ConnectionFigures server;
    };

    explicit Connections(std::size_t max_connections);
    ~Connections();
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    /// A CM message (a UD packet to QP 1 with a MAD). Returns the pair that became known (REP) or ended (DREQ, DREP,
    /// REJ) by it, valid until the next call; nullptr for all others. `ended` says which.
    const QueuePairs* on_management(const dissect::Unit& unit, bool& ended);
    /// An MPA start frame: request or reply, accepted or rejected. `key` is the flow's that carries it.
    void on_mpa(const dissect::Unit& unit, const FlowKey& key);
    /// Whether on_tcp() has to see a segment: SYN, FIN or RST.
    static bool concerns(const dissect::TcpSummary& tcp) {
        return (tcp.flags & (dissect::tcp_syn | dissect::tcp_fin | dissect::tcp_rst)) != 0;
    }
    /// A segment with SYN, FIN or RST of any TCP connection, before the units that its frame completes. Connections
    /// without an MPA Request are not remembered.
    void on_tcp(const wire::Frame& frame, const dissect::Dissection& dissection, const FlowKey& key);
    /// From that frame on, the flow's ports are used by another connection, whose SYN was not captured.
    void on_reuse(const FlowKey& key, std::uint64_t frame);
    /// An ICMP error about a message of the communication manager, or about a packet that is quoted only up to its
    /// addresses: `client_id` is the communication id of a quoted REQ.
    void on_icmp_error(const Address& client, const Address& server, const std::optional<std::uint32_t>& client_id,
                       const dissect::IcmpError& error, const Address& sender);
    /// FPDUs pass on the flow, which they do once the Request is accepted: whether the Reply was captured or not.
    void on_fpdus(const FlowKey& key);

    /// The figures of the flow's connection; nullptr where its set-up was not captured. Valid until the next call.
    const ConnectionFigures* about(const FlowKey& key) const;
    /// The figures for the flow whose first frame was `first_frame`. If the flow is `finished`, its key may belong to a
    /// later connection.
    const ConnectionFigures* about(const FlowKey& key, std::uint64_t first_frame, bool finished) const;
    /// Forgets connections that ended, or were last requested, before `before_ns`. A connection stays if `in_use` is
    /// true for one of its flows.
    void forget(std::int64_t before_ns, const std::function<bool(const FlowKey&)>& in_use);
    /// Attempts that were rejected, reset, or not answered by `now_ns` (after 3 s, or their own time-outs).
    std::vector<ConnectionAttempt> attempts(std::int64_t now_ns) const;
    std::size_t octets() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::connection
