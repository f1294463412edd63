#pragma once
#include <cstdint>
#include <optional>

namespace upper {

/// What a message does. `other`: it takes positions and is of no interest.
enum class Operation : std::uint8_t { send, write, read, other };

/// Which command of the connection a message belongs to; serial 0: none.
struct CommandRef {
    std::uint32_t slot = 0;
    std::uint32_t serial = 0;
    explicit operator bool() const { return serial != 0; }
};

/// A message of one direction. Positions are PSNs or TCP sequence numbers, continued beyond their 24 or 32 bits.
struct Message {
    Operation operation = Operation::send;
    bool has_begin = false;      ///< its first packet was seen
    bool has_target = false;     ///< `key` and `address` are known
    bool ended = false;          ///< all of it has passed; READ: its last response
    bool parsed = false;         ///< a SEND that was handed over
    bool wants_head = false;     ///< a READ or a WRITE whose data say something of the connection or the command
    bool holds_message = false;  ///< of them, one whose data begin a request or a response
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< after its last position so far
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  ///< where `ended`: when all of it had passed in order, as far as it is known
    std::uint64_t first_frame = 0;
    std::uint64_t last_frame = 0;
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t packet_bytes = 0;  ///< payload of its first packet
    std::uint64_t length = 0;        ///< bytes that have passed; READ: that are asked for
    std::uint64_t asked = 0;         ///< that its first packet announces; iWARP's WRITE: that its first segment has
    std::optional<std::uint32_t> invalidated = {};
    std::optional<std::uint32_t> immediate = {};
    std::uint32_t sink_key = 0;  ///< READ of iWARP: where the response goes to
    std::uint64_t sink_address = 0;
    std::uint8_t head = 0;  ///< of its beginning's bytes, from 1; 0: none are kept
    CommandRef command = {};
};

}  // namespace upper
