#include "tests/model/model_analysis.h"

#include <fmt/core.h>
#include <numeric>

namespace model {
namespace {

using metrics::FlowSnapshot;
using metrics::Histogram;

std::string text_of(const Histogram& histogram) {
    std::string text = fmt::format("{} {} {} {} ", histogram.count(), histogram.sum(), histogram.min().value_or(0),
                                   histogram.max().value_or(0));
    for (const Histogram::Bucket& bucket : histogram.buckets())
        text += fmt::format(" {}:{}", bucket.index, bucket.count);
    return text;
}

template <class T>
std::string text_of(const std::optional<T>& value) {
    return value ? fmt::format("{}", *value) : "absent";
}

class Lines {
public:
    template <class T>
    void add(std::string_view name, const T& value) {
        if constexpr (requires { text_of(value); })
            text += fmt::format("{}: {}\n", name, text_of(value));
        else
            text += fmt::format("{}: {}\n", name, value);
    }
    std::string text;
};

void add_operations(Lines& lines, const FlowSnapshot& flow) {
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        const metrics::OperationFigures& operation = flow.operations[i];
        if (operation.count == 0 && operation.latency_ns.empty()) continue;
        const std::string_view name = metrics::operation_names[i];
        lines.add(fmt::format("{} count", name), operation.count);
        lines.add(fmt::format("{} bytes", name), operation.bytes);
        lines.add(fmt::format("{} latency", name), operation.latency_ns);
        lines.add(fmt::format("{} first response", name), operation.first_response_ns);
    }
}

void add_tcp(Lines& lines, const FlowSnapshot& flow) {
    lines.add("damaged", flow.crc_bad);
    lines.add("terminates", flow.terminates);
    if (!flow.tcp) return;
    const metrics::TcpFigures& tcp = *flow.tcp;
    lines.add("source port", flow.source.port);
    lines.add("destination port", flow.destination.port);
    lines.add("segments", tcp.segments);
    lines.add("retransmitted segments", tcp.retransmitted_segments);
    lines.add("retransmitted octets", tcp.retransmitted_bytes);
    lines.add("out of order", tcp.out_of_order_segments);
    lines.add("duplicate ACKs", tcp.duplicate_acks);
    lines.add("SACK blocks", tcp.sack_blocks);
    lines.add("zero windows", tcp.zero_windows);
    lines.add("ECE", tcp.ece_acks);
    lines.add("CWR", tcp.cwr_segments);
    lines.add("round trips", tcp.round_trip_ns);
    lines.add("handshake", tcp.handshake_ns);
    lines.add("MSS", tcp.mss);
    lines.add("least window", tcp.receive_window_min);
    lines.add("largest window", tcp.receive_window_max);
    lines.add("window limited", tcp.window_limited_ns);
}

}  // namespace

std::uint64_t sum(const metrics::StateTimes& times) {
    return std::accumulate(times.begin(), times.end(), std::uint64_t{0});
}
std::uint64_t sum(const Samples& samples) { return std::accumulate(samples.begin(), samples.end(), std::uint64_t{0}); }

metrics::AnalyzerOptions options_for(const History& history, unsigned threads) {
    metrics::AnalyzerOptions options;
    options.engine.link_bits_per_sec = history.plan.hosts[0].bits_per_sec;
    options.dissector.parse.verify_crc = false;
    options.threads = threads;
    return options;
}

metrics::Snapshot analyse(std::span<const support::KeptFrame> kept, metrics::AnalyzerOptions options,
                          std::uint64_t first_number) {
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    std::vector<wire::Frame> frames;
    frames.reserve(kept.size());
    for (const support::KeptFrame& each : kept) frames.push_back(each.frame(first_number + frames.size()));
    constexpr std::size_t batch = 256;
    const std::span<const wire::Frame> all(frames);
    for (std::size_t i = 0; i < all.size(); i += batch)
        analyzer.feed(all.subspan(i, std::min(batch, all.size() - i)), true);
    analyzer.finish();
    return analyzer.snapshot();
}

std::string address_text(std::uint32_t host, Framing framing) {
    if (framing == Framing::infiniband) return fmt::format("lid {}", host + 1);
    const std::uint32_t low = host + 1;
    if (framing == Framing::roce2_ipv4) return fmt::format("10.{}.{}.{}", low >> 16, low >> 8 & 0xff, low & 0xff);
    return low < 0x10000 ? fmt::format("2001:db8::{:x}", low)
                         : fmt::format("2001:db8::{:x}:{:x}", low >> 16, low & 0xffff);
}

const FlowSnapshot* flow_of(const metrics::Snapshot& snapshot, const History& history, std::uint32_t side) {
    const End& sender = history.end(side);
    const End& receiver = history.end(side ^ 1);
    const std::string source = address_text(sender.host, history.plan.framing);
    const std::string destination = address_text(receiver.host, history.plan.framing);
    const FlowSnapshot* found = nullptr;
    for (const FlowSnapshot& flow : snapshot.flows)
        if (flow.destination.qpn == receiver.qpn && to_text(flow.source.address) == source &&
            to_text(flow.destination.address) == destination && (found == nullptr || flow.packets > found->packets))
            found = &flow;
    return found;
}

