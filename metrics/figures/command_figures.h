#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/figures/address.h"
#include "metrics/figures/histogram.h"
#include "wire/transport.h"

namespace metrics::inline figures {

inline constexpr std::size_t command_part_count = 5;
/// "request", "target_before", "data", "target_after", "response"
extern const std::array<std::string_view, command_part_count> command_part_names;

/// One command that has ended.
struct CommandRecord {
    std::uint64_t number = 0;  ///< in its connection, from 1
    std::string id;            ///< in the form in which the protocol prints it
    std::string kind;          ///< empty: its request was not captured
    std::string target;
    std::string end;     ///< "answered", "orphan", "replaced", "unanswered", "given_up"
    std::string status;  ///< of a response; empty if absent
    std::string error;   ///< class of an error; empty: success, or no response
    std::optional<std::uint64_t> bytes;
    std::uint64_t advertised_bytes = 0;
    std::uint64_t inline_bytes = 0;
    std::uint64_t moved_in_bytes = 0;
    std::uint64_t moved_out_bytes = 0;
    std::optional<std::uint64_t> first_block;
    std::optional<std::uint32_t> block_count;
    std::uint32_t operations = 0;
    std::uint32_t open_with_it = 0;
    bool housekeeping = false;
    bool waits_for_event = false;

    // Frames; 0 if absent.
    std::uint64_t request_first_frame = 0;
    std::uint64_t request_last_frame = 0;
    std::uint64_t data_first_frame = 0;
    std::uint64_t data_last_frame = 0;
    std::uint64_t response_frame = 0;

    std::int64_t begin_ns = 0;  ///< UTC
    std::optional<std::uint64_t> latency_ns;
    std::array<std::uint64_t, command_part_count> parts_ns{};  ///< sum to the latency
    std::optional<std::uint64_t> request_ack_ns;               ///< part of target_before
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
};

/// Commands of one kind on one connection.
struct CommandKindFigures {
    std::string kind;
    std::uint64_t commands = 0;  ///< answered
    std::uint64_t errors = 0;    ///< of them, with an error
    std::uint64_t bytes = 0;     ///< asked for, or in the capsule
    std::uint64_t inline_bytes = 0;
    std::uint64_t moved_in_bytes = 0;
    std::uint64_t moved_out_bytes = 0;
    std::uint64_t operations = 0;
    std::uint64_t orphans = 0;
    std::uint64_t replaced = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t given_up = 0;
    std::uint64_t request_ack_ns = 0;
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
    Histogram latency_ns;
    Histogram size_bytes;
    std::array<Histogram, command_part_count> parts_ns;
    std::map<std::string, std::uint64_t> error_classes;
    std::map<std::string, std::uint64_t> statuses;  ///< of errors
    std::vector<CommandRecord> slowest;             ///< the slowest first, at most most_exhibits
    static constexpr std::size_t most_exhibits = 3;
};

/// A connection with an upper layer.
struct CommandConnectionFigures {
    std::uint64_t number = 0;  ///< in the capture, from 1
    wire::Transport transport{};
    std::string protocol;
    std::string evidence;
    double confidence = 0;
    Address initiator;
    Address target;
    std::uint32_t initiator_number = 0;  ///< queue pair or TCP port; 0: not known
    std::uint32_t target_number = 0;
    std::optional<std::uint16_t> queue;
    std::optional<std::uint32_t> limit;
    std::string target_name;
    std::string initiator_name;
    std::uint64_t operations = 0;
    std::uint64_t unbound_operations = 0;
    std::uint64_t late_operations = 0;
    std::uint64_t probes = 0;
    std::uint64_t events = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t at_limit_ns = 0;
    std::uint32_t open_max = 0;
    std::int64_t first_ns = 0;  ///< of the first command
    std::int64_t last_ns = 0;
    std::vector<std::pair<std::string, std::uint64_t>> states_ns;  ///< sum to last_ns - first_ns
    std::vector<CommandKindFigures> kinds;                         ///< at most most_kinds, by their names
    static constexpr std::size_t most_kinds = 24;

    /// Whether shares of time are meaningful: enough of the data that the target moved is known to belong to commands.
    bool split_is_known() const { return unbound_operations * 100 <= operations; }
};

}  // namespace metrics::figures
