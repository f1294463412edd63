#pragma once
#include <string>

#include "cli/analysis/session.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

/// "192.0.2.2/0x13 > 192.0.2.1/0x13", with ports on iWARP.
std::string ends_text(const metrics::CommandConnectionFigures& connection, const analysis::Names& names);
/// One end as in ends_text().
std::string end_text(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
                     const analysis::Names& names);
/// A text as a value of CSV, quoted where it has to be. RFC 4180, 2.
std::string csv_text(const std::string& text);

}  // namespace cli::io
