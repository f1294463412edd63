#include "metrics/answers/capture_notes.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/flow_measures.h"
#include "metrics/answers/sample.h"
#include "metrics/answers/source_ports.h"
#include "metrics/answers/thresholds.h"
#include "metrics/answers/unread_carriers.h"

namespace metrics::inline answers {

namespace {

using MaybeNote = std::optional<CaptureNote>;

MaybeNote incomplete(const Snapshot& snapshot) {
    const CaptureFigures& capture = snapshot.capture;
    std::vector<std::string> parts;
    if (capture.kernel_dropped.value_or(0) > 0)
        parts.push_back(counted(*capture.kernel_dropped, "packet was", "packets were") +
                        " dropped by the capturing kernel");
    if (capture.stream_octets_lost > 0)
        parts.push_back(counted(capture.stream_octets_lost, "byte") + " of TCP streams are not in it");
    if (capture.flows_evicted > 0)
        parts.push_back(counted(capture.flows_evicted, "flow was", "flows were") +
                        " forgotten because memory for flows was full");
    if (parts.empty()) return std::nullopt;
    std::string text = "The capture is not complete: ";
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : "; ") + parts[i];
    return CaptureNote{NoteKind::incomplete, text + ". Packets that it lacks can look like losses.", {}};
}

/// Nothing is missing then: each processor delivered its frames separately, or files were joined.
MaybeNote unsorted(const Snapshot& snapshot) {
    const std::uint64_t count = snapshot.capture.unsorted;
    if (count == 0) return std::nullopt;
    return CaptureNote{NoteKind::unsorted,
                       counted(count, "packet is", "packets are") +
                           " out of the order of time. Times between them and their neighbours are less sure.",
                       {}};
}

MaybeNote unread_carriers(const Snapshot& snapshot) {
    const std::string text = describe_unread_carriers(snapshot.capture);
    if (text.empty()) return std::nullopt;
    return CaptureNote{NoteKind::unread_carriers, text + ". RDMA may be in them.", {}};
}

MaybeNote shared_port(const Snapshot& snapshot) {
    const std::string text = describe_shared_ports(snapshot);
    if (text.empty()) return std::nullopt;
    return CaptureNote{NoteKind::shared_port, text + ".", {}};
}

/// A path between two places takes longer than a host does between two of its interfaces.
bool shows_two_places(const CaptureFigures& capture) {
    constexpr std::uint64_t inside_a_host_ns = 20'000;
    return capture.copies_elsewhere > capture.copies / 2 ||
           capture.copy_distance_ns.quantile(0.5).value_or(0) > inside_a_host_ns;
}

std::string cut_by_mirror(const CaptureFigures& capture) {
    if (capture.cut_by_mirror == 0) return {};
    return fmt::format(
        "{} of {} packets were cut on the way to the capture (a mirror or a packet broker keeps the beginning of each "
        "frame): the IP headers give their lengths, and their checksums cannot be checked. ",
        number(capture.cut_by_mirror), number(capture.packets));
}

/// A segment of TCP may hold FPDUs anywhere; the headers of a RoCE packet are in its first 128 bytes.
std::string headers_cut(const Snapshot& snapshot) {
    if (snapshot.capture.headers_cut == 0) return {};
    const bool iwarp = std::any_of(snapshot.flows.begin(), snapshot.flows.end(),
                                   [](const FlowSnapshot& flow) { return flow.transport == wire::Transport::iwarp; });
    return fmt::format("In {} a header of RDMA is cut off, so lengths, keys and answers may be unknown: {}. ",
                       counted(snapshot.capture.headers_cut, "packet"),
                       iwarp ? "keep whole frames (`-s 0`)" : "keep 128 bytes of each frame or more");
}

/// Segments that hold many FPDUs; the capture holds only the first head of each segment.
std::string fpdus_cut(const Snapshot& snapshot) {
    if (snapshot.capture.truncated == 0) return {};
    const auto unread = static_cast<std::uint64_t>(std::count_if(
        snapshot.flows.begin(), snapshot.flows.end(), [](const FlowSnapshot& flow) { return partly_read(flow); }));
    if (unread == 0) return {};
    return fmt::format("In {} segments of TCP are cut, and FPDUs in them cannot be followed: capture with `-s 0`. ",
                       counted(unread, "flow"));
}

/// A snap length that keeps all headers is how RDMA is captured: nothing to be known.
MaybeNote cut(const Snapshot& snapshot) {
    std::string text = cut_by_mirror(snapshot.capture) + headers_cut(snapshot) + fpdus_cut(snapshot);
    if (text.empty()) return std::nullopt;
    text.pop_back();
    return CaptureNote{NoteKind::cut, std::move(text), {}};
}

/// Something came back, whatever flow it is of.
bool has_way_back(const Snapshot& snapshot, const FlowSnapshot& flow) {
    return std::any_of(snapshot.flows.begin(), snapshot.flows.end(), [&flow](const FlowSnapshot& other) {
        return other.transport == flow.transport && other.source.address == flow.destination.address &&
               other.destination.address == flow.source.address;
    });
}

bool asks_or_answers(const FlowSnapshot& flow) { return carries_data(flow) || flow.acknowledgement_packets > 0; }

/// A reliable sender without answers stops, and sends the oldest packets again. A sender that continues was answered.
bool lacks_way_back(const Snapshot& snapshot, const FlowSnapshot& flow) {
    constexpr std::uint64_t packets_enough = 16;
    return lacks_answers(flow) && asks_or_answers(flow) && flow.packets >= packets_enough &&
           repeated_packets(flow) == 0 && flow.timeouts == 0 && !has_way_back(snapshot, flow);
}

MaybeNote one_direction(const Snapshot& snapshot) {
    if (sample_of(snapshot)) return std::nullopt;
    std::uint64_t all = 0;
    std::uint64_t lacking = 0;
    for (const FlowSnapshot& flow : snapshot.flows) {
        all += asks_or_answers(flow);
        lacking += lacks_way_back(snapshot, flow);
    }
    if (lacking == 0) return std::nullopt;
    return CaptureNote{
        NoteKind::one_direction,
        fmt::format("Of {} the capture holds one direction: the other direction must have passed, and is not "
                    "there. Latency, queue depth and what a sender waits for are unknown.",
                    lacking == all ? all == 1 ? std::string("the flow") : "all flows"
                                   : fmt::format("{} of {}", number(lacking), counted(all, "flow"))),
        {}};
}

MaybeNote copies(const Snapshot& snapshot) {
    const CaptureFigures& capture = snapshot.capture;
    if (capture.copies == 0) return std::nullopt;
    const double share = ratio(static_cast<double>(capture.copies), static_cast<double>(capture.packets));
    std::string text = fmt::format("{} of {} packets ({}) are copies of others, ", number(capture.copies),
                                   number(capture.packets), percent(share));
    const auto median = capture.copy_distance_ns.quantile(0.5);
    const auto least = capture.copy_distance_ns.min();
    if (median && least)
        text += fmt::format("{} apart in the median and {} at least; ", duration(static_cast<double>(*median)),
                            duration(static_cast<double>(*least)));
    const bool two_places = shows_two_places(capture);
    text += two_places ? "the capture holds packets twice, from two places of their path (two captures merged into "
                         "one, or two taps). "
                       : "the capture holds packets twice (`any` on a bond, bridge or VLAN, or a port mirrored on both "
                         "ways). ";
    text += "Each packet counts once.";
    return CaptureNote{two_places ? NoteKind::merged : NoteKind::copies, std::move(text), {}};
}

MaybeNote sample(const Snapshot& snapshot) {
    const std::optional<Sample> sample = sample_of(snapshot);
    if (!sample) return std::nullopt;
    return CaptureNote{
        NoteKind::sample,
        fmt::format(
            "The capture is a sample: it holds about 1 in {} packets ({} of them). Holes lie evenly between its "
            "packets, no host asked for any of them, and none was sent again. Loss, latency and queue depth "
            "cannot be determined from a sample.",
            rough(std::round(sample->one_in())), percent(1 / sample->one_in())),
        {}};
}

/// What the ICRCs of flows show that were not right.
struct BadIcrcs {
    std::uint64_t all = 0;
    std::uint64_t unusable = 0;  ///< that say nothing about their packets
    std::uint64_t zero = 0;
    std::uint64_t packets = 0;  ///< of RoCE and InfiniBand
    std::vector<std::uint64_t> frames;
};

BadIcrcs bad_icrcs_of(const Snapshot& snapshot) {
    constexpr std::size_t frames_most = 4;
    BadIcrcs out;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (flow.transport == wire::Transport::iwarp) continue;
        out.packets += flow.packets;
        out.all += flow.icrc_bad;
        out.zero += flow.icrc_zero;
        if (flow.icrc_bad == 0) continue;
        const bool nearly_all =
            ratio(static_cast<double>(flow.icrc_bad), static_cast<double>(flow.packets)) > checksum_artefact_share;
        out.unusable += nearly_all ? flow.icrc_bad : flow.icrc_zero + flow.icrc_taken;
        const EventSummary* const shown = flow.find_event_summary(EventKind::icrc_bad);
        if (shown != nullptr && out.frames.size() < frames_most)
            out.frames.insert(out.frames.end(), shown->frames.begin(), shown->frames.end());
    }
    std::sort(out.frames.begin(), out.frames.end());
    if (out.frames.size() > frames_most) out.frames.resize(frames_most);
    return out;
}

