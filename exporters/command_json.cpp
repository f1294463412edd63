#include "exporters/command_json.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// An object whose keys are known to differ. A file may have thousands of connections: nothing is searched, copied or
/// moved to a larger place.
class Members {
public:
    explicit Members(std::size_t count) { list().reserve(count); }
    template <class T>
    void add(std::string_view key, T&& value) {
        static_cast<Json::object_t::Container&>(list()).emplace_back(std::string(key), std::forward<T>(value));
    }
    Json take() { return std::move(json_); }

private:
    Json::object_t& list() { return json_.get_ref<Json::object_t&>(); }
    Json json_ = Json::object();
};

template <class T>
Json json_or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json histogram_json(const Histogram& histogram) {
    Members members(4 + json_quantiles.size());
    members.add("count", histogram.count());
    members.add("sum", histogram.sum());
    members.add("min", json_or_null(histogram.min()));
    for (std::size_t i = 0; i < json_quantiles.size(); ++i)
        members.add(json_quantile_names[i], json_or_null(histogram.quantile(json_quantiles[i])));
    members.add("max", json_or_null(histogram.max()));
    return members.take();
}

Json exhibit_json(const metrics::CommandRecord& record) {
    const auto frame = [](std::uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); };
    Members frames(5);
    frames.add("request_first", frame(record.request_first_frame));
    frames.add("request_last", frame(record.request_last_frame));
    frames.add("data_first", frame(record.data_first_frame));
    frames.add("data_last", frame(record.data_last_frame));
    frames.add("response", frame(record.response_frame));
    Members members(4);
    members.add("number", record.number);
    members.add("id", record.id);
    members.add("latency_ns", record.latency_ns.value_or(0));
    members.add("frames", frames.take());
    return members.take();
}

Json kind_json(const CommandConnectionFigures& connection, const CommandKindFigures& kind) {
    Members members(21);
    members.add("kind", kind.kind.empty() ? Json(nullptr) : Json(kind.kind));
    members.add("commands", kind.commands);
    members.add("errors", kind.errors);
    members.add("bytes", kind.bytes);
    members.add("inline_bytes", kind.inline_bytes);
    members.add("moved_in_bytes", kind.moved_in_bytes);
    members.add("moved_out_bytes", kind.moved_out_bytes);
    members.add("operations", kind.operations);
    members.add("orphans", kind.orphans);
    members.add("replaced", kind.replaced);
    members.add("unanswered", kind.unanswered);
    members.add("given_up", kind.given_up);
    members.add("latency_ns", histogram_json(kind.latency_ns));
    if (connection.split_is_known()) {
        Members parts(metrics::command_part_count);
        for (std::size_t i = 0; i < metrics::command_part_count; ++i)
            parts.add(metrics::command_part_names[i], histogram_json(kind.parts_ns[i]));
        members.add("parts_ns", parts.take());
    } else {
        members.add("parts_ns", Json(nullptr));
    }
    members.add("request_ack_ns", kind.request_ack_ns);
    members.add("repair_own_ns", kind.repair_own_ns);
    members.add("repair_behind_ns", kind.repair_behind_ns);
    members.add("size_bytes", histogram_json(kind.size_bytes));
    Members classes(0);
    for (std::size_t i = 0; i < metrics::command_error_count; ++i)
        if (kind.error_classes[i] != 0) classes.add(metrics::command_error_names[i], kind.error_classes[i]);
    members.add("error_classes", classes.take());
    members.add("statuses", kind.statuses.empty() ? Json::object() : Json(kind.statuses));
    Json slowest = Json::array();
    for (const metrics::CommandRecord& record : kind.slowest) slowest.push_back(exhibit_json(record));
    members.add("slowest", std::move(slowest));
    return members.take();
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
    object["host_next_ns"] = histogram_json(connection.host_next_ns);
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
