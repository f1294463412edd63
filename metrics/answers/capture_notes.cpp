#include "metrics/answers/capture_notes.h"

#include <optional>
#include <utility>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/source_ports.h"
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
        parts.push_back(counted(capture.stream_octets_lost, "octet") + " of TCP streams are not in it");
    if (capture.flows_evicted > 0)
        parts.push_back(counted(capture.flows_evicted, "flow was", "flows were") + " forgotten for want of room");
    if (parts.empty()) return std::nullopt;
    std::string text = "the capture is not complete: ";
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : "; ") + parts[i];
    return CaptureNote{NoteKind::incomplete, text + ". Packets that it lacks can look like losses.", {}};
}

/// Nothing is missing then: processors hand over what each has, or files were put together.
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

}  // namespace

std::vector<CaptureNote> capture_notes(const Snapshot& snapshot) {
    std::vector<CaptureNote> notes;
    for (const auto& find : {unread_carriers, incomplete, unsorted, shared_port})
        if (MaybeNote note = find(snapshot)) notes.push_back(std::move(*note));
    return notes;
}

}  // namespace metrics::answers
