#include "exporters/command_json.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
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

constexpr std::array json_quantiles{0.5, 0.9, 0.99, 0.999};
constexpr std::array<std::string_view, json_quantiles.size()> json_quantile_names{"p50", "p90", "p99", "p999"};

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

metrics::Endpoint endpoint_of(const metrics::Address& address, std::uint32_t number, wire::Transport transport) {
    metrics::Endpoint end;
    end.address = address;
    if (number != 0 && transport == wire::Transport::iwarp)
        end.port = static_cast<std::uint16_t>(number);
    else if (number != 0)
        end.qpn = number;
    return end;
}

template <class T>
Json json_or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json histogram_json(const Histogram& histogram) {
    Members members(5 + json_quantiles.size());
    members.add("count", histogram.count());
    members.add("sum", histogram.sum());
    members.add("min", json_or_null(histogram.min()));
    members.add("mean", json_or_null(histogram.mean()));
    for (std::size_t i = 0; i < json_quantiles.size(); ++i)
        members.add(json_quantile_names[i], json_or_null(histogram.quantile(json_quantiles[i])));
    members.add("max", json_or_null(histogram.max()));
    return members.take();
}

Json exhibit_json(const metrics::CommandRecord& record) {
    Json object{{"number", record.number}, {"id", record.id}, {"latency_ns", record.latency_ns.value_or(0)}};
    add_command_frames(object, record);
    return object;
}

/// An end as `flows --json` has it.
Json end_json(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
              const metrics::HostNames* names) {
    const std::string name = names == nullptr ? std::string() : names->name(address);
    const metrics::Endpoint end = endpoint_of(address, number, transport);
    Members members(4);
    const bool is_known = address.family != wire::AddressFamily::none;
    members.add("address", is_known ? Json(metrics::to_text(address)) : Json(nullptr));
    members.add("name", name.empty() ? Json(nullptr) : Json(name));
    members.add("qpn", json_or_null(end.qpn));
    members.add("port", json_or_null(end.port));
    return members.take();
}

Json kind_json(const CommandConnectionFigures& connection, const CommandKindFigures& kind) {
    Members members(20);
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
    members.add("repair_ns", Json{{"own", kind.repair_own_ns}, {"behind", kind.repair_behind_ns}});
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

/// "nqn.2024-01.lab:sub1, queue 1"; empty if neither is known.
std::string purpose(const CommandConnectionFigures& connection) {
    std::string words = connection.target_name;
    if (connection.queue) words += fmt::format("{}queue {}", words.empty() ? "" : ", ", *connection.queue);
    return words;
}

std::uint64_t answered_commands(const CommandConnectionFigures& connection) {
    std::uint64_t commands = 0;
    for (const CommandKindFigures& kind : connection.kinds) commands += kind.commands;
    return commands;
}

}  // namespace

std::string command_end_text(const metrics::Address& address, std::uint32_t number, wire::Transport transport,
                             const metrics::HostNames* names) {
    return endpoint_text(endpoint_of(address, number, transport), names);
}

void add_command_frames(nlohmann::ordered_json& object, const metrics::CommandRecord& record) {
    const auto frame = [](std::uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); };
    object["request_frame"] = frame(record.request_first_frame);
    object["request_last_frame"] = frame(record.request_last_frame);
    const bool has_data = record.data_first_frame != 0;
    object["data_frames"] = has_data ? Json::array({record.data_first_frame, record.data_last_frame}) : Json(nullptr);
    object["response_frame"] = frame(record.response_frame);
}

void add_command_figures(nlohmann::ordered_json& object, const CommandConnectionFigures& connection) {
    object["open_mean"] = json_or_null(connection.open_mean());
    object["open_max"] = connection.open_max;
    object["at_limit_ns"] = connection.at_limit_ns;
    object["operations"] = connection.operations;
    object["unbound_operations"] = connection.unbound_operations;
    object["late_operations"] = connection.late_operations;
    object["probes"] = connection.probes;
    object["events"] = connection.events;
    object["overtaken"] = connection.overtaken;
    Json phases(nullptr);
    if (connection.split_is_known())
        for (std::size_t i = 0; i < metrics::command_state_count; ++i)
            phases[std::string(metrics::command_state_names[i])] = connection.states_ns[i];
    object["phases_ns"] = std::move(phases);
    object["host_next_ns"] = histogram_json(connection.host_next_ns);
    Json kinds = Json::array();
    for (const CommandKindFigures& kind : connection.kinds) kinds.push_back(kind_json(connection, kind));
    object["kinds"] = std::move(kinds);
}

nlohmann::ordered_json command_connection_json(const CommandConnectionFigures& connection,
                                               const metrics::HostNames* names) {
    constexpr std::array<std::string_view, 4> transports{"roce2", "roce1", "infiniband", "iwarp"};
    const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
    Json object{{"connection", connection.number},
                {"protocol", connection.protocol},
                {"recognised_by", connection.evidence},
                {"confidence", connection.confidence},
                {"transport", transports[static_cast<std::size_t>(connection.transport)]},
                {"initiator", end_json(connection.initiator, connection.initiator_number, connection.transport, names)},
                {"target", end_json(connection.target, connection.target_number, connection.transport, names)},
                {"what", text(purpose(connection))},
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
