#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>

#include "iwarp/mpa/handshake.h"
#include "iwarp/verbs/connection_context.h"

namespace iwarp::verbs {

class Connection;

/// Why no FPDUs will pass.
struct NegotiationFailure {
    Failure kind = Failure::none;  ///< none: the peer rejected the connection
    std::string why = {};
    Stream::Closing how = Stream::Closing::reset;
    PeersAnswer answer = {};
    /// FPDUs are possible all the same, and the first of them carries the reason. RFC 6581, 9.
    std::optional<Fault> fault = {};
    mpa::Terms terms = {};
};

class NegotiationEvents {
public:
    virtual ~NegotiationEvents() = default;
    /// Responder: the Request is complete, and the user has to answer it.
    virtual void requested() = 0;
    /// FPDUs may pass. The Negotiation may be destroyed in this call.
    virtual void agreed(const mpa::Terms& terms, PeersAnswer answer) = 0;
    virtual void negotiation_failed(NegotiationFailure failure) = 0;
};

/// A connection from TCP's set-up to the agreement on FPDUs. RFC 5044, 7; RFC 6581.
class Negotiation {
public:
    Negotiation(ConnectionContext& context, NegotiationEvents& events);
    Negotiation(const Negotiation&) = delete;
    Negotiation& operator=(const Negotiation&) = delete;

    bool is_connecting() const { return is(Phase::connecting); }
    bool waits_for_answer() const { return is(Phase::requested); }
    const mpa::Handshake& handshake() const { return handshake_; }

    // What the transport reports.

    void connected();
    /// Consumes the bytes of a start frame; leaves bytes that follow it, if they may.
    void receive(base::Bytes& bytes);
    std::span<const base::Bytes> output();
    void sent(std::size_t bytes);
    void peer_closed();
    void lost(const std::string& why);
    void timed_out();

    // The decisions of a responder's user.

    /// Throws Error if the options do not fit the Request.
    void accept(const ConnectionOptions& options);
    void reject(std::span<const std::byte> private_data);

    // The listener that a responder belongs to until it is answered.

    void set_listener(Listener::Impl& listener, Connection& connection);
    const Listener::Impl* listener() const { return listener_; }
    void leave_listener();
    /// A newer connection needs the place: this one is reset.
    void give_way();
    /// The listener is destroyed: a request is rejected, and a connection without a request is reset.
    void forget_listener();

private:
    enum class Phase : std::uint8_t {
        connecting,  ///< TCP
        exchanging,  ///< start frames
        requested,   ///< responder: the user has not answered yet
        replying,    ///< responder: an accepting Reply is under way
        refusing,    ///< responder: a rejecting Reply is under way, then nothing more comes
    };
    bool is(Phase phase) const { return context_.phase == ConnectionPhase::starting && phase_ == phase; }
    bool expects_bytes() const { return is(Phase::exchanging) || is(Phase::requested) || is(Phase::replying); }
    void request_complete();
    void agreed();
    void handshake_failed(const std::string& why, Failure kind = Failure::protocol);
    void fail(Failure kind, std::string why, Stream::Closing how);
    PeersAnswer peers_answer() const;

    ConnectionContext& context_;
    NegotiationEvents& events_;
    mpa::Handshake handshake_;
    base::Bytes output_;
    Listener::Impl* listener_ = nullptr;
    std::list<Connection*>::iterator waiting_ = {};  ///< its place in the listener's list
    Phase phase_ = Phase::connecting;
};

}  // namespace iwarp::verbs
