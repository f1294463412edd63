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
    bool holds_message = false;  ///< it holds the request or the response itself, from the first byte on
    std::uint64_t offset = 0;    ///< place of its first byte in the command's data; set when the command is opened
};

/// The kind of failure that a status reports, the same for all protocols.
enum class ErrorClass : std::uint8_t { none, device, path, protocol, aborted, busy, denied };
/// "device"; empty for none.
std::string_view name_of(ErrorClass error);
inline constexpr std::size_t error_class_count = 7;

/// A stream of bytes in one direction, of a protocol that has no commands.
struct StreamFacts {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t granted = 0;  ///< bytes that the receiver has read or has room for, since the first known grant
    std::uint64_t used = 0;     ///< bytes of `granted` that were sent
    bool has_window = false;
    std::uint64_t blocked = 0;  ///< messages after which the receiver had no room
    bool knows_window() const { return has_window && has_target; }
    std::uint64_t window() const { return granted > used ? granted - used : 0; }
    std::uint64_t announced = 0;  ///< bytes of the latest WRITE without immediate data
    // Where the peer writes its grants.
    bool has_target = false;
    std::uint32_t target_key = 0;
    std::uint64_t target_address = 0;
    bool is_big_endian = false;
};

/// What is known of a connection besides its commands. A protocol's parser reads and writes it.
struct ConnectionFacts {
    std::optional<std::uint16_t> queue = {};
    std::uint8_t queue_type = 0;                    ///< a number that the protocol defines
    std::optional<std::uint32_t> limit = {};        ///< commands that may be open at a time
    std::optional<std::uint32_t> limit_asked = {};  ///< the limit that the initiator asked for last
    std::uint32_t congested_ports = 0;              ///< the most ports that either side has called congested at a time
    std::optional<std::uint32_t> slots = {};        ///< commands that another layer of the protocol permits
    std::string target_name = {};                   ///< a subsystem, a share
    std::string initiator_name = {};
    /// The initiator's credits while no command is open. Absent unless the capture has the beginning of the connection.
    std::optional<std::int64_t> credits = {};
    std::array<StreamFacts, 2> streams = {};  ///< of the initiator, of the target
};

/// What a SEND says.
struct Said {
    /// `interim`: the command stays open after this answer. `other`: a message of the protocol that belongs to no
    /// command.
    enum class Type : std::uint8_t { nothing, request, response, interim, other };
    static constexpr std::size_t max_grants = 16;

    Type type = Type::nothing;
    std::uint64_t id = 0;
    bool is_reverse = false;  ///< the request comes from the side that is otherwise the target

    // a request
    std::string_view kind = {};       ///< "read"; in static memory, as all texts here
    std::string_view kind_text = {};  ///< "Read"
    std::uint32_t detail = 0;         ///< a number that the protocol defines, kept for the response
    bool housekeeping = false;        ///< keeps the connection alive; no application waits for the answer
    bool waits_for_event = false;     ///< is answered when an event happens, perhaps never: its duration is no latency
    bool wants_data = false;          ///< the data of the request describe the connection
    std::optional<std::uint64_t> target = {};
    /// Data inside the message or moved by RDMA. Absent if the capture lacks the length.
    std::optional<std::uint64_t> bytes = {};
    bool counts_moved = false;  ///< the request has no length: bytes that are moved are counted
    std::uint64_t inline_bytes = 0;
    std::optional<std::uint64_t> first_block = {};
    std::optional<std::uint32_t> block_count = {};
    std::array<Grant, max_grants> grants = {};
    std::size_t grant_count = 0;
    bool grants_cut = false;  ///< the capture lacks the grants
    /// The request asks the target to abort the command with this identifier.
    std::optional<std::uint64_t> aborts = {};

    // a response
    std::uint32_t status = 0;
    bool status_in_data = false;  ///< data that were moved before the response hold the status
    std::optional<std::uint16_t> queue_head = {};

    /// The name of an interim or other message in its line of output, such as "pending"; empty: the message has no
    /// line.
    std::string_view event = {};
    std::string_view event_heading = {};  ///< the heading of an `other` message, if it is not the protocol's
    /// The change of ConnectionFacts::credits. With `begins_credits`, the change applies to the one credit that each
    /// connection begins with.
    std::optional<std::int32_t> credit_change = {};
    bool begins_credits = false;
    std::optional<std::uint32_t> word = {};  ///< four bytes that describe the message instead of its payload
};

/// Bytes of an upper message that may take several SENDs.
struct Fragment {
    std::uint32_t data_at = 0;
    std::uint64_t bytes = 0;
    std::uint64_t remaining = 0;  ///< bytes of the message that later SENDs carry
    bool begins = false;          ///< looks like the beginning of a message
    /// The number that all parts of a message carry, in protocols whose parts do not show their order by the remaining
    /// bytes. Each part then has a header and is described by itself.
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

/// A message that belongs to no command, with what its line of output needs.
struct LineContext {
    base::Bytes head = {};
    std::uint64_t length = 0;
    std::optional<std::uint32_t> word = {};  ///< Said::word
    bool from_initiator = false;
    const ConnectionFacts* facts = nullptr;  ///< nullptr: a datagram has no connection
};

/// What a status means.
struct StatusMeaning {
    std::string_view text = {};  ///< empty: the number is printed
    ErrorClass error = ErrorClass::none;
};

/// `either`: a message of the protocol that may be a request or a response.
enum class Shape : std::uint8_t { none, request, response, either };

/// An upper layer, as the rest of the folder uses it. protocols/ defines one object for each protocol.
struct Protocol {
    std::string_view name;         ///< "nvme": the name in options and figures
    std::string_view heading;      ///< "NVMe"
    std::string_view id_word;      ///< "cid"
    unsigned id_digits;            ///< hexadecimal; 0: decimal
    std::string_view target_word;  ///< "ns"
    unsigned target_digits = 0;    ///< hexadecimal; 0: decimal
    std::string_view block_word = "lba";
    std::span<const std::uint16_t> ports;
    /// Whether a service identifier belongs to the protocol; nullptr if the protocol has IP ports only.
    bool (*is_service)(const std::byte* service_id) = nullptr;
    /// Both sides send requests. The side of the first message counts as the initiator.
    bool is_symmetric = false;
    /// After a new connection, the initiator asks again with the same identifiers.
    bool ids_outlive_connection = false;
    /// A READ or a WRITE belongs to the command that granted its memory.
    bool grants_memory = true;

