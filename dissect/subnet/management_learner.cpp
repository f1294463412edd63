#include "dissect/subnet/management_learner.h"

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "dissect/joined_records.h"
#include "dissect/rmpp_transfers.h"
#include "wire/attribute_field.h"
#include "wire/cm_req.h"
#include "wire/mad_attribute_id.h"
#include "wire/mad_class.h"
#include "wire/mad_subnet.h"
#include "wire/mad_subnet_administration.h"

namespace dissect::subnet {

namespace {

constexpr std::uint8_t get_response = 0x81;
constexpr std::uint8_t get_table_response = 0x92;
constexpr std::uint8_t get_multi_response = 0x94;

namespace attribute = wire::mad::subnet_attribute_id;
namespace record = wire::mad::record_attribute_id;

constexpr std::size_t guid_block_octets = 64;
constexpr std::uint8_t type_switch = 2;

Lid lid_at(base::Bytes octets, std::size_t at) { return base::load_be16(octets.data() + at); }
Guid guid_at(base::Bytes octets, std::size_t at) { return base::load_be64(octets.data() + at); }
std::string_view text_at(base::Bytes octets, std::size_t at, std::size_t length) {
    return {reinterpret_cast<const char*>(octets.data()) + at, length};
}
Gid gid_at(base::Bytes octets, std::size_t at) {
    Gid gid{};
    std::ranges::transform(octets.subspan(at, gid.size()), gid.begin(),
                           [](std::byte octet) { return std::to_integer<std::uint8_t>(octet); });
    return gid;
}

constexpr auto node_type_field = wire::field_named(wire::mad::node_info, "infiniband.nodeinfo.nodetype");
constexpr auto node_guid_field = wire::field_named(wire::mad::node_info, "infiniband.nodeinfo.nodeguid");
constexpr auto port_guid_field = wire::field_named(wire::mad::node_info, "infiniband.nodeinfo.portguid");
constexpr auto lid_field = wire::field_named(wire::mad::port_info, "infiniband.portinfo.lid");
constexpr auto lmc_field = wire::field_named(wire::mad::port_info, "infiniband.portinfo.lmc");
constexpr auto manager_guid_field = wire::field_named(wire::mad::sm_info, "infiniband.sminfo.guid");
constexpr auto direction_field = wire::field_named(wire::mad::directed_fields, "infiniband.smpdirected.d");
constexpr auto hop_count_field = wire::field_named(wire::mad::directed_fields, "infiniband.smpdirected.hopcount");
constexpr auto route_field = wire::field_named(wire::mad::directed_paths, "infiniband.smpdirected.initialpath");
constexpr auto destination_gid_field = wire::field_named(wire::mad::path_record, "infiniband.pathrecord.dgid");
constexpr auto source_gid_field = wire::field_named(wire::mad::path_record, "infiniband.pathrecord.sgid");
constexpr auto destination_lid_field = wire::field_named(wire::mad::path_record, "infiniband.pathrecord.dlid");
constexpr auto source_lid_field = wire::field_named(wire::mad::path_record, "infiniband.pathrecord.slid");

/// A field as the type of the place that it is for. The caller has checked that the attribute has the field.
template <class Value>
Value get(base::Bytes octets, const wire::FieldInfo& field) {
    return static_cast<Value>(wire::read_field(octets.data(), field));
}
constexpr std::size_t octet_of(const wire::FieldInfo& field) { return field.bit_offset / 8; }

/// Of NodeInfo, what names need.
struct NodeInfo {
    static constexpr std::size_t octets = 40;
    std::uint8_t type = 0;
    Guid node = 0;
    Guid port = 0;

    static NodeInfo at(base::Bytes data) {
        return {get<std::uint8_t>(data, node_type_field), get<Guid>(data, node_guid_field),
                get<Guid>(data, port_guid_field)};
    }
};

/// Of PortInfo, what names need.
struct PortLids {
    static constexpr std::size_t octets = 64;
    Lid lid = 0;
    std::uint8_t lmc = 0;

