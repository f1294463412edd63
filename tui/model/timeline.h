#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "metrics/figures/state.h"
#include "tui/model/reading.h"

namespace tui::inline model {

/// All traffic in one interval, for sparklines.
struct Pulse {
    std::int64_t start_ns = 0;
    std::uint64_t length_ns = 0;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;  ///< of all frames
    std::uint64_t rdma_bytes = 0;  ///< of them, those of flows
    std::uint64_t message_bytes = 0;
    std::uint64_t messages = 0;
    std::uint64_t dropped = 0;  ///< by the kernel
    std::uint64_t resent = 0;
    std::uint64_t naks = 0;  ///< RNR among them
    std::uint64_t ce = 0;
    std::uint64_t cnps = 0;
    std::uint64_t pauses = 0;
    std::uint64_t active_flows = 0;
};

/// One flow in one interval, in a few bytes.
struct Beat {
    static constexpr std::size_t latency_bins = 40;  ///< bin i: latencies of [2^i, 2^(i+1)) ns; the last: all above
    std::int64_t start_ns = 0;
    std::uint32_t length_us = 0;
    float goodput = 0;           ///< bytes of messages per second
    float outstanding_mean = 0;  ///< messages
    std::uint32_t outstanding_max = 0;
    std::uint32_t messages = 0;
    std::uint32_t resent = 0;
    std::uint32_t naks = 0;  ///< RNR among them
    std::uint32_t ce = 0;
    std::uint32_t cnps = 0;
    std::array<std::uint8_t, metrics::state_count> states{};  ///< shares of the interval in 255ths, largest remainder
    std::array<std::uint16_t, latency_bins> latency{};        ///< of all operations; stays at 65535
};

/// The past, interval by interval, within a bound of memory: the pulse of everything, and beats of each flow. If many
/// flows are busy, beats are kept for a shorter time: the oldest go first, whichever flow they belong to. Intervals in
/// which a flow was silent have no beat of it.
class Timeline {
public:
    explicit Timeline(std::size_t max_octets = std::size_t{48} << 20, std::size_t max_intervals = 1200);

    /// A reading that restarted empties it first.
    void add(const Reading& reading);
    void clear();

    const std::deque<Pulse>& pulses() const { return pulses_; }  ///< oldest first
    std::vector<Beat> beats(std::uint64_t flow) const;           ///< oldest first; empty where it is unknown
    /// Of the commands of a flow: time, number and latency alone.
    std::vector<Beat> command_beats(std::uint64_t flow) const { return beats(commands_of(flow)); }
    std::size_t octets() const;

private:
    /// Beats of all flows in the order of time; each refers to the previous one of the same flow.
    struct Link {
        std::uint64_t flow = 0;
        std::uint64_t previous = 0;  ///< serial of the beat; 0: none
        Beat beat;
    };
    /// Beats of commands are kept as those of a flow of their own.
    static constexpr std::uint64_t commands_of(std::uint64_t flow) { return flow | std::uint64_t{1} << 63; }
    void add_beat(std::uint64_t flow, const Beat& beat);
    void forget_oldest();

    std::size_t max_links_;
    std::size_t max_intervals_;
    std::deque<Pulse> pulses_ = {};
    std::deque<Link> links_ = {};
    std::uint64_t first_serial_ = 1;                                ///< of the oldest beat that is held
    std::unordered_map<std::uint64_t, std::uint64_t> newest_ = {};  ///< by flow: serial of its newest beat
};

}  // namespace tui::model
