#include "exporters/device_json.h"

#include <algorithm>
#include <fmt/core.h>
#include <initializer_list>
#include <nlohmann/json.hpp>

namespace exporters {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_devices = 65'536;

Json known(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json known(std::uint32_t number) { return number == 0 ? Json(nullptr) : Json(number); }

/// Read as strictly as it is written: a member of another type is a mistake, one that is missing or null is not known.
template <class T>
T member(const Json& object, const char* name) {
    const auto at = object.find(name);
    return at == object.end() || at->is_null() ? T{} : at->get<T>();
}

metrics::DeviceCounter counter_of(const Json& from) {
    metrics::DeviceCounter counter;
    counter.device = from.at("device").get<std::string>();
    counter.port = member<std::uint32_t>(from, "port");
    counter.name = from.at("counter").get<std::string>();
    counter.fact = wire::counter_fact_named(member<std::string>(from, "fact"));
    counter.unit = metrics::counter_unit_named(member<std::string>(from, "unit"));
    if (from.contains("priority") && !from["priority"].is_null())
        counter.priority = std::clamp(from["priority"].get<int>(), -1, 7);
    counter.queue_pairs = member<std::vector<std::uint32_t>>(from, "queue_pairs");
    counter.value = from.at("value").get<std::uint64_t>();
    return counter;
}

}  // namespace

std::string device_json(const metrics::DeviceFigures& figures, int indent) {
    Json counters = Json::array();
    for (const metrics::DeviceCounter& one : figures.counters) {
        Json& row = counters.emplace_back(Json{{"device", one.device},
                                               {"port", known(one.port)},
                                               {"counter", one.name},
                                               {"fact", known(std::string(name_of(one.fact)))},
                                               {"unit", name_of(one.unit)},
                                               {"priority", one.priority < 0 ? Json(nullptr) : Json(one.priority)},
                                               {"value", one.value}});
        if (!one.queue_pairs.empty()) row["queue_pairs"] = one.queue_pairs;
    }
    Json ports = Json::array();
    for (const metrics::DevicePort& one : figures.ports)
        ports.push_back({{"device", one.device},
                         {"port", one.port},
                         {"protocol", known(one.protocol)},
                         {"interface", known(one.interface)},
                         {"active", one.active}});
    Json pairs = Json::array();
    for (const metrics::DeviceQueuePair& one : figures.queue_pairs)
        pairs.push_back({{"device", one.device},
                         {"port", known(one.port)},
                         {"qpn", one.number},
                         {"peer_qpn", known(one.peer_number)},
                         {"type", one.type},
                         {"state", one.state},
                         {"pid", known(one.process)},
                         {"owner", known(one.owner)}});
    const Json all{{"length_ns", figures.length_ns},
                   {"counters", std::move(counters)},
                   {"ports", std::move(ports)},
                   {"queue_pairs", std::move(pairs)},
                   {"queue_pairs_left_out", figures.queue_pairs_left_out}};
    return all.dump(indent, ' ', false, Json::error_handler_t::replace);
}

namespace {

using Read = base::Result<metrics::DeviceFigures>;

metrics::DeviceFigures figures_of(const Json& all) {
    metrics::DeviceFigures figures;
    figures.length_ns = member<std::uint64_t>(all, "length_ns");
    for (const Json& one : all.at("counters")) {
        if (figures.counters.size() == most_devices) break;
        figures.counters.push_back(counter_of(one));
    }
    for (const Json& one : member<Json::array_t>(all, "ports")) {
        if (figures.ports.size() == most_devices) break;
        figures.ports.push_back({one.at("device").get<std::string>(), member<std::uint32_t>(one, "port"),
                                 member<std::string>(one, "protocol"), member<std::string>(one, "interface"),
                                 member<bool>(one, "active")});
    }
    for (const Json& one : member<Json::array_t>(all, "queue_pairs")) {
        if (figures.queue_pairs.size() == metrics::DeviceFigures::most_queue_pairs) break;
        figures.queue_pairs.push_back({one.at("device").get<std::string>(), member<std::uint32_t>(one, "port"),
                                       one.at("qpn").get<std::uint32_t>(), member<std::uint32_t>(one, "peer_qpn"),
                                       member<std::string>(one, "type"), member<std::string>(one, "state"),
                                       member<std::uint32_t>(one, "pid"), member<std::string>(one, "owner")});
    }
    figures.queue_pairs_left_out = member<std::uint64_t>(all, "queue_pairs_left_out");
    return figures;
}

Read read(std::string_view text, std::initializer_list<const char*> wrappers) {
    try {
        const Json all = Json::parse(text);
        const Json* object = &all;
        for (const char* name : wrappers)
            if (all.is_object() && all.contains(name)) object = &all[name];
        if (!object->is_object() || !object->contains("counters") || !object->at("counters").is_array())
            return base::Failure{base::Error{"there is no list of `counters` in it"}};
        return figures_of(*object);
    } catch (const Json::exception& fault) {
        return base::Failure{base::Error{fmt::format("is no JSON of counters: {}", fault.what())}};
    }
}

}  // namespace

Read parse_device_json(std::string_view text) { return read(text, {}); }
Read parse_device_document(std::string_view text) { return read(text, {"result", "devices"}); }

}  // namespace exporters
