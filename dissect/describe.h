#pragma once
#include <cstdint>

#include "base/bytes.h"
#include "dissect/dissection.h"
#include "wire/field.h"
#include "wire/frame.h"

namespace dissect {

/// Where a field's bytes lie within the described bytes.
struct Extent {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

/// Receives the tree of a dissection, depth first and in the order of the wire. Nothing is stored: values point into
/// the described bytes and into scratch space, and are invalid after the call.
class Visitor {
public:
    virtual ~Visitor() = default;
    /// A heading, with or without a value of its own; the following fields lie below it until `close`.
    virtual void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) = 0;
    virtual void field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) = 0;
    virtual void close() = 0;
};

/// A layer and the bytes it is described from.
struct LayerView {
    const Dissection& dissection;
    const LayerRef& layer;
    base::Bytes bytes;                  ///< what the dissection describes, from its first byte
    LayerSet wanted = LayerSet::all();  ///< for a layer that is shown below another's heading if that heading is shown
                                        ///< too

    base::Bytes octets() const { return bytes.subspan(layer.offset, layer.length); }
};

/// Describes the layers of a dissection that are in `wanted`. Consecutive layers of one protocol share its heading.
void describe(const Dissection& dissection, base::Bytes bytes, Visitor& visitor,
              const LayerSet& wanted = LayerSet::all());

/// Reads one declared field from its layer's bytes. The field has a fixed place (`bit_width` != 0) and lies within
/// `octets`.
wire::Value value_of(const wire::FieldInfo& info, base::Bytes octets);

/// Visits every field of the table that lies within `octets`, which start at `offset` of the described bytes.
void describe_fields(std::span<const wire::FieldInfo> fields, base::Bytes octets, std::uint32_t offset,
                     Visitor& visitor);

}  // namespace dissect
