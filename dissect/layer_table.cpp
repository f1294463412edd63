#include "dissect/layer_table.h"

namespace dissect {

namespace {
constexpr const LayerRow* rows[] = {
#define X(name) &name##_layer,
    RDMASCOPE_LAYERS(X)
#undef X
};
}  // namespace

const LayerRow& row_of(LayerId id) { return *rows[static_cast<unsigned>(id)]; }

}  // namespace dissect
