#include "fabric/discovery/attributes.h"

#include <algorithm>

#include "base/saturating.h"
#include "wire/attribute_field.h"
#include "wire/mad_class_port_info.h"
#include "wire/mad_subnet.h"

namespace fabric::discovery {

namespace {

constexpr wire::FieldInfo of_node(std::string_view name) { return wire::field_named(wire::mad::node_info, name); }
constexpr wire::FieldInfo of_port(std::string_view name) { return wire::field_named(wire::mad::port_info, name); }
constexpr wire::FieldInfo of_manager(std::string_view name) { return wire::field_named(wire::mad::sm_info, name); }

constexpr auto node_type_field = of_node("infiniband.nodeinfo.nodetype");
constexpr auto port_count_field = of_node("infiniband.nodeinfo.numports");
constexpr auto system_guid_field = of_node("infiniband.nodeinfo.systemimageguid");
constexpr auto node_guid_field = of_node("infiniband.nodeinfo.nodeguid");
constexpr auto port_guid_field = of_node("infiniband.nodeinfo.portguid");
constexpr auto device_field = of_node("infiniband.nodeinfo.deviceid");
constexpr auto local_port_field = of_node("infiniband.nodeinfo.localportnum");
constexpr auto vendor_field = of_node("infiniband.nodeinfo.vendorid");

constexpr auto prefix_field = of_port("infiniband.portinfo.guid");
constexpr auto lid_field = of_port("infiniband.portinfo.lid");
constexpr auto manager_lid_field = of_port("infiniband.portinfo.mastersmlid");
constexpr auto is_manager_field = of_port("infiniband.portinfo.capabilitymask.issm");
constexpr auto width_enabled_field = of_port("infiniband.portinfo.linkwidthenabled");
constexpr auto width_supported_field = of_port("infiniband.portinfo.linkwidthsupported");
constexpr auto width_active_field = of_port("infiniband.portinfo.linkwidthactive");
constexpr auto speed_supported_field = of_port("infiniband.portinfo.linkspeedsupported");
constexpr auto speed_active_field = of_port("infiniband.portinfo.linkspeedactive");
constexpr auto speed_enabled_field = of_port("infiniband.portinfo.linkspeedenabled");
constexpr auto extended_active_field = of_port("rdma.portinfo.linkspeedextactive");
constexpr auto extended_supported_field = of_port("rdma.portinfo.linkspeedextsupported");
constexpr auto extended_enabled_field = of_port("rdma.portinfo.linkspeedextenabled");
constexpr auto state_field = of_port("infiniband.portinfo.portstate");
constexpr auto physical_field = of_port("infiniband.portinfo.portphysicalstate");
constexpr auto lmc_field = of_port("infiniband.portinfo.lmc");
constexpr auto m_key_violations_field = of_port("infiniband.portinfo.m_keyviolations");
constexpr auto p_key_violations_field = of_port("infiniband.portinfo.p_keyviolations");
constexpr auto q_key_violations_field = of_port("infiniband.portinfo.q_keyviolations");

constexpr auto manager_guid_field = of_manager("infiniband.sminfo.guid");
constexpr auto activity_field = of_manager("infiniband.sminfo.actcount");
constexpr auto priority_field = of_manager("infiniband.sminfo.priority");
constexpr auto manager_state_field = of_manager("infiniband.sminfo.smstate");

constexpr auto abilities_field =
    wire::field_named(wire::mad::class_port_info, "infiniband.classportinfo.capabilitymask");
constexpr auto more_abilities_field =
    wire::field_named(wire::mad::class_port_info, "infiniband.classportinfo.capabilitymask2");

/// A field as the type of the place that it is for.
template <class Value>
Value get(std::span<const std::byte> attribute, const wire::FieldInfo& field) {
    return static_cast<Value>(wire::read_field(attribute.data(), field));
}

std::optional<Lid> get_lid(std::span<const std::byte> attribute, const wire::FieldInfo& field) {
    const auto lid = get<Lid>(attribute, field);
    return lid == 0 ? std::nullopt : std::optional<Lid>(lid);
}

/// The most that a field of these bits holds.
std::uint64_t limit_of(const wire::FieldInfo& field) {
    return field.bit_width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.bit_width) - 1;
}

/// A port that supports speeds of both kinds has the faster kind in its extended fields.
SpeedMask speeds(std::uint8_t basic, std::uint8_t extended) {
    return static_cast<SpeedMask>(basic | extended << extended_speed_shift);
}

}  // namespace