MaybeNote unusable_icrcs(const Snapshot& snapshot) {
    constexpr double nearly_all = 0.9;
    const BadIcrcs bad = bad_icrcs_of(snapshot);
    if (bad.unusable == 0) return std::nullopt;
    if (bad.zero == 0 && static_cast<double>(bad.all) >= nearly_all * static_cast<double>(bad.packets))
        return CaptureNote{
            NoteKind::addresses_rewritten,
            fmt::format("The ICRC of {}{} is wrong, so it was not used: addresses were rewritten after "
                        "the capture (made anonymous) or on the way (NAT), or a device computes no ICRC.",
                        bad.all == bad.packets ? "all " : "", counted(bad.all, "packet")),
            bad.frames};
    return CaptureNote{
        NoteKind::crc_unusable,
        fmt::format("The ICRC of {} is wrong, and says nothing about them: {}. They count as if it were right.",
                    counted(bad.unusable, "packet"),
                    bad.zero * 2 >= bad.unusable
                        ? "it is 0 where the capture was taken before the adapter filled it in"
                        : "their receivers took them, or it is wrong on nearly all packets of a direction"),
        bad.frames};
}

/// An FPDU should fit a segment (RFC 5044, 4.5 and 5): receivers in hardware may not put it together.
MaybeNote long_fpdus(const Snapshot& snapshot) {
    for (const FlowSnapshot& flow : snapshot.flows)
        if (flow.tcp && flow.tcp->mss && flow.tcp->fpdu_bytes_max > *flow.tcp->mss)
            return CaptureNote{
                NoteKind::long_fpdus,
                fmt::format("FPDUs of flow {} are up to {} bytes long, beyond the MSS of {}: RFC 5044 asks for one "
                            "FPDU in one segment, and receivers in hardware may fail at longer ones (siw: try_gso).",
                            flow.id, flow.tcp->fpdu_bytes_max, *flow.tcp->mss),
                {}};
    return std::nullopt;
}

}  // namespace

std::vector<CaptureNote> capture_notes(const Snapshot& snapshot) {
    std::vector<CaptureNote> notes;
    for (const auto& find : {unread_carriers, incomplete, cut, one_direction, sample, copies, unsorted, unusable_icrcs,
                             shared_port, long_fpdus})
        if (MaybeNote note = find(snapshot)) notes.push_back(std::move(*note));
    return notes;
}

}  // namespace metrics::answers