    /// Whether the private data of a connection request have the form of this protocol. If so, reads them into `facts`.
    bool (*read_private_data)(base::Bytes data, ConnectionFacts& facts);
    /// Reads the private data of the reply into `facts`; nullptr if replies have no such data.
    void (*read_reply)(base::Bytes data, ConnectionFacts& facts) = nullptr;
    /// What a SEND of `length` bytes is, judged by `head`, the captured part of its beginning.
    Shape (*shape)(base::Bytes head, std::uint64_t length);
    void (*parse)(base::Bytes head, std::uint64_t length, bool from_initiator, ConnectionFacts& facts, Said& said);
    /// Reads the beginning of the data of a request with `wants_data`; nullptr if no request has `wants_data`.
    void (*read_data)(std::uint32_t detail, base::Bytes data, ConnectionFacts& facts) = nullptr;
    StatusMeaning (*status)(std::uint32_t detail, std::uint32_t status);
    /// Is called after parse(), and reads the parts of a response whose meaning depends on the request; nullptr if no
    /// part depends on the request.
    void (*complete_response)(base::Bytes head, std::uint32_t detail, ConnectionFacts& facts, Said& said) = nullptr;
    /// As parse(), for the beginning of a request (`out`) or of a response that was moved by RDMA; nullptr for a
    /// protocol that moves no messages by RDMA.
    void (*read_message)(base::Bytes data, bool out, std::uint32_t detail, ConnectionFacts& facts,
                         Said& said) = nullptr;
    /// The part of an upper message that a SEND carries; nullopt if the SEND carries no such part. nullptr: each SEND
    /// is one message.
    std::optional<Fragment> (*fragment)(base::Bytes head, std::uint64_t length) = nullptr;
    /// For messages that hold several commands: bytes from the beginning of one command to the next; 0 for the last
    /// command.
    std::uint64_t (*next_part)(base::Bytes head, std::uint64_t length) = nullptr;
    /// A SEND acknowledges all messages of the other side up to this identifier. These messages count as answered.
    std::optional<std::uint64_t> (*acknowledges)(base::Bytes head, std::uint64_t length) = nullptr;
    /// As parse(), for protocols whose WRITEs are messages; nullptr: WRITEs carry data of commands.
    void (*parse_write)(const WrittenMessage& message, bool from_initiator, ConnectionFacts& facts,
                        Said& said) = nullptr;
    /// Whether immediate data, or a SEND of four bytes, announce a WRITE of `written` bytes as a part of a stream. This
    /// recognizes the protocol without its set-up.
    bool (*announces)(std::uint64_t written, std::uint32_t word) = nullptr;
    /// Whether the payload of an unreliable datagram from this address belongs to the protocol.
    bool (*is_datagram)(base::Bytes payload, std::uint64_t length, base::Bytes source) = nullptr;
    /// Adds the target of a command in words, instead of `target_word` and a number.
    void (*add_target)(std::uint64_t target, std::string& out) = nullptr;
    /// Adds text to the line of a message that belongs to no command: ` credits 255`.
    void (*add_words)(const LineContext& line, std::string& out) = nullptr;
    /// The heading of a command with this detail, instead of `heading`.
    std::string_view (*heading_of)(std::uint32_t detail) = nullptr;

    // The layers that describe the bytes.
    dissect::LayerId request_layer;
    dissect::LayerId response_layer;
    dissect::LayerId data_layer;  ///< for the data of a request with `wants_data`
    dissect::LayerId datagram_layer = dissect::LayerId::none;
    std::array<dissect::LayerId, 3> private_data_layers;  ///< of REQ, REP, REJ
    /// LayerRef::variant of the layers of requests and responses; nullptr: 0.
    std::uint8_t (*variant)(const ConnectionFacts& facts, std::uint32_t detail) = nullptr;
    /// Adds layers whose kind depends on the command.
    void (*add_layers)(base::Bytes head, std::uint32_t detail, dissect::Dissection& out) = nullptr;
};

std::span<const Protocol* const> all_protocols();
/// "nvme, rpc, srp, iser, smb, ipoib, rds, rsocket"
std::string protocol_names();
/// nullptr if no protocol has this name.
const Protocol* find_protocol(std::string_view name);
/// The protocol of a port of TCP or of the RDMA IP CM service; nullptr if unknown.
const Protocol* protocol_of_port(std::uint16_t port);
/// The protocol of a service identifier (eight bytes) that is not an IP port; nullptr if unknown.
const Protocol* protocol_of_service(const std::byte* service_id);

}  // namespace upper
