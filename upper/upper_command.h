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
    std::uint16_t next_free = no_slot;
};

/// What has passed of a command since its request: UTC nanoseconds and frames. Most open commands wait for the target
/// and have none.
struct Progress {
    std::int64_t data_begin_ns = 0;  ///< valid if `operations` is not 0
    std::int64_t data_end_ns = 0;
    std::uint64_t data_first_frame = 0;
    std::uint64_t data_last_frame = 0;
    std::uint64_t moved_in_bytes = 0;
    std::uint64_t moved_out_bytes = 0;
    std::int64_t response_begin_ns = 0;
    std::int64_t response_end_ns = 0;
    std::uint64_t response_frame = 0;
    std::uint64_t response_end_position = 0;  ///< position on the target's flow
    std::uint32_t operations = 0;
    std::uint32_t status = 0;
    bool status_known = false;  ///< the status was known before the response
    std::uint16_t next_free = no_slot;
};

/// A command with its request. It is kept while it is open, and until its response has certainly arrived. Many may be
/// open, so the struct is small: what passes later is in `Progress` and `RepairMarks`.
struct Command {
    std::uint64_t number = 0;  ///< number in the connection, from 1
    std::uint64_t id = 0;
    std::uint64_t advertised_bytes = 0;
    std::uint64_t inline_bytes = 0;

    // Marks of the request: UTC nanoseconds and frames.
    std::int64_t request_begin_ns = 0;
    std::int64_t request_end_ns = 0;
    std::int64_t request_ack_ns = 0;  ///< valid if `request_acked`
    std::uint64_t request_first_frame = 0;
    std::uint64_t request_last_frame = 0;
    std::uint64_t request_end_position = 0;  ///< position on the initiator's flow

    std::uint32_t detail = 0;
    std::uint32_t serial = 0;  ///< another one for each use of the slot; 0: the slot is free
    bool housekeeping : 1 = false;
    bool waits_for_event : 1 = false;
    bool wants_data : 1 = false;
    bool grants_cut : 1 = false;
    bool answered : 1 = false;
    bool is_orphan : 1 = false;
    bool is_reverse : 1 = false;    ///< the connection's target sent the request
    bool counts_moved : 1 = false;  ///< `bytes` counts the bytes that were moved
    bool request_acked : 1 = false;

    // Links to other slots; no_slot: there is no such slot.
    std::uint16_t own = no_slot;
    std::uint16_t older = no_slot;
    std::uint16_t newer = no_slot;
    std::uint16_t next_of_id = no_slot;
    std::uint16_t first_grant = no_slot;
    std::uint16_t repair_marks = no_slot;
    std::uint16_t progress = no_slot;
    std::uint16_t open_with_it = 0;

    /// What the request asks for: kind, target, bytes and blocks.
    void describe(const Said& said);
    std::string_view kind() const { return {kind_, kind_length_}; }
    std::string_view kind_text() const { return {kind_text_, kind_text_length_}; }
    std::optional<std::uint64_t> target() const { return optional(has_target_, target_); }
    std::optional<std::uint64_t> bytes() const { return optional(has_bytes_, bytes_); }
    std::optional<std::uint64_t> first_block() const { return optional(has_first_block_, first_block_); }
    std::optional<std::uint32_t> block_count() const { return optional(has_block_count_, block_count_); }
    void set_bytes(std::uint64_t bytes) {
        bytes_ = bytes;
        has_bytes_ = true;
    }

private:
    template <class T>
    static std::optional<T> optional(bool has, T value) {
        return has ? std::optional<T>(value) : std::nullopt;
    }
    bool has_target_ : 1 = false;
    bool has_bytes_ : 1 = false;
    bool has_first_block_ : 1 = false;
    bool has_block_count_ : 1 = false;
    std::uint8_t kind_length_ = 0;
    std::uint8_t kind_text_length_ = 0;
    std::uint32_t block_count_ = 0;
    const char* kind_ = "";
    const char* kind_text_ = "";
    std::uint64_t target_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t first_block_ = 0;
};

/// The parts of the latency of an answered command, from its marks. The parts sum to the latency, because no mark is
/// earlier than the mark before it. docs/io.md explains the marks. `marks`: what was sent again; nullptr: nothing.
CommandParts parts_of(const Command& command, const Progress& progress, const RepairMarks* marks);

/// A command that has ended.
struct FinishedCommand {
    const Command& command;
    const Progress& progress;
    CommandEnd end;
    CommandParts parts;  ///< valid for answered commands
    StatusMeaning meaning;
    /// Of the part target_before, the time until the request was acknowledged.
    std::optional<std::uint64_t> request_ack_ns;
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
};

}  // namespace upper
