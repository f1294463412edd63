#pragma once
#include <string>
#include <vector>

#include "daemon/capture_thread.h"
#include "daemon/server/command_backend.h"
#include "exporters/prometheus/traffic_totals.h"
#include "fleet/sink/sink.h"
#include "history/history.h"

/// What the daemon says of itself, from the figures of its parts.
namespace service {

/// The names of the interfaces that are open, with commas between.
std::string open_interfaces(const CaptureThreadStatus& seen);

/// What capture and history say; the caller sets the rest.
Status status_of(const CaptureThreadStatus& seen, const Taken& taken, const history::HistoryCounters& kept);
/// Adds an interface that is not open for each name in `wanted` that the status does not have.
void add_awaited(Status& status, const std::vector<std::string>& wanted);

/// The same figures for Prometheus; the caller sets the rest.
exporters::prometheus::ProgramFigures program_figures(const Status& now, const CaptureThreadStatus& seen,
                                                      const metrics::Snapshot& snapshot);
/// The rows for ClickHouse.
Status::Rows rows_of(const fleet::sink::SinkCounters& sent);
void set_sink_figures(exporters::prometheus::ProgramFigures& figures, const fleet::sink::SinkCounters& sent);

}  // namespace service
