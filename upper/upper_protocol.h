#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "dissect/dissection.h"
#include "dissect/layer_id.h"

namespace upper {

/// A range of memory that a request permits the target to read (out) or to write (in).
struct Grant {
    std::uint32_t key = 0;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    bool out = false;
    std::uint64_t offset = 0;    ///< of its first byte in the command's data; set when the command is opened
    bool holds_message = false;  ///< a part of the request or the response itself, from its beginning on
};

/// How bad a status is, for all protocols alike.
enum class ErrorClass : std::uint8_t { none, device, path, protocol, aborted, busy, denied };
/// "device"; empty for none.
std::string_view name_of(ErrorClass error);
inline constexpr std::size_t error_class_count = 7;

/// A stream of bytes in one direction, of a protocol that has no commands.
struct StreamFacts {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t granted = 0;  ///< bytes that the receiver has taken or has room for, since the first known grant
    std::uint64_t used = 0;     ///< of them, those that were sent
    bool has_window = false;
    std::uint64_t blocked = 0;  ///< messages after which the receiver had no room
    bool knows_window() const { return has_window && has_target; }
    std::uint64_t window() const { return granted > used ? granted - used : 0; }
    std::uint64_t announced = 0;  ///< of the latest WRITE without immediate data
    // Where the peer writes its grants.
    bool has_target = false;
    std::uint32_t target_key = 0;
    std::uint64_t target_address = 0;
    bool is_big_endian = false;
};

/// What is known of a connection besides its commands. A protocol's parser reads and writes it.
struct ConnectionFacts {
    std::optional<std::uint16_t> queue = {};
    std::uint8_t queue_type = 0;              ///< the protocol's own
    std::optional<std::uint32_t> limit = {};  ///< commands that may be open at a time
    std::optional<std::uint32_t> slots = {};  ///< commands that another layer of the protocol permits
    std::string target_name = {};             ///< a subsystem, a share
    std::string initiator_name = {};
    /// Credits that the initiator has if nothing is open: known from the connection's beginning on, or not at all.
    std::optional<std::int64_t> credits = {};
    std::array<StreamFacts, 2> streams = {};  ///< of the initiator, of the target
};

/// What a SEND says.
struct Said {
    /// `interim`: of a command that stays open. `other`: it is of the protocol, and of no command.
    enum class Type : std::uint8_t { nothing, request, response, interim, other };
    static constexpr std::size_t max_grants = 16;

    Type type = Type::nothing;
    std::uint64_t id = 0;
    bool is_reverse = false;  ///< asked by the side that is the target otherwise

    // a request
    std::string_view kind = {};       ///< "read"; lasts for ever, as all texts here
    std::string_view kind_text = {};  ///< "Read"
    std::uint32_t detail = 0;         ///< the protocol's own, kept for its response
    bool housekeeping = false;        ///< keeps the connection alive: no work that anybody waits for
    bool waits_for_event = false;     ///< answered when something happens, if ever: it has no latency
    bool wants_data = false;          ///< its data say something of the connection
    std::optional<std::uint64_t> target = {};
    std::optional<std::uint64_t> bytes = {};  ///< of data, wherever they are; absent where the capture cut them
    bool counts_moved = false;                ///< the request does not say how much: what is moved counts
    std::uint64_t inline_bytes = 0;
    std::optional<std::uint64_t> first_block = {};
    std::optional<std::uint32_t> block_count = {};
    std::array<Grant, max_grants> grants = {};
    std::size_t grant_count = 0;
    bool grants_cut = false;  ///< the capture does not hold them

    // a response
    std::uint32_t status = 0;
    bool status_in_data = false;  ///< what was moved before says it
    std::optional<std::uint16_t> queue_head = {};

    /// What an interim or another message is, in lines: "pending"; empty: it has no line.
    std::string_view event = {};
    std::string_view event_heading = {};  ///< of another message, in place of the protocol's
    /// By how much ConnectionFacts::credits changes; `begins_credits`: from one on, that all connections begin with.
    std::optional<std::int32_t> credit_change = {};
    bool begins_credits = false;
    std::optional<std::uint32_t> word = {};  ///< describes the message in place of its bytes, in four of its own
};

/// Bytes of an upper message that may take several SENDs.
struct Fragment {
    std::uint32_t data_at = 0;
    std::uint64_t bytes = 0;
    std::uint64_t remaining = 0;  ///< bytes of the message that later SENDs have
    bool begins = false;          ///< looks like a message's beginning
    /// The number that all parts of a message bear, where their remaining bytes do not show the order. Each part is
    /// described by itself then, and its own header begins the message.
    std::optional<std::uint64_t> number = {};
};

/// A WRITE of a protocol whose WRITEs are its messages.
struct WrittenMessage {
    std::uint32_t key = 0;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::optional<std::uint32_t> immediate = {};
    base::Bytes head = {};
};

/// A message of no command, for its line.
struct LineContext {
    base::Bytes head = {};
    std::uint64_t length = 0;
    std::optional<std::uint32_t> word = {};  ///< Said::word
    bool from_initiator = false;
    const ConnectionFacts* facts = nullptr;  ///< nullptr: a datagram has no connection
};

/// What a status means.
struct StatusMeaning {
    std::string_view text = {};  ///< empty: the number has to do
    ErrorClass error = ErrorClass::none;
};

/// `either`: it is of the protocol, and does not show its direction.
enum class Shape : std::uint8_t { none, request, response, either };

/// An upper layer: what the rest of the folder needs to know. One row each, made in protocols/.
struct Protocol {
    std::string_view name;         ///< "nvme": of options and figures
    std::string_view heading;      ///< "NVMe"
    std::string_view id_word;      ///< "cid"
    unsigned id_digits;            ///< hexadecimal; 0: decimal
    std::string_view target_word;  ///< "ns"
    unsigned target_digits = 0;    ///< hexadecimal; 0: decimal
    std::string_view block_word = "lba";
    std::span<const std::uint16_t> ports;
    /// Whether a service identifier is the protocol's own; nullptr where ports of IP alone are.
    bool (*is_service)(const std::byte* service_id) = nullptr;
    /// Both sides ask: that of the first message counts as the initiator.
    bool is_symmetric = false;
    /// READs and WRITEs are bound to commands that have granted their memory.
    bool grants_memory = true;

