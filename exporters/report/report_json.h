#pragma once
#include <string>

#include "exporters/report/report_data.h"

namespace exporters::report {

/// Bounds of a document, so that a page stays small enough to send.
struct DocumentBounds {
    std::size_t rows = 5'000;               ///< flows in the table
    std::size_t full_flow_bytes = 600'000;  ///< of flows with all figures
    std::size_t cells = 24'000;             ///< of the flows' figures over time
    std::size_t connections = 400;          ///< with commands
};

/// The document of web/schema/report.schema.json, on few lines and without a newline at the end.
std::string report_json(const ReportData& data, const DocumentBounds& bounds = {});

}  // namespace exporters::report
