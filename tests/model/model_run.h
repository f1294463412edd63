#pragma once
#include <cstdint>
#include <vector>

#include "metrics/figures/state.h"
#include "tests/model/plan.h"

namespace model {

enum class Place : std::uint8_t { leaving, middle, arriving };

/// A packet at a place where a tap may be.
struct Passage {
    std::int64_t time_ns = 0;  ///< of its last octet, since the start
    Place place{};
    Packet packet;
};

/// What the sender of one end did from `since_ns` on.
struct Stretch {
    std::int64_t since_ns = 0;
    metrics::State state{};
};

/// What only the model can know of one end of a connection: its sender.
struct SideTruth {
    std::vector<Stretch> stretches;
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t timeouts = 0;         ///< of the local ACK timer
    std::uint64_t read_recoveries = 0;  ///< READ responses missing: asked again without any NAK
    std::uint64_t credit_stops = 0;
    std::vector<std::int64_t> post_ns;      ///< of each work request
    std::vector<std::int64_t> complete_ns;  ///< when it left the send queue

    /// How the time from `from_ns` to `to_ns` was spent; sums to it.
    metrics::StateTimes states(std::int64_t from_ns, std::int64_t to_ns) const;
};

struct Lost {
    std::int64_t time_ns = 0;
    bool behind = false;  ///< after the switch
    Packet packet;
};

/// All that happened. Sides: connection i has 2 i (end a) and 2 i + 1 (end b).
struct History {
    Plan plan;
    std::vector<Passage> passages;  ///< ascending time
    std::vector<SideTruth> sides;
    std::vector<Lost> lost;
    std::int64_t end_ns = 0;

    const End& end(std::uint32_t side) const {
        const Connection& connection = plan.connections[side / 2];
        return side % 2 == 0 ? connection.a : connection.b;
    }
};

History run(const Plan& plan);

/// Where frames are taken.
struct Tap {
    bool in_the_middle = false;
    std::uint32_t host = 0;
};
inline constexpr Tap middle_tap{true, 0};
constexpr Tap tap_at(std::uint32_t host) { return {false, host}; }

/// What passes a tap, in the order of time.
std::vector<const Passage*> seen(const History& history, Tap tap);
/// The same as frames. `checked`: with correct ICRCs.
std::vector<support::KeptFrame> capture(const History& history, Tap tap, bool checked);

}  // namespace model
