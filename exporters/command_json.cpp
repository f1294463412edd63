#include "exporters/command_json.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "exporters/flow_fields.h"

namespace exporters {

namespace {

using metrics::CommandConnectionFigures;
using metrics::CommandKindFigures;
using metrics::Histogram;
using Json = nlohmann::ordered_json;

constexpr std::array json_quantiles{0.5, 0.99};
constexpr std::array<std::string_view, json_quantiles.size()> json_quantile_names{"p50", "p99"};

Json histogram_json(const Histogram& histogram) {
    Json object{{"count", histogram.count()}, {"sum", histogram.sum()}};
    object["min"] = histogram.min() ? Json(*histogram.min()) : Json(nullptr);
    for (std::size_t i = 0; i < json_quantiles.size(); ++i) {
        const auto value = histogram.quantile(json_quantiles[i]);
        object[std::string(json_quantile_names[i])] = value ? Json(*value) : Json(nullptr);
    }
    object["max"] = histogram.max() ? Json(*histogram.max()) : Json(nullptr);
    return object;
}

Json exhibit_json(const metrics::CommandRecord& record) {
    const auto frame = [](std::uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); };
    return {{"number", record.number},
            {"id", record.id},
            {"latency_ns", record.latency_ns.value_or(0)},
            {"frames",
             {{"request_first", frame(record.request_first_frame)},
              {"request_last", frame(record.request_last_frame)},
              {"data_first", frame(record.data_first_frame)},
              {"data_last", frame(record.data_last_frame)},
              {"response", frame(record.response_frame)}}}};
}

Json kind_json(const CommandConnectionFigures& connection, const CommandKindFigures& kind) {
    Json object{{"kind", kind.kind.empty() ? Json(nullptr) : Json(kind.kind)},
                {"commands", kind.commands},
                {"errors", kind.errors},
                {"bytes", kind.bytes},
                {"inline_bytes", kind.inline_bytes},
                {"moved_in_bytes", kind.moved_in_bytes},
                {"moved_out_bytes", kind.moved_out_bytes},
                {"operations", kind.operations},
                {"orphans", kind.orphans},
                {"replaced", kind.replaced},
                {"unanswered", kind.unanswered},
                {"given_up", kind.given_up},
                {"latency_ns", histogram_json(kind.latency_ns)}};
    Json parts(nullptr);
    if (connection.split_is_known())
        for (std::size_t i = 0; i < metrics::command_part_count; ++i)
            parts[std::string(metrics::command_part_names[i])] = histogram_json(kind.parts_ns[i]);
    object["parts_ns"] = std::move(parts);
    object["request_ack_ns"] = kind.request_ack_ns;
    object["repair_own_ns"] = kind.repair_own_ns;
    object["repair_behind_ns"] = kind.repair_behind_ns;
    object["size_bytes"] = histogram_json(kind.size_bytes);
    Json classes = Json::object();
    for (std::size_t i = 0; i < metrics::command_error_count; ++i)
        if (kind.error_classes[i] != 0) classes[std::string(metrics::command_error_names[i])] = kind.error_classes[i];
    object["error_classes"] = std::move(classes);
    object["statuses"] = kind.statuses.empty() ? Json::object() : Json(kind.statuses);
    Json slowest = Json::array();
    for (const metrics::CommandRecord& record : kind.slowest) slowest.push_back(exhibit_json(record));
    object["slowest"] = std::move(slowest);
    return object;
}

std::uint64_t answered_commands(const CommandConnectionFigures& connection) {
    std::uint64_t commands = 0;
    for (const CommandKindFigures& kind : connection.kinds) commands += kind.commands;
    return commands;
}

}  // namespace

std::string command_end_text(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
                             const metrics::HostNames* names) {
    metrics::Endpoint end;
    end.address = address;
    if (number != 0 && transport == wire::Transport::iwarp)
        end.port = static_cast<std::uint16_t>(number);
    else if (number != 0)
        end.qpn = number;
    return endpoint_text(end, names);
}

void add_command_figures(nlohmann::ordered_json& object, const CommandConnectionFigures& connection) {
    object["open_max"] = connection.open_max;
    object["at_limit_ns"] = connection.at_limit_ns;
    object["operations"] = connection.operations;
    object["unbound_operations"] = connection.unbound_operations;
    object["late_operations"] = connection.late_operations;
    object["probes"] = connection.probes;
    object["events"] = connection.events;
    object["overtaken"] = connection.overtaken;
    Json states(nullptr);
    if (connection.split_is_known())
        for (std::size_t i = 0; i < metrics::command_state_count; ++i)
            states[std::string(metrics::command_state_names[i])] = connection.states_ns[i];
    object["state_ns"] = std::move(states);
    Json kinds = Json::array();
    for (const CommandKindFigures& kind : connection.kinds) kinds.push_back(kind_json(connection, kind));
    object["kinds"] = std::move(kinds);
}

nlohmann::ordered_json command_connection_json(const CommandConnectionFigures& connection,
                                               const metrics::HostNames* names) {
    constexpr std::array<std::string_view, 4> transports{"roce2", "roce1", "infiniband", "iwarp"};
    const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
    Json object{
        {"connection", connection.number},
        {"protocol", connection.protocol},
        {"evidence", connection.evidence},
        {"confidence", connection.confidence},
        {"transport", transports[static_cast<std::size_t>(connection.transport)]},
        {"initiator", command_end_text(connection.initiator, connection.initiator_number, connection.transport, names)},
        {"target", command_end_text(connection.target, connection.target_number, connection.transport, names)},
        {"target_name", text(connection.target_name)},
        {"initiator_name", text(connection.initiator_name)},
        {"queue", connection.queue ? Json(*connection.queue) : Json(nullptr)},
        {"limit", connection.limit ? Json(*connection.limit) : Json(nullptr)}};
    add_command_figures(object, connection);
    return object;
}

CommandConnections command_connections(std::span<const CommandConnectionFigures* const> connections,
                                       const metrics::HostNames* names, std::size_t most_bytes) {
    std::vector<std::size_t> order(connections.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [connections](std::size_t i) { return answered_commands(*connections[i]); });
    std::map<std::size_t, std::string> chosen;  // by their place in `connections`
    std::size_t bytes = 0;
    for (const std::size_t i : order) {
        std::string text =
            command_connection_json(*connections[i], names).dump(-1, ' ', false, Json::error_handler_t::replace);
        bytes += text.size();
        if (bytes > most_bytes && !chosen.empty()) break;
        chosen.emplace(i, std::move(text));
    }
    CommandConnections all{.text = "[", .count = chosen.size()};
    for (const auto& [place, text] : chosen) all.text += (all.text.size() == 1 ? "\n" : ",\n") + text;
    all.text += ']';
    return all;
}

}  // namespace exporters
