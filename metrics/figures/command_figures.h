#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/figures/address.h"
#include "metrics/figures/histogram.h"
#include "wire/transport.h"

namespace metrics::inline figures {

inline constexpr std::size_t command_part_count = 5;
/// "request", "target_before", "data", "target_after", "response"
extern const std::array<std::string_view, command_part_count> command_part_names;

/// What a connection's time went to, by its oldest open command: "host", "request", "target", "data", "response",
/// "repair", "limit".
inline constexpr std::size_t command_state_count = 7;
extern const std::array<std::string_view, command_state_count> command_state_names;

/// Classes of errors, for all protocols alike: "device", "path", "protocol", "aborted", "busy", "denied".
inline constexpr std::size_t command_error_count = 6;
extern const std::array<std::string_view, command_error_count> command_error_names;

/// How many commands were open when one was asked, that one included: 1, 2 to 4, 5 to 16, 17 and more.
inline constexpr std::size_t command_depth_count = 4;
extern const std::array<std::string_view, command_depth_count> command_depth_names;
constexpr std::size_t command_depth_of(std::uint64_t open) {
    return open <= 1 ? 0 : open <= 4 ? 1 : open <= 16 ? 2 : 3;
}

/// No target needs longer. Hosts give up commands after 30 s, and disks end their own repeats after 2 s to 7 s.
inline constexpr std::uint64_t long_wait_ns = 5'000'000'000;

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
    std::uint64_t unanswered_long = 0;  ///< of the unanswered: those that waited for more than long_wait_ns
    std::uint64_t given_up = 0;
    std::uint64_t request_ack_ns = 0;
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
    Histogram latency_ns;
    Histogram size_bytes;
    std::array<Histogram, command_part_count> parts_ns;
    std::array<std::uint64_t, command_error_count> error_classes{};
    std::map<std::string, std::uint64_t> statuses;  ///< of errors; at most most_statuses, the rest is "other"
    bool housekeeping = false;                      ///< keeps the connection alive: no work that anybody waits for
    /// Time of the target itself, by the number of open commands: before and after the data, without request_ack_ns.
    std::array<Histogram, command_depth_count> think_ns;
    // Commands that show what happened, at most most_exhibits of each.
    std::vector<CommandRecord> slowest;  ///< the slowest first
    std::vector<CommandRecord> failed;   ///< answered with an error, the first ones
    std::vector<CommandRecord> waiting;  ///< unanswered, the first ones
    std::vector<CommandRecord> hurt;     ///< by repairs, the worst first
    static constexpr std::size_t most_exhibits = 3;
    static constexpr std::size_t most_statuses = 16;

    std::uint64_t repair_ns() const { return repair_own_ns + repair_behind_ns; }
};

/// Counts commands with this status of an error. A status for whose name there is no room is "other".
void count_status(CommandKindFigures& kind, const std::string& status, std::uint64_t commands = 1);
/// Keeps the command if it is one of the slowest.
void keep_slowest(CommandKindFigures& kind, const CommandRecord& record);

/// A connection with an upper layer.
struct CommandConnectionFigures {
    std::uint64_t number = 0;  ///< in the capture, from 1
    wire::Transport transport{};
    std::string protocol;
    std::string heading;  ///< the protocol's name for people: "NVMe"
    std::string evidence;
    double confidence = 0;
    Address initiator;
    Address target;
    std::uint32_t initiator_number = 0;  ///< queue pair or TCP port; 0: not known
    std::uint32_t target_number = 0;
    std::optional<std::uint16_t> queue;
    std::optional<std::uint32_t> limit;
    std::optional<std::uint32_t> limit_asked;  ///< the limit that the initiator asked for last; RPC: its credits
    std::uint32_t congested_ports = 0;         ///< RDS: the most ports that either side called congested at a time
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
    std::array<std::uint64_t, command_state_count> states_ns{};  ///< sum to last_ns - first_ns
    Histogram host_next_ns;                 ///< from a response that left no command open to the next request
    std::vector<CommandKindFigures> kinds;  ///< at most most_kinds, by their names
    static constexpr std::size_t most_kinds = 24;
    bool of_target = false;                      ///< of the flow that answers: nothing but the protocol is known here
    std::uint32_t open_now = 0;                  ///< when the figures were taken
    std::uint32_t open_long = 0;                 ///< of these: those that have waited for more than long_wait_ns
    std::optional<std::int64_t> oldest_open_ns;  ///< when the oldest of these was asked

    /// Whether shares of time are meaningful: enough of the data that the target moved is known to belong to commands.
    bool split_is_known() const { return unbound_operations * 100 <= operations; }
    std::uint64_t wall_ns() const;  ///< sum of states_ns
    /// Of open commands, over wall_ns(): by Little's law, the sum of latencies divided by the time. Nothing without
    /// that time.
    std::optional<double> open_mean() const;
};

/// Figures of all kinds on a connection, those that keep it alive left out.
struct CommandTotals {
    std::uint64_t commands = 0;
    std::uint64_t errors = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t orphans = 0;
    std::uint64_t request_ack_ns = 0;
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
    std::array<std::uint64_t, command_part_count> parts_ns{};
    Histogram latency_ns;

    /// The share of the latency that commands spent at the target; no value without latency.
    std::optional<double> target_share() const;
};
CommandTotals totals_of(const CommandConnectionFigures& connection);

/// Adds what a later part of a capture has shown of the same connection.
void merge(CommandConnectionFigures& into, const CommandConnectionFigures& other);
/// Adds the exhibits of a former state of the same connection, after which others were kept.
void merge_exhibits(CommandConnectionFigures& into, const CommandConnectionFigures& earlier);
/// What came on top of `earlier`, a former state of the same connection. Exhibits are those asked after `since_ns`.
void subtract(CommandConnectionFigures& figures, const CommandConnectionFigures& earlier, std::int64_t since_ns);

}  // namespace metrics::figures
