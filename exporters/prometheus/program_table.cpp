#include "exporters/prometheus/tables.h"

namespace exporters::prometheus {
namespace {

using Figures = ProgramFigures;
using Interface = ProgramFigures::Interface;
using Type = ::prometheus::MetricType;

template <auto member>
double plain(const Figures& figures) {
    return static_cast<double>(figures.*member);
}
ProgramRow row(std::string_view name, std::string_view unit, Type type, std::string_view help,
               decltype(ProgramRow::take) take) {
    return {{name, unit, help, type, {}}, take};
}
constexpr Dimension no_dimension{};
constexpr std::array<std::string_view, 2> droppers{"kernel", "interface"};
constexpr Dimension by_dropper{"by", droppers};

std::vector<ProgramRow> program_rows() {
    return {
        row("rdmascope_uptime_seconds", "seconds", Type::Gauge, "Since the daemon was started.",
            plain<&Figures::uptime_seconds>),
        row("rdmascope_captured_packets_total", "packets", Type::Counter, "Frames taken from all interfaces.",
            plain<&Figures::captured_packets>),
        row("rdmascope_captured_bytes_total", "bytes", Type::Counter, "Their bytes, as they were on the wire.",
            plain<&Figures::captured_bytes>),
        row("rdmascope_iwarp_learning_in_kernel", "", Type::Gauge,
            "1 where the kernel finds iWARP connections, from their first byte on; 0 where the daemon finds them, and "
            "misses the beginning of the first ones of a port.",
            plain<&Figures::iwarp_learning_in_kernel>),
        row("rdmascope_iwarp_connections_learnt_total", "connections", Type::Counter,
            "iWARP connections that the kernel found.", plain<&Figures::iwarp_connections_learnt>),
        row("rdmascope_iwarp_connections", "connections", Type::Gauge,
            "iWARP connections that the kernel knows and that are not closed.",
            plain<&Figures::iwarp_connections_open>),
        row("rdmascope_iwarp_connections_evicted_total", "connections", Type::Counter,
            "Open iWARP connections that the kernel forgot for lack of room (capture.iwarp_connections); they are "
            "found "
            "again by their next FPDUs.",
            plain<&Figures::iwarp_connections_evicted>),
        row("rdmascope_truncated_packets_total", "packets", Type::Counter,
            "Frames with a header that the snap length cut.", plain<&Figures::truncated_packets>),
        row("rdmascope_malformed_packets_total", "packets", Type::Counter, "Frames that break their protocol's rules.",
            plain<&Figures::malformed_packets>),
        row("rdmascope_flows", "flows", Type::Gauge, "Flows in the table.", plain<&Figures::flows>),
        row("rdmascope_flows_evicted_total", "flows", Type::Counter,
            "Flows that gave way to others because the table was full.", plain<&Figures::flows_evicted>),
        row("rdmascope_flows_forgotten_total", "flows", Type::Counter, "Flows that ended or were silent for long.",
            plain<&Figures::flows_forgotten>),
        row("rdmascope_memory_bytes", "bytes", Type::Gauge, "Held by the flow table and what belongs to it.",
            plain<&Figures::memory_bytes>),
        row("rdmascope_busy_ratio", "ratio", Type::Gauge,
            "Share of one processor that capture and analysis took in the last interval; above 1 with several threads.",
            plain<&Figures::busy_share>),
        row("rdmascope_history_intervals_total", "intervals", Type::Counter, "Intervals written to the history.",
            plain<&Figures::history_intervals>),
        row("rdmascope_history_bytes", "bytes", Type::Gauge, "That the history takes on disk.",
            plain<&Figures::history_bytes>),
        row("rdmascope_history_lost_intervals_total", "intervals", Type::Counter,
            "Intervals that could not be written: disk full, or an error that the log names.",
            plain<&Figures::history_lost_intervals>),
        row("rdmascope_trace_records_total", "records", Type::Counter,
            "Of traced programs and of the kernel's events, that were read.", plain<&Figures::trace_records>),
        row("rdmascope_trace_lost_records_total", "records", Type::Counter,
            "Overwritten before they were read: joined figures of their flows are estimates.",
            plain<&Figures::trace_records_lost>),
        row("rdmascope_recorder_frames", "frames", Type::Gauge, "That the flight recorder holds in memory.",
            plain<&Figures::recorder_frames>),
        row("rdmascope_recordings_total", "files", Type::Counter, "Incidents whose packets were saved.",
            plain<&Figures::recordings>),
        row("rdmascope_recordings_failed_total", "files", Type::Counter, "Incidents whose packets could not be saved.",
            plain<&Figures::recordings_failed>),
        row("rdmascope_clickhouse_intervals_total", "intervals", Type::Counter,
            "Whose rows were put into the spool for ClickHouse.", plain<&Figures::clickhouse_intervals_spooled>),
        row("rdmascope_clickhouse_sent_intervals_total", "intervals", Type::Counter,
            "That ClickHouse has, those of former runs among them.", plain<&Figures::clickhouse_intervals_sent>),
        row("rdmascope_clickhouse_dropped_intervals_total", "intervals", Type::Counter,
            "Removed from the spool unsent: it was full, or a file was damaged or removed by another program.",
            plain<&Figures::clickhouse_intervals_dropped>),
        row("rdmascope_clickhouse_spool_failures_total", "intervals", Type::Counter,
            "That could not be put into the spool: disk full, or an error that the log names. The next interval has "
            "their rows.",
            plain<&Figures::clickhouse_spool_failures>),
        row("rdmascope_clickhouse_sent_rows_total", "rows", Type::Counter,
            "That ClickHouse has accepted; those sent again count again.", plain<&Figures::clickhouse_rows_sent>),
        row("rdmascope_clickhouse_failures_total", "requests", Type::Counter,
            "Of rows to ClickHouse, that had to be sent again.", plain<&Figures::clickhouse_failures>),
        row("rdmascope_clickhouse_spool_bytes", "bytes", Type::Gauge, "That wait in the spool for ClickHouse.",
            plain<&Figures::clickhouse_spool_bytes>),
        row("rdmascope_control_clients", "clients", Type::Gauge, "Connected to the control socket.",
            plain<&Figures::control_clients>),
        row("rdmascope_control_skipped_updates_total", "updates", Type::Counter,
            "That clients of the control socket were too slow for.", plain<&Figures::control_skipped_updates>),
        row("rdmascope_config_reloads_total", "", Type::Counter, "Times that the configuration was read again.",
            plain<&Figures::config_reloads>),
        row("rdmascope_config_last_reload_successful", "", Type::Gauge,
            "1 where the configuration in the file is the one in use; 0 where it was refused and the former goes on.",
            plain<&Figures::config_reload_ok>),
    };
}

std::vector<InterfaceRow> interface_rows() {
    const auto series = [](std::string_view name, std::string_view unit, Type type, std::string_view help) {
        return Series{name, unit, help, type, {"interface"}};
    };
    std::vector<InterfaceRow> rows{
        {series("rdmascope_interface_up", "", Type::Gauge,
                "1 while the interface is captured from; 0 where it is not there or cannot be opened."),
         no_dimension,
         [](const Interface& interface, std::size_t) { return std::optional(interface.open ? 1.0 : 0.0); }},
        {series("rdmascope_interface_received_packets_total", "packets", Type::Counter,
                "Frames that the kernel's filter let through."),
         no_dimension,
         [](const Interface& interface, std::size_t) {
             return std::optional(static_cast<double>(interface.received_packets));
         }},
        {series("rdmascope_interface_dropped_packets_total", "packets", Type::Counter,
                "Frames that were not captured: by the kernel, since the program was too slow, or by the interface."),
         by_dropper,
         [](const Interface& interface, std::size_t i) {
             return std::optional(
                 static_cast<double>(i == 0 ? interface.kernel_dropped_packets : interface.interface_dropped_packets));
         }},
        {series("rdmascope_interface_speed_bytes_per_second", "bytes/s", Type::Gauge,
                "Rate of the interface's link, where the kernel tells."),
         no_dimension,
         [](const Interface& interface, std::size_t) {
             return interface.bits_per_sec ? std::optional(static_cast<double>(*interface.bits_per_sec) / 8)
                                           : std::nullopt;
         }},
    };
    rows[2].series.labels.push_back(by_dropper.label);
    return rows;
}

ProgramTable make_program_table() {
    ProgramTable table;
    table.build = {
        "rdmascope_build_info", "", "Always 1; the label says which version runs.", Type::Gauge, {"version"}};
    table.program = program_rows();
    table.interfaces = interface_rows();
    return table;
}

}  // namespace

const ProgramTable& program_table() {
    static const ProgramTable table = make_program_table();
    return table;
}

}  // namespace exporters::prometheus
