#pragma once
#include <string>

#include "exporters/path_json.h"
#include "exporters/report/report_data.h"

namespace exporters::report {

/// Bounds of a document, so that a page stays small enough to send.
struct DocumentBounds {
    std::size_t answers = 100;              ///< that raise an alarm
    std::size_t rows = 3'000;               ///< flows in the table
    std::size_t full_flow_bytes = 400'000;  ///< of flows with all figures
    std::size_t cells = 20'000;             ///< of the flows' figures over time
    std::size_t hosts = 400;
    PathListBounds paths = {};
};

/// The document's figures over time alone: `{"time_line":...,"series":...}`. The flows are the first `rows`, the worst
/// first.
std::string time_json(const ReportData& data, const DocumentBounds& bounds = {});
/// The plot of one flow, as the document has it.
std::string plot_json(const ReportData& data, const SequencePlot& plot);

/// The document of web/schema/report.schema.json, on few lines and without a newline at the end.
std::string report_json(const ReportData& data, const DocumentBounds& bounds = {});

}  // namespace exporters::report
