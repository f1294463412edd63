#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dissect/upper_message.h"
#include "upper/slots.h"
#include "upper/upper_protocol.h"

namespace upper {

using dissect::CommandParts;

/// How a command ended.
enum class CommandEnd : std::uint8_t {
    answered,
    orphan,      ///< a response to a request that was not captured
    replaced,    ///< its identifier was used again before a response was seen, or the initiator had it aborted
    unanswered,  ///< open when the connection or the capture ended
    given_up,    ///< forgotten to keep the bound on open commands
};
/// "answered"
std::string_view name_of(CommandEnd end);

/// What was sent again of a command. Most commands have none.
struct RepairMarks {
    /// The latest four times at which the response's first packet was sent again.
    std::array<std::int64_t, 4> response_again_ns = {};
    /// The first four repairs that concern packets of this command. `own`: the repair began with a packet of this
    /// command.
    std::array<std::uint32_t, 4> repairs = {};
    std::array<bool, 4> own = {};
    std::uint8_t repair_count = 0;
    std::uint8_t response_again_count = 0;
    std::uint32_t next_free = no_slot;
};

/// A command with its marks. It is kept while it is open, and until its response has certainly arrived.
struct Command {
    std::uint64_t number = 0;  ///< number in the connection, from 1
    std::uint64_t id = 0;
    std::string_view kind = {};
    std::string_view kind_text = {};
    std::uint32_t detail = 0;
    std::uint32_t serial = 0;  ///< another one for each use of the slot; 0: the slot is free
    bool housekeeping = false;
    bool waits_for_event = false;
    bool wants_data = false;
    bool grants_cut = false;
    bool answered = false;
    bool is_orphan = false;
    bool is_reverse = false;    ///< the connection's target sent the request
    bool counts_moved = false;  ///< `bytes` counts the bytes that were moved
    bool status_known = false;  ///< the status was known before the response
    bool request_acked = false;
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
    std::int64_t request_ack_ns = 0;  ///< valid if `request_acked`
    std::int64_t data_begin_ns = 0;   ///< valid if `operations` is not 0
    std::int64_t data_end_ns = 0;
    std::int64_t response_begin_ns = 0;
    std::int64_t response_end_ns = 0;
    std::uint64_t request_first_frame = 0;
    std::uint64_t request_last_frame = 0;
    std::uint64_t data_first_frame = 0;
    std::uint64_t data_last_frame = 0;
    std::uint64_t response_frame = 0;

    std::uint64_t request_end_position = 0;   ///< position on the initiator's flow
    std::uint64_t response_end_position = 0;  ///< position on the target's flow

    std::uint32_t operations = 0;

    // Links to other slots; no_slot: there is no such slot.
    std::uint32_t own = no_slot;
    std::uint32_t older = no_slot;
    std::uint32_t newer = no_slot;
    std::uint32_t next_of_id = no_slot;
    std::uint32_t first_grant = no_slot;
    std::uint32_t repair_marks = no_slot;
};

/// The parts of the latency of an answered command, from its marks. The parts sum to the latency, because no mark is
/// earlier than the mark before it. docs/io.md explains the marks. `marks`: what was sent again; nullptr: nothing.
CommandParts parts_of(const Command& command, const RepairMarks* marks);

/// A command that has ended.
struct FinishedCommand {
    const Command& command;
    CommandEnd end;
    CommandParts parts;  ///< valid for answered commands
    StatusMeaning meaning;
    /// Of the part target_before, the time until the request was acknowledged.
    std::optional<std::uint64_t> request_ack_ns;
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
};

}  // namespace upper
