#include "wire/cisco_metadata.h"

#include "dissect/layer_table.h"
#include "dissect/layers/describing.h"
#include "dissect/layers/next.h"
#include "dissect/layers/protocols.h"

namespace dissect::inline layers {

namespace {

using wire::CiscoMetaData;

LayerId parse_cisco_metadata(Context& context) {
    const std::byte* p = context.take(LayerId::cisco_metadata, octets_of<CiscoMetaData>);
    if (p == nullptr) return LayerId::none;
    const auto type = wire::View<CiscoMetaData>::unchecked(p).get<&CiscoMetaData::type>();
    return next_or_last(context, after_type_or_length(context, type, LayerId::cisco_metadata), LayerId::cisco_metadata);
}

}  // namespace

constinit const LayerRow cisco_metadata_layer{"cmd",   &protocol::cisco_metadata,        {}, parse_cisco_metadata,
                                              nullptr, wire::field_table<CiscoMetaData>, {}};

}  // namespace dissect::layers
