#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/fault.h"
#include "iwarp/iwarp.h"
#include "wire/bytes.h"
#include "wire/mpa.h"

/// The exchange of start frames: who asks for CRCs, markers, read depths. RFC 5044 section 7, RFC 6581.
namespace iwarp::mpa {

/// The ready-to-receive message of a peer-to-peer connection. RFC 6581 section 9.2.
enum class ReadyMessage : std::uint8_t { none, send, write, read };

/// What both sides are bound to once the Reply has come.
struct Terms {
    std::uint8_t revision = 1;
    bool enhanced = false;
    bool crc = true;
    bool markers_sent = false;      ///< the peer wants them in what we send
    bool markers_received = false;  ///< we want them in what it sends
    std::uint16_t ird = 0;
    std::uint16_t ord = 0;
    ReadyMessage ready = ReadyMessage::none;  ///< sent by the initiator before anything else
    bool segments_beyond_limit = false;       ///< the peer sends FPDUs up to 65535 octets (Linux siw, try_gso)
};

/// One side's part of the exchange. Octets in, octets out; keeps no clock and no socket. Both classes consume a start
/// frame however it is cut, and not an octet beyond it.
class Handshake {
public:
    enum class State : std::uint8_t {
        exchanging,
        requested,  ///< responder: the Request is complete and waits for accept() or reject()
        agreed,     ///< the FPDUs begin, once output() has been sent
        rejected,   ///< TCP stays open, RFC 5044 section 7.1.2; nothing more comes from here
        failed,     ///< see failure(); close TCP
    };
    /// The initiator: output() holds the Request at once.
    static Handshake initiator(const ConnectionOptions& options);
    static Handshake responder(const ConnectionOptions& options);

    /// Takes octets of the peer's start frame and returns how many it took. An octet beyond a Request before the Reply
    /// was sent is the peer's violation: failed.
    std::size_t receive(wire::Bytes octets);
    /// The responder's answer, in state requested. `options`: private_data, ird and ord count. ready_message: with a
    /// peer-to-peer Request the first common kind in the order Write, Read, Send is chosen (Linux siw offers no Send).
    void accept(const ConnectionOptions& options);
    void reject(wire::Bytes private_data);
    /// The peer closed, or time ran out.
    void fail(std::string why);

    State state() const { return state_; }
    /// What is to be sent, in one piece; stays until sent() took it.
    wire::Bytes output() const;
    void sent(std::size_t octets);
    /// Of the peer's frame; complete from state requested, agreed or rejected on. Without RFC 6581's four octets.
    wire::Bytes private_data() const;
    const Terms& terms() const { return terms_; }
    /// Words for a person ("the peer's Reply has revision 3") and, where RFC 6581 wants a Terminate once FPDUs are
    /// possible (insufficient IRD, no ready-to-receive message), its cause.
    const std::string& failure() const { return failure_; }
    std::optional<Fault> failure_fault() const { return fault_; }

private:
    // The author of handshake.cpp completes what is private.
    State state_ = State::exchanging;
    Terms terms_;
    std::string failure_;
    std::optional<Fault> fault_;
};

}  // namespace iwarp::mpa
