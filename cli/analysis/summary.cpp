#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "base/clock.h"
#include "base/quantities.h"
#include "cli/analysis/session.h"
#include "cli/console.h"
#include "exporters/carrier_text.h"
#include "exporters/management.h"
#include "metrics/answers/unread_carriers.h"

namespace cli::analysis {

namespace {

void append(std::string& out, std::uint64_t count, std::string_view what) {
    if (count != 0) out += fmt::format(", {} {}", count, what);
}

/// Frames of flows, with the frames that were seen a second time on another interface.
std::uint64_t in_flows(const metrics::Snapshot& snapshot) {
    std::uint64_t packets = snapshot.capture.seen_twice;
    for (const metrics::FlowSnapshot& flow : snapshot.flows) packets += flow.packets;
    return packets;
}

std::uint64_t flows_partly_read(const metrics::Snapshot& snapshot) {
    return static_cast<std::uint64_t>(
        std::count_if(snapshot.flows.begin(), snapshot.flows.end(), metrics::partly_read));
}

/// Connections that were not established, by the way in which they ended.
std::string attempts(const metrics::Snapshot& snapshot) {
    std::map<metrics::AttemptOutcome, std::uint64_t> outcomes;
    for (const metrics::ConnectionAttempt& attempt : snapshot.attempts)
        if (attempt.outcome != metrics::AttemptOutcome::established) ++outcomes[attempt.outcome];
    std::string text;
    for (const auto& [outcome, count] : outcomes)
        text += fmt::format(", {} {}", base::format_counted(count, "connection attempt"), name_of(outcome));
    return text;
}

std::string no_packets(const AnalysisOptions& options, bool leaves_out_tcp) {
    if (options.interfaces.empty()) return "no packets: the file is a capture of nothing";
    return fmt::format(
        "no packets came{}: check that this is the interface, and that there is traffic (`rdmascope dump -i IFACE "
        "--all` shows all of it)",
        leaves_out_tcp ? " that may be RDMA" : "");
}

std::string nothing_found(const AnalysisOptions& options, const metrics::Snapshot& snapshot,
                          const std::string& unknown_links, const Session::CutFrames& cut, bool leaves_out_tcp) {
    const metrics::CaptureFigures& capture = snapshot.capture;
    if (capture.packets == 0 && options.recalls()) return "the daemon saw no packets in that time";
    if (capture.packets == 0 && options.connect)
        return options.duration_ns ? "the daemon saw no packets in that time"
                                   : "the daemon has seen no packets yet: check the interfaces that it was given";
    const bool expression = !options.expression.empty() || options.expression_path.has_value();
    if (capture.packets == 0 && expression)
        return "no packets: check whether the expression selects what it should; tagged frames need `vlan and ...`";
    if (capture.packets == 0) return no_packets(options, leaves_out_tcp);
    if (const std::string management = exporters::management_text(capture); !management.empty())
        return fmt::format("{}, {}", base::format_counted(capture.packets, "packet"), management);
    if (capture.rdma_units != 0 && !exporters::shows_connections(snapshot))
        return fmt::format("{}, whose RDMA belongs to no data flow: `rdmascope dump` shows it",
                           base::format_counted(capture.packets, "packet"));
    if (capture.rdma_units != 0)
        return fmt::format("{}, whose RDMA is connection management only: no data flow",
                           base::format_counted(capture.packets, "packet"));
    if (!unknown_links.empty())
        return fmt::format("no RDMA in {} that can be read: rdmascope does not know the link type {}",
                           base::format_counted(capture.packets, "packet"), unknown_links);
    if (const std::string unread = metrics::describe_unread_carriers(capture); !unread.empty())
        return fmt::format("no RDMA found in {}: {}", base::format_counted(capture.packets, "packet"), unread);
    std::string text = fmt::format("no RDMA in {}{}:", base::format_counted(capture.packets, "packet"),
                                   leaves_out_tcp ? " (of TCP, those that may be iWARP)" : "");
    if (expression) text += " check the expression;";
    text +=
        " RoCEv2 is UDP port 4791, iWARP is recognised where its connection is set up (MPA) or by its FPDUs; adapters "
        "that do RDMA in hardware bypass the kernel, so capture at a mirror port or with the adapter's sniffer";
    if (const std::string found = metrics::describe_cut_packets(snapshot); !found.empty()) return text + "; " + found;
    if (cut.count != 0)
        text += fmt::format(
            "; {} cut, to {} at the most: iWARP connections that began before the capture are found by FPDUs, and "
            "a cut segment shows one at best (capture with -s 0)",
            cut.count == 1 ? "one packet is" : fmt::format("{} packets are", cut.count),
            base::format_counted(cut.longest_bytes, "byte"));
    else if (capture.truncated != 0)
        text += "; a snapshot length of 128 bytes or more keeps all headers";
    return text;
}

}  // namespace

std::string Session::summary() const {
    const metrics::Snapshot& all = snapshot();
    const metrics::CaptureFigures& capture = all.capture;
    const auto length_ns = static_cast<double>(base::elapsed(capture.first_ns, capture.last_ns));
    std::string text = fmt::format("{} in {}, {} in {}", base::format_counted(capture.packets, "packet"),
                                   base::format_duration(length_ns), exporters::carrier_text(all),
                                   base::format_counted(all.flows.size(), "flow"));
    const std::uint64_t known = in_flows(all);
    if (capture.flows_evicted == 0 && known < capture.packets)
        text += fmt::format(", {} of no flow (connection set-up, other protocols)",
                            base::format_counted(capture.packets - known, "packet"));
    if (capture.kernel_dropped) text += fmt::format(", {} dropped by the kernel", *capture.kernel_dropped);
    text += attempts(all);
    const std::uint64_t by_mirror = std::min(capture.cut_by_mirror, capture.truncated);
    append(text, by_mirror, "cut by a mirror");
    append(text, capture.truncated - by_mirror, "cut by the snapshot length");
    append(text, capture.malformed, "malformed");
    append(text, capture.unsorted, "out of the order of time");
    append(text, capture.seen_twice - std::min(capture.copies, capture.seen_twice),
           "seen on two interfaces and counted once");
    append(text, capture.copies, "copies of others and counted once");
    append(text, capture.icrc_bad, "with a bad ICRC");
    append(text, capture.stream_octets_lost, "bytes of TCP streams not captured");
    append(text, capture.stream_octets_skipped, "bytes of TCP streams not understood");
    if (const std::uint64_t unread = flows_partly_read(all); unread != 0)
        text += fmt::format(
            ", {} whose goodput (rate of message bytes) and depth are unknown{}", base::format_counted(unread, "flow"),
            capture.truncated == 0
                ? ""
                : ": their segments hold many FPDUs and are cut by the snapshot length (capture with -s 0)");
    append(text, capture.streams_evicted, "TCP connections forgotten");
    append(text, capture.values_misplaced,
           "values in a neighbouring bucket for lack of memory (percentiles are approximate)");
    append(
        text, capture.beyond_hosts,
        "packets of hosts without figures, because there are too many hosts (their links have no rate, and they do not "
        "count as senders)");
    if (const std::string unread = metrics::describe_unread_carriers(capture); !unread.empty()) text += "; " + unread;
    if (const std::string cut = metrics::describe_cut_packets(all); !cut.empty()) text += "; " + cut;
    if (capture.flows_evicted != 0)
        text += fmt::format(", {} forgotten to stay within {}", base::format_counted(capture.flows_evicted, "flow"),
                            options().connect     ? "the daemon's engine.max_flows"
                            : options().recalls() ? "--max-flows or the daemon's engine.max_flows"
                                                  : "--max-flows");
    return text;
}

void Session::report_summary() const {
    if (snapshot().flows.empty())
        print_message("rdmascope {}: {}{}", command(),
                      nothing_found(options(), snapshot(), unknown_links(), cut_frames(), leaves_out_tcp()),
                      attempts(snapshot()));
    else
        print_message("{}", summary());
    if (options().kernel_events) print_message("kernel events: {}", trace::counts_text(kernel_events()));
}

}  // namespace cli::analysis
