#include "daemon/service_figures.h"

#include <algorithm>

#include "daemon/interface_patterns.h"

namespace service {

namespace prom = exporters::prometheus;

std::string open_interfaces(const CaptureThreadStatus& seen) {
    std::string names;
    for (std::size_t i = 0; i < seen.interfaces.size(); ++i)
        if (i < seen.open.size() && seen.open[i]) names += (names.empty() ? "" : ", ") + seen.interfaces[i].name;
    return names;
}

Status status_of(const CaptureThreadStatus& seen, const Taken& taken, const history::HistoryCounters& kept) {
    Status out;
    for (std::size_t i = 0; i < seen.interfaces.size(); ++i) {
        const capture::Statistics& counted = seen.statistics[i];
        out.interfaces.push_back(
            {.name = seen.interfaces[i].name,
             .open = i < seen.open.size() && seen.open[i],
             .received = counted.received.value_or(0),
             .kernel_dropped = counted.kernel_dropped,
             .interface_dropped = counted.interface_dropped,
             .filter = seen.interfaces[i].filter,
             .hardware_timestamps = i < seen.hardware_timestamps.size() && seen.hardware_timestamps[i]});
    }
    const capture::LearningFigures& learnt = seen.learning.figures;
    out.learning = {.narrowed = seen.learning.place != capture::Learning::Place::off,
                    .in_kernel = seen.learning.place == capture::Learning::Place::kernel,
                    .reason = seen.learning.reason,
                    .learnt = learnt.learnt,
                    .open = learnt.open,
                    .evicted = learnt.evicted,
                    .withdrawn = learnt.withdrawn,
                    .capacity = learnt.capacity};
    out.packets = taken.snapshot->capture.packets;
    out.bytes = taken.snapshot->capture.bytes;
    out.flows = taken.snapshot->flows.size();
    out.flows_evicted = taken.snapshot->capture.flows_evicted;
    out.flows_forgotten = seen.forgotten_flows;
    out.busy_share = seen.busy_share;
    out.history_intervals = kept.intervals;
    out.history_octets = kept.octets;
    out.history_lost_intervals = kept.lost_intervals;
    out.trace_records = seen.trace_records;
    out.trace_records_lost = seen.trace_records_lost;
    out.recorder_frames = seen.recorder_frames;
    out.recordings = seen.recordings.finished;
    out.recordings_failed = seen.recordings.failed;
    out.last_recording = seen.recordings.last_path;
    return out;
}

Status::Rows rows_of(const fleet::sink::SinkCounters& sent) {
    return {.intervals = sent.intervals_spooled,
            .sent_intervals = sent.intervals_sent,
            .sent_rows = sent.rows_sent,
            .dropped_intervals = sent.spool.dropped,
            .spool_failures = sent.spool.failed,
            .failures = sent.failures,
            .spool_octets = sent.spool.octets};
}

void add_awaited(Status& status, const std::vector<std::string>& wanted) {
    for (const std::string& name : wanted)
        if (is_interface_name(name) && std::none_of(status.interfaces.begin(), status.interfaces.end(),
                                                    [&](const Status::Interface& one) { return one.name == name; }))
            status.interfaces.emplace_back().name = name;
}

prom::ProgramFigures program_figures(const Status& now, const CaptureThreadStatus& seen,
                                     const metrics::Snapshot& snapshot) {
    prom::ProgramFigures out;
    out.version = now.version;
    for (std::size_t i = 0; i < now.interfaces.size(); ++i) {
        const Status::Interface& interface = now.interfaces[i];
        out.interfaces.push_back({interface.name, interface.open, interface.received,
                                  interface.kernel_dropped.value_or(0), interface.interface_dropped.value_or(0)});
        if (i < seen.interfaces.size()) out.interfaces.back().bits_per_sec = seen.interfaces[i].speed_bits_per_sec;
    }
    out.iwarp_learning_in_kernel = now.learning.in_kernel;
    out.iwarp_connections_learnt = now.learning.learnt;
    out.iwarp_connections_open = now.learning.open;
    out.iwarp_connections_evicted = now.learning.evicted;
    out.captured_packets = now.packets;
    out.captured_bytes = now.bytes;
    out.truncated_packets = snapshot.capture.truncated;
    out.malformed_packets = snapshot.capture.malformed;
    out.flows = now.flows;
    out.flows_evicted = now.flows_evicted;
    out.flows_forgotten = now.flows_forgotten;
    out.memory_bytes = now.memory_octets;
    out.busy_share = now.busy_share;
    out.history_intervals = now.history_intervals;
    out.history_bytes = now.history_octets;
    out.history_lost_intervals = now.history_lost_intervals;
    out.trace_records = now.trace_records;
    out.trace_records_lost = now.trace_records_lost;
    out.recorder_frames = now.recorder_frames;
    out.recordings = now.recordings;
    out.recordings_failed = now.recordings_failed;
    return out;
}

void set_sink_figures(prom::ProgramFigures& figures, const fleet::sink::SinkCounters& sent) {
    figures.clickhouse_intervals_spooled = sent.intervals_spooled;
    figures.clickhouse_intervals_sent = sent.intervals_sent;
    figures.clickhouse_intervals_dropped = sent.spool.dropped;
    figures.clickhouse_spool_failures = sent.spool.failed;
    figures.clickhouse_rows_sent = sent.rows_sent;
    figures.clickhouse_failures = sent.failures;
    figures.clickhouse_spool_bytes = sent.spool.octets;
}

}  // namespace service
