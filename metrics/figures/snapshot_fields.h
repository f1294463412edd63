#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "base/saturating.h"
#include "metrics/figures/snapshot.h"

/// The members that merge() and difference() treat as plain counters, and arithmetic that saturates at 64 bits. A new
/// counter in snapshot.h needs only a line here.
namespace metrics::inline figures::fields {

using base::saturating::add;
using base::saturating::subtract;

template <class T>
using Counter = std::uint64_t T::*;

inline constexpr std::array flow_counters{
    &FlowSnapshot::packets,
    &FlowSnapshot::wire_bytes,
    &FlowSnapshot::payload_bytes,
    &FlowSnapshot::timeouts,
    &FlowSnapshot::merged_messages,
    &FlowSnapshot::acknowledgement_packets,
    &FlowSnapshot::rnr_naks,
    &FlowSnapshot::credits_exhausted,
    &FlowSnapshot::unseen_acknowledged_packets,
    &FlowSnapshot::ecn_ce_packets,
    &FlowSnapshot::ecn_capable_packets,
    &FlowSnapshot::cnp_packets,
    &FlowSnapshot::icrc_bad,
    &FlowSnapshot::crc_bad,
    &FlowSnapshot::terminates,
    &FlowSnapshot::state_unsure_ns,
    &FlowSnapshot::queueing_ns,
    &FlowSnapshot::icrc_zero,
    &FlowSnapshot::icrc_taken,
    &FlowSnapshot::crc_bad_checksum_right,
    &FlowSnapshot::class_changes,
};
inline constexpr std::array flow_optional_counters{
    &FlowSnapshot::retransmitted_packets,
    &FlowSnapshot::duplicate_packets,
    &FlowSnapshot::reordered_packets,
    &FlowSnapshot::missing_packets,
};
inline constexpr std::array flow_histograms{
    &FlowSnapshot::message_bytes,
    &FlowSnapshot::message_duration_ns,
    &FlowSnapshot::rnr_timer_ns,
    &FlowSnapshot::cnp_interval_ns,
};
inline constexpr std::array recovery_histograms{
    &RecoveryFigures::nak_generation_ns,
    &RecoveryFigures::nak_reaction_ns,
    &RecoveryFigures::total_ns,
};
inline constexpr std::array tcp_counters{
    &TcpFigures::segments,
    &TcpFigures::retransmitted_segments,
    &TcpFigures::retransmitted_bytes,
    &TcpFigures::out_of_order_segments,
    &TcpFigures::duplicate_acks,
    &TcpFigures::sack_blocks,
    &TcpFigures::zero_windows,
    &TcpFigures::ece_acks,
    &TcpFigures::cwr_segments,
    &TcpFigures::window_limited_ns,
    &TcpFigures::connection_bytes,
    &TcpFigures::unread_bytes,
};
inline constexpr std::array host_counters{
    &HostSnapshot::sent_wire_bytes, &HostSnapshot::received_wire_bytes, &HostSnapshot::received_requests,
    &HostSnapshot::sent_packets,    &HostSnapshot::received_packets,
};
inline constexpr std::array host_reuse{
    &HostSnapshot::queue_pairs,
    &HostSnapshot::remote_keys,
    &HostSnapshot::pages,
};
inline constexpr std::array pause_counters{
    &PauseSnapshot::pause_frames,
    &PauseSnapshot::pfc_frames,
    &PauseSnapshot::resume_frames,
};
inline constexpr std::array pause_priorities{
    &PauseSnapshot::priority_frames,
    &PauseSnapshot::priority_quanta,
};
inline constexpr std::array capture_counters{
    &CaptureFigures::packets,
    &CaptureFigures::bytes,
    &CaptureFigures::rdma_units,
    &CaptureFigures::truncated,
    &CaptureFigures::malformed,
    &CaptureFigures::unsorted,
    &CaptureFigures::seen_twice,
    &CaptureFigures::icrc_bad,
    &CaptureFigures::flows_evicted,
    &CaptureFigures::flows_seen,
    &CaptureFigures::streams_evicted,
    &CaptureFigures::stream_octets_lost,
    &CaptureFigures::stream_octets_skipped,
    &CaptureFigures::values_misplaced,
    &CaptureFigures::beyond_hosts,
    &CaptureFigures::copies,
    &CaptureFigures::copies_elsewhere,
    &CaptureFigures::cut_by_mirror,
    &CaptureFigures::headers_cut,
};

/// The identity of a flow: FlowKey, as far as a snapshot contains it.
inline auto key_of(const FlowSnapshot& flow) {
    const bool tcp = flow.transport == wire::Transport::iwarp;
    return std::tuple(flow.transport, flow.service, flow.source.address, flow.destination.address,
                      tcp ? flow.source.port : std::nullopt, tcp ? flow.destination.port : std::nullopt,
                      tcp ? std::nullopt : flow.destination.qpn);
}

/// Rows of reuse are distinguished by the power of two of their mean distance.
inline unsigned octave_of(const ReuseBin& bin) {
    constexpr double most = 0x1p62;
    return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(std::clamp(bin.distance, 0.0, most))));
}

inline double total(double mean, std::uint64_t wall_ns) { return mean * static_cast<double>(wall_ns); }

}  // namespace metrics::figures::fields
