#include "dissect/joined_records.h"

#include <algorithm>
#include <vector>

#include "dissect/rmpp_transfers.h"
#include "wire/mad_attributes.h"
#include "wire/mad_class.h"

namespace dissect {

void visit_joined_records(const Unit& unit, const std::function<void(const Dissection&, base::Bytes)>& visit) {
    if (unit.rmpp == nullptr || !unit.dissection.has(LayerId::sa)) return;
    const LayerRef& mad = *unit.dissection.find(LayerId::mad);
    const base::Bytes octets = unit.bytes.subspan(mad.offset, mad.length);
    const auto attribute_id = wire::View<wire::Mad>::unchecked(octets.data()).get<&wire::Mad::attribute_id>();
    const auto& table = wire::mad::subnet_administration_attributes;
    const auto attribute = std::ranges::find(table, attribute_id, &wire::mad::Attribute::id);
    if (attribute == table.end()) return;
    Dissection dissection;
    LayerRef& layer = dissection.layers[0];
    layer.id = LayerId::sa_record;
    layer.variant = static_cast<std::uint8_t>(attribute - table.begin());
    dissection.layer_count = 1;
    dissection.present.insert(LayerId::sa_record);
    std::vector<std::byte> bytes;
    for (const JoinedRecord& record : joined_records(*unit.rmpp, wire::mad::record_octets(octets))) {
        bytes.resize(joined_record_prefix);
        base::store_be64(bytes.data(), record.number);
        bytes.insert(bytes.end(), record.octets.begin(), record.octets.end());
        layer.length = layer.wire_length = static_cast<std::uint32_t>(bytes.size());
        visit(dissection, bytes);
    }
}

}  // namespace dissect