std::string text_of(const FlowSnapshot& flow, bool placed) {
    Lines lines;
    if (placed) {
        lines.add("id", flow.id);
        lines.add("reverse", flow.reverse);
        lines.add("source", to_text(flow.source.address));
        lines.add("destination", to_text(flow.destination.address));
        lines.add("first", flow.first_ns);
        lines.add("at max", flow.at_max_ns);
    }
    lines.add("transport", metrics::name_of(flow.transport));
    lines.add("source QP", flow.source.qpn);
    lines.add("destination QP", flow.destination.qpn);
    lines.add("paired", flow.reverse.has_value());
    lines.add("pairing", fmt::format("{} {:.3f}", metrics::name_of(flow.pairing.method), flow.pairing.confidence));
    lines.add("vantage", metrics::name_of(flow.vantage));
    lines.add("confidence", flow.confidence);
    lines.add("wall", flow.wall_ns());
    lines.add("finished", flow.finished);
    lines.add("packets", flow.packets);
    lines.add("wire bytes", flow.wire_bytes);
    lines.add("payload bytes", flow.payload_bytes);
    lines.add("acknowledgement packets", flow.acknowledgement_packets);
    lines.add("retransmitted packets", flow.retransmitted_packets);
    lines.add("duplicate packets", flow.duplicate_packets);
    lines.add("reordered packets", flow.reordered_packets);
    lines.add("missing packets", flow.missing_packets);
    lines.add("timeouts", flow.timeouts);
    lines.add("unseen acknowledged", flow.unseen_acknowledged_packets);
    add_operations(lines, flow);
    lines.add("message bytes", flow.message_bytes);
    lines.add("message duration", flow.message_duration_ns);
    lines.add("messages mean", flow.messages_mean);
    lines.add("bytes mean", flow.bytes_mean);
    lines.add("messages max", flow.messages_max);
    lines.add("bytes max", flow.bytes_max);
    lines.add("responses max", flow.responses_max);
    lines.add("merged", flow.merged_messages);
    for (std::size_t i = 0; i < flow.naks.size(); ++i) lines.add(metrics::nak_code_names[i], flow.naks[i]);
    lines.add("rnr naks", flow.rnr_naks);
    lines.add("rnr timers", flow.rnr_timer_ns);
    lines.add("credits last", flow.credits_last ? std::optional<unsigned>(*flow.credits_last) : std::nullopt);
    lines.add("credits exhausted", flow.credits_exhausted);
    lines.add("CE", flow.ecn_ce_packets);
    lines.add("ECT", flow.ecn_capable_packets);
    lines.add("CNP", flow.cnp_packets);
    lines.add("CNP interval", flow.cnp_interval_ns);
    for (std::size_t i = 0; i < metrics::state_count; ++i) lines.add(metrics::state_names[i], flow.state_ns[i]);
    lines.add("unsure", flow.state_unsure_ns);
    lines.add("tolerance", flow.reaction_tolerance_ns);
    lines.add("queueing", flow.queueing_ns);
    lines.add("link", flow.link_bits_per_sec);
    lines.add("round trip", flow.round_trip_min_ns);
    lines.add("reaction", flow.reaction_min_ns);
    lines.add("rate after CNP", flow.rate_drop_after_cnp);
    lines.add("recoveries", flow.recovery.count);
    lines.add("NAK generation", flow.recovery.nak_generation_ns);
    lines.add("NAK reaction", flow.recovery.nak_reaction_ns);
    lines.add("recovery", flow.recovery.total_ns);
    add_tcp(lines, flow);
    for (const metrics::EventSummary& summary : flow.event_summaries) {
        lines.add(metrics::name_of(summary.kind), summary.count);
        lines.add("  largest", summary.value_max);
        if (!placed) continue;
        for (const std::uint64_t frame : summary.frames) lines.add("  frame", frame);
    }
    return lines.text;
}

std::string text_of(const metrics::Snapshot& snapshot) {
    Lines lines;
    lines.add("packets", snapshot.capture.packets);
    lines.add("bytes", snapshot.capture.bytes);
    lines.add("units", snapshot.capture.rdma_units);
    lines.add("unsorted", snapshot.capture.unsorted);
    lines.add("evicted", snapshot.capture.flows_evicted);
    lines.add("seen", snapshot.capture.flows_seen);
    for (const FlowSnapshot& flow : snapshot.flows) lines.text += text_of(flow, true);
    for (const metrics::HostSnapshot& host : snapshot.hosts) {
        lines.add("host", to_text(host.address));
        lines.add("sent", host.sent_wire_bytes);
        lines.add("received", host.received_wire_bytes);
        lines.add("requests", host.received_requests);
        lines.add("link", host.link_bits_per_sec);
        lines.add("senders", host.senders);
        lines.add("incast", host.incast_senders_max);
        lines.add("incast frame", host.incast_frame);
        lines.add("accesses", host.queue_pairs.accesses);
        lines.add("distinct", host.queue_pairs.distinct);
    }
    for (const metrics::PauseSnapshot& pause : snapshot.pauses) lines.add("pauses", pause.pause_frames);
    return lines.text;
}

}  // namespace model
