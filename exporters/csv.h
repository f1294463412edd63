#pragma once
#include <string>

#include "exporters/flow_fields.h"

namespace exporters {

/// Comma-separated values as RFC 4180 quotes them, but lines end with a line feed only. An absent value is an empty
/// field.
void append_csv_header(std::string& out, const FlowColumns& columns);
void append_csv_row(std::string& out, const FlowColumns& columns, const FlowRow& row);

}  // namespace exporters
