#pragma once
#include <cstdint>
#include <optional>

namespace upper {

/// What a message does. `other`: the message takes positions, and is not examined.
enum class Operation : std::uint8_t { send, write, read, other };

/// The command of the connection to which a message belongs; serial 0: the message belongs to no command.
struct CommandRef {
    std::uint16_t slot = 0;
    std::uint32_t serial = 0;
    explicit operator bool() const { return serial != 0; }
};

/// A message of one direction. Positions are PSNs or TCP sequence numbers, continued beyond their 24 or 32 bits.
struct Message {
    Operation operation = Operation::send;
    bool has_begin = false;      ///< the first packet was captured
    bool has_target = false;     ///< `key` and `address` are known
    bool ended = false;          ///< all packets have passed; READ: the last response too
    bool parsed = false;         ///< a SEND that was given to the protocol's parser
    bool wants_head = false;     ///< the data of this READ or WRITE describe the connection or the command
    bool holds_message = false;  ///< the data of this READ or WRITE are the beginning of a request or a response
    std::uint8_t head = 0;       ///< number, from 1, of the place that keeps the first bytes; 0: no bytes are kept
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< one past the last position so far
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  ///< if `ended`: when all packets had passed in order, as far as known
    std::uint64_t first_frame = 0;
    std::uint64_t last_frame = 0;
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t packet_bytes = 0;  ///< payload of the first packet
    std::uint64_t length = 0;        ///< bytes that have passed; READ: bytes that were requested
    std::uint64_t asked = 0;  ///< bytes that the first packet announces; WRITE of iWARP: bytes of the first segment
    std::optional<std::uint32_t> invalidated = {};
    std::optional<std::uint32_t> immediate = {};
    std::uint64_t sink_address = 0;  ///< READ of iWARP: the destination of the response
    std::uint32_t sink_key = 0;
    CommandRef command = {};
};

}  // namespace upper
