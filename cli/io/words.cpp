#include "cli/io/words.h"

#include <fmt/core.h>

#include "exporters/flow_fields.h"
#include "metrics/figures/snapshot.h"

namespace cli::io {

std::string end_text(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
                     const analysis::Names& names) {
    metrics::Endpoint end;
    end.address = address;
    if (number != 0 && transport == wire::Transport::iwarp)
        end.port = static_cast<std::uint16_t>(number);
    else if (number != 0)
        end.qpn = number;
    return exporters::endpoint_text(end, &names);
}

std::string ends_text(const metrics::CommandConnectionFigures& connection, const analysis::Names& names) {
    return fmt::format("{} > {}",
                       end_text(connection.initiator, connection.initiator_number, connection.transport, names),
                       end_text(connection.target, connection.target_number, connection.transport, names));
}

std::string csv_text(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace cli::io
