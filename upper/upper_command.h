#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dissect/upper_message.h"
#include "upper/upper_protocol.h"

namespace upper {

using dissect::CommandParts;

/// How a command ended.
enum class CommandEnd : std::uint8_t {
    answered,
    orphan,      ///< a response to a request that was not captured
    replaced,    ///< its identifier was used again before a response was seen
    unanswered,  ///< open when the connection or the capture ended
    given_up,    ///< to stay within the bounds
};
/// "answered"
std::string_view name_of(CommandEnd end);

/// A command with its marks, while it is open and until its response is known to have arrived.
struct Command {
    std::uint64_t number = 0;  ///< in the connection, from 1
    std::uint64_t id = 0;
    std::string_view kind = {};
    std::string_view kind_text = {};
    std::uint32_t detail = 0;
    std::uint32_t serial = 0;  ///< changes with every use of the slot; 0: the slot is free
    bool housekeeping = false;
    bool waits_for_event = false;
    bool wants_data = false;
    bool grants_cut = false;
    bool answered = false;
    bool is_orphan = false;
    bool is_reverse = false;    ///< asked by the connection's target
    bool counts_moved = false;  ///< `bytes` is what was moved
    bool status_known = false;  ///< before the response
    std::optional<std::uint64_t> target = {};
    std::optional<std::uint64_t> bytes = {};
    std::optional<std::uint64_t> first_block = {};
    std::optional<std::uint32_t> block_count = {};
    std::uint64_t advertised_bytes = 0;
    std::uint64_t inline_bytes = 0;
    std::uint64_t moved_in_bytes = 0;
    std::uint64_t moved_out_bytes = 0;
    std::uint32_t status = 0;
    std::uint32_t open_with_it = 0;

    // Marks: UTC nanoseconds and frames.
    std::int64_t request_begin_ns = 0;
    std::int64_t request_end_ns = 0;
    std::int64_t request_ack_ns = 0;  ///< where `request_acked`
    bool request_acked = false;
    std::int64_t data_begin_ns = 0;  ///< where `operations` is not 0
    std::int64_t data_end_ns = 0;
    std::int64_t response_begin_ns = 0;
    std::int64_t response_end_ns = 0;
    /// When the response's first packet passed again, the latest four times.
    std::array<std::int64_t, 4> response_again_ns = {};
    std::uint8_t response_again_count = 0;
    std::uint64_t request_first_frame = 0;
    std::uint64_t request_last_frame = 0;
    std::uint64_t data_first_frame = 0;
    std::uint64_t data_last_frame = 0;
    std::uint64_t response_frame = 0;
    std::uint32_t operations = 0;

    std::uint64_t request_end_position = 0;   ///< on the initiator's direction
    std::uint64_t response_end_position = 0;  ///< on the target's

    /// Repairs that had to do with packets of this command, the first four; whether they were first in line.
    std::array<std::uint32_t, 4> repairs = {};
    std::array<bool, 4> repairs_own = {};
    std::uint8_t repair_count = 0;

    // Links by slot; none: no_slot.
    std::uint32_t older = 0;
    std::uint32_t newer = 0;
    std::uint32_t next_of_id = 0;
    std::uint32_t first_grant = 0;
};
inline constexpr std::uint32_t no_slot = 0xffffffff;

/// The parts of a command that is answered, by its marks. They sum to the latency: every mark is not before the one
/// before it. docs/io.md explains the marks.
CommandParts parts_of(const Command& command);

/// A command that is over.
struct FinishedCommand {
    const Command& command;
    CommandEnd end;
    CommandParts parts;  ///< of answered ones
    StatusMeaning meaning;
    std::optional<std::uint64_t> request_ack_ns;  ///< of target_before, until the request was acknowledged
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
};

}  // namespace upper
