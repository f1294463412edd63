#include "upper/protocols/rsocket_protocol.h"

#include <fmt/core.h>

#include "base/text_format.h"
#include "wire/rsocket.h"

namespace upper::protocols {

namespace {

using wire::RsocketControl;
using wire::RsocketOperation;

/// Private data name two places of one side: where bytes of the other side are written, and where grants for this side
/// are written.
void take_connect(const wire::RsocketConnect& connect, StreamFacts& own, StreamFacts& other) {
    other.granted = connect.buffer.length;
    other.has_window = true;
    own.has_target = true;
    own.target_key = connect.grants.key;
    own.target_address = connect.grants.address;
    own.is_big_endian = connect.is_big_endian();
}

bool rsocket_read_private_data(base::Bytes data, ConnectionFacts& facts) {
    const auto connect = wire::parse_rsocket_connect(data);
    if (!connect) return false;
    take_connect(*connect, facts.streams[0], facts.streams[1]);
    return true;
}

void rsocket_read_reply(base::Bytes data, ConnectionFacts& facts) {
    if (const auto connect = wire::parse_rsocket_connect(data))
        take_connect(*connect, facts.streams[1], facts.streams[0]);
}

/// Four bytes alone prove little. announces() compares them with the length of the WRITE before them.
Shape rsocket_shape(base::Bytes, std::uint64_t) { return Shape::none; }

/// Whether a word announces `written` bytes of the stream.
bool rsocket_announces(std::uint64_t written, std::uint32_t word) {
    const wire::RsocketMessage message = wire::parse_rsocket(word);
    return written != 0 && message.value == written &&
           message.operation == static_cast<std::uint8_t>(RsocketOperation::data);
}

std::string_view event_of(const wire::RsocketMessage& message) {
    switch (static_cast<RsocketOperation>(message.operation)) {
        case RsocketOperation::data: return "data";
        case RsocketOperation::grant: return "credits";
        case RsocketOperation::io_map: return "mapped memory";
        case RsocketOperation::control:
            switch (static_cast<RsocketControl>(message.value)) {
                case RsocketControl::disconnect: return "disconnect";
                case RsocketControl::keep_alive: return "keep alive";
                case RsocketControl::shutdown: return "shutdown";
            }
            return "control";
    }
    return {};
}

void take_word(std::uint32_t word, StreamFacts& own, Said& said) {
    const wire::RsocketMessage message = wire::parse_rsocket(word);
    said.event = event_of(message);
    if (said.event.empty()) return;
    said.type = Said::Type::other;
    said.word = word;
    ++own.messages;
    if (static_cast<RsocketOperation>(message.operation) != RsocketOperation::data) return;
    own.bytes += message.value;
    own.used += message.value;
    if (own.knows_window() && own.window() == 0) ++own.blocked;
}

void rsocket_parse_write(const WrittenMessage& written, bool from_initiator, ConnectionFacts& facts, Said& said) {
    StreamFacts& own = facts.streams[from_initiator ? 0 : 1];
    StreamFacts& other = facts.streams[from_initiator ? 1 : 0];
    // The writer of a grant permits bytes of the side that owns the memory of the grant.
    const bool is_grant = written.length == wire::rsocket_grant_bytes && other.has_target &&
                          written.key == other.target_key && written.head.size() >= wire::rsocket_grant_bytes;
    if (is_grant) other.granted += wire::parse_rsocket_grant(written.head.data(), other.is_big_endian).length;
    if (written.immediate) return take_word(*written.immediate, own, said);
    // iWARP: the next SEND describes the WRITE.
    own.announced = written.length;
}

/// A SEND that replaces immediate data has the byte order of its sender.
void rsocket_parse(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said) {
    if (length != wire::rsocket_message_bytes || head.size() < wire::rsocket_message_bytes) return;
    StreamFacts& own = facts.streams[from_initiator ? 0 : 1];
    take_word(own.is_big_endian ? base::load_be32(head.data()) : wire::load_le32(head.data()), own, said);
}

bool rsocket_is_datagram(base::Bytes payload, std::uint64_t, base::Bytes source) {
    return wire::is_rsocket_datagram(payload, source);
}

/// ` 2048 window 126960`
void add_message_words(const LineContext& line, std::string& out) {
    const wire::RsocketMessage message = wire::parse_rsocket(*line.word);
    const auto operation = static_cast<RsocketOperation>(message.operation);
    if (operation == RsocketOperation::control) return;
    out += fmt::format(" {}", message.value);
    if (operation == RsocketOperation::io_map) return;
    const bool is_data = operation == RsocketOperation::data;
    const StreamFacts& stream = line.facts->streams[line.from_initiator == is_data ? 0 : 1];
    if (stream.knows_window()) out += fmt::format(" window {}", stream.window());
}

void rsocket_add_words(const LineContext& line, std::string& out) {
    if (line.word) return add_message_words(line, out);
    const std::uint32_t size = wire::rsocket_datagram_bytes(line.head);
    if (size == 0) return;
    out += " from ";
    if (size == 8)
        base::append_ipv4(out, line.head.subspan(4, 4));
    else if (line.head.size() >= size)
        base::append_ipv6(out, line.head.subspan(8, 16));
    out += fmt::format(" port {} len {}", base::load_be16(line.head.data() + 2), line.length - size);
}

StatusMeaning rsocket_status(std::uint32_t, std::uint32_t) { return {}; }

}  // namespace

constinit const Protocol rsocket{
    .name = "rsocket",
    .heading = "rsockets",
    .id_word = "",
    .id_digits = 0,
    .target_word = "",
    .ports = {},
    .is_symmetric = true,
    .read_private_data = rsocket_read_private_data,
    .read_reply = rsocket_read_reply,
    .shape = rsocket_shape,
    .parse = rsocket_parse,
    .status = rsocket_status,
    .parse_write = rsocket_parse_write,
    .announces = rsocket_announces,
    .is_datagram = rsocket_is_datagram,
    .add_words = rsocket_add_words,
    .request_layer = dissect::LayerId::rsocket_message,
    .response_layer = dissect::LayerId::rsocket_message,
    .data_layer = dissect::LayerId::rsocket_message,
    .datagram_layer = dissect::LayerId::rsocket_datagram,
    .private_data_layers = {dissect::LayerId::rsocket_connect, dissect::LayerId::rsocket_connect,
                            dissect::LayerId::none},
};

}  // namespace upper::protocols
