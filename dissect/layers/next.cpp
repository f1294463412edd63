#include "dissect/layers/next.h"

#include "wire/carrier.h"

namespace dissect::inline layers {

void note_ether_type(Context& context, std::uint16_t type) {
    if (type >= wire::ether_type::first_type && !wire::is_ordinary_ether_type(type))
        context.leave_unread(wire::CarrierKind::ether_type, type);
}

void note_ip_protocol(Context& context, std::uint8_t protocol) {
    if (!wire::is_ordinary_ip_protocol(protocol)) context.leave_unread(wire::CarrierKind::ip_protocol, protocol);
}

}  // namespace dissect::layers
