#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace metrics::inline figures {

/// What a flow's send direction did with its time: every nanosecond of the wall time belongs to exactly one. The rules
/// are those of docs/metrics.md, in this order; the first that holds names a gap.
enum class State : std::uint8_t {
    unobserved,
    transmit_new,
    transmit_again,
    rnr_wait,
    recover_nak,
    recover_timeout,
    read_window,
    credit,
    ack_window,
    link_shared,
    congestion_paced,
    nic_stall,
    application_in_flight,
    peer_wait,
    application_idle,
};
inline constexpr std::size_t state_count = 15;
inline constexpr std::array<std::string_view, state_count> state_names{"unobserved",
                                                                       "transmit_new",
                                                                       "transmit_again",
                                                                       "rnr_wait",
                                                                       "recover_nak",
                                                                       "recover_timeout",
                                                                       "read_window",
                                                                       "credit",
                                                                       "ack_window",
                                                                       "link_shared",
                                                                       "congestion_paced",
                                                                       "nic_stall",
                                                                       "application_in_flight",
                                                                       "peer_wait",
                                                                       "application_idle"};

constexpr std::size_t index_of(State state) { return static_cast<std::size_t>(state); }
constexpr std::string_view name_of(State state) { return state_names[index_of(state)]; }
/// For tables and sentences: the name without `application_`.
constexpr std::string_view short_name_of(State state) {
    constexpr std::string_view prefix = "application_";
    std::string_view name = name_of(state);
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    return name;
}

/// The states in the groups in which people read them.
enum class StateGroup : std::uint8_t { unknown, send, recover, window, fabric, application };
inline constexpr std::size_t state_group_count = 6;

constexpr StateGroup group_of(State state) {
    switch (state) {
        case State::unobserved: return StateGroup::unknown;
        case State::transmit_new: return StateGroup::send;
        case State::transmit_again:
        case State::rnr_wait:
        case State::recover_nak:
        case State::recover_timeout: return StateGroup::recover;
        case State::read_window:
        case State::credit:
        case State::ack_window: return StateGroup::window;
        case State::link_shared:
        case State::congestion_paced:
        case State::nic_stall: return StateGroup::fabric;
        default: return StateGroup::application;
    }
}

using StateTimes = std::array<std::uint64_t, state_count>;  ///< nanoseconds by State

}  // namespace metrics::figures
