#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "upper/connection_repairs.h"
#include "upper/growing_ring.h"
#include "upper/upper_command.h"

namespace upper {

/// How a connection spent its time from its first to its last command. The oldest open command decides; `repair` and
/// then `limit` come before its phase.
enum class IoState : std::uint8_t { host, request, target, data, response, repair, limit };
inline constexpr std::size_t io_state_count = 7;
/// "host"
std::string_view name_of(IoState state);

/// Splits the time of a connection by state, to the nanosecond. Commands come in the order of their requests, after
/// their responses have arrived, or when they were aborted.
class ConnectionTime {
public:
    /// As many commands are open as the connection permits.
    void reach_limit(std::int64_t time_ns);
    /// A response has made room for another command. `latency_ns`: of its command, as far as known.
    void leave_limit(std::int64_t time_ns, std::uint64_t latency_ns, const Repairs& repairs);
    bool is_at_limit() const { return at_limit_; }
    /// The initiator asks: if it waited for the room that the last response made, it was held up by the limit.
    void ask(std::int64_t time_ns, const Repairs& repairs);
    /// Adds the time until the end of this command, as far as it is not added yet.
    void add(std::int64_t request_begin_ns, const CommandParts& parts, const Repairs& repairs);
    /// No more commands will come.
    void end(std::int64_t time_ns, const Repairs& repairs);

    /// A time without an open command that has become known: from the end of a response to the next request. No value
    /// if there is no more.
    std::optional<std::uint64_t> take_host_next_ns();

    const std::array<std::uint64_t, io_state_count>& state_ns() const { return state_ns_; }
    std::optional<std::int64_t> first_ns() const { return first_ns_; }
    std::int64_t last_ns() const { return cursor_ns_; }
    /// Time at the limit, whether or not the initiator had more to ask.
    std::uint64_t at_limit_ns() const { return at_limit_ns_; }

private:
    struct Span {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    struct Waiting {
        std::int64_t request_begin_ns = 0;
        CommandParts parts = {};
    };
    /// Commands whose time may wait until it is known whether the limit held up the initiator.
    static constexpr std::size_t max_waiting = 256;
    /// Spans at the limit that are ahead of the time that is split: not more than open commands.
    static constexpr std::size_t max_spans = 2048;

    void split(const Waiting& command, const Repairs& repairs);
    void spend(IoState state, std::int64_t begin_ns, std::int64_t end_ns, const Repairs& repairs);
    void spend_whole(IoState state, std::int64_t begin_ns, std::int64_t end_ns, const Repairs& repairs);
    void settle(const Repairs& repairs);

    std::array<std::uint64_t, io_state_count> state_ns_ = {};
    std::optional<std::int64_t> first_ns_ = {};
    std::int64_t cursor_ns_ = 0;  ///< up to where time is split: the end of the last command
    std::uint64_t at_limit_ns_ = 0;
    bool at_limit_ = false;
    bool is_unsure_ = false;             ///< `latest_` has ended, and the next request is not known
    Span latest_ = {};                   ///< the present or the last time at the limit
    std::int64_t held_up_until_ns_ = 0;  ///< a request up to here waited for the room
    Ring<Span> spans_ = {};
    Ring<Waiting> waiting_ = {};
    Ring<std::uint64_t> host_next_ns_ = {};  ///< not taken yet: at most one for each command that waited
};

}  // namespace upper
