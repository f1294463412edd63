#pragma once
#include <cstdint>

#include "metrics/figures/snapshot.h"

/// The values at which a figure becomes a finding, each with its reason.
namespace metrics::inline answers {

/// Go-back-N gives a whole window again for one lost packet: studies of RoCE see throughput fall by a tenth and more
/// from one packet in ten thousand on (IRN, SIGCOMM'18, section 4).
inline constexpr double alarming_loss_share = 1e-4;
/// Repairs that take more than this share of the busy time alarm, even if they are few.
inline constexpr double alarming_time_share = 0.01;
/// Below this cost a finding is minor. It is the share from which repairs alarm.
inline constexpr double minor_cost = alarming_time_share;
/// Below this confidence a finding is more likely false than true.
inline constexpr double suspected_confidence = 0.5;
/// The share of its busy time that a flow spends on repairs before they explain its latency.
inline constexpr double hurting_repair_share = 0.1;
/// One packet in a hundred out of order makes RC repeat its window again and again: rates collapse.
inline constexpr double reordered_share = 0.01;
/// More bad checksums than this are no line errors: they were taken where the adapter had not filled them in yet.
inline constexpr double checksum_artefact_share = 0.5;

/// Shorter than any transport's timer: adapters raise the local ACK timeout to half a millisecond and more, TCP's is
/// 200 ms.
inline constexpr std::uint64_t shortest_timer_ns = 100'000;

/// TCP may send tail loss probes without a loss: at most one at the end of each burst.
inline constexpr std::uint64_t few_probes = 2;
inline constexpr double probe_share = 0.01;

/// A state with this share of the time is what limits a flow.
inline constexpr double binding_share = 0.25;
/// A link that carries frames for this share of the time has no gaps left between them.
inline constexpr double full_share = 0.8;
/// Below this size the cost of a message does not depend on its size: headers alone are 82 bytes a packet.
inline constexpr double small_message_bytes = 512;
/// Below this number of messages nothing is said about rates, except if the messages are long: if they have this number
/// of packets together.
inline constexpr std::uint64_t few_messages = 8;
inline constexpr std::uint64_t few_packets = 100;

/// Light needs 5 ms for 500 km of fibre and back. Data centres answer within 0.1 ms, software stacks on busy virtual
/// machines within a few: beyond this it is distance, or something that delays every packet.
inline constexpr std::uint64_t far_round_trip_ns = 5'000'000;
/// The number of round trips whose minimum can be trusted.
inline constexpr std::uint64_t enough_round_trips = 20;
/// A median within this multiple of the least round trip is distance; beyond it, packets wait in queues.
inline constexpr double steady_ratio = 2.0;
/// What waiting in queues does to the median, at least, before it is named.
inline constexpr double queueing_ratio = 3.0;
/// A responder that takes this multiple of the round trip is what requests wait for.
inline constexpr double slow_responder_ratio = 3.0;

/// A part of the time from post to completion that is the sender's own, and most of it.
inline constexpr double own_part_share = 0.5;

/// Marks on one packet in a thousand: DCQCN begins to slow senders down at far fewer a second.
inline constexpr double marked_share = 0.001;
/// Hosts that send to one within a millisecond: four of them at line rate fill a switch's shared buffer share of one
/// port (some 100 kB at 100 Gbit/s and 10 us of excess).
inline constexpr std::uint64_t incast_senders = 4;

/// No adapter on the market caches fewer queue pairs: throughput is flat up to some hundred connections even on the
/// oldest that were measured (FaRM, NSDI'14; eRPC, NSDI'19).
inline constexpr std::uint64_t least_cached_queue_pairs = 64;
/// The number of turnarounds needed on each side of a knee. With fewer, the knee may be chance.
inline constexpr std::uint64_t knee_samples = 200;
/// A miss costs a PCIe round trip, about a microsecond, on top of about two: half as much again.
inline constexpr double knee_ratio = 1.5;
/// With this share of the accesses beyond the knee, the cache is reported as thrashed.
inline constexpr double thrashing_share = 0.1;

/// A queue that is at its limit for this share of the time limits the flow.
inline constexpr double at_limit_share = 0.5;
/// Less than this of the depth that was used at all leaves most of it idle.
inline constexpr double underused_share = 0.25;

/// Errors of commands that may be a host's own doing (busy, denied, aborted): hosts probe and retry.
inline constexpr double alarming_error_share = 1e-4;
/// A part of the commands' latency that names what takes the time.
inline constexpr double slow_part_share = 0.6;
/// A target that takes twice as long with more open commands works on them one after the other.
inline constexpr double queueing_growth = 2.0;
/// The target's own time matters if it is at least this share of the latency.
inline constexpr double queueing_think_share = 0.3;
/// Data that use more of the link than this are not slow.
inline constexpr double half_of_link = 0.5;
/// An initiator without open commands for this share of the time asks for little.
inline constexpr double idle_host_share = 0.8;
/// The size of a page. Most targets accept a page of data within the request.
inline constexpr std::uint64_t small_command_bytes = 4096;
inline constexpr double small_command_share = 0.3;

/// A path is named only if chance alone would name one in a thousand captures.
inline constexpr double path_p_value = 0.001;
/// A path that loses or marks less than three times as much as the others is not worth a search.
inline constexpr double path_rate_ratio = 3.0;
/// Fewer packets of an entropy say nothing about its losses.
inline constexpr std::uint64_t least_path_packets = 200;
/// Two losses can meet by chance of the traffic, such as bursts at the same times.
inline constexpr std::uint64_t least_path_episodes = 3;
/// The losses of a path are over if they stay away for three times the widest gap between them, which a path that still
/// loses does once in a hundred times.
inline constexpr double path_quiet_probability = 0.01;
inline constexpr double path_quiet_ratio = 3.0;
/// Windows that a sign test of marks or delays needs.
inline constexpr std::uint64_t least_path_windows = 20;
/// A delay below the time that a switch takes for a packet says nothing about a path.
inline constexpr std::uint64_t least_path_delay_ns = 5'000;
inline constexpr double least_path_delay_share = 0.3;

/// A request counts as unanswered after this time: CM repeats after its time-out, 2 s to 4 s by default in Linux, TCP
/// after 1 s.
inline constexpr std::int64_t unanswered_after_ns = 1'000'000'000;
/// With a greater share of time that was not observed, times are not judged.
inline constexpr double unobserved_share = 0.5;

/// A window that is always full is a small buffer on a long way: a description. One that was drawn in to less than half
/// a segment, which no sender of whole segments uses (RFC 9293, 3.8.6.2), is a receiver that does not read.
inline bool was_shut(const TcpFigures& tcp) {
    return tcp.zero_windows > 0 || (tcp.mss && tcp.receive_window_min && *tcp.receive_window_min < *tcp.mss / 2);
}

}  // namespace metrics::answers
