#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text_format.h"
#include "fabric/output/subnet_json.h"
#include "fabric/output/subnet_words.h"

namespace fabric::output {

namespace {

/// Stays inside this file: parse_subnet() makes a Result of it.
struct InvalidMember : std::exception {
    explicit InvalidMember(std::string text_in) : text(std::move(text_in)) {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
};

using Value = nlohmann::json;

const Value& member(const Value& object, const char* name) {
    if (!object.is_object() || !object.contains(name)) throw InvalidMember(fmt::format("{} is missing", name));
    return object.at(name);
}
const Value& list(const Value& object, const char* name) {
    const Value& found = member(object, name);
    if (!found.is_array()) throw InvalidMember(fmt::format("{} is not an array", name));
    return found;
}
std::string text(const Value& object, const char* name) {
    const Value& found = member(object, name);
    if (found.is_null()) return {};
    if (!found.is_string()) throw InvalidMember(fmt::format("{} is not a text", name));
    return found.get<std::string>();
}
template <class Number>
Number number(const Value& value, const char* name) {
    if (!value.is_number_integer()) throw InvalidMember(fmt::format("{} is not a number", name));
    const bool fits = value.is_number_unsigned() ? std::in_range<Number>(value.get<std::uint64_t>())
                                                 : std::in_range<Number>(value.get<std::int64_t>());
    if (!fits) throw InvalidMember(fmt::format("{} is out of its range", name));
    return value.get<Number>();
}
template <class Number>
Number number_in(const Value& object, const char* name) {
    return number<Number>(member(object, name), name);
}
template <class Number>
std::optional<Number> optional_in(const Value& object, const char* name) {
    const Value& found = member(object, name);
    return found.is_null() ? std::nullopt : std::optional(number<Number>(found, name));
}
bool flag_in(const Value& object, const char* name) {
    const Value& found = member(object, name);
    if (!found.is_boolean()) throw InvalidMember(fmt::format("{} is neither true nor false", name));
    return found.get<bool>();
}

Guid guid_in(const Value& object, const char* name) {
    constexpr int hexadecimal = 16;
    const std::string digits = text(object, name);
    Guid guid = 0;
    const char* const end = digits.data() + digits.size();
    const bool marked = digits.starts_with("0x");
    const auto [last, error] = std::from_chars(digits.data() + (marked ? 2 : 0), end, guid, hexadecimal);
    if (!marked || error != std::errc{} || last != end)
        throw InvalidMember(fmt::format("{} is not 0x and 16 digits", name));
    return guid;
}
PortId port_id_of(const Value& value) { return {guid_in(value, "guid"), number_in<std::uint8_t>(value, "port")}; }

[[noreturn]] void throw_unknown(const char* name, std::string_view word) {
    std::string message = fmt::format("{} has no such value: ", name);
    base::append_printable(message, word);
    throw InvalidMember(std::move(message));
}

template <class State>
State word_in(const Value& object, const char* name, std::optional<State> (*parse)(std::string_view)) {
    const auto state = parse(text(object, name));
    if (!state) throw_unknown(name, text(object, name));
    return *state;
}

/// A width or speed; 0 if it is not known.
template <class Mask>
Mask bit_in(const Value& object, const char* name, Mask (*bit_of)(std::string_view)) {
    const std::string word = text(object, name);
    const Mask bit = bit_of(word);
    if (bit == 0 && !word.empty()) throw_unknown(name, word);
    return bit;
}

template <class Mask>
Mask mask_in(const Value& object, const char* name, Mask (*bit_of)(std::string_view)) {
    Mask mask = 0;
    for (const Value& one : list(object, name)) {
        if (!one.is_string()) throw InvalidMember(fmt::format("{} is not a list of texts", name));
        const Mask bit = bit_of(one.get<std::string>());
        if (bit == 0) throw_unknown(name, one.get<std::string>());
        mask = static_cast<Mask>(mask | bit);
    }
    return mask;
}

Port port_of(const Value& value) {
    Port port;
    port.number = number_in<std::uint8_t>(value, "number");
    if (!member(value, "guid").is_null()) port.guid = guid_in(value, "guid");
    port.lid = optional_in<Lid>(value, "lid");
    port.lmc = std::min<std::uint8_t>(number_in<std::uint8_t>(value, "lmc"), 7);
    port.manager_lid = optional_in<Lid>(value, "sm_lid");
    port.gid_prefix = guid_in(value, "gid_prefix");
    port.state = word_in(value, "state", port_state_of);
    port.physical = word_in(value, "physical_state", physical_state_of);
    port.rate = {bit_in(value, "width", width_of), bit_in(value, "speed", speed_of)};
    port.widths_supported = mask_in(value, "widths_supported", width_of);
    port.widths_enabled = mask_in(value, "widths_enabled", width_of);
    port.speeds_supported = mask_in(value, "speeds_supported", speed_of);
    port.speeds_enabled = mask_in(value, "speeds_enabled", speed_of);
    port.has_manager = flag_in(value, "runs_sm");
    port.violations = {number_in<std::uint16_t>(value, "m_key_violations"),
                       number_in<std::uint16_t>(value, "p_key_violations"),
                       number_in<std::uint16_t>(value, "q_key_violations")};
    return port;
}

Node node_of(const Value& value) {
    Node node;
    node.guid = guid_in(value, "guid");
    node.type = word_in(value, "type", node_type_of);
    node.description = text(value, "description");
    node.system_guid = guid_in(value, "system_guid");
    node.vendor = number_in<std::uint32_t>(value, "vendor");
    node.device = number_in<std::uint16_t>(value, "device");
    node.port_count = number_in<std::uint8_t>(value, "port_count");
    for (const Value& port : list(value, "ports")) node.ports.push_back(port_of(port));
    std::ranges::sort(node.ports, {}, &Port::number);
    return node;
}

std::optional<CounterReading> reading_of(const Value& value) {
    if (value.is_null()) return {};
    CounterReading reading;
    reading.time_ns = number_in<std::int64_t>(value, "time_ns");
    const Value& limits = list(value, "at_limit");
    for (const CounterRow& row : counter_rows()) {
        const std::string name(row.name);
        const auto counted = optional_in<std::uint64_t>(value, name.c_str());
        if (counted) reading.set(row.counter, *counted, std::ranges::find(limits, Value(name)) != limits.end());
    }
    return reading;
}

void add_link(const Value& value, Subnet& subnet) {
    const PortId from = port_id_of(member(value, "from"));
    const PortId to = port_id_of(member(value, "to"));
    for (const auto& [id, peer, side] : {std::tuple(from, to, "from"), std::tuple(to, from, "to")}) {
        Port* const port = subnet.find(id);
        if (port == nullptr) throw InvalidMember(fmt::format("a link's {} is no port of a node", side));
        port->peer = peer;
        port->counters = reading_of(member(member(value, "counters"), side));
        port->later_counters = reading_of(member(member(value, "later_counters"), side));
    }
}

SubnetManager manager_of(const Value& value) {
    SubnetManager manager;
    manager.port_guid = guid_in(value, "guid");
    manager.lid = optional_in<Lid>(value, "lid");
    manager.priority = number_in<std::uint8_t>(value, "priority");
    manager.state = word_in(value, "state", manager_state_of);
    manager.activity = number_in<std::uint32_t>(value, "activity");
    if (!member(value, "port").is_null()) manager.port = port_id_of(member(value, "port"));
    return manager;
}

Subnet subnet_of(const Value& document) {
    Subnet subnet;
    subnet.time_ns = number_in<std::int64_t>(document, "time_ns");
    subnet.adapter = text(document, "adapter");
    if (!member(document, "seen_from").is_null()) subnet.seen_from = port_id_of(member(document, "seen_from"));
    for (const Value& node : list(document, "nodes")) subnet.add(node_of(node));
    for (const Value& link : list(document, "links")) add_link(link, subnet);
    for (const Value& manager : list(document, "sm")) subnet.managers.push_back(manager_of(manager));
    for (const Value& one : list(document, "unanswered"))
        subnet.unanswered.push_back({text(one, "question"), text(one, "reason")});
    return subnet;
}

/// Refuses what is nested more deeply than a subnet, before it takes much more memory than its text.
bool check_depth(int depth, Value::parse_event_t /*event*/, Value& /*parsed*/) {
    constexpr int deepest = 16;
    if (depth > deepest) throw InvalidMember(fmt::format("it is nested more than {} deep", deepest));
    return true;
}

}  // namespace

base::Result<Subnet> parse_subnet(std::string_view text, const std::string& path) {
    constexpr const char* advice = "a file that \"rdmascope fabric --json\" wrote is expected";
    try {
        const Value document = Value::parse(text, check_depth, false);
        if (document.is_discarded()) return base::failure(fmt::format("it is no JSON; {}", advice), path);
        return subnet_of(document);
    } catch (const InvalidMember& invalid) {
        return base::failure(fmt::format("{}; {}", invalid.text, advice), path);
    }
}

}  // namespace fabric::output
