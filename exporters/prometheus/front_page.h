#pragma once
#include <string>
#include <string_view>

#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {

/// HTML for a person: what runs here since when, from where it captures, and which pages there are. `note` is a
/// sentence about the live page.
std::string front_page(const ProgramFigures& figures, std::string_view note = {});

}  // namespace exporters::prometheus
