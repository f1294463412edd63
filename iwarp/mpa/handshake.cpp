#include "iwarp/mpa/handshake.h"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

namespace iwarp::mpa {
namespace {

constexpr std::uint8_t enhanced_bit = 0x10;      ///< S, of the five reserved ones. RFC 6581 section 6
constexpr std::uint8_t beyond_limit_bit = 0x08;  ///< Linux siw's; 0x0800 of the 16 bits before the length
constexpr std::uint16_t unspecified = wire::mpa_depth_unspecified;

/// The depth that one side's ORD and the other's IRD make, where either may leave the local value. RFC 6581
/// section 9.1.
std::uint16_t limited(std::uint16_t local, std::uint16_t peer) {
    return peer == unspecified ? local : std::min(local, peer);
}

}  // namespace

const char* name_of(ReadyMessage message) {
    switch (message) {
        case ReadyMessage::none: return "none";
        case ReadyMessage::send: return "Send";
        case ReadyMessage::write: return "Write";
        case ReadyMessage::read: return "Read";
    }
    return "unknown";
}

Handshake::Handshake(bool initiates, const ConnectionOptions& options)
    : initiates_(initiates), wishes_{options.revision, options.crc,
                                     options.markers,  options.peer_to_peer && options.revision >= 2,
                                     options.ird,      options.ord} {
    if (options.revision < 1 || options.revision > 2)
        fail(fmt::format("MPA revision {} was asked for; there are 1 and 2", options.revision));
    else if (options.ird > unspecified || options.ord > unspecified)
        fail(
            fmt::format("read depths {} and {} were asked for; {} is the most", options.ird, options.ord, unspecified));
}

Handshake Handshake::initiator(const ConnectionOptions& options) {
    Handshake made{true, options};
    const bool enhanced = options.revision >= 2;
    if (made.state_ == State::failed || !made.room_for(options.private_data.size(), enhanced)) return made;
    wire::MpaStart start;
    start.key = wire::mpa_request_key;
    start.marker = options.markers;
    start.crc = options.crc;
    start.reserved = enhanced ? enhanced_bit : std::uint8_t{0};
    start.revision = options.revision;
    made.emit(start, enhanced ? std::optional{made.request_parameters()} : std::nullopt, options.private_data);
    return made;
}

Handshake Handshake::responder(const ConnectionOptions& options) { return {false, options}; }

void Handshake::fail(std::string why) {
    if (state_ == State::failed || state_ == State::rejected) return;
    state_ = State::failed;
    failure_ = std::move(why);
    output_.clear();
    output_sent_ = 0;
}

void Handshake::sent(std::size_t octets) {
    output_sent_ += std::min(octets, output_.size() - output_sent_);
    if (output_sent_ < output_.size()) return;
    std::vector<std::byte>{}.swap(output_);
    output_sent_ = 0;
}

std::size_t Handshake::receive(base::Bytes octets) {
    if (octets.empty()) return 0;
    // RFC 5044 section 7.1.2(2), note: no FPDU is possible before.
    const bool reply_owed =
        !initiates_ && (state_ == State::requested || (state_ == State::agreed && !output().empty()));
    if (reply_owed) fail("the peer sent more before it had the Reply");
    if (state_ != State::exchanging) return 0;

    const std::size_t of_header = std::min(octets.size(), header_.size() - header_have_);
    std::copy_n(octets.begin(), of_header, header_.begin() + static_cast<std::ptrdiff_t>(header_have_));
    const std::size_t before = std::exchange(header_have_, header_have_ + of_header);
    take_key(before);
    if (state_ == State::exchanging && header_have_ == header_.size() && before < header_have_) take_header();
    if (state_ != State::exchanging || header_have_ < header_.size()) return of_header;

    const base::Bytes rest = octets.subspan(of_header);
    const std::size_t of_private = std::min<std::size_t>(rest.size(), start_.private_length - received_.size());
    received_.insert(received_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(of_private));
    if (received_.size() == start_.private_length) {
        if (initiates_)
            take_reply();
        else
            take_request();
    }
    return of_header + of_private;
}

/// Sections 7.1.1 and 7.1.2(8): a wrong byte is enough; the other side's key gets words of its own.
void Handshake::take_key(std::size_t before) {
    const auto& expected = initiates_ ? wire::mpa_reply_key : wire::mpa_request_key;
    const std::size_t have = std::min(header_have_, wire::mpa_key_size);
    const base::Bytes key = base::Bytes{header_}.first(have);
    if (before >= have || std::equal(key.begin(), key.end(), expected.begin())) return;
    const bool other = wire::mpa_start_kind(key) != wire::MpaStartKind::none;
    if (!other)
        fail(fmt::format("what the peer sent is no MPA {}", frame_name()));
    else if (initiates_)
        fail("the peer sent an MPA Request: both sides initiate");
    else
        fail("the peer sent an MPA Reply: both sides respond");
}

void Handshake::take_header() {
    start_ = *wire::parse<wire::MpaRequest>(header_);
    if (start_.revision < 1 || start_.revision > 2)
        fail(fmt::format("the peer's {} has revision {}", frame_name(), start_.revision));
    else if (start_.private_length > wire::mpa_private_max)
        fail(fmt::format("the peer's {} announces {} bytes of private data; {} is the most", frame_name(),
                         start_.private_length, wire::mpa_private_max));
    else
        received_.reserve(start_.private_length);
}

void Handshake::take_request() {
    const bool enhanced = start_.enhanced();
    // An unenhanced responder closes, RFC 6581 section 10; without S the frame is as in revision 1.
    if (enhanced && wishes_.revision < 2)
        return fail("the peer's Request is enhanced, this side was limited to revision 1");
    if (enhanced) {
        peer_ = wire::parse<wire::MpaEnhanced>(received_);
        if (!peer_) return fail("the peer's enhanced Request has no room for its parameters");
        enhanced_octets_ = wire::size_of<wire::MpaEnhanced>;
    }
    terms_.revision = std::min(start_.revision, wishes_.revision);
    terms_.enhanced = enhanced;
    terms_.crc = start_.crc || wishes_.crc;
    terms_.markers_sent = start_.marker;
    terms_.markers_received = wishes_.markers;
    terms_.segments_beyond_limit = (start_.reserved & beyond_limit_bit) != 0;
    state_ = State::requested;
}

void Handshake::take_reply() {
    const bool enhanced = start_.enhanced();
    if (enhanced) peer_ = wire::parse<wire::MpaEnhanced>(received_);
    if (peer_) enhanced_octets_ = wire::size_of<wire::MpaEnhanced>;
    if (start_.rejected) {
        // Whatever else it says: a rejecting Linux siw answers with no CRC and depths of zero.
        state_ = State::rejected;
        return;
    }
    if (start_.revision > wishes_.revision)
        return fail(fmt::format("the peer's Reply has revision {}", start_.revision));
    // RFC 6581 section 10.
    if (enhanced != (wishes_.revision >= 2))
        return fail(enhanced ? "the peer's Reply to a plain Request is enhanced"
                             : "the peer's Reply to an enhanced Request is plain");
    if (enhanced && !peer_) return fail("the peer's enhanced Reply has no room for its parameters");
    terms_.revision = start_.revision;
    terms_.enhanced = enhanced;
    terms_.crc = start_.crc || wishes_.crc;
    terms_.markers_sent = start_.marker;
    terms_.markers_received = wishes_.markers;
    terms_.segments_beyond_limit = (start_.reserved & beyond_limit_bit) != 0;
    terms_.ird = wishes_.ird;
    terms_.ord = wishes_.ord;
    state_ = State::agreed;
    if (peer_) take_reply_parameters();
}

/// RFC 6581 sections 9.1 and 9.2, the initiator's side.
void Handshake::take_reply_parameters() {
    terms_.ord = limited(wishes_.ord, peer_->ird);
    if (peer_->ord != unspecified && peer_->ord > wishes_.ird) {
        fail(fmt::format("the peer wants {} reads outstanding, this side serves {}", peer_->ord, wishes_.ird));
        fault_ = fault::insufficient_ird;
        return;
    }
    if (!wishes_.peer_to_peer) return;
    const wire::MpaEnhanced offered = request_parameters();
    const bool both = peer_->peer_to_peer;
    choose_ready_message(both && offered.send && peer_->send, both && offered.write && peer_->write,
                         both && offered.read && peer_->read && terms_.ord != 0);
    if (terms_.ready != ReadyMessage::none) return;
    fail("the peer takes none of the ready-to-receive messages that were offered");
    fault_ = fault::no_ready_message;
}

void Handshake::choose_ready_message(bool send, bool write, bool read) {
    terms_.ready = write  ? ReadyMessage::write
                   : read ? ReadyMessage::read
                   : send ? ReadyMessage::send
                          : ReadyMessage::none;
}

wire::MpaEnhanced Handshake::request_parameters() const {
    const bool ready = wishes_.peer_to_peer;
    // A zero-length Read takes one of the outstanding reads.
    return {ready, ready, wishes_.ird, ready, ready && wishes_.ord != 0, wishes_.ord};
}

/// RFC 6581 sections 9.1 and 9.2, the responder's side: sets ird, ord and ready of the terms to what is answered.
wire::MpaEnhanced Handshake::reply_parameters() {
    terms_.ird = limited(wishes_.ird, peer_->ord);
    terms_.ord = limited(wishes_.ord, peer_->ird);
    wire::MpaEnhanced answer;
    if (peer_->peer_to_peer) {
        choose_ready_message(peer_->send, peer_->write, peer_->read && wishes_.ird != 0);
        // Nothing in common: one that would be taken is named, and the initiator terminates.
        if (terms_.ready == ReadyMessage::none) terms_.ready = ReadyMessage::write;
        answer.peer_to_peer = true;
        answer.send = terms_.ready == ReadyMessage::send;
        answer.write = terms_.ready == ReadyMessage::write;
        answer.read = terms_.ready == ReadyMessage::read;
        if (answer.read && terms_.ird == 0) terms_.ird = 1;
    }
    answer.ird = peer_->ord == unspecified ? unspecified : terms_.ird;
    answer.ord = peer_->ird == unspecified ? unspecified : terms_.ord;
    return answer;
}

bool Handshake::room_for(std::size_t private_octets, bool enhanced) {
    const std::size_t most = private_data_limit(enhanced);
    if (private_octets <= most) return true;
    fail(fmt::format("{} bytes of private data are to be sent; {} is the most", private_octets, most));
    return false;
}

/// C and M as this side needs them; C also where the Request alone has it, as Linux siw expects of a Reply.
wire::MpaStart Handshake::reply_start(bool rejected) const {
    wire::MpaStart start;
    start.key = wire::mpa_reply_key;
    start.marker = terms_.markers_received;
    start.crc = terms_.crc;
    start.rejected = rejected;
    start.reserved = terms_.enhanced ? enhanced_bit : std::uint8_t{0};
    start.revision = terms_.revision;
    return start;
}

void Handshake::accept(const ConnectionOptions& options) {
    if (state_ != State::requested || !room_for(options.private_data.size(), terms_.enhanced)) return;
    wishes_.ird = std::min(options.ird, unspecified);
    wishes_.ord = std::min(options.ord, unspecified);
    terms_.ird = wishes_.ird;
    terms_.ord = wishes_.ord;
    const auto parameters = peer_ ? std::optional{reply_parameters()} : std::nullopt;
    emit(reply_start(false), parameters, options.private_data);
    state_ = State::agreed;
}

void Handshake::reject(base::Bytes private_data) {
    if (state_ != State::requested || !room_for(private_data.size(), terms_.enhanced)) return;
    const auto parameters = peer_ ? std::optional{reply_parameters()} : std::nullopt;
    emit(reply_start(true), parameters, private_data);
    state_ = State::rejected;
}

void Handshake::emit(const wire::MpaStart& start, const std::optional<wire::MpaEnhanced>& parameters,
                     base::Bytes private_data) {
    wire::MpaRequest frame{start};
    const std::size_t enhanced = parameters ? wire::size_of<wire::MpaEnhanced> : 0;
    frame.private_length = static_cast<std::uint16_t>(enhanced + private_data.size());
    const auto header = wire::to_octets(frame);
    output_.reserve(header.size() + frame.private_length);
    output_.assign(header.begin(), header.end());
    if (parameters) {
        const auto octets = wire::to_octets(*parameters);
        output_.insert(output_.end(), octets.begin(), octets.end());
    }
    output_.insert(output_.end(), private_data.begin(), private_data.end());
    output_sent_ = 0;
}

}  // namespace iwarp::mpa
