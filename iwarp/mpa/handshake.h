#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "iwarp/fault.h"
#include "iwarp/iwarp.h"
#include "wire/mpa.h"

/// The exchange of start frames: both sides request CRCs, markers, read depths. RFC 5044 section 7, RFC 6581.
namespace iwarp::mpa {

/// The ready-to-receive message of a peer-to-peer connection. RFC 6581 section 9.2.
enum class ReadyMessage : std::uint8_t { none, send, write, read };
const char* name_of(ReadyMessage);

/// What both sides have agreed on once the Reply has come.
struct Terms {
    std::uint8_t revision = 1;
    bool enhanced = false;
    bool crc = true;
    bool markers_sent = false;      ///< the peer wants them in what we send
    bool markers_received = false;  ///< we want them in what it sends
    std::uint16_t ird = 0;
    std::uint16_t ord = 0;
    ReadyMessage ready = ReadyMessage::none;  ///< peer-to-peer: sent by the initiator before anything else
    bool segments_beyond_limit = false;       ///< the peer sends FPDUs up to 65535 bytes (Linux siw, try_gso)
};

/// One side's part of the exchange. Bytes in, bytes out; no clock and no socket. Both classes consume a start frame in
/// any pieces, and not a byte beyond it.
class Handshake {
public:
    enum class State : std::uint8_t {
        exchanging,
        requested,  ///< responder: the Request is complete and waits for accept() or reject()
        agreed,     ///< the FPDUs begin, once output() has been sent
        rejected,   ///< TCP stays open, RFC 5044 section 7.1.2; this side sends nothing more
        failed,     ///< see failure(); close TCP
    };
    /// Bytes of private data that a frame has room for. RFC 5044 section 7.1.1, RFC 6581 section 9.
    static constexpr std::size_t private_data_limit(bool enhanced) {
        return wire::mpa_private_max - (enhanced ? wire::size_of<wire::MpaEnhanced> : 0);
    }

    /// The initiator: output() holds the Request at once, with revision 2 an enhanced one. Options out of their ranges:
    /// failed. A peer-to-peer connection needs revision 2, and is otherwise not requested.
    static Handshake initiator(const ConnectionOptions& options);
    static Handshake responder(const ConnectionOptions& options);

    /// Consumes bytes of the peer's start frame and returns their number. A byte beyond a Request before the Reply was
    /// sent is the peer's violation: failed.
    std::size_t receive(base::Bytes octets);
    /// The responder's answer, in state requested; enhanced to an enhanced Request, else plain. `options`:
    /// private_data, ird and ord count. ready_message: a peer-to-peer Request gets the first common kind in the order
    /// Write, Read, Send (Linux siw offers no Send), and only that kind is answered. Terms::ird is what the peer
    /// requested, at most options.ird.
    void accept(const ConnectionOptions& options);
    void reject(base::Bytes private_data);
    /// The peer closed, or time ran out. No effect after a failure or a rejection.
    void fail(std::string why);

    State state() const { return state_; }
    /// The bytes to send, in one piece; they stay until sent() consumed them. Empty after a failure.
    base::Bytes output() const { return base::Bytes{output_}.subspan(output_sent_); }
    void sent(std::size_t octets);
    /// From the peer's frame; complete from state requested, agreed or rejected on. Without RFC 6581's four bytes.
    base::Bytes private_data() const { return base::Bytes{received_}.subspan(enhanced_octets_); }
    /// Those four bytes as the peer sent them (RFC 6581 section 9.1: the ULP learns them); no value in a plain frame.
    const std::optional<wire::MpaEnhanced>& peer_parameters() const { return peer_; }
    /// Complete in state agreed, and if there is a failure_fault(); in state requested ird and ord are not.
    const Terms& terms() const { return terms_; }
    /// Words for a person ("the peer's Reply has revision 3") and, if RFC 6581 asks for a Terminate once FPDUs are
    /// possible (insufficient IRD, no ready-to-receive message), its cause.
    const std::string& failure() const { return failure_; }
    std::optional<Fault> failure_fault() const { return fault_; }

private:
    /// The options that count here.
    struct Wishes {
        std::uint8_t revision = 1;
        bool crc = true;
        bool markers = false;
        bool peer_to_peer = false;
        std::uint16_t ird = 0;
        std::uint16_t ord = 0;
    };

    Handshake(bool initiates, const ConnectionOptions& options);
    const char* frame_name() const { return initiates_ ? "Reply" : "Request"; }
    void take_key(std::size_t before);
    void take_header();
    void take_request();
    void take_reply();
    void take_reply_parameters();
    void choose_ready_message(bool send, bool write, bool read);
    wire::MpaEnhanced request_parameters() const;
    wire::MpaEnhanced reply_parameters();
    bool room_for(std::size_t private_octets, bool enhanced);
    void emit(const wire::MpaStart& start, const std::optional<wire::MpaEnhanced>& parameters,
              base::Bytes private_data);
    wire::MpaStart reply_start(bool rejected) const;

    State state_ = State::exchanging;
    bool initiates_ = false;
    Wishes wishes_;
    Terms terms_;
    std::string failure_;
    std::optional<Fault> fault_;

    std::array<std::byte, wire::size_of<wire::MpaRequest>> header_{};  ///< the peer's, without private data
    std::size_t header_have_ = 0;
    wire::MpaStart start_;
    std::optional<wire::MpaEnhanced> peer_;
    std::vector<std::byte> received_;  ///< private data
    std::size_t enhanced_octets_ = 0;  ///< of it
    std::vector<std::byte> output_;
    std::size_t output_sent_ = 0;
};

}  // namespace iwarp::mpa
