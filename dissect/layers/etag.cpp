#include "wire/etag.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::ETag;

LayerId parse_etag(Context& context) {
    const std::byte* p = context.take(LayerId::etag, octets_of<ETag>);
    if (p == nullptr) return LayerId::none;
    const auto type = wire::View<ETag>::unchecked(p).get<&ETag::type>();
    return next_or_last(context, after_type_or_length(context, type, LayerId::etag), LayerId::etag);
}

}  // namespace

constinit const LayerRow etag_layer{"etag", &protocol::etag, {}, parse_etag, nullptr, wire::field_table<ETag>, {}};

}  // namespace dissect::layers