    static PortLids at(base::Bytes data) { return {get<Lid>(data, lid_field), get<std::uint8_t>(data, lmc_field)}; }
};

/// The LID that a datagram came from; no value if the capture shows none.
std::optional<Lid> source_lid(const Unit& unit) {
    const LayerRef* lrh = unit.dissection.find(LayerId::lrh);
    constexpr std::uint32_t source_octet = 6;
    constexpr std::uint32_t lrh_octets = 8;
    if (lrh == nullptr || lrh->length < lrh_octets || lrh->offset + std::size_t{lrh_octets} > unit.bytes.size())
        return std::nullopt;
    return lid_at(unit.bytes, lrh->offset + source_octet);
}

}  // namespace

std::size_t ManagementLearner::octets() const {
    constexpr std::size_t route_octets = 160;  // with its description and its place in the table
    return names_.octets() + routes_.size() * route_octets;
}

void ManagementLearner::learn(const Unit& unit) {
    // The packets of RoCE have no LIDs, and no subnet manager: on Ethernet, any host could rename nodes.
    if (unit.transport != Transport::infiniband || !unit.dissection.has(LayerId::mad)) return;
    const LayerRef* layer = unit.dissection.find(LayerId::mad);
    if (layer == nullptr || layer->length < wire::mad_octets ||
        layer->offset + std::size_t{wire::mad_octets} > unit.bytes.size())
        return;
    frame_ = unit.frame.number;
    const base::Bytes mad = unit.bytes.subspan(layer->offset, wire::mad_octets);
    const auto header = wire::View<wire::Mad>::unchecked(mad.data());
    const auto method = header.get<&wire::Mad::method>();
    const auto attribute_id = header.get<&wire::Mad::attribute_id>();
    const auto management_class = header.get<&wire::Mad::management_class>();
    // The first bit of the status is the direction on a directed route, and reserved elsewhere.
    const bool succeeded = (header.get<&wire::Mad::status>() & 0x7fff) == 0;
    switch (management_class) {
        case wire::subnet_management:
            if (method == get_response && succeeded) learn_answer(unit, mad);
            break;
        case wire::directed_subnet_management:
            if (method == get_response && succeeded) learn_directed(mad);
            break;
        case wire::subnet_administration:
            if (succeeded) learn_records(unit, mad);
            break;
        case wire::communication_management:
            if (attribute_id == static_cast<std::uint16_t>(wire::CmMessage::req))
                learn_paths(mad.subspan(wire::size_of<wire::Mad>));
            break;
        default: break;
    }
}

/// The answer of a node that has a LID.
void ManagementLearner::learn_answer(const Unit& unit, base::Bytes mad) {
    const auto lid = source_lid(unit);
    if (!lid) return;
    const auto header = wire::View<wire::Mad>::unchecked(mad.data());
    const base::Bytes data = mad.subspan(wire::mad::class_data_octet, wire::mad::subnet_data_octets);
    switch (header.get<&wire::Mad::attribute_id>()) {
        case attribute::node_description: names_.describe_lid(*lid, text_at(data, 0, data.size()), frame_); break;
        case attribute::node_info: {
            const NodeInfo node = NodeInfo::at(data);
            names_.assign_node(*lid, 0, node.node, frame_);
            names_.add_port(node.port, node.node, frame_);
            break;
        }
        case attribute::port_info:
            if (const auto node = names_.node_of(*lid)) {
                const PortLids port = PortLids::at(data);
                names_.assign_node(port.lid, port.lmc, *node, frame_);
            }
            break;
        case attribute::guid_info:
            if (const auto node = names_.node_of(*lid))
                for (std::size_t at = 0; at < guid_block_octets; at += sizeof(Guid))
                    names_.add_port(guid_at(data, at), *node, frame_);
            break;
        case attribute::sm_info: names_.assign_port(*lid, get<Guid>(data, manager_guid_field), frame_); break;
        default: break;
    }
}

/// The answer of a node at the end of a directed route. Routes begin at the subnet manager; two managers whose answers
/// pass here differ in the upper half of their transactions, which is a number of the program on its host.
void ManagementLearner::learn_directed(base::Bytes mad) {
    constexpr std::size_t most_routes = 65'536;
    constexpr std::size_t longest_path = 63;
    const bool is_answer = get<std::uint8_t>(mad, direction_field) != 0;
    if (!is_answer) return;
    const std::size_t hops = std::min(get<std::size_t>(mad, hop_count_field), longest_path);
    const auto header = wire::View<wire::Mad>::unchecked(mad.data());
    const std::uint64_t asker = header.get<&wire::Mad::transaction_id>() >> 32;
    const std::uint64_t key =
        base::fnv(base::mix(base::fnv_begin, asker), mad.subspan(octet_of(route_field), hops + 1));
    // Routes are needed during a sweep alone, so that a full table may begin again.
    if (routes_.size() >= most_routes && !routes_.contains(key)) routes_.clear();
    RouteEnd& end = routes_[key];

    const base::Bytes data = mad.subspan(wire::mad::class_data_octet, wire::mad::subnet_data_octets);
    switch (header.get<&wire::Mad::attribute_id>()) {
        case attribute::node_info: {
            const NodeInfo node = NodeInfo::at(data);
            if (end.node != 0 && end.node != node.node) end = {};
            end.node = node.node;
            end.type = node.type;
            names_.add_port(node.port, node.node, frame_);
            if (!end.description.empty()) names_.describe_node(end.node, end.description, frame_);
            if (end.lid != 0) names_.assign_node(end.lid, end.lmc, end.node, frame_);
            end.description.clear();
            end.lid = 0;
            break;
        }
        case attribute::node_description:
            if (end.node != 0)
                names_.describe_node(end.node, text_at(data, 0, data.size()), frame_);
            else
                end.description = text_at(data, 0, data.size());
            break;
        case attribute::port_info: {
            // Of a switch, port 0 has the LID.
            if (end.type == type_switch && header.get<&wire::Mad::attribute_modifier>() != 0) break;
            const PortLids port = PortLids::at(data);
            if (end.node != 0) {
                names_.assign_node(port.lid, port.lmc, end.node, frame_);
            } else {
                end.lid = port.lid;
                end.lmc = port.lmc;
            }
            break;
        }
        case attribute::guid_info:
            for (std::size_t at = 0; at < guid_block_octets; at += sizeof(Guid))
                names_.add_port(guid_at(data, at), end.node, frame_);
            break;
        default: break;
    }
}

/// An answer of Subnet Administration: one record, or a segment of a table.
void ManagementLearner::learn_records(const Unit& unit, base::Bytes mad) {
    const auto header = wire::View<wire::Mad>::unchecked(mad.data());
    const auto method = header.get<&wire::Mad::method>();
    const auto attribute_id = header.get<&wire::Mad::attribute_id>();
    if (method == get_response) return learn_record(attribute_id, mad.subspan(wire::mad::sa_data_octet));
    const bool is_table = method == get_table_response || method == get_multi_response;
    if (!is_table || !wire::mad::is_table(mad)) return;
    const wire::mad::Records records = wire::mad::records_of(mad);
    for (std::uint32_t i = 0; i < records.count; ++i)
        learn_record(attribute_id, mad.subspan(records.octet + std::size_t{i} * records.length, records.length));
    if (unit.rmpp == nullptr) return;
    for (const JoinedRecord& joined : joined_records(*unit.rmpp, wire::mad::record_octets(mad)))
        learn_record(attribute_id, joined.octets);
}

void ManagementLearner::learn_record(std::uint16_t attribute_id, base::Bytes octets) {
    constexpr std::size_t record_id = 4;  // the LID, and a port or a reserved part
    constexpr std::size_t guid_record_id = 8;
    constexpr std::size_t path_octets = 64;
    constexpr std::size_t description_octets = 64;
    const auto has = [&](std::size_t length) { return octets.size() >= length; };
    switch (attribute_id) {
        case record::node: {
            if (!has(record_id + NodeInfo::octets + description_octets)) break;
            const NodeInfo node = NodeInfo::at(octets.subspan(record_id));
            names_.assign_node(lid_at(octets, 0), 0, node.node, frame_);
            names_.add_port(node.port, node.node, frame_);
            names_.describe_node(node.node, text_at(octets, record_id + NodeInfo::octets, description_octets), frame_);
            break;
        }
        case record::port_info:
            if (!has(record_id + PortLids::octets)) break;
            if (const auto node = names_.node_of(lid_at(octets, 0)))
                names_.assign_node(lid_at(octets, 0), PortLids::at(octets.subspan(record_id)).lmc, *node, frame_);
            break;
        case record::sm_info:
            if (has(record_id + sizeof(Guid)))
                names_.assign_port(lid_at(octets, 0), get<Guid>(octets.subspan(record_id), manager_guid_field), frame_);
            break;
        case record::guid_info:
            if (!has(guid_record_id + guid_block_octets)) break;
            if (const auto node = names_.node_of(lid_at(octets, 0)))
                for (std::size_t at = 0; at < guid_block_octets; at += sizeof(Guid))
                    names_.add_port(guid_at(octets, guid_record_id + at), *node, frame_);
            break;
        case record::path:
        case record::multipath:
            if (has(path_octets)) learn_path(octets);
            break;
        default: break;
    }
}

/// A PathRecord, which answers questions for several paths too. IBTA vol. 1, 15.2.5.16 and 15.2.5.20. A path to another
/// subnet has the LID of a router.
void ManagementLearner::learn_path(base::Bytes path) {
    const Gid to = gid_at(path, octet_of(destination_gid_field));
    const Gid from = gid_at(path, octet_of(source_gid_field));
    if (!std::equal(to.begin(), to.begin() + sizeof(Guid), from.begin())) return;
    names_.assign_gid(to, get<Lid>(path, destination_lid_field), frame_);
    names_.assign_gid(from, get<Lid>(path, source_lid_field), frame_);
}

/// The paths of a request for a connection. The sender gives its adapter's GUID, which is the NodeGUID.
void ManagementLearner::learn_paths(base::Bytes octets) {
    const auto request = wire::parse<wire::CmReq>(octets);
    if (!request || request->primary_subnet_local == 0) return;
    const auto gid_of = [](const std::array<std::byte, 16>& gid) { return gid_at(base::Bytes(gid), 0); };
    const Gid local = gid_of(request->primary_local_gid);
    names_.assign_gid(local, request->primary_local_lid, frame_);
    names_.assign_gid(gid_of(request->primary_remote_gid), request->primary_remote_lid, frame_);
    names_.add_port(base::load_be64(std::as_bytes(std::span(local)).data() + sizeof(Guid)), request->local_ca_guid,
                    frame_);
    names_.assign_node(request->primary_local_lid, 0, request->local_ca_guid, frame_);
}

}  // namespace dissect::subnet