    /// Whether the private data of a request for a connection have the protocol's own form; then takes what they say.
    bool (*read_private_data)(base::Bytes data, ConnectionFacts& facts);
    /// What the private data of the reply say beyond; nullptr where that is nothing.
    void (*read_reply)(base::Bytes data, ConnectionFacts& facts) = nullptr;
    /// What a SEND of `length` bytes looks like, by as much of its beginning as was captured.
    Shape (*shape)(base::Bytes head, std::uint64_t length);
    void (*parse)(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said);
    /// The beginning of the data of a request with `wants_data`.
    void (*read_data)(std::uint32_t detail, base::Bytes data, ConnectionFacts& facts);
    StatusMeaning (*status)(std::uint32_t detail, std::uint32_t status);
    /// What a response says beyond parse(), which depends on its request; nullptr where nothing does.
    void (*complete_response)(base::Bytes head, std::uint32_t detail, ConnectionFacts& facts, Said& said) = nullptr;
    /// Reads the beginning of a request (`out`) or of a response that was moved by RDMA, as parse() reads one that was
    /// sent; nullptr for a protocol that moves no messages.
    void (*read_message)(base::Bytes data, bool out, std::uint32_t detail, ConnectionFacts& facts,
                         Said& said) = nullptr;
    /// What a SEND has of an upper message; nullopt where it has none. nullptr: a SEND is a message.
    std::optional<Fragment> (*fragment)(base::Bytes head, std::uint64_t length) = nullptr;
    /// One message may hold several commands: bytes from the beginning of one to the next; 0 for the last one.
    std::uint64_t (*next_part)(base::Bytes head, std::uint64_t length) = nullptr;
    /// Up to which identifier a SEND acknowledges the messages of the other side: they are answered.
    std::optional<std::uint64_t> (*acknowledges)(base::Bytes head, std::uint64_t length) = nullptr;
    /// What a WRITE says, where WRITEs are messages; nullptr: they are data of commands.
    void (*parse_write)(const WrittenMessage& message, bool from_initiator, ConnectionFacts& facts,
                        Said& said) = nullptr;
    /// Whether immediate data, or a SEND of four bytes, say that a WRITE of `written` bytes was a part of a stream: how
    /// such a protocol is recognized without its set-up.
    bool (*announces)(std::uint64_t written, std::uint32_t word) = nullptr;
    /// Whether the payload of an unreliable datagram from that address is the protocol's.
    bool (*is_datagram)(base::Bytes payload, std::uint64_t length, base::Bytes source) = nullptr;
    /// The target of a command in words, in place of `target_word` and a number.
    void (*add_target)(std::uint64_t target, std::string& out) = nullptr;
    /// Adds what the line of a message of no command says: ` credits 255`.
    void (*add_words)(const LineContext& line, std::string& out) = nullptr;
    /// In place of `heading`, of a command with that detail.
    std::string_view (*heading_of)(std::uint32_t detail) = nullptr;

    // What the bytes are described by.
    dissect::LayerId request_layer;
    dissect::LayerId response_layer;
    dissect::LayerId data_layer;  ///< of a request with `wants_data`
    dissect::LayerId datagram_layer = dissect::LayerId::none;
    std::array<dissect::LayerId, 3> private_data_layers;                          ///< of REQ, REP, REJ
    std::uint8_t (*variant)(const ConnectionFacts& facts, std::uint32_t detail);  ///< LayerRef::variant
    /// Adds layers whose kind depends on the command.
    void (*add_layers)(base::Bytes head, std::uint32_t detail, dissect::Dissection& out) = nullptr;
};

std::span<const Protocol* const> all_protocols();
/// "nvme, rpc, srp, iser, smb, ipoib, rds, rsocket"
std::string protocol_names();
/// By name; nullptr for one that is not known.
const Protocol* find_protocol(std::string_view name);
/// By port of TCP or of the RDMA IP CM service.
const Protocol* protocol_of_port(std::uint16_t port);
/// By an identifier of a service that has none of IP's ports: eight bytes.
const Protocol* protocol_of_service(const std::byte* service_id);

}  // namespace upper
