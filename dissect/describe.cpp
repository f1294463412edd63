#include "dissect/describe.h"

#include "dissect/layer_table.h"
#include "wire/layout.h"

namespace dissect {

namespace {
/// Up to the first zero byte.
std::string_view text_of(base::Bytes octets) {
    const std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
    return text.substr(0, text.find('\0'));
}
}  // namespace

wire::Value value_of(const wire::FieldInfo& info, base::Bytes octets) {
    wire::Value value;
    switch (info.kind) {
        case wire::Kind::none: break;
        case wire::Kind::string: value.text = text_of(octets.subspan(info.bit_offset / 8u, info.bit_width / 8u)); break;
        case wire::Kind::bytes:
        case wire::Kind::ipv4:
        case wire::Kind::ipv6:
        case wire::Kind::ether: value.bytes = octets.subspan(info.bit_offset / 8u, info.bit_width / 8u); break;
        default: value.number = wire::read_bits(octets.data(), info.bit_offset, info.bit_width);
    }
    return value;
}

void describe_fields(std::span<const wire::FieldInfo> fields, base::Bytes octets, std::uint32_t offset,
                     Visitor& visitor) {
    for (const auto& info : fields) {
        if (info.bit_width == 0) continue;
        const unsigned first = info.bit_offset / 8u;
        const unsigned last = (info.bit_offset + info.bit_width - 1u) / 8u;
        if (last >= octets.size()) continue;
        visitor.field(info, value_of(info, octets), {offset + first, last - first + 1});
    }
}

void describe(const Dissection& dissection, base::Bytes bytes, Visitor& visitor, const LayerSet& wanted) {
    const wire::FieldInfo* protocol = nullptr;
    LayerId opener = LayerId::none;  // a protocol that follows itself, as VLAN tags do, has a heading each time
    for (unsigned i = 0; i < dissection.layer_count; ++i) {
        const LayerRef& layer = dissection.layers[i];
        if (!wanted.contains(layer.id)) continue;
        const LayerRow& row = row_of(layer.id);
        if (row.protocol != protocol || layer.id == opener) {
            if (protocol != nullptr) visitor.close();
            protocol = row.protocol;
            opener = layer.id;
            if (protocol != nullptr) visitor.open(*protocol, {}, {layer.offset, layer.length});
        }
        const LayerView view{dissection, layer, bytes, wanted};
        if (row.describe != nullptr) {
            row.describe(view, visitor);
            continue;
        }
        const base::Bytes octets = view.octets();
        const bool headed = !row.heading.name.empty();
        if (headed) visitor.open(row.heading, {0, octets, {}}, {layer.offset, layer.length});
        describe_fields(row.fields, octets, layer.offset, visitor);
        if (headed) visitor.close();
    }
    if (protocol != nullptr) visitor.close();
}

}  // namespace dissect
