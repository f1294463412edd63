#pragma once
#include <span>
#include <string_view>

#include "dissect/context.h"
#include "dissect/describe.h"
#include "dissect/layer_id.h"
#include "wire/field.h"

namespace dissect {

/// A row of the dispatch table: everything about a layer.
struct LayerRow {
    std::string_view name;            ///< in `frame.protocols` and diagnostics: `bth`
    const wire::FieldInfo* protocol;  ///< the outermost heading, shared by the layers of a protocol: `infiniband`
    wire::FieldInfo heading;          ///< the layer's own heading below it; an empty name means none

    /// Reads the layer at `context.offset` and returns the next; LayerId::none at the end.
    LayerId (*parse)(Context& context);

    /// Visits the layer's fields; nullptr means the heading and then `fields`, each at its fixed place.
    void (*describe)(const LayerView& view, Visitor& visitor) = nullptr;

    std::span<const wire::FieldInfo> fields = {};    ///< declared in `wire/`, at fixed places
    std::span<const wire::FieldInfo> computed = {};  ///< what `describe` adds; also listed in the registry
    /// More of that, of a layer whose content is one of many.
    std::span<const std::span<const wire::FieldInfo>> groups = {};
};

const LayerRow& row_of(LayerId id);

inline namespace layers {
#define X(name) extern const LayerRow name##_layer;
RDMASCOPE_LAYERS(X)
#undef X
}  // namespace layers

}  // namespace dissect
