#pragma once
#include <string>

#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {

/// HTML for a person who came by: what runs here since when, from where it captures, and where to look on.
std::string front_page(const ProgramFigures& figures);

}  // namespace exporters::prometheus
