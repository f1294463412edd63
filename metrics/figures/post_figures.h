#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/figures/histogram.h"
#include "metrics/figures/operation.h"

/// What programs did with queue pairs, from trace records (docs/trace.md). Times are nanoseconds.
namespace metrics::inline figures {

/// The process that owns a queue pair.
struct Process {
    std::uint32_t pid = 0;    ///< in the initial namespace of the recording machine; 0: not known
    std::string command;      ///< its command line; empty if unknown
    std::string container{};  ///< its id; empty outside of containers
    bool operator==(const Process&) const = default;
};

/// How full a queue was, over time.
struct LevelFigures {
    std::optional<std::uint32_t> capacity;  ///< work requests, as granted at creation
    double mean = 0;                        ///< over `observed_ns`
    std::uint64_t max = 0;
    std::uint64_t observed_ns = 0;  ///< from the first work request to the last record of the queue pair
    std::uint64_t empty_ns = 0;     ///< of it, with nothing in the queue
    std::uint64_t full_ns = 0;      ///< time with as many as fit: `capacity`
    bool operator==(const LevelFigures&) const = default;
};

/// What messages waited for, in the order of the waits. The first four add up to `whole_ns` for each message, and so do
/// their sums. Only messages whose post, packets and own completion were all seen are in here, each once.
struct DelayFigures {
    Histogram post_to_wire_ns;  ///< work request posted -> first packet at the tap
    Histogram wire_ns;          ///< first -> last packet; 0 if there is only one. READ, atomics: of the request
    Histogram wire_to_ack_ns;   ///< last packet -> acknowledgement; READ, atomics: -> last response packet
    Histogram ack_to_poll_ns;   ///< acknowledgement -> the program took the completion
    Histogram whole_ns;         ///< post -> the program took the completion
    bool operator==(const DelayFigures&) const = default;
};

/// What the program's messages of one operation waited for.
struct OperationWaits {
    Operation operation{};
    Histogram completion_ns;  ///< post -> the program took the completion, whether packets were seen or not
    DelayFigures delays;
    bool operator==(const OperationWaits&) const = default;
};

struct StatusCount {
    std::uint8_t status = 0;  ///< ibv_wc_status
    std::uint64_t count = 0;
    bool operator==(const StatusCount&) const = default;
};

/// Of the gaps that packets alone call the application's (application_in_flight, peer_wait, application_idle), in this
/// order.
inline constexpr std::size_t application_states = 3;
using ApplicationTimes = std::array<std::uint64_t, application_states>;

/// The sending process of a flow, and what it did with the flow's queue pair.
struct VerbsFigures {
    Process process;
    std::uint32_t device = 0;             ///< as the trace numbers those of the process
    std::uint32_t queue_pair = 0;         ///< its number
    std::uint64_t posts = 0;              ///< work requests put into the send queue
    std::uint64_t posts_refused = 0;      ///< that the provider refused
    std::uint64_t receives = 0;           ///< put into its own receive queue
    std::uint64_t receives_used = 0;      ///< completions of receives, of its own or a shared queue
    std::uint64_t completions = 0;        ///< of sends, that the program polled
    std::uint64_t completion_errors = 0;  ///< of them and of those of receives, with a status other than success
    std::vector<StatusCount> statuses;    ///< of completions, ascending, success among them
    std::uint64_t records_lost = 0;  ///< of the process, while the queue pair lived: depths may then be wrong by this
                                     ///< number
    std::uint64_t completions_missed =
        0;  ///< signalled requests whose completion was never seen, though later ones were

    bool midway = false;         ///< its creation was not recorded: what was in its queues before is not known
    LevelFigures send_queue;     ///< posted and not known to be complete
    LevelFigures receive_queue;  ///< posted and not used; of the shared queue where the queue pair has one
    bool receive_queue_shared = false;
    Histogram post_interval_ns;              ///< between one work request and the next
    std::vector<OperationWaits> operations;  ///< ascending; those that were posted

    std::uint64_t messages_matched = 0;    ///< whose work request is known
    std::uint64_t messages_unmatched = 0;  ///< matched by several work requests, or by none
    std::uint64_t polled_early = 0;        ///< completions that the program took before the acknowledgement passed
    ApplicationTimes held_ns{};            ///< the part of these gaps after the post: it was not the application
    ApplicationTimes unpolled_ns{};  ///< what lies before it, while an answered request's completion was not taken

    /// Whether all that the program did is known.
    bool exact() const { return !midway && records_lost == 0 && completions_missed == 0; }
    OperationWaits& waits(Operation operation);  ///< made if it is missing
    StatusCount& status(std::uint8_t code);      ///< the same for a code
    DelayFigures delays() const;                 ///< of all operations together
    bool operator==(const VerbsFigures&) const = default;
};

/// Adds what other intervals, or captures, have of the same flow. Commutative.
void merge(VerbsFigures& into, const VerbsFigures& other);
/// What was added since `earlier`; maxima and settings are those of the whole life.
void subtract(VerbsFigures& from, const VerbsFigures& earlier);

}  // namespace metrics::figures
