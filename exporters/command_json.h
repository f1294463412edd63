#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "metrics/answers/answer.h"
#include "metrics/figures/command_figures.h"

/// Commands of upper layers, as `io --json`, the report and the daemon have them.
namespace exporters {

/// "192.0.2.2/0x13"; iWARP: "192.0.2.2:4420". Without the number if that is 0.
std::string command_end_text(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
                             const metrics::HostNames* names);

/// Adds `request_frame`, `request_last_frame`, `data_frames` (the first and the last one) and `response_frame`: numbers
/// of frames, or null.
void add_command_frames(nlohmann::ordered_json& object, const metrics::CommandRecord& record);

/// The object of one connection, with its kinds.
nlohmann::ordered_json command_connection_json(const metrics::CommandConnectionFigures& connection,
                                               const metrics::HostNames* names);
/// Adds the members that a connection and a group of connections both have.
void add_command_figures(nlohmann::ordered_json& object, const metrics::CommandConnectionFigures& connection);

/// An array of connections: as many as fit into `most_bytes`, one at least, those with the most commands. They are in
/// the order of `connections`.
struct CommandConnections {
    std::string text;
    std::size_t count = 0;
};
CommandConnections command_connections(std::span<const metrics::CommandConnectionFigures* const> connections,
                                       const metrics::HostNames* names, std::size_t most_bytes);

}  // namespace exporters
