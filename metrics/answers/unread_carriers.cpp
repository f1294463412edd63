#include "metrics/answers/unread_carriers.h"

#include <fmt/core.h>

#include "base/quantities.h"

namespace metrics::inline answers {

std::string describe_unread_carriers(const CaptureFigures& capture) { return wire::text_of(capture.unread); }

std::string describe_cut_packets(const Snapshot& snapshot) {
    const CaptureFigures& capture = snapshot.capture;
    std::uint64_t known = capture.seen_twice;
    for (const FlowSnapshot& flow : snapshot.flows) known += flow.packets;
    // Which packets were cut is not known, only their number: those of flows may have been cut, too.
    const std::uint64_t cut = capture.truncated > known ? capture.truncated - known : 0;
    // A few are connection management, or of a connection that is not busy.
    constexpr std::uint64_t least = 50;
    constexpr std::uint64_t least_percent = 5;
    if (cut < least || cut * 100 < capture.packets * least_percent) return {};
    return fmt::format(
        "{} are cut by the snapshot length and of no known flow: a busy TCP connection may be iWARP that cannot be "
        "read (capture with -s 0, or from its set-up on)",
        base::format_counted(cut, "packet"));
}

}  // namespace metrics::answers
