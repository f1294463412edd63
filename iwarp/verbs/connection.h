#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "iwarp/iwarp.h"
#include "iwarp/verbs/connection_context.h"
#include "iwarp/verbs/negotiation.h"
#include "iwarp/verbs/receive_side.h"
#include "iwarp/verbs/send_side.h"
#include "iwarp/verbs/stream.h"
#include "iwarp/verbs/termination.h"

namespace iwarp::verbs {

/// Throws Error with the option and its range. The request decides how much private data an answer may have.
void check_options(const ConnectionOptions& options, bool initiates);

/// A connection's life between the queue pair (above) and the transport (below): Negotiation, then SendSide and
/// ReceiveSide, then a Terminate or a graceful close. This class passes reports between the parts.
class Connection final : public Stream, private NegotiationEvents, private ReceiveEvents {
public:
    static std::shared_ptr<Connection> initiator(Device::Impl& device, QueuePair::Impl& pair,
                                                 const ConnectionOptions& options);
    static std::shared_ptr<Connection> responder(Device::Impl& device, Listener::Impl& listener,
                                                 const ConnectionOptions& options, const std::string& peer);
    Connection(Device::Impl& device, bool initiates, const ConnectionOptions& options);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() override;

    // Stream: the transport's side.
    void connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) override;
    void segment_size_changed(std::uint32_t emss, std::int64_t now_ns) override;
    void connect_failed(Failure kind, const std::string& why, std::int64_t now_ns) override;
    void receive(base::Bytes bytes, std::int64_t now_ns) override;
    std::span<const base::MutableBytes> room(std::size_t minimum) override;
    void received(std::size_t bytes, std::int64_t now_ns) override;
    void peer_closed(std::int64_t now_ns) override;
    void lost(const std::string& why, std::int64_t now_ns) override;
    void tick(std::int64_t now_ns) override;
    Output output(std::int64_t now_ns) override;
    void sent(std::size_t bytes, std::int64_t now_ns) override;
    /// IRD bounds the owed answers; but a message may wait for a receive.
    bool receive_paused() const override { return waits_for_receive() && termination_.is_open(); }
    Closing closing() const override { return termination_.closing(); }
    std::optional<std::int64_t> deadline_ns() const override;

    // The queue pair's side.
    void attention() { context_.attention(); }
    void set_target(std::string target) { context_.target = std::move(target); }
    void disconnect();
    void abort(const std::string& why);
    void fail(const std::string& why);
    /// The queue pair is destroyed: it must not be used any more.
    void abandon();
    /// The queue pair is reused while a Terminate of its last connection is still under way.
    void detach() { context_.pair = nullptr; }
    /// The receive of an incomplete message; returned once.
    std::optional<std::uint64_t> take_unfinished_receive();
    /// A receive was posted.
    void receive_posted();
    /// Removes the connection from those that wait for a receive of a shared queue.
    void leave_receive_queue();

    // The side of listener and connection request.
    bool waits_for_answer() const { return negotiation_ && negotiation_->waits_for_answer(); }
    /// Only while it waits.
    const mpa::Handshake& handshake() const { return negotiation_->handshake(); }
    void accept(QueuePair::Impl& pair, const ConnectionOptions& options);
    void reject(std::span<const std::byte> private_data);
    /// The user has fetched the event with the request.
    void request_seen() { request_pending_ = false; }
    /// Ends a connection that has sent no whole Request, because another one needs its place.
    void give_way();
    /// The listener is destroyed; requests without an answer are rejected.
    void forget_listener();
    const std::string& peer() const { return context_.peer; }
    const Listener::Impl* listener() const { return negotiation_ ? negotiation_->listener() : nullptr; }

private:
    static constexpr std::uint64_t no_ticket = SendSide::no_ticket;
    using Phase = ConnectionPhase;
    /// The parts of a connection that exist only while FPDUs pass.
    struct Traffic {
        Traffic(Connection& connection, const mpa::Terms& terms, std::uint32_t max_ulpdu)
            : owed(terms.ird),
              outstanding(terms.ord),
              receive(connection.context_, connection, connection, terms, owed, outstanding),
              send(connection.context_, connection.buffer_, terms, max_ulpdu, owed, outstanding) {}
        rdmap::OwedResponses owed;
        rdmap::OutstandingRequests outstanding;
        ReceiveSide receive;
        SendSide send;
    };
    /// Around every call from the transport or from above that may change something: keeps the connection alive, and
    /// handles the consequences at its end.
    class Entry {
    public:
        Entry(Connection& connection, std::int64_t now_ns)
            : connection_(connection), alive_(connection.shared_from_this()), scope_(connection.context_.device) {
            connection.context_.now_ns = now_ns;
        }
        explicit Entry(Connection& connection) : Entry(connection, connection.context_.device.transport->now_ns()) {}
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        ~Entry() { connection_.settle(); }

    private:
        Connection& connection_;
        std::shared_ptr<Stream> alive_;
        Device::Impl::Scope scope_;
    };

    // NegotiationEvents
    void requested() override;
    void agreed(const mpa::Terms& terms, PeersAnswer answer) override;
    void negotiation_failed(NegotiationFailure failure) override;
    // ReceiveEvents
    void first_fpdu() override;
    void terminated(const Terminate& why) override;
    void request_failed(const std::string& why) override { fail(why); }

    bool is_starting() const { return context_.phase == Phase::starting; }
    bool waits_for_receive() const { return traffic_ && traffic_->receive.waits(); }
    Agreement agreement_on(const mpa::Terms& terms, std::uint32_t max_ulpdu) const;
    void after_receive(const std::optional<Fault>& fault);
    void resume_receiving();
    void inbound_fault(const Fault& fault);
    void fill();
    void drained();
    void progressed();
    std::uint64_t oldest_begun() const;
    void send_terminate_of_negotiation(const Fault& fault, const mpa::Terms& terms);
    void terminate(const SendSide::SendFailure& failure);
    void begin_terminating(const std::string& reason);
    void drop_the_rest(const std::string& reason);
    void begin_close();
    void settle();
    void close(Closing how);
    /// `ticket` completes with `status`, the others are flushed.
    void end(Closing how, const std::string& text, std::uint64_t ticket = no_ticket, Status status = Status::flushed);

    ConnectionContext context_;
    Termination termination_;
    SendBuffer buffer_;
    std::unique_ptr<Negotiation> negotiation_;  ///< until FPDUs pass
    std::unique_ptr<Traffic> traffic_;          ///< from then on
    std::uint32_t emss_ = 0;
    bool counted_ = true;           ///< in the device's connections
    bool request_pending_ = false;  ///< the event with its request was not fetched yet
};

}  // namespace iwarp::verbs
