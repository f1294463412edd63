/// Rows of a host with many flows, sent by the sink as fast as the engine takes them; for measurements.
///
///   load_probe URL PASSWORD SPOOL CAPTURE HOST FLOWS INTERVALS
///
/// Every flow has the shape of a flow of the capture, and changes in each interval of 10 s. Prints, as JSON, the rows,
/// the seconds, and the CPU time of the sink's threads.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fleet/sink/sink.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/fleet/probe_sink.h"
#include "tests/support/captures.h"

namespace {

using fleet::sink::Interval;
using metrics::FlowSnapshot;

double cpu_seconds(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::vector<FlowSnapshot> shapes_of(const char* capture) {
    std::vector<support::KeptFrame> kept;
    support::load_capture(capture, ~std::size_t{0}, kept);
    metrics::Analyzer analyzer;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const wire::Frame frame = kept[i].frame(i + 1);
        analyzer.feed({&frame, 1});
    }
    analyzer.finish();
    std::vector<FlowSnapshot> shapes = analyzer.snapshot().flows;
    std::erase_if(shapes, [](const FlowSnapshot& flow) { return flow.messages_total() == 0; });
    return shapes;
}

/// Adds the shape once more: the flow's next interval looks like the capture.
void grow(FlowSnapshot& flow, const FlowSnapshot& shape, std::uint64_t number) {
    constexpr std::int64_t interval_ns = 10'000'000'000;
    const std::uint64_t more = 1 + number % 3;
    flow.packets += shape.packets * more;
    flow.wire_bytes += shape.wire_bytes * more;
    flow.payload_bytes += shape.payload_bytes * more;
    flow.acknowledgement_packets += shape.acknowledgement_packets * more;
    flow.last_ns += interval_ns;
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        if (!shape.operations.has(i)) continue;
        metrics::OperationFigures& into = flow.operations[i];
        const metrics::OperationFigures& from = shape.operations[i];
        into.count += from.count;
        into.bytes += from.bytes;
        into.latency_ns.merge(from.latency_ns);
        into.first_response_ns.merge(from.first_response_ns);
    }
    flow.message_bytes.merge(shape.message_bytes);
    for (std::size_t i = 0; i < metrics::state_count; ++i) flow.state_ns[i] += shape.state_ns[i];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) return 2;
    fleet::sink::SinkOptions options;
    options.access.password = argv[2];
    options.spool = argv[3];
    options.host = argv[5];
    options.boot = 1;
    const std::int64_t start_ns = base::wall_ns();
    options.start_ns = start_ns;
    const std::vector<FlowSnapshot> shapes = shapes_of(argv[4]);
    if (shapes.empty()) return 1;
    const std::size_t flows = std::strtoull(argv[6], nullptr, 10);
    const std::size_t intervals = std::strtoull(argv[7], nullptr, 10);
    metrics::Snapshot state;
    for (std::size_t i = 0; i < flows; ++i) {
        FlowSnapshot& flow = state.flows.emplace_back(shapes[i % shapes.size()]);
        flow.id = i + 1;
        flow.destination.qpn = static_cast<std::uint32_t>(0x100 + i);
        flow.entropy = metrics::Entropy::of_udp(static_cast<std::uint16_t>(0xc000 + i % 0x4000));
        flow.destination.address.octets[3] = static_cast<std::uint8_t>(i % 200);
    }
    const auto sink = probe::start_sink(argv[1], std::move(options));
    if (!sink) return 1;
    const double begun = cpu_seconds(CLOCK_MONOTONIC);
    const double cpu_before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t n = 1; n <= intervals; ++n) {
        for (std::size_t i = 0; i < flows; ++i) grow(state.flows[i], shapes[i % shapes.size()], i + n);
        Interval interval;
        interval.snapshot = std::make_shared<metrics::Snapshot>(state);
        interval.end_ns = start_ns + static_cast<std::int64_t>(n) * 10'000'000'000;
        probe::keep(*sink, std::move(interval), n);
    }
    probe::empty_spool(*sink);
    const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    std::printf("{\"rows\": %llu, \"seconds\": %.2f, \"sink_cpu_seconds\": %.3f, \"cpu_share_at_10s\": %.5f}\n",
                static_cast<unsigned long long>(sink->counters().rows_sent), cpu_seconds(CLOCK_MONOTONIC) - begun, cpu,
                cpu / (10.0 * static_cast<double>(intervals)));
    return 0;
}
