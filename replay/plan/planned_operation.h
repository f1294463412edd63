#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace replay::inline plan {

class Payload;

/// The operations of iWARP. Operations of other transports are composed of these: docs/replay.md.
enum class Kind : std::uint8_t {
    send,
    send_invalidate,
    write,
    write_immediate,  ///< a Write, and Immediate Data after it. RFC 7306, 6.
    immediate,        ///< Immediate Data alone
    read,
    fetch_add,
    compare_swap,
};
inline constexpr std::size_t kind_count = 8;
inline constexpr std::array<std::string_view, kind_count> kind_names{
    "send", "send_invalidate", "write", "write_immediate", "immediate", "read", "fetch_add", "compare_swap"};
constexpr std::string_view name_of(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

/// The number of messages that the peer's stack counts for it (iwarp::QueuePairCounters::messages_received).
constexpr std::uint64_t messages_of(Kind kind) { return kind == Kind::write_immediate ? 2 : 1; }
/// Whether the requester waits for data.
constexpr bool is_answered(Kind kind) { return kind >= Kind::read; }
/// Whether it uses a receive of the peer's.
constexpr bool takes_receive(Kind kind) { return kind != Kind::write && !is_answered(kind); }

/// Whether it can have its captured bytes; the answer to a READ would have to be in the peer's memory before the
/// request.
constexpr bool may_have_payload(Kind kind) {
    return kind == Kind::send || kind == Kind::send_invalidate || kind == Kind::write || kind == Kind::write_immediate;
}

/// One operation to be posted again. It waits for its time, and for the events that its poster had seen when it first
/// posted it. The events are counted in messages, from the beginning of the connection, as the peer's stack counts
/// them.
struct Operation {
    std::uint32_t connection = 0;  ///< of the survey
    std::uint8_t side = 0;         ///< that posts it
    Kind kind = Kind::send;
    std::uint64_t bytes = 0;
    std::int64_t at_ns = 0;                 ///< since the beginning of the plan, when its first packet passed
    std::uint64_t frame = 0;                ///< of that packet; of the last one if the first was not seen
    std::uint64_t after_peer = 0;           ///< messages of the other side that had come
    std::uint64_t after_arrived = 0;        ///< messages of its own side that had been acknowledged
    std::uint64_t after_answered = 0;       ///< READs and atomics of its own side that had been answered
    std::shared_ptr<Payload> payload = {};  ///< `bytes` bytes; null: the pattern
};

}  // namespace replay::plan
