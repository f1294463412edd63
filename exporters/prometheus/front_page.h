#pragma once
#include <string>

#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {

/// HTML for a person: what runs here since when, from where it captures, and which pages there are.
std::string front_page(const ProgramFigures& figures);

}  // namespace exporters::prometheus
