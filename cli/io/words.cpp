#include "cli/io/words.h"

#include <fmt/core.h>

#include "exporters/command_json.h"

namespace cli::io {

std::string end_text(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
                     const analysis::Names& names) {
    return exporters::command_end_text(address, number, transport, &names);
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
