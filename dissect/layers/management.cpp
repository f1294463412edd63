#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "dissect/joined_records.h"
#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/payload.h"
#include "dissect/layers/protocols.h"
#include "wire/mad.h"
#include "wire/mad_attributes.h"
#include "wire/mad_class.h"

/// The data of management datagrams, one layer for each class that is read. Each is the whole datagram, as in
/// Wireshark, so that the places of its fields count from there.
namespace dissect::inline layers {
namespace {

constexpr wire::FieldInfo bytes_heading(std::string_view name, std::string_view label) {
    return floating(name, label, wire::Kind::bytes);
}

constexpr wire::FieldInfo subnet_table[] = {
    bytes_heading("infiniband.smplid.smpdata", "SMP Data"),
};
constexpr const wire::FieldInfo& unknown_data = pick(subnet_table, "infiniband.smplid.smpdata");

constexpr wire::FieldInfo sa_table[] = {
    bytes_heading("infiniband.rmpp", "Reliable Multi-Packet Protocol"),
    floating("rdma.mad.record", "Record", wire::Kind::uint32),
};
constexpr const wire::FieldInfo& rmpp_heading = pick(sa_table, "infiniband.rmpp");
constexpr const wire::FieldInfo& record_field = pick(sa_table, "rdma.mad.record");

/// Headings that Wireshark has for some attributes.
constexpr wire::FieldInfo performance_table[] = {
    floating("infiniband.classportinfo", "ClassPortInfo"),
    floating("infiniband.portcounters", "PortCounters"),
    floating("infiniband.portcounters_ext", "PortCountersExtended"),
};

template <LayerId Id>
LayerId parse_class(Context& context) {
    constexpr std::uint32_t header = octets_of<wire::Mad>;
    constexpr std::uint32_t data = wire::mad_octets - header;
    const std::uint32_t captured = std::min(context.available(), data);
    context.record(Id, context.offset - header, header + captured, wire::mad_octets);
    if (captured < data) return context.stop_short(Id, data);
    return after_payload(context);
}

/// A field whose parts follow it, as the bits of a mask do, is the heading of these.
void describe_flat(const Tree& tree, std::span<const wire::FieldInfo> fields) {
    for (std::size_t i = 0; i < fields.size();) {
        const wire::FieldInfo& info = fields[i++];
        const auto is_part = [&](const wire::FieldInfo& other) {
            return other.name.size() > info.name.size() && other.name.starts_with(info.name) &&
                   other.name[info.name.size()] == '.';
        };
        if (i == fields.size() || !is_part(fields[i]) || !tree.has(info)) {
            tree.field(info);
            continue;
        }
        tree.open(info);
        for (; i < fields.size() && is_part(fields[i]); ++i) tree.field(fields[i]);
        tree.close();
    }
}

void describe_parts(const Tree& data, const wire::mad::Attribute& attribute) {
    for (const wire::mad::Part& part : attribute.parts) {
        if (part.fields.empty()) return;
        const unsigned count =
            part.octet == wire::mad::multipath_gids_octet && attribute.id == wire::mad::record_attribute_id::multipath
                ? wire::mad::multipath_gid_count(data.octets())
                : part.count;
        for (unsigned i = 0; i < count; ++i)
            describe_flat(data.part(part.octet + i * part.stride, data.size()), part.fields);
    }
}

void describe_notice(const Tree& data) {
    describe_flat(data, wire::mad::notice);
    if (data.size() < wire::mad::notice_octets) return;
    data.open(wire::mad::notice_details[0]);
    if (wire::mad::is_generic_notice(data.octets()))
        describe_flat(data, wire::mad::trap_fields(wire::mad::trap_number(data.octets())));
    data.close();
}

void describe_attribute(const Tree& data, const wire::mad::Attribute& attribute) {
    if (attribute.id == wire::mad::attribute_id::notice)
        describe_notice(data);
    else
        describe_parts(data, attribute);
}

std::uint16_t attribute_id(base::Bytes mad) {
    return wire::View<wire::Mad>::unchecked(mad.data()).get<&wire::Mad::attribute_id>();
}

/// The heading that a row has for an attribute; null where it has none.
const wire::FieldInfo* heading_of(const LayerRow& row, const wire::mad::Attribute& attribute) {
    const auto found = std::ranges::find(row.computed, attribute.name, &wire::FieldInfo::label);
    return found == row.computed.end() ? nullptr : &*found;
}

/// A class whose data are one attribute at a fixed place. `after`: fields of the class that follow the attribute.
void describe_class(const LayerView& view, Visitor& visitor, const LayerRow& row, std::uint32_t data_offset,
                    std::span<const wire::FieldInfo> after = {}) {
    const Tree mad(view, visitor);
    const auto management_class =
        wire::View<wire::Mad>::unchecked(mad.octets().data()).get<&wire::Mad::management_class>();
    const Tree data = mad.part(data_offset, mad.size());
    mad.open(row.heading, 0, mad.size());
    describe_flat(mad, row.fields);
    if (const auto* attribute = wire::mad::find_attribute(management_class, attribute_id(mad.octets()))) {
        const wire::FieldInfo* heading = data.size() != 0 ? heading_of(row, *attribute) : nullptr;
        if (heading != nullptr) data.open(*heading, 0, data.size());
        describe_attribute(data, *attribute);
        if (heading != nullptr) data.close();
    } else if (wire::management_kind(management_class) == wire::ManagementKind::subnet) {
        data.octets(unknown_data, 0, wire::mad::subnet_data_octets);
    }
    describe_flat(mad, after);
    mad.close();
}

void describe_smp(const LayerView& view, Visitor& visitor) {
    describe_class(view, visitor, smp_layer, wire::mad::class_data_octet);
}
void describe_smp_directed(const LayerView& view, Visitor& visitor) {
    describe_class(view, visitor, smp_directed_layer, wire::mad::class_data_octet, wire::mad::directed_paths);
}
void describe_performance(const LayerView& view, Visitor& visitor) {
    describe_class(view, visitor, performance_layer, wire::mad::class_data_octet);
}
void describe_device_management(const LayerView& view, Visitor& visitor) {
    describe_class(view, visitor, device_management_layer, wire::mad::class_data_octet);
}
void describe_congestion_control(const LayerView& view, Visitor& visitor) {
    const bool is_log = attribute_id(view.octets()) == wire::mad::congestion_log_id;
    describe_class(view, visitor, congestion_control_layer,
                   is_log ? wire::mad::congestion_log_octet : wire::mad::class_data_octet);
}

void describe_rmpp(const Tree& mad) {
    mad.open(rmpp_heading, wire::mad::rmpp_octet, wire::mad::rmpp_octets);
    describe_flat(mad, wire::mad::rmpp_fields);
    switch (wire::mad::rmpp_type(mad.octets())) {
        case wire::mad::RmppType::data: describe_flat(mad, wire::mad::rmpp_data_fields); break;
        case wire::mad::RmppType::ack: describe_flat(mad, wire::mad::rmpp_ack_fields); break;
        case wire::mad::RmppType::stop:
        case wire::mad::RmppType::abort: describe_flat(mad, wire::mad::rmpp_end_fields); break;
        case wire::mad::RmppType::none: describe_flat(mad, wire::mad::rmpp_other_fields); break;
    }
    mad.close();
}

/// The records of a table that lie whole in this segment; others continue in the next one.
void describe_records(const Tree& mad, const wire::mad::Attribute& attribute) {
    const wire::mad::Records records = wire::mad::records_of(mad.octets());
    for (std::uint32_t i = 0; i < records.count; ++i) {
        const std::uint32_t first = records.octet + i * records.length;
        mad.open_number(record_field, records.first + i, first, records.length);
        describe_attribute(mad.part(first, records.length), attribute);
        mad.close();
    }
}

void describe_sa(const LayerView& view, Visitor& visitor) {
    const Tree mad(view, visitor);
    if (mad.size() >= wire::mad::sa_data_octet) describe_rmpp(mad);
    mad.open(sa_layer.heading, 0, mad.size());
    describe_flat(mad, wire::mad::sa_fields);
    const auto* attribute = wire::mad::find_attribute(wire::subnet_administration, attribute_id(mad.octets()));
    const bool holds_data = mad.size() > wire::mad::sa_data_octet;
    if (attribute != nullptr && holds_data) {
        if (wire::mad::is_table(mad.octets()))
            describe_records(mad, *attribute);
        else
            describe_attribute(mad.part(wire::mad::sa_data_octet, mad.size()), *attribute);
    }
    mad.close();
}

/// A record that lies in several segments: its number in eight bytes, then the record. The variant is the place of its
/// attribute in the table.
void describe_sa_record(const LayerView& view, Visitor& visitor) {
    const Tree layer(view, visitor);
    const std::size_t place = view.layer.variant;
    if (layer.size() < joined_record_prefix || place >= wire::mad::subnet_administration_attributes.size()) return;
    const std::uint32_t length = layer.size() - joined_record_prefix;
    layer.open_number(record_field, base::load_be64(layer.at(0)), joined_record_prefix, length);
    describe_attribute(layer.part(joined_record_prefix, length), wire::mad::subnet_administration_attributes[place]);
    layer.close();
}

template <std::size_t... N>
consteval auto joined(const std::array<std::span<const wire::FieldInfo>, N>&... groups) {
    std::array<std::span<const wire::FieldInfo>, (N + ...)> all{};
    auto at = all.begin();
    ((at = std::copy(groups.begin(), groups.end(), at)), ...);
    return all;
}

using FieldGroup = std::span<const wire::FieldInfo>;

template <const auto& Attributes>
consteval auto groups_of() {
    return wire::mad::all_fields<wire::mad::part_count(Attributes)>(Attributes);
}
constexpr auto common_groups = joined(groups_of<wire::mad::common_attributes>(), wire::mad::trap_groups);
constexpr auto subnet_groups = joined(common_groups, groups_of<wire::mad::subnet_attributes>(),
                                      std::array<FieldGroup, 1>{wire::mad::directed_paths});
constexpr auto administration_groups =
    joined(common_groups, groups_of<wire::mad::subnet_administration_attributes>(),
           std::array<FieldGroup, 5>{wire::mad::rmpp_fields, wire::mad::rmpp_data_fields, wire::mad::rmpp_ack_fields,
                                     wire::mad::rmpp_end_fields, wire::mad::rmpp_other_fields});
constexpr auto performance_groups = joined(common_groups, groups_of<wire::mad::performance_attributes>());
constexpr auto device_groups = joined(common_groups, groups_of<wire::mad::device_attributes>());
constexpr auto congestion_groups = joined(common_groups, groups_of<wire::mad::congestion_attributes>());

}  // namespace

constinit const LayerRow smp_layer{"smp",
                                   &protocol::infiniband,
                                   bytes_heading("infiniband.smplid", "Subnet Management (LID routed)"),
                                   parse_class<LayerId::smp>,
                                   describe_smp,
                                   wire::mad::subnet_fields,
                                   subnet_table,
                                   subnet_groups};
constinit const LayerRow smp_directed_layer{
    "smp_directed",
    &protocol::infiniband,
    bytes_heading("infiniband.smpdirected", "Subnet Management (directed route)"),
    parse_class<LayerId::smp_directed>,
    describe_smp_directed,
    wire::mad::directed_fields,
    subnet_table,
    subnet_groups};
constinit const LayerRow sa_layer{"sa",
                                  &protocol::infiniband,
                                  bytes_heading("infiniband.sa.drdlid", "Subnet Administration"),
                                  parse_class<LayerId::sa>,
                                  describe_sa,
                                  wire::mad::sa_fields,
                                  sa_table,
                                  administration_groups};
/// Never part of a packet: visit_joined_records() makes it.
constinit const LayerRow sa_record_layer{"sa_record", &protocol::infiniband, {}, after_payload, describe_sa_record, {},
                                         sa_table,    administration_groups};
constinit const LayerRow performance_layer{"performance",
                                           &protocol::infiniband,
                                           floating("rdma.mad.performance", "Performance Management"),
                                           parse_class<LayerId::performance>,
                                           describe_performance,
                                           {},
                                           performance_table,
                                           performance_groups};
constinit const LayerRow device_management_layer{"device_management",
                                                 &protocol::infiniband,
                                                 floating("rdma.mad.device", "Device Management"),
                                                 parse_class<LayerId::device_management>,
                                                 describe_device_management,
                                                 {},
                                                 {},
                                                 device_groups};
constinit const LayerRow congestion_control_layer{"congestion_control",
                                                  &protocol::infiniband,
                                                  floating("rdma.mad.congestion", "Congestion Control"),
                                                  parse_class<LayerId::congestion_control>,
                                                  describe_congestion_control,
                                                  wire::mad::congestion_fields,
                                                  {},
                                                  congestion_groups};

}  // namespace dissect::layers
