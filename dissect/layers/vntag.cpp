#include "wire/vntag.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::VnTag;

LayerId parse_vntag(Context& context) {
    const std::byte* p = context.take(LayerId::vntag, octets_of<VnTag>);
    if (p == nullptr) return LayerId::none;
    const auto type = wire::View<VnTag>::unchecked(p).get<&VnTag::type>();
    return next_or_last(context, after_type_or_length(context, type, LayerId::vntag), LayerId::vntag);
}

}  // namespace

constinit const LayerRow vntag_layer{"vntag", &protocol::vntag, {}, parse_vntag, nullptr, wire::field_table<VnTag>, {}};

}  // namespace dissect::layers
