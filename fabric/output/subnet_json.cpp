#include "fabric/output/subnet_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fabric/output/subnet_words.h"

namespace fabric::output {

namespace {

using Json = nlohmann::ordered_json;
using findings::Finding;

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}
Json guid_or_null(const std::optional<Guid>& guid) { return guid ? Json(fabric::text_of(*guid)) : Json(nullptr); }
Json word_or_null(std::string_view word) { return word.empty() ? Json(nullptr) : Json(word); }

Json to_json(PortId id) { return {{"guid", fabric::text_of(id.node)}, {"port", id.number}}; }

template <class Mask>
Json names_in(Mask mask, std::string_view (*name_of_bit)(Mask)) {
    Json names = Json::array();
    for (unsigned bit = 1; bit <= 0x80; bit <<= 1)
        if (const auto one = static_cast<Mask>(mask & bit); one != 0 && !name_of_bit(one).empty())
            names.push_back(name_of_bit(one));
    return names;
}

Json to_json(const Port& port) {
    return {{"number", port.number},
            {"guid", guid_or_null(port.guid)},
            {"lid", or_null(port.lid)},
            {"lmc", port.lmc},
            {"sm_lid", or_null(port.manager_lid)},
            {"gid_prefix", fabric::text_of(port.gid_prefix)},
            {"state", name_of(port.state)},
            {"physical_state", name_of(port.physical)},
            {"width", word_or_null(width_name(port.rate.width))},
            {"speed", word_or_null(speed_name(port.rate.speed))},
            {"widths_supported", names_in(port.widths_supported, width_name)},
            {"widths_enabled", names_in(port.widths_enabled, width_name)},
            {"speeds_supported", names_in(port.speeds_supported, speed_name)},
            {"speeds_enabled", names_in(port.speeds_enabled, speed_name)},
            {"runs_sm", port.has_manager},
            {"m_key_violations", port.violations.m_key},
            {"p_key_violations", port.violations.p_key},
            {"q_key_violations", port.violations.q_key}};
}

Json to_json(const Node& node, const NodeLabels& labels) {
    Json ports = Json::array();
    for (const Port& port : node.ports) ports.push_back(to_json(port));
    return {{"guid", fabric::text_of(node.guid)},
            {"type", name_of(node.type)},
            {"name", labels.of(node)},
            {"description", node.description},
            {"lid", or_null(node.lid())},
            {"system_guid", fabric::text_of(node.system_guid)},
            {"vendor", node.vendor},
            {"device", node.device},
            {"port_count", node.port_count},
            {"ports", std::move(ports)}};
}

Json to_json(const std::optional<CounterReading>& reading) {
    if (!reading) return nullptr;
    Json json{{"time_ns", reading->time_ns}};
    Json limits = Json::array();
    for (const CounterRow& row : counter_rows()) {
        json[std::string(row.name)] = or_null(reading->value(row.counter));
        if (reading->is_at_limit(row.counter)) limits.push_back(row.name);
    }
    json["at_limit"] = std::move(limits);
    return json;
}

Json rates_json(const Port& port) {
    if (!port.counters || !port.later_counters) return nullptr;
    Json json = Json::object();
    for (const CounterRow& row : counter_rows())
        json[std::string(row.name)] = or_null(growth_per_sec(*port.counters, *port.later_counters, row.counter));
    return json;
}

Json to_json(const Link& link) {
    const LinkRate best = link.best();
    const Port& from = *link.from.port;
    const Port& to = *link.to.port;
    return {{"from", to_json(link.from.id())},
            {"to", to_json(link.to.id())},
            {"width", word_or_null(width_name(link.rate().width))},
            {"speed", word_or_null(speed_name(link.rate().speed))},
            {"best_width", word_or_null(width_name(best.width))},
            {"best_speed", word_or_null(speed_name(best.speed))},
            {"bits_per_sec", link.rate().known() ? Json(link.rate().bits_per_sec()) : Json(nullptr)},
            {"state", link.is_active() ? "active" : name_of(std::min(from.state, to.state))},
            {"counters", {{"from", to_json(from.counters)}, {"to", to_json(to.counters)}}},
            {"later_counters", {{"from", to_json(from.later_counters)}, {"to", to_json(to.later_counters)}}},
            {"per_sec", {{"from", rates_json(from)}, {"to", rates_json(to)}}}};
}

Json to_json(const SubnetManager& manager) {
    return {{"guid", fabric::text_of(manager.port_guid)},
            {"lid", or_null(manager.lid)},
            {"priority", manager.priority},
            {"state", name_of(manager.state)},
            {"activity", manager.activity},
            {"port", manager.port ? to_json(*manager.port) : Json(nullptr)}};
}

/// An end of a finding; its name is that of the last subnet that has the node.
Json end_json(const std::optional<PortId>& id, std::initializer_list<const Subnet*> subnets, const NodeLabels& labels) {
    if (!id) return nullptr;
    Json json = to_json(*id);
    json["name"] = nullptr;
    json["lid"] = nullptr;
    for (const Subnet* const subnet : subnets) {
        const Node* const node = subnet->find(id->node);
        if (node == nullptr) continue;
        json["name"] = labels.of(*node);
        json["lid"] = or_null(node->lid(id->number) ? node->lid(id->number) : node->lid());
        break;
    }
    return json;
}

Json to_json(const Finding& finding, std::initializer_list<const Subnet*> subnets, const NodeLabels& labels) {
    Json evidence = Json::array();
    for (const findings::CounterEvidence& counter : finding.evidence)
        evidence.push_back({{"what", row_of(counter.counter).name},
                            {"value", counter.value},
                            {"at_limit", counter.at_limit},
                            {"grown", or_null(counter.grown)}});
    return {{"kind", findings::name_of(finding.kind)},
            {"grade", findings::name_of(finding.grade)},
            {"at", end_json(finding.at, subnets, labels)},
            {"peer", end_json(finding.peer, subnets, labels)},
            {"observed", finding.observed},
            {"advice", finding.advice},
            {"evidence", std::move(evidence)}};
}

Json list_json(const std::vector<Finding>& list, std::initializer_list<const Subnet*> subnets,
               const NodeLabels& labels) {
    Json json = Json::array();
    for (const Finding& finding : list) json.push_back(to_json(finding, subnets, labels));
    return json;
}

std::string text_of_json(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string_view grade_text(const std::vector<Finding>& list) {
    const auto worst = findings::worst_of(list);
    return worst ? findings::name_of(*worst) : std::string_view("ok");
}

}  // namespace

std::string subnet_json(const Subnet& subnet, const std::vector<Finding>& problems, const NodeLabels& labels) {
    Json nodes = Json::array();
    for (const Node& node : subnet.nodes) nodes.push_back(to_json(node, labels));
    Json links = Json::array();
    for (const Link& link : links_of(subnet)) links.push_back(to_json(link));
    Json managers = Json::array();
    for (const SubnetManager& manager : subnet.managers) managers.push_back(to_json(manager));
    Json unanswered = Json::array();
    for (const Unanswered& one : subnet.unanswered)
        unanswered.push_back({{"question", one.question}, {"reason", one.reason}});
    return text_of_json({{"time_ns", subnet.time_ns},
                         {"adapter", subnet.adapter},
                         {"seen_from", subnet.seen_from ? to_json(*subnet.seen_from) : Json(nullptr)},
                         {"nodes", std::move(nodes)},
                         {"links", std::move(links)},
                         {"sm", std::move(managers)},
                         {"unanswered", std::move(unanswered)},
                         {"grade", grade_text(problems)},
                         {"findings", list_json(problems, {&subnet}, labels)}});
}

std::string changes_json(const std::vector<Finding>& changes, const Subnet& before, const Subnet& after,
                         const NodeLabels& labels) {
    return text_of_json({{"before_ns", before.time_ns},
                         {"after_ns", after.time_ns},
                         {"grade", grade_text(changes)},
                         {"findings", list_json(changes, {&after, &before}, labels)}});
}

std::string route_json(const TracedRoute& route, const Subnet& subnet, const NodeLabels& labels) {
    Json hops = Json::array();
    for (const PortId& id : route.leaves_by) {
        const Port* const port = subnet.find(id);
        const auto peer = port != nullptr ? port->peer : std::nullopt;
        hops.push_back({{"from", end_json(id, {&subnet}, labels)},
                        {"to", end_json(peer, {&subnet}, labels)},
                        {"width", word_or_null(port != nullptr ? width_name(port->rate.width) : "")},
                        {"speed", word_or_null(port != nullptr ? speed_name(port->rate.speed) : "")}});
    }
    return text_of_json({{"from", end_json(route.from, {&subnet}, labels)},
                         {"to", end_json(route.to, {&subnet}, labels)},
                         {"lid", route.lid},
                         {"hops", std::move(hops)},
                         {"broken", word_or_null(route.broken)}});
}

}  // namespace fabric::output
