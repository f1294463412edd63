#include <algorithm>
#include <array>
#include <span>
#include <string_view>

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
        for (unsigned i = 0; i < part.count; ++i)
            describe_flat(data.part(part.octet + i * part.stride, data.size()), part.fields);
    }
}

void describe_notice(const Tree& data) {
    describe_flat(data, wire::mad::notice);
    if (data.size() < wire::mad::notice_octets) return;
    const auto number = static_cast<std::uint16_t>(value_of(wire::mad::notice[3], data.octets()).number);
    const bool is_generic = value_of(wire::mad::notice[0], data.octets()).number != 0;
    data.open(wire::mad::notice_details[0]);
    if (is_generic) describe_flat(data, wire::mad::trap_fields(number));
    data.close();
}

void describe_attribute(const Tree& data, const wire::mad::Attribute& attribute) {
    if (attribute.id == wire::mad::notice_attribute.id)
        describe_notice(data);
    else
        describe_parts(data, attribute);
}

std::uint16_t attribute_id(base::Bytes mad) {
    return wire::View<wire::Mad>::unchecked(mad.data()).get<&wire::Mad::attribute_id>();
}

/// A class whose data are one attribute at a fixed place.
void describe_class(const LayerView& view, Visitor& visitor, const LayerRow& row, std::uint32_t data_offset,
                    const wire::FieldInfo* unknown) {
    const Tree mad(view, visitor);
    const auto header = wire::View<wire::Mad>::unchecked(mad.octets().data());
    const auto management_class = header.get<&wire::Mad::management_class>();
    mad.open(row.heading, 0, mad.size());
    describe_flat(mad, row.fields);
    if (const wire::mad::Attribute* attribute = wire::mad::find_attribute(management_class, attribute_id(mad.octets())))
        describe_attribute(mad.part(data_offset, mad.size()), *attribute);
    else if (unknown != nullptr)
        mad.octets(*unknown, data_offset, wire::mad::subnet_data_octets);
    mad.close();
}

void describe_smp(const LayerView& view, Visitor& visitor) {
    describe_class(view, visitor, smp_layer, wire::mad::class_data_octet, &unknown_data);
}

/// The paths come after the attribute.
void describe_smp_directed(const LayerView& view, Visitor& visitor) {
    const Tree mad(view, visitor);
    constexpr std::size_t before = wire::mad::directed_fields.size() - 2;
    const auto fields = std::span(wire::mad::directed_fields);
    mad.open(smp_directed_layer.heading, 0, mad.size());
    describe_flat(mad, fields.first(before));
    const Tree data = mad.part(wire::mad::class_data_octet, wire::mad::subnet_data_octets);
    if (const wire::mad::Attribute* attribute =
            wire::mad::find_attribute(wire::directed_subnet_management, attribute_id(mad.octets())))
        describe_attribute(data, *attribute);
    else
        mad.octets(unknown_data, wire::mad::class_data_octet, wire::mad::subnet_data_octets);
    describe_flat(mad, fields.subspan(before));
    mad.close();
}

void describe_performance(const LayerView& view, Visitor& visitor) {
    const Tree mad(view, visitor);
    mad.open(performance_layer.heading, 0, mad.size());
    if (const wire::mad::Attribute* attribute =
            wire::mad::find_attribute(wire::performance_management, attribute_id(mad.octets()))) {
        const auto heading = std::find_if(std::begin(performance_table), std::end(performance_table),
                                          [&](const wire::FieldInfo& info) { return info.label == attribute->name; });
        const bool has_heading = heading != std::end(performance_table) && mad.size() > wire::mad::class_data_octet;
        if (has_heading) mad.open(*heading, wire::mad::class_data_octet, mad.size() - wire::mad::class_data_octet);
        describe_attribute(mad.part(wire::mad::class_data_octet, mad.size()), *attribute);
        if (has_heading) mad.close();
    }
    mad.close();
}
void describe_device_management(const LayerView& view, Visitor& visitor) {
    describe_class(view, visitor, device_management_layer, wire::mad::class_data_octet, nullptr);
}
void describe_congestion_control(const LayerView& view, Visitor& visitor) {
    const bool is_log = attribute_id(view.octets()) == wire::mad::congestion_log_id;
    describe_class(view, visitor, congestion_control_layer,
                   is_log ? wire::mad::congestion_log_octet : wire::mad::class_data_octet, nullptr);
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
    const wire::mad::Attribute* attribute =
        wire::mad::find_attribute(wire::subnet_administration, attribute_id(mad.octets()));
    const bool holds_data = mad.size() > wire::mad::sa_data_octet;
    if (attribute != nullptr && holds_data) {
        if (wire::mad::is_table(mad.octets()))
            describe_records(mad, *attribute);
        else
            describe_attribute(mad.part(wire::mad::sa_data_octet, mad.size()), *attribute);
    }
    mad.close();
}

template <std::size_t... N>
consteval auto joined(const std::array<std::span<const wire::FieldInfo>, N>&... groups) {
    std::array<std::span<const wire::FieldInfo>, (N + ...)> all{};
    auto at = all.begin();
    ((at = std::copy(groups.begin(), groups.end(), at)), ...);
    return all;
}

constexpr auto subnet_groups =
    joined(wire::mad::all_fields<wire::mad::part_count(wire::mad::subnet_attributes)>(wire::mad::subnet_attributes),
           wire::mad::trap_groups);
constexpr auto administration_groups =
    joined(wire::mad::all_fields<wire::mad::part_count(wire::mad::subnet_administration_attributes)>(
               wire::mad::subnet_administration_attributes),
           std::to_array<std::span<const wire::FieldInfo>>({wire::mad::rmpp_fields, wire::mad::rmpp_data_fields,
                                                            wire::mad::rmpp_ack_fields, wire::mad::rmpp_end_fields,
                                                            wire::mad::rmpp_other_fields}),
           wire::mad::trap_groups);
constexpr auto performance_groups =
    wire::mad::all_fields<wire::mad::part_count(wire::mad::performance_attributes)>(wire::mad::performance_attributes);
constexpr auto device_groups =
    wire::mad::all_fields<wire::mad::part_count(wire::mad::device_attributes)>(wire::mad::device_attributes);
constexpr auto congestion_groups =
    wire::mad::all_fields<wire::mad::part_count(wire::mad::congestion_attributes)>(wire::mad::congestion_attributes);

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