std::optional<NodeInfo> read_node_info(std::span<const std::byte> attribute) {
    constexpr std::uint8_t most_ports = 254;
    const auto type = get<std::uint8_t>(attribute, node_type_field);
    const auto ports = get<std::uint8_t>(attribute, port_count_field);
    const auto local_port = get<std::uint8_t>(attribute, local_port_field);
    if (type < 1 || type > 3 || ports > most_ports || local_port > ports) return {};
    // Only a switch has a port 0.
    if (local_port == 0 && static_cast<NodeType>(type) != NodeType::switch_node) return {};
    NodeInfo info;
    info.node.type = static_cast<NodeType>(type);
    info.node.port_count = ports;
    info.node.guid = get<Guid>(attribute, node_guid_field);
    info.node.system_guid = get<Guid>(attribute, system_guid_field);
    info.node.vendor = get<std::uint32_t>(attribute, vendor_field);
    info.node.device = get<std::uint16_t>(attribute, device_field);
    info.port_guid = get<Guid>(attribute, port_guid_field);
    info.local_port = local_port;
    return info;
}

std::string read_node_description(std::span<const std::byte> attribute) {
    std::string text;
    for (const std::byte octet : attribute) {
        if (octet == std::byte{0}) break;
        text += static_cast<char>(octet);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

Port read_port_info(std::span<const std::byte> attribute) {
    constexpr std::uint8_t all_extended = 0x0f;
    Port port;
    port.gid_prefix = get<std::uint64_t>(attribute, prefix_field);
    port.lid = get_lid(attribute, lid_field);
    port.manager_lid = get_lid(attribute, manager_lid_field);
    port.has_manager = get<bool>(attribute, is_manager_field);
    port.lmc = get<std::uint8_t>(attribute, lmc_field);
    port.state = static_cast<PortState>(std::min<std::uint8_t>(get<std::uint8_t>(attribute, state_field), 4));
    const auto physical = get<std::uint8_t>(attribute, physical_field);
    port.physical = physical > 7 ? PhysicalState::unknown : static_cast<PhysicalState>(physical);
    port.widths_enabled = get<WidthMask>(attribute, width_enabled_field);
    port.widths_supported = get<WidthMask>(attribute, width_supported_field);
    port.speeds_supported = speeds(get<std::uint8_t>(attribute, speed_supported_field),
                                   get<std::uint8_t>(attribute, extended_supported_field));
    port.speeds_enabled = speeds(get<std::uint8_t>(attribute, speed_enabled_field),
                                 get<std::uint8_t>(attribute, extended_enabled_field) & all_extended);
    const auto extended = get<std::uint8_t>(attribute, extended_active_field);
    port.rate.width = get<WidthMask>(attribute, width_active_field);
    port.rate.speed = extended != 0 ? speeds(0, extended) : get<SpeedMask>(attribute, speed_active_field);
    port.violations = {get<std::uint16_t>(attribute, m_key_violations_field),
                       get<std::uint16_t>(attribute, p_key_violations_field),
                       get<std::uint16_t>(attribute, q_key_violations_field)};
    return port;
}

SubnetManager read_manager_info(std::span<const std::byte> attribute) {
    SubnetManager manager;
    manager.port_guid = get<Guid>(attribute, manager_guid_field);
    manager.activity = get<std::uint32_t>(attribute, activity_field);
    manager.priority = get<std::uint8_t>(attribute, priority_field);
    manager.state =
        static_cast<ManagerState>(std::min<std::uint8_t>(get<std::uint8_t>(attribute, manager_state_field), 3));
    return manager;
}

PerformanceAbilities read_abilities(std::span<const std::byte> attribute) {
    // Bits of the capability mask: PortCountersExtended, the same without counters of unicast, PortXmitWait.
    constexpr unsigned extended = 1U << 9;
    constexpr unsigned extended_without_unicast = 1U << 10;
    constexpr unsigned wait = 1U << 12;
    // Of the second mask: counters of errors in PortCountersExtended.
    constexpr unsigned additional = 1U << 1;
    const auto mask = get<unsigned>(attribute, abilities_field);
    const bool is_wide = (mask & (extended | extended_without_unicast)) != 0;
    return {(mask & wait) != 0, is_wide, is_wide && (get<unsigned>(attribute, more_abilities_field) & additional) != 0};
}

void read_port_counters(std::span<const std::byte> attribute, PerformanceAbilities abilities, CounterReading& into) {
    for (const CounterRow& row : counter_rows()) {
        if (row.counter == Counter::transmit_wait && !abilities.wait_counter) continue;
        const std::uint64_t value = wire::read_field(attribute.data(), row.field);
        into.set(row.counter, base::saturating::multiply(value, row.scale), value == limit_of(row.field));
    }
}

void read_wide_counters(std::span<const std::byte> attribute, PerformanceAbilities abilities, CounterReading& into) {
    for (const CounterRow& row : counter_rows()) {
        if (!is_traffic(row.counter) && !abilities.wide_errors) continue;
        if (row.counter == Counter::transmit_wait && !abilities.wait_counter) continue;
        const std::uint64_t value = wire::read_field(attribute.data(), row.wide_field);
        into.set(row.counter, base::saturating::multiply(value, row.scale), value == limit_of(row.wide_field));
    }
}

}  // namespace fabric::discovery
